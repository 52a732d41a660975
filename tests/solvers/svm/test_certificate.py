"""The certificate of a support vector fit is an upper bound in exact arithmetic."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.solvers.svm.exact import ExactProblem

from separatrix import SVC, NuSVC, OneClassSVM
from separatrix.kernels import Gaussian, Laplacian, Linear, Normalized, Polynomial


def draw_problem(rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """A model, samples, labels and weights: far from the origin, badly scaled, repeated, or none of it."""
    n, d = int(rng.integers(1, 61)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 0.0, 1.0, 1e3, 1e5, 1e7, 1e9])
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-9, 9, d)
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    y = rng.integers(0, 2 if rng.random() < 0.8 else 3, n)
    if rng.random() < 0.5:
        y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0, rng.random()], n) if rng.random() < 0.3 else np.ones(n)
    spread = float(X.var(axis=0).sum()) or 1.0
    gamma = 10.0 ** rng.uniform(-2, 1) / spread
    polynomial = Polynomial(int(rng.integers(1, 5)), 1 / float((X**2).mean() * d or 1), float(rng.integers(0, 2)))
    kernels = [
        Linear(), Linear(), polynomial, Gaussian(gamma), Laplacian(gamma**0.5), Gaussian(gamma) + Linear(),
        Gaussian(gamma) * polynomial, Laplacian(gamma**0.5) + 0.5 * Gaussian(gamma), Normalized(polynomial),
        Laplacian(gamma**0.5) + Linear(),
    ]  # fmt: skip
    options = {
        "kernel": kernels[rng.integers(len(kernels))],
        "tol": float(10.0 ** rng.uniform(-8, -1)),
        "max_iter": int(rng.choice([3, 3000])),
    }
    kind = rng.random()
    if kind < 0.15:
        return OneClassSVM(nu=float(rng.uniform(0.01, 1)), **options), X, None, weights
    scheme = {"multi_class": str(rng.choice(["ovo", "ovr"]))}
    if kind < 0.3:
        return NuSVC(nu=float(rng.uniform(0.01, 0.9)), **options, **scheme), X, y, weights
    C = np.inf if rng.random() < 0.1 else float(10.0 ** rng.uniform(-3, 6))
    options["stop"] = str(rng.choice(["kkt", "gap"]))
    return SVC(C=C, **options, **scheme), X, y, weights


def exact_certificates(model: Any, X: Any, weights: Any) -> list[tuple[Fraction | None, Fraction]]:
    """Gap and violation of every boundary of a fitted model."""
    linear = type(model.kernel_) is Linear
    found = []
    for p in range(len(model.intercept_)):
        if isinstance(model, OneClassSVM):
            alpha = np.zeros(len(X))
            alpha[model.support_] = model.dual_coef_[0]
            rows, y, box, groups = np.arange(len(X)), np.ones(len(X)), weights, ((1,),)
        else:
            fit = model._fits[p]
            rows, y, alpha, box, groups = fit.rows, fit.y, fit.alpha, fit.box, ((1, -1),)
        if isinstance(model, NuSVC):
            groups = ((1,), (-1,))
        box = [None if np.isinf(C) else Fraction(float(C)) for C in box]
        bounds, total = box, None
        if isinstance(model, SVC) and np.isfinite(model.C):
            bounds = [Fraction(model.C) * Fraction(float(w)) for w in weights[rows]]
        if isinstance(model, OneClassSVM):
            total = Fraction(model.nu) * sum(Fraction(float(w)) for w in weights)
        w = model.coef_[p] if linear else None
        problem = ExactProblem(model.kernel_, X[rows], y, box, alpha, model.intercept_[p], w)
        found.append((problem.gap(bounds, total), problem.violation(groups)))
    return found


def check_random_problem(seed: int) -> str:
    """Fit a random problem and compare its claims; why it has none, or how its fit ended."""
    rng = np.random.default_rng(seed)
    model, X, y, weights = draw_problem(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, sample_weight=weights)
        except ValueError as refusal:  # one class, an infeasible nu, no hard margin, an overflow
            return type(refusal).__name__
    gaps, violations, stops = (np.atleast_1d(v) for v in (model.dual_gap_, model.violation_, model.stop_))
    if not np.isfinite(model.intercept_).all():  # a hard margin of values that are rounding noise
        assert np.isinf(gaps).any()
        return "overflow"
    pairs = exact_certificates(model, X, weights)
    for (gap, violation), g, v, stop in zip(pairs, gaps, violations, stops, strict=True):
        assert g == np.inf if gap is None else gap <= g, (seed, float(gap or 0), g, stop, model)
        assert violation <= v, (seed, float(violation), v, stop, model)
        if stop == "tol":
            by_gap = getattr(model, "stop", "kkt") == "gap"
            assert g <= (model.tol if by_gap else max(model.tol, 1e-3)), (seed, model)
            assert by_gap or v <= 1.1 * model.tol, (seed, model)
    return str(stops[0])


@pytest.mark.parametrize("first", [0, pytest.param(30, marks=pytest.mark.slow)])
def test_claims_are_never_below_the_exact_gap_and_violation(first):
    ends = [check_random_problem(seed) for seed in range(first, 30 if first == 0 else 300)]
    assert {"tol", "max_iter"} <= set(ends)
