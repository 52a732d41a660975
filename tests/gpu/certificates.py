"""The certificate of a fitted `SVC` once more, from its coefficients alone, in float64 and with NumPy."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.solvers.decomposition import coding, pairs


class Boundary(NamedTuple):
    """One binary problem: the rows it is about, and what the machine made of them."""

    rows: np.ndarray  # shape: (r,); training rows
    y: np.ndarray  # shape: (r,); +1 or -1
    coef: np.ndarray  # shape: (r,); coefficient times side
    box: np.ndarray  # shape: (r,)
    intercept: float


class Certificate(NamedTuple):
    violation: float
    gap: float  # relative, (P - D) / max(|P|, 1)
    slack: float  # P - D
    balance: float  # sum of the signed coefficients, which is 0


def boundaries(model, y, weights=None):
    """Every binary problem of a fitted machine, from its public attributes and its labels."""
    codes = np.searchsorted(model.classes_, y)
    box = model.C * model.class_weight_[codes]
    box = box if weights is None else box * weights
    k = len(model.classes_)
    sides = coding(k, model.multi_class)
    coef = model.dual_coef_.toarray() if issparse(model.dual_coef_) else model.dual_coef_
    whole = np.zeros((len(coef), len(y)))
    whole[:, model.support_] = coef
    for p in range(sides.shape[1]):
        side = sides[codes, p]
        rows = np.flatnonzero(side)
        if model.multi_class == "ovo" and k > 2:
            first, second = pairs(k)[p]
            layer = np.where(codes[rows] == first, second - 1, first)  # scikit-learn's layout
        else:
            layer = np.full(len(rows), p)
        coef = whole[layer, rows]
        yield Boundary(rows, side[rows].astype(float), coef, box[rows], model.intercept_[p])


def certificate(model, X, boundary):
    """How far a boundary is from its optimum, with kernel values in float64."""
    rows, y, coef, box, intercept = boundary
    carried = coef != 0
    K = kernel_values(model, X, rows, rows[carried])
    scores = K @ coef[carried]
    alpha, steps = np.abs(coef), y - scores  # -y times the gradient
    up = np.where(y > 0, alpha < box, alpha > 0)
    down = np.where(y > 0, alpha > 0, alpha < box)
    violation = max(0.0, steps[up].max(initial=-np.inf) - steps[down].min(initial=np.inf))
    norm = coef @ scores
    primal = 0.5 * norm + box @ np.maximum(0.0, 1.0 - y * (scores + intercept))
    slack = primal - (alpha.sum() - 0.5 * norm)
    return Certificate(violation, slack / max(abs(primal), 1.0), slack, abs(coef.sum()))


def distance(model, X, one, other):
    """How far the weights of two machines on the same boundary are apart, in the kernel's space."""
    apart = one.coef - other.coef
    rows = one.rows[apart != 0]
    apart = apart[apart != 0]
    return np.sqrt(max(0.0, apart @ kernel_values(model, X, rows, rows) @ apart))


def kernel_values(model, X, rows, columns):
    if model.kernel == "precomputed":
        return np.asarray(X, dtype=float)[np.ix_(rows, columns)]
    X = np.asarray(X, dtype=float)
    return np.asarray(model.kernel_.block(X[rows], X[columns]), dtype=float)


def require_same_machine(one, other, X, y, *, weights=None, tol=None):
    """Two machines are the same one, as closely as their certificates promise.

    A dual objective that is d below the largest puts the weights within sqrt(2 d) of the optimum, so
    two machines are at most the sum of both apart, whatever path each took.
    """
    tol = tol or one.tol
    X = np.asarray(X, dtype=float)
    both = zip(boundaries(one, y, weights), boundaries(other, y, weights), strict=True)
    for p, (first, second) in enumerate(both):
        found = [certificate(m, X, b) for m, b in ((one, first), (other, second))]
        for held in found:
            assert held.violation <= 2 * tol, (p, held)
            assert held.balance <= 1e-9 * max(1.0, np.abs(first.coef).sum()), (p, held)
        promised = sum(np.sqrt(2 * max(held.slack, 0.0)) for held in found)
        assert distance(one, X, first, second) <= promised + 1e-9, (p, found)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=2e-3, atol=tol)
