"""
Confusions, and the hardest digits
==================================

Over many splits, each digit is tested several times by models that have not seen it. Those that are wrong nearly always are worth
a look: some are hard, some are labelled wrongly.
"""

from sklearn.datasets import load_digits

from separatrix import SVC, evaluate
from separatrix.plots import plot_confusion, plot_hardest

digits = load_digits()
X, y = digits.data[:1000] / 16, digits.target[:1000]
found = evaluate(SVC(C=10, gamma=0.05), X, y, repeats=15, progress=False)
print(found)
confusions = plot_confusion(found)

# %%
# The rows that are misclassified most often when they are in the test part.

hardest = plot_hardest(found, X, (8, 8), count=5)
