"""
Comparing classifiers, with intervals
=====================================

`compare` trains all classifiers that suit the data on the same splits, tunes them inside the training rows, and tests which of them
differ. Intervals and p values account for the overlap of the training parts.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from separatrix import compare

X, y = load_wine(return_X_y=True)
keys = ["lda", "qda", "logistic", "knn", "gaussian-nb", "svm", "least-squares"]
comparison = compare(keys, X, y, cv=5, repeats=2, progress=False)
print(comparison)

# %%
# The same table as a picture.

rows = comparison.rows()
figure, panel = plt.subplots(figsize=(7, 3.6))
for position, row in enumerate(rows):
    low, high = row["low"], row["high"]
    panel.plot([low, high], [position, position], color="#3b6ea5", linewidth=3)
    panel.plot(row["test_error"], position, marker="o", color="black")
panel.set_yticks(range(len(rows)), [row["model"] for row in rows])
panel.set_xlabel("test error, mean and 95 % interval")
panel.invert_yaxis()
plt.show()
