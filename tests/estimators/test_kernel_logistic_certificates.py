"""The duality gap of `KernelLogisticRegression` against the same sums with 60 digits."""

import warnings
from contextlib import suppress
from unittest.mock import patch

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.exact_losses import ExactLosses
from tests.random_problems import random_problem

from separatrix import KernelLogisticRegression
from separatrix.errors import DataError
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.runtime.sums import dense
from separatrix.solvers.logistic import kernel_certificate
from separatrix.solvers.logistic.certificate import bounded_residuals


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


def exact_gaps(losses, K, A, b, C, R):
    """P - D for the dual variables next to residuals R, and P less a lower value of the objective.

    Both over max(1, P), and the claim is above both, with nothing allowed for rounding. R, (p, n), are
    those that the claim was computed from: probabilities that are those of a dual point once biases make
    the residuals add up to 0. The residuals of the exact scores of A are another dual point: where C times
    the rounding of residuals is not small next to E = A - C G, its gap may be above or below this one.
    """

    def dot(U, V):
        return sum(u * v for us, vs in zip(U, V, strict=True) for u, v in zip(us, vs, strict=True))

    def times(U, V):
        return [[sum(u * v for u, v in zip(row, k, strict=True)) for k in V] for row in U]

    def at(K):
        scored = ExactLosses(np.zeros((0, 1)), np.zeros(0, int), np.zeros(0))
        scored.Z, scored.y = K, losses.y
        scored.weights, scored.weight = losses.weights, losses.weight
        return scored

    def balanced(scored, U, b):
        best = scored.best_biases(U, b)
        _, R, q = scored.at(U, best)
        assert max(abs(sum(r)) for r in zip(*R, strict=True)) < mpf(10) ** -35 * scored.weight
        return best, q, [[v + C * r[c] for v, r in zip(a, R, strict=True)] for c, a in enumerate(A)]

    primal = at(K)
    loss, _, p = primal.at(A, b)
    P = loss + dot(A, times(A, K)) / (2 * C)

    L = log_scores(R, losses)
    one = [[mpf(i == j) for j in range(len(K))] for i in range(len(K))]
    _, q, E = balanced(at(one), L, [mpf(0)] * len(b))
    divergence = sum(
        w * sum(v * mp.log(v / u) for u, v in zip(ps, qs, strict=True) if v > 0)
        for w, ps, qs in zip(losses.weights, p, q, strict=True)
    )
    gap = dot(E, times(E, K)) / (2 * C) + divergence

    best, q, E = balanced(primal, A, b)
    down = times(E, K)
    square, curved = dot(E, down) / C, mpf(0)
    for w, qs, f in zip(losses.weights, q, zip(*down, strict=True), strict=True):
        f = [mpf(0), *f] if len(f) == 1 else f
        mean = sum(v * x for v, x in zip(qs, f, strict=True))
        curved += w * sum(v * (x - mean) ** 2 for v, x in zip(qs, f, strict=True))
    lower = P
    for size in (mpf(1) / 2, square / (square + curved) if square > 0 else mpf(0)):
        less = [
            [v - size * e for v, e in zip(a, row, strict=True)] for a, row in zip(A, E, strict=True)
        ]
        lower = min(lower, primal.at(less, best)[0] + dot(less, times(less, K)) / (2 * C))
    return gap / max(mpf(1), P), (P - lower) / max(mpf(1), P)


def log_scores(R, losses):
    """Scores whose probabilities have residuals R, (p, n): log odds of two classes, else logarithms."""
    least, scores = mpf(10) ** -400, []
    for i, (own, weight) in enumerate(zip(losses.y, losses.weights, strict=True)):
        P = [mpf(float(r[i])) / weight for r in R]
        if len(P) == 1:
            other = max(abs(P[0]), least)
            odds = mp.log(other) - mp.log(max(1 - other, least))
            scores.append([-odds if own else odds])
            continue
        others = sum(v for c, v in enumerate(P) if c != own)
        scores.append([mp.log(max(1 - others if c == own else v, least)) for c, v in enumerate(P)])
    return [list(f) for f in zip(*scores, strict=True)]


def check(seed):
    """One fit, solved or not."""
    given, rng = random_problem(seed, most_rows=10), np.random.default_rng(seed)
    spread = float(np.ptp(given.dense, axis=0).max()) or 1.0
    size = float(np.abs(given.dense).max()) or 1.0
    kernel = [Gaussian(1.0 / spread**2), Linear(), Polynomial(2, gamma=1.0 / size**2, coef0=1.0)][
        rng.integers(3)
    ]
    model = KernelLogisticRegression(C=given.C, kernel=kernel)
    used = []

    def noted(*given):
        used.append(bounded_residuals(*given))
        return used[-1]

    with (
        warnings.catch_warnings(),
        patch.object(kernel_certificate, "bounded_residuals", noted),
    ):
        warnings.simplefilter("ignore")
        with suppress(DataError):  # kernel values that rounding has made indefinite
            model.fit(given.X, given.y, sample_weight=given.weights)
    if not hasattr(model, "dual_gap_") or model.dual_gap_ == np.inf:  # nothing is above that
        return
    weights = np.ones(len(given.y)) if given.weights is None else given.weights
    losses = ExactLosses(given.dense, given.y, weights)
    coef = np.zeros((len(model.intercept_), len(given.y)))
    coef[:, model.support_] = dense(model.dual_coef_)
    A = [[mpf(v) for v in row] for row in coef.tolist()]
    b = [mpf(v) for v in model.intercept_.tolist()]
    order = np.argsort(given.y, kind="stable")  # rows are trained by class
    R = np.empty_like(used[-1][1])
    R[:, order] = used[-1][1]
    gap, above = exact_gaps(losses, exact_kernel(kernel, losses.Z), A, b, mpf(given.C), R)
    assert model.dual_gap_ >= above
    assert model.dual_gap_ >= gap


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_the_claim_is_never_below_the_exact_gap(seed):
    check(seed)


@pytest.mark.slow
def test_the_claim_is_never_below_the_exact_gap_of_many_problems():
    for seed in range(16, 300):
        check(seed)
