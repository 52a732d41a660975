"""
A kernel of your own: shopping baskets as sets
==============================================

Any function of two objects that is a similarity can be a kernel. Here it is the Jaccard similarity of two sets. All folds
and values of C share its values: every pair is compared once.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVCCV, KNeighborsClassifier
from separatrix.kernels import FromCallable, kernel_alignment

GOODS = {
    "breakfast": ["bread", "butter", "jam", "milk", "coffee", "eggs"],
    "party": ["crisps", "beer", "lemonade", "nuts", "candles", "cake"],
    "garden": ["soil", "seeds", "gloves", "rake", "pots", "hose"],
}
ANYTHING = sorted({good for goods in GOODS.values() for good in goods} | {"bags", "batteries"})


def jaccard(a, b):
    """The share of goods that two baskets have in common."""
    return len(a & b) / len(a | b)


rng = np.random.default_rng(0)
y = np.sort(rng.choice(list(GOODS), size=180))
baskets = [set(rng.choice(GOODS[kind], 3)) | set(rng.choice(ANYTHING, 4)) for kind in y]
train, test = slice(0, None, 2), slice(1, None, 2)

kernel = FromCallable(jaccard, objects=True)
svm = SVCCV(Cs=[0.1, 1, 10], kernels=[kernel], cv=5).fit(baskets[train], y[train])
neighbors = KNeighborsClassifier(9, kernel=kernel).fit(baskets[train], y[train])
for model in (svm, neighbors):
    print(f"{type(model).__name__}: test accuracy {model.score(baskets[test], y[test]):.2f}")

# %%
# The matrix of all pairs, sorted by class, shows why this works.

K = kernel.block(baskets, baskets)
figure, panel = plt.subplots(figsize=(4.6, 4))
image = panel.imshow(K, cmap="viridis")
panel.set_title(
    f"Jaccard similarity, alignment {kernel_alignment(K, y, centered=True):.2f}", fontsize=10
)
figure.colorbar(image, shrink=0.8)
plt.show()
