"""Support vector machines end with a certificate: raw columns, repeated rows, any C, any scale.

The issues "SVC hangs" of scikit-learn (4648, 11020, 13075, 13557, 30353) and of cuML (2857, 7880), and
what is like them, through the public classes. Nothing here looks at a clock: a fit that needs a number
of steps without a useful limit does not end within the limit of the test run.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as Peer
from tests.solvers.svm.exact import ExactProblem

import separatrix
from separatrix import SVC, SVCCV, NuSVC, OneClassSVM
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels.gram import make_gram
from separatrix.solvers.svm import smo, solve_svms
from separatrix.solvers.svm.batch import NEVER
from separatrix.solvers.svm.problem import SvmProblem

CANCER, ILL = load_breast_cancer(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)
IRIS, KINDS = load_iris(return_X_y=True)
WINE, GROWERS = load_wine(return_X_y=True)


def solved(model, X, y, sample_weight=None):
    """The model, fitted; it ended at its tolerance, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, y, sample_weight=sample_weight)
    assert set(model.stop_) == {"tol"}
    assert (model.dual_gap_ <= 1e-3).all()
    return model


# ---- the raw tables of the issue ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("C", "objective"), [(1.0, 48.875726), (100.0, 2892.0885), (1e4, 177682.66), (1e6, None)]
)
def test_raw_breast_cancer_has_the_optimum_that_an_independent_solver_finds(C, objective):
    """PIQP's objectives, as many digits as it was read with."""
    model = solved(SVC(kernel="linear", C=C), CANCER, ILL)
    if objective is not None:
        np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)


def test_raw_digits_end_at_a_large_c():
    model = solved(SVC(kernel="linear", C=100.0), DIGITS, NUMBERS % 2)
    assert model.dual_gap_[0] <= 1e-6


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize(("X", "y"), [(IRIS, KINDS), (WINE, GROWERS)], ids=["iris", "wine"])
def test_three_raw_classes_end(X, y, scheme, C):
    solved(SVC(kernel="linear", C=C, multi_class=scheme), X, y)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_iris_ends_with_other_kernels(kernel, C):
    solved(SVC(kernel=kernel, C=C), IRIS, KINDS)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_raw_breast_cancer_ends_with_other_kernels(kernel, C):
    solved(SVC(kernel=kernel, C=C), CANCER, ILL)


# ---- issues of other libraries -----------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_columns_of_very_different_scale_end(C):
    """scikit-learn 4648: a linear kernel on columns of which some are thousands of times larger."""
    rng = np.random.default_rng(0)
    X = np.c_[
        rng.normal(size=(300, 3)), rng.integers(0, 50_000, (300, 3)), rng.random((300, 2)) * 1e-3
    ]
    y = (X[:, 0] + X[:, 3] / 25_000 + rng.normal(size=300) > 1.0).astype(int)
    solved(SVC(kernel="linear", C=C), X, y)


@pytest.mark.parametrize("degree", [3, 6, 10])
def test_polynomials_of_high_degree_end(degree):
    """scikit-learn 13557: a polynomial kernel on iris, whose values are up to 60^degree."""
    solved(SVC(kernel="poly", degree=degree, gamma="auto", C=1.0), IRIS, KINDS)
    solved(SVC(kernel="poly", degree=degree, gamma="scale", C=10.0), IRIS[50:], KINDS[50:])


@pytest.mark.parametrize("size", [1e5, 1e6, 1e8])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_values_of_hundreds_of_thousands_and_more_end(kernel, size, C):
    """scikit-learn 11020, 13075, 30353: unscaled columns, labels that they do not explain."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4)) * size * np.array([1.0, 0.1, 0.01, 1e-5]) + size
    solved(SVC(kernel=kernel, C=C), X, rng.integers(0, 2, 150))


@pytest.mark.parametrize("C", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_large_c_on_overlapping_classes_ends(kernel, C):
    """cuML 2857 and 7880: as C grows nearly every step of a working set is cut by a bound."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(250, 5))
    y = (X[:, 0] + rng.normal(size=250) > 0).astype(int)
    X[y == 1] += 0.2
    solved(SVC(kernel=kernel, C=C), X, y)


@pytest.mark.parametrize("C", [1e8, 1e10])
@pytest.mark.parametrize(
    ("X", "y"),
    [(CANCER, ILL), (WINE, GROWERS), (IRIS[50:], KINDS[50:])],
    ids=["cancer", "wine", "iris"],
)
def test_a_c_of_ten_billion_has_a_certificate(X, y, C):
    solved(SVC(kernel="linear", C=C), X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_where_rounding_decides_a_warning_says_so(kernel):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(kernel=kernel, C=1e10).fit(IRIS, KINDS)
    warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    assert warned == bool((model.dual_gap_ > 1e-3).any())


# ---- columns and rows --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
def test_columns_times_numbers_of_twelve_orders_end(seed, C):
    scale = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, CANCER.shape[1])
    solved(SVC(kernel="linear", C=C), CANCER * scale, ILL)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("flipped", [False, True])
