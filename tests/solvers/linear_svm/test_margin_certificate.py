"""Certificates against the same sums in rational numbers: claims are never below the exact gap."""

from fractions import Fraction

import numpy as np
import pytest
from tests.random_problems import random_problem
from tests.rationals import dot, rational

from separatrix.runtime.exact_sums import exact_dots
from separatrix.solvers.linear_svm.margin_certificate import certify_classes, certify_weights

ZERO, ONE = Fraction(0), Fraction(1)


def gap_of(P, D):
    return (P - D) / max(abs(P), ONE)


def exact_gap(X, y, price, w, b, a, *, loss, bias_step, l1):
    """P - D of one boundary, over max(P, 1), for dual variables that are feasible in exact numbers."""
    Z, y, price, w, b = (rational(v) for v in (X, y, price, w, float(b)))
    free = np.isinf(bias_step)
    step = ZERO if free else Fraction(bias_step)
    a = [max(ZERO, v) for v in rational(a)]
    if loss == "hinge":
        a = [min(v, c) for v, c in zip(a, price, strict=True)]
    if free:
        above, below = (sum(v for v, t in zip(a, y, strict=True) if t == s) for s in (1, -1))
        heavier = 1 if above > below else -1
        share = min(above, below) / max(above, below) if max(above, below) else ONE
        a = [v * share if t == heavier else v for v, t in zip(a, y, strict=True)]
    signed = [v * t for v, t in zip(a, y, strict=True)]
    own = [dot(signed, column) for column in zip(*Z, strict=True)]
    lacking = sum(signed)
    slacks = [max(ZERO, ONE - t * (dot(w, z) + b)) for z, t in zip(Z, y, strict=True)]
    losses = slacks if loss == "hinge" else [s * s for s in slacks]
    P = dot(price, losses)
    if l1:
        constant = Fraction(float(np.sqrt(bias_step))) if step else ZERO
        pull = max([ONE, *map(abs, own), abs(lacking) * constant])
        a, own = [v / pull for v in a], None
        P += sum(map(abs, w)) + (abs(b) / constant if step else ZERO)
        D = sum(a)
    else:
        P += (dot(w, w) + (b * b / step if step else ZERO)) / 2
        D = sum(a) - (dot(own, own) + step * lacking**2) / 2
    if loss != "hinge":
        D -= sum(v * v / (4 * c) for v, c in zip(a, price, strict=True))
    return P, gap_of(P, D)


def check_boundary(seed):
    """One boundary with weights and dual variables near a solution, or nowhere near one."""
    given, rng = random_problem(seed, most_rows=12), np.random.default_rng(seed)
    X, n = given.dense, len(given.y)
    y = np.where(given.y == 1, 1.0, -1.0)
    price = given.C * (np.ones(n) if given.weights is None else given.weights)
    loss = ["hinge", "squared_hinge"][seed % 2]
    l1 = loss != "hinge" and rng.random() < 0.4
    bias_step = [0.0, 1.0, 100.0, np.inf][rng.integers(4)]
    w = rng.normal(size=X.shape[1]) / np.abs(X).max(axis=0, initial=1e-12)
    b = 0.0 if bias_step == 0.0 else -float(w @ X.mean(axis=0)) + rng.normal() * 0.1
    s = np.maximum(0.0, 1.0 - y * (X @ w + b))
    a = 2.0 * price * s if loss != "hinge" else price * rng.random(n)
    if rng.random() < 0.5 and not l1:  # the weights of the dual variables: a small gap
        if np.isinf(bias_step):
            a[y > 0] *= a[y < 0].sum() / (a[y > 0].sum() or 1.0)
        w = (a * y) @ (X - X.mean(axis=0) if np.isinf(bias_step) else X)
        b = bias_step * float(a @ y) if np.isfinite(bias_step) else b
    options = {"loss": loss, "bias_step": bias_step, "l1": l1}
    columns = (y[:, None], price[:, None], w[None], np.array([b]), a[:, None])
    found = certify_weights(given.X, *columns, **options)
    P, gap = exact_gap(X, y, price, w, b, a, **options)
    assert Fraction(float(found.gap[0])) >= gap
    assert found.gap[0] - found.rounding[0] <= float(gap) * (1 + 1e-6) + found.rounding[0]
    assert abs(float(P - Fraction(float(found.objective[0])))) <= 2e-6 * max(1.0, float(P)) + (
        2 * found.rounding[0] * max(1.0, float(P))
    )


def check_classes(seed):
    """Crammer and Singer's problem with weights of dual variables."""
    given, rng = random_problem(seed, most_rows=12), np.random.default_rng(seed)
    X, y, n = given.dense, given.y, len(given.y)
    k = int(y.max()) + 1
    price = given.C * (np.ones(n) if given.weights is None else given.weights)
    bias_step = [0.0, 1.0, 100.0][rng.integers(3)]
    A = -price[:, None] * rng.random((n, k)) / k
    A[np.arange(n), y] = 0.0
    A[np.arange(n), y] = -A.sum(axis=1)
    W, b = A.T @ X, bias_step * A.sum(axis=0)
    found = certify_classes(given.X, y, price, W, b, A, bias_step=bias_step)

    Z, prices, U = rational(X), rational(price), rational(-A)
    scores = [[dot(w, z) + c for w, c in zip(rational(W), rational(b), strict=True)] for z in Z]
    P = D = ZERO
    duals = []
    for i, own in enumerate(y):
        leads = [scores[i][c] - scores[i][own] + 1 for c in range(k) if c != own]
        P += prices[i] * max(ZERO, *leads)
        u = [U[i][c] if c != own else ZERO for c in range(k)]
        D += sum(u)
        duals.append([sum(u) if c == own else -u[c] for c in range(k)])
    columns = list(zip(*Z, strict=True))
    for c, dual in enumerate(zip(*duals, strict=True)):
        own = [dot(dual, column) for column in columns]
        D -= (dot(own, own) + Fraction(bias_step) * sum(dual) ** 2) / 2
        P += dot(rational(W[c]), rational(W[c])) / 2
        P += Fraction(float(b[c])) ** 2 / Fraction(bias_step) / 2 if bias_step else ZERO
    assert Fraction(float(found.gap[0])) >= gap_of(P, D)


@pytest.mark.parametrize("seed", range(30))
def test_the_claim_is_never_below_the_exact_gap(seed):
    check_boundary(seed)


@pytest.mark.slow
def test_the_claim_is_never_below_the_exact_gap_of_many_problems():
    for seed in range(30, 300):
        check_boundary(seed)


@pytest.mark.parametrize("seed", range(20))
def test_the_claim_for_classes_learned_together_is_never_below_the_exact_gap(seed):
    check_classes(seed)


@pytest.mark.slow
def test_the_claim_for_classes_learned_together_holds_for_many_problems():
    for seed in range(20, 300):
        check_classes(seed)


@pytest.mark.parametrize("seed", range(5))
def test_inner_products_are_those_of_rational_numbers_rounded_once(seed):
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(3, 20)) * 10.0 ** rng.integers(-9, 9, 20), rng.normal(size=20)
    b = -(W @ x)
    found = exact_dots(W, x, b)
    expected = [
        float(dot(rational(w), rational(x)) + rational(float(c))) for w, c in zip(W, b, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
