"""Shopping baskets as sets: a kernel of one's own, the Jaccard similarity, in three classifiers.

Every pair of baskets is compared once: all folds, all values of C and all classifiers share the values.
"""

from __future__ import annotations

import numpy as np

from separatrix import SVCCV, KernelPerceptron, KernelPerceptronCV, KNeighborsClassifier, load, save
from separatrix.kernels import FromCallable, Gaussian, kernel_alignment

GOODS = {
    "breakfast": ["bread", "butter", "jam", "milk", "coffee", "eggs"],
    "party": ["crisps", "beer", "lemonade", "nuts", "candles", "cake"],
    "garden": ["soil", "seeds", "gloves", "rake", "pots", "hose"],
}
ANYTHING = sorted({good for goods in GOODS.values() for good in goods} | {"bags", "batteries"})
calls = 0


def jaccard(a: set[str], b: set[str]) -> float:
    """The share of goods that two baskets have in common."""
    global calls
    calls += 1
    return len(a & b) / len(a | b)


def main() -> None:
    """Train three classifiers on baskets, save one and load it again."""
    rng = np.random.default_rng(0)
    y = rng.choice(list(GOODS), size=300)
    baskets = [set(rng.choice(GOODS[kind], 3)) | set(rng.choice(ANYTHING, 4)) for kind in y]
    train, test = slice(0, 200), slice(200, 300)

    kernel = FromCallable(jaccard)
    svm = SVCCV(Cs=[0.1, 1, 10], kernels=[kernel], cv=5)
    neighbors = KNeighborsClassifier(9, kernel=kernel)
    averaged = KernelPerceptron(predictor="average", min_gain=0.01)
    perceptron = KernelPerceptronCV([kernel], estimator=averaged)
    for model in (svm, neighbors, perceptron):
        model.fit(baskets[train], y[train])
        accuracy = model.score(baskets[test], y[test])
        print(f"{type(model).__name__}: test accuracy {accuracy:.2f}, {calls} comparisons so far")

    on_objects = FromCallable(jaccard, objects=True)
    K = on_objects.block(baskets[train], baskets[train])
    sizes = np.array([[len(basket)] for basket in baskets[train]], dtype=float)
    by_size = Gaussian(1.0).block(sizes, sizes)
    for name, matrix in (("Jaccard", K), ("size of the basket", by_size)):
        alignment = kernel_alignment(matrix, y[train], centered=True)
        print(f"alignment with the labels, {name}: {alignment:.2f}")

    path = save(svm, "baskets.model")
    again = load(path, kernel=jaccard)  # a file holds no code: the function is given again
    same = np.array_equal(again.predict(baskets[test]), svm.predict(baskets[test]))
    print(f"wrote {path}; loaded again, it predicts the same: {same}")


if __name__ == "__main__":
    main()
