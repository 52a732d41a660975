"""The certificate of a support vector fit is an upper bound in exact arithmetic."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from tests.solvers.svm.exact import ExactProblem

from separatrix import SVC, NuSVC, OneClassSVM, kkt_report
from separatrix.errors import DataError, ParameterError, PrecisionWarning
from separatrix.kernels import Gaussian, Laplacian, Linear, Normalized, Polynomial, Sigmoid


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
    weights = (
        rng.choice([0.0, 0.5, 1.0, 3.0, rng.random()], n) if rng.random() < 0.3 else np.ones(n)
    )
    spread = float(X.var(axis=0).sum()) or 1.0
    gamma = 10.0 ** rng.uniform(-2, 1) / spread
    polynomial = Polynomial(
        int(rng.integers(1, 5)), 1 / float((X**2).mean() * d or 1), float(rng.integers(0, 2))
    )
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
    gaps, violations, stops = (
        np.atleast_1d(v) for v in (model.dual_gap_, model.violation_, model.stop_)
    )
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
            rounded = v - float(violation) > model.tol  # the gap alone ends a fit then
            assert by_gap or rounded or v <= 1.1 * model.tol, (seed, model)
    return str(stops[0])


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 300), marks=pytest.mark.slow)])
def test_claims_are_never_below_the_exact_gap_and_violation(seeds):
    ends = {check_random_problem(seed) for seed in seeds}
    assert "tol" in ends


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_a_linear_machine_far_from_the_origin_is_solved_and_its_claim_holds(offset, C):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) + offset, rng.integers(0, 2, 40)
    model = SVC(kernel="linear", C=C).fit(X, y)
    [(gap, violation)] = exact_certificates(model, X, np.ones(40))
    assert gap <= model.dual_gap_[0] <= 1e-3
    assert violation <= model.violation_[0] <= 1.1e-3
    scores = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-6)


def test_four_rows_of_one_column_far_away():
    X, y, weights = 1e7 + np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1]), np.ones(4)
    model = SVC(kernel="linear", C=10).fit(X, y)
    [(gap, _)] = exact_certificates(model, X, weights)
    assert gap <= model.dual_gap_[0] <= 1e-3


def test_a_polynomial_far_from_the_origin_says_that_rounding_prevents_the_tolerance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)) + 1e5, rng.integers(0, 2, 20)
    with pytest.warns(ConvergenceWarning, match="wanted 0.001"):
        model = SVC(kernel=Polynomial(3, 1.0, 1.0), max_iter=1000).fit(X, y)
    [(gap, violation)] = exact_certificates(model, X, np.ones(20))
    assert gap <= model.dual_gap_[0]
    assert violation <= model.violation_[0]


@pytest.mark.parametrize("size", [1e5, 1e7, 1e8, 1e9, 1e12, 1e150])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("kind", ["SVC", "NuSVC", "OneClassSVM", "sparse"])
def test_gaussian_claims_hold_and_are_near_however_large_samples_are(kind, repeated, size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)) * size + 10 * size, rng.integers(0, 2, 20)
    X = X[rng.integers(0, 20, 20)] if repeated else X
    model = {"NuSVC": NuSVC(nu=0.3, gamma=1.0), "OneClassSVM": OneClassSVM(nu=0.4, gamma=1.0)}.get(
        kind, SVC(gamma=1.0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(csr_array(X) if kind == "sparse" else X, y)
    [(gap, violation)] = exact_certificates(model, X, np.ones(20))
    claimed, stop = np.atleast_1d(model.dual_gap_)[0], np.atleast_1d(model.stop_)[0]
    assert gap <= claimed <= max(1.1 * gap, 1e-3)
    assert violation <= np.atleast_1d(model.violation_)[0]
    assert (stop == "tol") or claimed > 1e-3 or np.atleast_1d(model.violation_)[0] > 1e-3


def test_a_sum_with_a_gaussian_of_large_samples_claims_a_finite_gap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)) * 1e8, rng.integers(0, 2, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(kernel=Gaussian(1.0) + Laplacian(1.0)).fit(X, y)
    [(gap, _)] = exact_certificates(model, X, np.ones(20))
    assert gap <= model.dual_gap_[0] < np.inf


@pytest.mark.parametrize("weight", [1.0, 1e90])
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Normalized(Gaussian(1.0)), Linear(), Polynomial()]
)
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_a_finite_c_has_a_fit_whatever_rounding_hides(kernel, weight, scheme):
    rng = np.random.default_rng(0)
    size = 1e30 if isinstance(kernel, Polynomial) else 1e140
    X, y = rng.normal(size=(9, 2)) * size, np.arange(9) % 3
    model = SVC(kernel=kernel, C=1e6, max_iter=2000, multi_class=scheme)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes = model.fit(X, y, sample_weight=np.full(9, weight)).predict(X)
    assert np.isin(codes, [0, 1, 2]).all()
    assert not any(issubclass(w.category, RuntimeWarning) for w in caught)
    if set(model.stop_) != {"tol"}:
        assert any(issubclass(w.category, ConvergenceWarning) for w in caught)


def test_an_infinite_gap_refuses_a_hard_margin_only():
    X, y = np.random.default_rng(0).normal(size=(6, 2)) * 1e10, np.arange(6) % 2
    kernel = Normalized(Gaussian(1.0))  # of which no error is known
    model = SVC(kernel=kernel, C=1e6)
    with pytest.warns(PrecisionWarning), pytest.warns(ConvergenceWarning, match="up to inf"):
        model.fit(X, y)
    assert model.dual_gap_[0] == np.inf
    with pytest.raises(DataError, match="hard margin"), pytest.warns(PrecisionWarning):
        SVC(kernel=kernel, C=np.inf).fit(X, y)


@pytest.mark.parametrize(
    "kernel", ["precomputed", Sigmoid(0.01), Polynomial(2, 1.0, -1.0), lambda X, Z: X @ Z.T]
)
def test_a_kernel_that_may_be_indefinite_has_no_gap(kernel):
    X, y = np.arange(6.0).reshape(6, 1), np.array([0, 0, 0, 1, 1, 1])
    X = X @ X.T if kernel == "precomputed" else X
    model = SVC(kernel=kernel, C=0.01).fit(X, y)
    assert model.stop_ == ["tol"]
    assert np.isnan(model.dual_gap_).all()
    assert model.violation_[0] <= 1.1e-3
    assert np.isnan(kkt_report(model).rows[0].gap)
    with pytest.raises(ParameterError, match="no duality gap"):
        SVC(kernel=kernel, stop="gap").fit(X, y)


def test_float32_values_are_certified_for_the_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 5))
    y = (X[:, 0] + rng.normal(size=2100) > 0).astype(int)
    model = SVC(gamma=0.1).fit(X, y)
    assert "float32" in model.gram_
    fit = model._fits[0]
    scores = Gaussian(0.1).block(X[fit.rows], X[model.support_]) @ model.dual_coef_[0]
    np.testing.assert_allclose(fit.errors + fit.y, scores, atol=1e-4)
    falls = fit.y - scores
    up = np.where(fit.y > 0, fit.alpha < fit.box, fit.alpha > 0)
    down = np.where(fit.y > 0, fit.alpha > 0, fit.alpha < fit.box)
    violation = falls[up].max() - falls[down].min()
    assert violation <= model.violation_[0] + 1e-9 <= violation + 1e-8  # refined in float64
