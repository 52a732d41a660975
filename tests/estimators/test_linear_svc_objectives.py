"""Hinge loss and Crammer and Singer's problem: objectives no higher than LIBLINEAR's."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight

from separatrix import LinearSVC


def objective(model, X, y, options):
    """The primal objective that both libraries minimise, at a model's weights."""
    classes, codes = np.unique(y, return_inverse=True)
    factors = compute_class_weight(options["class_weight"], classes=classes, y=y)
    W, b = model.coef_, model.intercept_
    together = options["multi_class"] == "crammer_singer"
    if together and len(classes) == 2:
        W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
    penalty = 0.5 * ((W**2).sum(axis=1) + (b / options["intercept_scaling"]) ** 2)
    S, rows = X @ W.T + b, np.arange(len(y))
    if together:
        losses = S - S[rows, codes][:, None] + 1.0
        losses[rows, codes] = 0.0
        return penalty.sum() + options["C"] * (factors[codes] * losses.max(axis=1)).sum()
    total = 0.0
    for c in range(len(W)):
        own = codes == (1 if len(classes) == 2 else c)
        rest = factors[0] if len(classes) == 2 else 1.0
        weights = np.where(own, factors[1 if len(classes) == 2 else c], rest)
        loss = np.maximum(0.0, 1.0 - np.where(own, 1.0, -1.0) * S[:, c])
        loss = loss if options["loss"] == "hinge" else loss**2
        total += penalty[c] + options["C"] * (weights * loss).sum()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_no_higher_than_liblinears(multi_class, loss):
    rng = np.random.default_rng(0)
    for _ in range(12):
        k, n, d = int(rng.integers(2, 5)), int(rng.integers(30, 106)), int(rng.integers(2, 30))
        y = rng.permutation(np.arange(n) % k)
        X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y] * rng.choice([0, 1, 3])
        options = {
            "loss": loss,
            "multi_class": multi_class,
            "C": float(rng.choice([0.01, 1.0, 10.0])),
            "class_weight": [None, "balanced", {0: 5.0}][rng.integers(3)],
            "intercept_scaling": float(rng.choice([0.1, 1.0, 10.0])),
        }
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            ours = LinearSVC(**options, max_iter=10_000).fit(X, y)
        if caught:  # it says so itself
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = sklearn.svm.LinearSVC(**options, max_iter=10_000, random_state=0).fit(X, y)
        found, peer = objective(ours, X, y, options), objective(theirs, X, y, options)
        assert found <= peer + 2e-3 * max(1.0, peer), options