def test_repeated_rows_end_at_the_optimum_of_weights(C, flipped):
    X, y = CANCER[:150], ILL[:150].copy()
    y[::7] ^= flipped
    repeated = solved(SVC(kernel="linear", C=C), np.repeat(X, 3, axis=0), np.repeat(y, 3))
    weighted = solved(SVC(kernel="linear", C=C), X, y, sample_weight=np.full(150, 3.0))
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-3)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_repeated_and_constant_columns_end(C):
    constants = np.ones((len(CANCER), 3)) * [0.0, 1.0, 1e6]
    wide = solved(SVC(kernel="linear", C=C), np.c_[CANCER, CANCER, constants], ILL)
    plain = solved(SVC(kernel="linear", C=2.0 * C), CANCER, ILL)
    # w over two equal columns is half of w over one: K is doubled, a and D are halved
    np.testing.assert_allclose(2.0 * wide.objective_, plain.objective_, rtol=1e-3)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_constant_columns_alone_end(C):
    X, y = np.full((60, 2), 1e5), np.arange(60) % 2
    for kernel in ("linear", "rbf"):
        model = solved(SVC(kernel=kernel, C=C), X, y)
        np.testing.assert_allclose(model.objective_, 60.0 * C, rtol=1e-3)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_tables_of_codes_end(C):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (300, 5)).astype(float) * [1.0, 1.0, 100.0, 1e4, 1.0]
    y = (X[:, 0] + X[:, 2] / 100 + rng.normal(size=300) > 2).astype(int)
    for kernel in ("linear", "rbf", "poly"):
        solved(SVC(kernel=kernel, C=C), X, y)


# ---- weights, forms and searches ---------------------------------------------------------------


def test_sample_weights_and_balanced_classes_end():
    weights = np.random.default_rng(4).uniform(0.0, 3.0, len(ILL)).round()
    assert (weights == 0).any()
    model = solved(SVC(kernel="linear", C=100.0), CANCER, ILL, sample_weight=weights)
    kept = weights > 0
    alone = solved(
        SVC(kernel="linear", C=100.0), CANCER[kept], ILL[kept], sample_weight=weights[kept]
    )
    np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-6)
    solved(SVC(kernel="linear", C=100.0, class_weight="balanced"), CANCER, ILL)
    solved(SVC(kernel="linear", C=1e4, class_weight="balanced", multi_class="ovr"), WINE, GROWERS)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_sparse_and_precomputed_samples_end_at_the_optimum_of_dense_ones(C):
    dense = solved(SVC(kernel="linear", C=C), CANCER, ILL)
    sparse = solved(SVC(kernel="linear", C=C), csr_array(CANCER), ILL)
    np.testing.assert_allclose(sparse.objective_, dense.objective_, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of its violation
        matrix = SVC(kernel="precomputed", C=C).fit(CANCER @ CANCER.T, ILL)
    np.testing.assert_allclose(matrix.objective_, dense.objective_, rtol=1e-4)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_probabilities_of_raw_columns_end(scheme):
    model = SVC(kernel="linear", C=100.0, calibration="sigmoid", multi_class=scheme, random_state=0)
    P = solved(model, WINE, GROWERS).predict_proba(WINE)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(WINE))


def test_a_warm_start_over_a_growing_c_ends_at_the_optimum_of_each():
    model = SVC(kernel="linear", warm_start=True)
    for C in (1e-2, 1.0, 100.0, 1e4):
        solved(model.set_params(C=C), CANCER, ILL)
        alone = solved(SVC(kernel="linear", C=C), CANCER, ILL)
        np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-3)


