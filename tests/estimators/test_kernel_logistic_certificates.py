"""The duality gap of `KernelLogisticRegression` against the same sums with 60 digits."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.exact_losses import ExactLosses
from tests.random_problems import random_problem

from separatrix import KernelLogisticRegression
from separatrix.errors import DataError
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.runtime.sums import dense


def exact_kernel(kernel, Z):
    """Values of a kernel of exact rows, a matrix as rows."""

    def product(u, v):
        return sum(a * b for a, b in zip(u, v, strict=True))

    if isinstance(kernel, Linear):
        return [[product(u, v) for v in Z] for u in Z]
    if isinstance(kernel, Polynomial):
        gamma, shift = mpf(kernel.gamma), mpf(kernel.coef0)
        return [[(gamma * product(u, v) + shift) ** kernel.degree for v in Z] for u in Z]
    apart = [[[a - b for a, b in zip(u, v, strict=True)] for v in Z] for u in Z]
    return [[mp.exp(-mpf(kernel.gamma) * product(w, w)) for w in row] for row in apart]


def exact_gaps(losses, K, A, b, C):
    """P - D for the residuals at the best biases, and P less that of the functions they stand for.

    Both over max(1, P): the first is a duality gap, no lower than what is published but for the rounding of
    the dual variables; the second is a part of what A and b are above the minimum.
    """

    def form(E):
        return sum(sum(u * v for u, v in zip(e, k, strict=True)) * w
                   for e in E for k, w in zip(K, e, strict=True))  # fmt: skip

    scored = ExactLosses(np.zeros((0, 1)), np.zeros(0, int), np.zeros(0))
    scored.Z, scored.y, scored.weights, scored.weight = K, losses.y, losses.weights, losses.weight
    loss, _, p = scored.at(A, b)
    best = scored.best_biases(A, b)
    _, R, q = scored.at(A, best)
    E = [[v + C * r[c] for v, r in zip(a, R, strict=True)] for c, a in enumerate(A)]
    P = loss + form(A) / (2 * C)
    divergence = sum(
        w * sum(v * mp.log(v / u) for u, v in zip(ps, qs, strict=True) if v > 0)
        for w, ps, qs in zip(losses.weights, p, q, strict=True)
    )
    half = [[v - e / 2 for v, e in zip(a, row, strict=True)] for a, row in zip(A, E, strict=True)]
    lower = scored.at(half, best)[0] + form(half) / (2 * C)
    return (form(E) / (2 * C) + divergence) / max(mpf(1), P), (P - lower) / max(mpf(1), P)


def check(seed):
    """One fit, solved or not."""
    given, rng = random_problem(seed, most_rows=10), np.random.default_rng(seed)
    spread = float(np.ptp(given.dense, axis=0).max()) or 1.0
    size = float(np.abs(given.dense).max()) or 1.0
    kernel = [Gaussian(1.0 / spread**2), Linear(), Polynomial(2, gamma=1.0 / size**2, coef0=1.0)][
        rng.integers(3)
    ]
    model = KernelLogisticRegression(C=given.C, kernel=kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(DataError):  # kernel values that rounding has made indefinite
            model.fit(given.X, given.y, sample_weight=given.weights)
    if not hasattr(model, "dual_gap_"):
        return
    weights = np.ones(len(given.y)) if given.weights is None else given.weights
    losses = ExactLosses(given.dense, given.y, weights)
    coef = np.zeros((len(model.intercept_), len(given.y)))
    coef[:, model.support_] = dense(model.dual_coef_)
    A = [[mpf(v) for v in row] for row in coef.tolist()]
    b = [mpf(v) for v in model.intercept_.tolist()]
    gap, above = exact_gaps(losses, exact_kernel(kernel, losses.Z), A, b, mpf(given.C))
    assert model.dual_gap_ >= above
    assert model.dual_gap_ >= gap * mpf("0.99")  # of a dual point as near as rounding lets it be


@pytest.mark.parametrize("seed", range(16))
def test_the_claim_is_never_below_the_exact_gap(seed):
    check(seed)


@pytest.mark.slow
def test_the_claim_is_never_below_the_exact_gap_of_many_problems():
    for seed in range(16, 300):
        check(seed)