@pytest.mark.parametrize("device", ["cpu"])
def test_a_search_over_raw_columns_ends(device):
    search = SVCCV(Cs=[1.0, 100.0, 1e4], kernels=["linear"], cv=3, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        search.fit(CANCER, ILL)
    assert search.best_score_ >= 0.93
    assert (search.best_estimator_.dual_gap_ <= 1e-3).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_nu_machines_of_raw_columns_end(kernel):
    for X, y in ((CANCER, ILL), (WINE, GROWERS)):
        solved(NuSVC(nu=0.2, kernel=kernel), X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            one = OneClassSVM(nu=0.2, kernel=kernel).fit(X)
        assert np.all(one.dual_gap_ <= 1e-3)


def test_an_indefinite_matrix_has_no_gap_and_ends():
    K = np.tanh(1e-6 * CANCER @ CANCER.T - 1.0)
    model = SVC(kernel="precomputed", C=1e4, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, ILL)
    assert np.isnan(model.dual_gap_).all()
    assert np.isfinite(model.violation_).all()


# ---- what is stored ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize(("X", "y"), [(CANCER, ILL), (WINE, GROWERS)], ids=["two", "three"])
def test_a_linear_kernel_predicts_by_its_weights_and_intercepts(X, y, scheme):
    model = solved(SVC(kernel="linear", C=1e4, multi_class=scheme), X, y)
    assert model._support.weights is not None
    scores = X @ model.coef_.T + model.intercept_
    sizes = np.abs(X) @ np.abs(model.coef_.T) + np.abs(model.intercept_)
    assert (np.abs(model.boundary_scores(X) - scores) <= 1e-12 * sizes).all()
    np.testing.assert_array_equal(model.coef_, model._support.weights)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_the_gap_of_the_stored_weights_intercept_and_coefficients_holds_in_exact_arithmetic(C):
    X, y = CANCER[::6, :8], ILL[::6]
    model = solved(SVC(kernel="linear", C=C), X, y)
    fit = model._fits[0]
    problem = ExactProblem(
        Linear(), X[fit.rows], fit.y, [Fraction(C)] * len(y), fit.alpha, model.intercept_[0],
        model.coef_[0],
    )  # fmt: skip
    scores = [s + problem.intercept for s in problem.sums]
    loss = sum(max(1 - side * s, 0) for side, s in zip(problem.y, scores, strict=True))
    alpha = problem.feasible(problem.box, None)
    primal = problem.square / 2 + Fraction(C) * loss
    dual = sum(alpha) - problem.inner(alpha) / 2
    assert 0 <= (primal - dual) / max(primal, 1) <= model.dual_gap_[0] <= 1e-3


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize(("X", "y"), [(CANCER, ILL), (WINE, GROWERS)], ids=["two", "three"])
@pytest.mark.parametrize("slim", [False, True])
def test_a_model_from_a_file_predicts_bit_for_bit_the_same(X, y, scheme, slim, tmp_path):
    model = solved(SVC(kernel="linear", C=1e4, multi_class=scheme), X, y)
    assert model._support.weights is not None
    separatrix.save(model, tmp_path / "model.sxm", slim=slim)
    again = separatrix.load(tmp_path / "model.sxm")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ---- both solvers ------------------------------------------------------------------------------


def random_problem(seed):
    """A kernel, samples in class order, their sides and upper bounds: overlapping, repeated, scaled."""
    rng = np.random.default_rng(seed)
    n, d = 2 * int(rng.integers(3, 30)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    X[n // 2 :] += rng.choice([0.3, 1.0, 3.0])
    if rng.random() < 0.3:
        X = X.round()
    if rng.random() < 0.3:
        X = X[np.r_[rng.integers(0, n // 2, n // 2), rng.integers(n // 2, n, n // 2)]]
    X *= 10.0 ** rng.uniform(-1, 1)
    kernels = Linear(), Linear(), Gaussian(float(1.0 / d)), Polynomial(2, 1.0, 1.0)
    box = np.full(n, 10.0 ** rng.uniform(-2, 2))
    if rng.random() < 0.4:
        box *= rng.choice([0.0, 0.5, 1.0, 2.0], n)
        box[[0, -1]] = 1.0
    return kernels[rng.integers(4)], X, np.repeat([-1, 1], n // 2), box


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 120), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_working_sets_and_the_interior_point_have_equal_objectives(seeds, monkeypatch):
    """Dual values in rational arithmetic, of coefficients made feasible, differ by 1e-6 at most."""
    for seed in seeds:
        kernel, X, y, box = random_problem(seed)
        n = len(y)
        duals = []
        for limit in (NEVER, 0):
            monkeypatch.setattr(
                smo, "steps_before", lambda gram, sizes, *_, n=limit: np.full(len(sizes), n)
            )
            segments = (slice(0, n // 2), slice(n // 2, n))
            gram = make_gram(kernel, X, segments=segments, tolerance=1e-12)
            [fit] = solve_svms(
                gram, [SvmProblem(np.array([-1, 1], np.int8), box)], tol=1e-8, max_iter=3_000_000
            )
            bounds = [Fraction(float(C)) for C in fit.box]
            problem = ExactProblem(kernel, X[fit.rows], fit.y, bounds, fit.alpha, fit.intercept)
            alpha = problem.feasible(bounds, None)
            duals.append(sum(alpha) - problem.inner(alpha) / 2)
        worst = abs(duals[0] - duals[1]) / max(abs(duals[0]), abs(duals[1]))
        assert worst <= 1e-6, (seed, kernel, float(worst))


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_objectives_on_standardised_columns_are_scikit_learns(C):
    X = (CANCER - CANCER.mean(axis=0)) / CANCER.std(axis=0)
    model = solved(SVC(kernel="linear", C=C, tol=1e-6), X, ILL)
    peer = Peer(kernel="linear", C=C, tol=1e-6).fit(X, ILL)
    theirs = np.abs(peer.dual_coef_).sum() - 0.5 * np.square(peer.coef_).sum()
    np.testing.assert_allclose(model.objective_, theirs, rtol=1e-6)
