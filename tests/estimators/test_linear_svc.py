import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Peer

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.linear_svc import LinearSVC

X, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
TWO = Y > 0  # versicolor and virginica overlap
WAYS = {
    "hinge": {"loss": "hinge"},
    "hinge, dual": {"loss": "hinge", "dual": True},
    "squared": {},
    "squared, dual": {"dual": True},
    "l1": {"penalty": "l1"},
    "together": {"multi_class": "crammer_singer"},
    "hinge, free": {"loss": "hinge", "regularize_intercept": False},
    "squared, free": {"regularize_intercept": False},
    "hinge, dual, free": {"loss": "hinge", "dual": True, "regularize_intercept": False},
    "l1, free": {"penalty": "l1", "regularize_intercept": False},
}
THEIRS = {name: way for name, way in WAYS.items() if "free" not in name}
TIGHT = {"tol": 1e-8, "max_iter": 10**6, "random_state": 0}


@pytest.fixture(params=WAYS, ids=lambda name: name)
def model(request):
    return LinearSVC(random_state=0, max_iter=20_000, **WAYS[request.param])


def objectives(model, samples, y, C=1.0):
    """What each boundary costs, from the formula."""
    found = []
    for c in range(len(model.coef_)):
        side = np.where(y == model.classes_[1 if len(model.coef_) == 1 else c], 1.0, -1.0)
        w, b = model.coef_[c], model.intercept_[c]
        slack = np.maximum(0, 1 - side * (samples @ w + b))
        bias = b / model.intercept_scaling if getattr(model, "regularize_intercept", True) else 0.0
        weights = np.append(w, bias)
        penalty = np.abs(weights).sum() if model.penalty == "l1" else weights @ weights / 2
        found.append(penalty + C * np.sum(slack if model.loss == "hinge" else slack**2))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("way", THEIRS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_are_scikit_learns_at_a_tight_tolerance(way, fit_intercept):
    options = TIGHT | THEIRS[way] | {"fit_intercept": fit_intercept, "C": 0.1}
    if way == "together":
        options |= {"tol": 1e-6}  # both are slow to meet less
    ours, theirs = (make(**options).fit(X, Y) for make in (LinearSVC, Peer))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("way", ["hinge", "hinge, dual", "squared", "squared, dual", "l1"])
def test_weights_of_samples_and_classes_and_the_constant_count_as_in_scikit_learn(way):
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=150)
    for class_weight in ({0: 2.0, 2: 0.5}, "balanced"):
        options = TIGHT | WAYS[way] | {"class_weight": class_weight, "intercept_scaling": 3.0}
        ours = LinearSVC(**options).fit(X, Y, sample_weight=weights)
        theirs = Peer(**options).fit(X, Y, sample_weight=weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("way", [name for name in WAYS if name != "together"])
def test_the_objective_is_the_formula_and_the_gap_bounds_it(way):
    tight = LinearSVC(**TIGHT | WAYS[way]).fit(X, Y)
    loose = LinearSVC(**TIGHT | WAYS[way] | {"tol": 0.1}).fit(X, Y)
    for fitted in (tight, loose):
        np.testing.assert_allclose(fitted.objective_, objectives(fitted, X, Y), rtol=1e-10)
    excess = (loose.objective_ - tight.objective_) / np.maximum(1.0, loose.objective_)
    assert (excess <= loose.dual_gap_ + 1e-9).all()
    assert (tight.dual_gap_ < 1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_no_higher_than_scikit_learns_at_the_default_tolerance(loss):
    digits, labels = load_digits(return_X_y=True)
    digits = digits / 16
    ours = LinearSVC(loss=loss, random_state=0).fit(digits, labels)
    theirs = Peer(loss=loss, random_state=0, max_iter=10_000).fit(digits, labels)
    assert (ours.objective_ <= objectives(theirs, digits, labels) * (1 + 1e-6)).all()
    assert (ours.dual_gap_ <= 1e-4).all()


@pytest.mark.parametrize("way", ["hinge, free", "hinge, dual, free"])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_a_free_bias_gives_the_machine_of_svc(way, C):
    model = LinearSVC(**TIGHT | WAYS[way] | {"C": C}).fit(X[TWO], Y[TWO])
    peer = SVC(kernel="linear", C=C, tol=1e-10).fit(X[TWO], Y[TWO])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)


def test_moving_all_samples_moves_only_a_free_bias():
    away = X[TWO] + 3.0
    for way in ("hinge, free", "squared, free"):
        here = LinearSVC(**TIGHT | WAYS[way]).fit(X[TWO], Y[TWO])
        there = LinearSVC(**TIGHT | WAYS[way]).fit(away, Y[TWO])
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)
        moved = here.intercept_ - 3.0 * here.coef_.sum()
        np.testing.assert_allclose(there.intercept_, moved, atol=1e-4)


@pytest.mark.slow
def test_dense_and_sparse_samples_give_the_same_model(model):
    tight = clone(model).set_params(tol=1e-7, max_iter=10**6)
    whole = np.round(2 * X) * (np.abs(X) > 0.8)
    dense = clone(tight).fit(whole, Y)
    for kind in (np.float64, np.float32):
        sparse = clone(tight).fit(csr_array(whole.astype(kind)), Y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)
        np.testing.assert_allclose(
            sparse.decision_function(csr_array(whole)), dense.decision_function(whole), atol=1e-3
        )


def test_the_number_of_threads_does_not_matter(model):
    one, two = (clone(model).set_params(n_jobs=n).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.dual_gap_, two.dual_gap_)


def test_the_order_of_samples_does_not_matter_at_a_tight_tolerance(model):
    order = np.random.default_rng(0).permutation(150)
    tight = clone(model).set_params(tol=1e-8, max_iter=10**6)
    here, there = clone(tight).fit(X, Y), clone(tight).fit(X[order], Y[order])
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)


def test_a_weight_of_zero_is_a_row_that_is_not_there(model):
    weights = np.ones(150)
    weights[::7] = 0.0
    tight = clone(model).set_params(tol=1e-8, max_iter=10**6)
    weighted = clone(tight).fit(X, Y, sample_weight=weights)
    without = clone(tight).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(weighted.coef_, without.coef_, atol=1e-5)


HARD = {
    "opposite labels": (np.repeat(X[:40], 2, axis=0), np.tile([0, 1], 40)),
    "one row per class": (X[[0, 60, 120]], Y[[0, 60, 120]]),
    "two rows": (X[[0, 60]], Y[[0, 60]]),
    "constant features": (np.c_[np.ones((150, 2)), X[:, :1]], Y),
    "nothing but constants": (np.ones((150, 3)), Y),
    "nothing at all": (np.zeros((150, 3)), Y),
    "unscaled": (X * [1e6, 1.0, 1e-6, 1e3], Y),
    "more features than samples": (
        np.random.default_rng(0).normal(size=(20, 90)),
        np.arange(20) % 3,
    ),
    "rows of zeros": (X * (np.arange(150) % 3 > 0)[:, None], Y),
}


@pytest.mark.slow
@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_hard_samples_converge_or_say_that_they_did_not(model, hard, sparse):
    samples, y = HARD[hard]
    samples = csr_array(samples) if sparse else samples
    for fit_intercept in (True, False):
        if not fit_intercept and not model.regularize_intercept:
            continue
        made = clone(model).set_params(fit_intercept=fit_intercept, max_iter=300, tol=1e-3)
        converged_or_warned(made, samples, y)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1e-9, 1e-4, 1e3, 1e6])
def test_any_price_converges_or_says_that_it_did_not(model, C):
    converged_or_warned(clone(model).set_params(C=C, max_iter=300), X, Y)


def converged_or_warned(model, samples, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(samples, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.dual_gap_).all()
    assert (model.dual_gap_ >= -1e-9).all()
    assert np.isfinite(model.decision_function(samples)).all()
    if not caught and model.penalty == "l2":
        assert (model.dual_gap_ < 0.2).all()


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("way", ["squared", "squared, free", "hinge", "hinge, free"])
def test_usual_prices_converge_to_a_small_gap(way, C):
    samples, y = load_breast_cancer(return_X_y=True)
    samples = StandardScaler().fit_transform(samples)
    model = LinearSVC(**WAYS[way], C=C, random_state=0).fit(samples, y)
    assert (model.dual_gap_ < 1e-3).all()


def test_values_that_would_overflow_are_refused(model):
    with pytest.raises(DataError, match="scale the features"):
        clone(model).fit(1e200 * X, Y)


def test_a_class_of_weight_zero_takes_no_part(model):
    fitted = clone(model).set_params(class_weight={2: 0.0}).fit(X, Y)
    assert np.isfinite(fitted.coef_).all()


def test_missing_the_tolerance_is_said_with_numbers_and_what_to_change(model):
    with pytest.warns(
        ConvergenceWarning, match=r"2 iterations \(max_iter\) at a violation of"
    ) as w:
        fitted = clone(model).set_params(max_iter=2, tol=1e-12).fit(X, Y)
    assert fitted.n_iter_ == 2
    assert isinstance(fitted.n_iter_, int)
    assert "tol=1e-12 wanted" in str(w[0].message)
    assert "raise max_iter or tol" in str(w[0].message)
    assert w[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="0 iterations"):
        assert clone(model).set_params(max_iter=0).fit(X, Y).score(X, Y) >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n", "d", "words"),
    [
        ({}, 40, 60, "dual coordinate descent: n=40 < d=60"),
        ({}, 60, 40, "primal Newton: n=60 >= d=40"),
        ({"loss": "hinge"}, 60, 40, "dual, then interior point: n=60 >= d=40"),
        ({}, 90, 80, "dual coordinate descent: d=80 > 70"),
        ({"dual": True}, 60, 40, "dual coordinate descent: dual=True"),
        ({"dual": np.False_}, 40, 60, "primal Newton: dual=False"),
        ({"penalty": "l1"}, 60, 40, "primal coordinate descent: penalty='l1'"),
        ({"multi_class": "crammer_singer"}, 60, 40, "dual, all classes together: multi_class"),
    ],
)
def test_the_solver_is_chosen_and_says_why(options, n, d, words, monkeypatch):
    monkeypatch.setattr("separatrix.estimators.base.linear_plan.DIRECT", 70)
    rng = np.random.default_rng(0)
    samples = csr_array((rng.random(size=(n, d)) < 0.02).astype(float))
    fitted = LinearSVC(random_state=0, **options).fit(samples, np.arange(n) % 2)
    assert fitted.solver_ == words
    assert repr(fitted).endswith(f"  # {words}")


def test_only_a_fitted_model_says_more_than_its_parameters():
    model = LinearSVC(C=2.0)
    assert repr(model) == "LinearSVC(C=2.0)"
    assert repr(clone(model.fit(X, Y))) == "LinearSVC(C=2.0)"
    assert repr(model) == "LinearSVC(C=2.0)  # primal Newton: n=150 >= d=4"
    pipeline = make_pipeline(StandardScaler(), LinearSVC(C=2.0)).fit(X, Y)
    assert "#" not in repr(pipeline)


@pytest.mark.parametrize("dual", [True, False, "auto"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_same_combinations_are_refused_as_in_scikit_learn(penalty, loss, dual):
    options = {"penalty": penalty, "loss": loss, "dual": dual, "max_iter": 10**5}
    try:
        Peer(**options).fit(X, Y)
    except ValueError:
        with pytest.raises(ParameterError, match="Unsupported set of arguments") as raised:
            LinearSVC(**options).fit(X, Y)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    else:
        LinearSVC(**options).fit(X, Y)


@pytest.mark.slow
def test_margins_and_distances_are_geometry():
    model = LinearSVC(loss="hinge", C=100.0, **TIGHT).fit(X[Y < 2], Y[Y < 2])
    distances = model.signed_distance(X[Y < 2])
    side = np.where(Y[Y < 2] == 1, 1.0, -1.0)
    assert model.margin_width_ == pytest.approx(2 / np.linalg.norm(model.coef_))
    assert (side * distances).min() == pytest.approx(model.margin_width_[0] / 2, rel=1e-4)
    np.testing.assert_allclose(
        LinearSVC().fit(X, Y).signed_distance(X).shape, (150, 3)
    )  # one for each boundary


@pytest.mark.slow
def test_weights_can_be_held_sparse():
    model = LinearSVC(penalty="l1", C=0.02, random_state=0).fit(X, Y)
    values = model.decision_function(X)
    assert issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), values)
    np.testing.assert_allclose(model.signed_distance(X).shape, (150, 3))
    assert isinstance(model.densify().densify().coef_, np.ndarray)
    for method in ("sparsify", "densify"):
        with pytest.raises(NotFittedError):
            getattr(LinearSVC(), method)()


@pytest.mark.slow
def test_a_linear_machine_tells_even_from_odd_as_published(mnist):
    train, test = mnist.X[:10_000] / 255.0, mnist.X_test / 255.0
    model = LinearSVC(C=0.01).fit(train, mnist.y[:10_000] % 2)
    assert model.score(test, mnist.y_test % 2) > 0.885  # 0.904 with all samples


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_own_tests_pass(monkeypatch, request):
    request.config.addinivalue_line("markers", "thread_unsafe: a mark of scikit-learn's")
    from sklearn.svm.tests import test_svm as theirs

    monkeypatch.setattr(theirs.svm, "LinearSVC", LinearSVC)
    for loss, penalty, dual in itertools.product(
        ("hinge", "squared_hinge"), ("l1", "l2"), (True, False)
    ):
        theirs.test_linearsvc_parameters(loss, penalty, dual, 42)
    theirs.test_linearsvc(42)
    theirs.test_linearsvc_crammer_singer(42)
    theirs.test_linearsvc_fit_sampleweight(42)
    theirs.test_crammer_singer_binary(42)
    theirs.test_linearsvc_iris(42)
    theirs.test_dense_liblinear_intercept_handling(LinearSVC, 42)
    theirs.test_liblinear_set_coef(42)
    theirs.test_linearsvc_verbose()
    theirs.test_lsvc_intercept_scaling_zero()
    theirs.test_auto_weight()
    for options in ({"penalty": "l1"}, {"dual": True}, {"dual": False}, {"loss": "hinge"}):
        theirs.test_linearsvm_liblinear_sample_weight(LinearSVC, options, 42)
    # test_linear_svm_convergence_warnings wants LIBLINEAR's words: see the test of warnings above


@pytest.mark.parametrize("seed", [1, 15])
def test_newton_goes_on_while_the_objective_falls(seed):
    from sklearn.datasets import make_blobs, make_classification

    if seed == 1:
        X, y = make_blobs(500, 100, centers=10, cluster_std=15.0, random_state=1)
        X, y, C, most = X[::2], np.minimum(y, 2)[::2], 1.0, 0.32
    else:
        X, y = make_classification(250, 100, n_informative=20, random_state=15)
        C, most = 1000.0, 9.51
    model = LinearSVC(C=C, max_iter=100_000).fit(X, y)
    assert np.sum(model.objective_) <= most
    assert np.max(model.dual_gap_) <= 1e-3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_small_violation_of_the_dual_is_not_taken_for_a_small_gap(seed):
    # coordinate descent alone met tol here, with a relative gap of 0.98
    model = LinearSVC(C=1e6, loss="hinge", max_iter=3000, random_state=seed).fit(X, Y)
    assert (model.dual_gap_ <= 1e-3).all()


@pytest.mark.parametrize("offset", [1e6, 1e9])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"regularize_intercept": False}, {"fit_intercept": False}], ids=str
)
def test_features_far_from_the_origin_keep_their_boundary(offset, classes, options):
    X, y = make_classification(300, 6, n_informative=4, n_classes=classes, random_state=0)
    # far away, the sum of all features does what a free bias does, at next to no penalty, and no more
    Z = X if "regularize_intercept" in options else X - X.mean(axis=1, keepdims=True)
    near = LinearSVC(tol=1e-8, regularize_intercept=False).fit(Z, y)
    far = LinearSVC(**options).fit(X + offset, y)

    assert (far.dual_gap_ < 1e-4).all()
    np.testing.assert_allclose(far.objective_, near.objective_, rtol=1e-3)
    scores = far.decision_function(X + offset)
    np.testing.assert_allclose(scores, near.decision_function(Z), atol=0.02)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l1", "dual": False},
        {"penalty": "l1", "dual": False, "regularize_intercept": False},
        {"dual": True},
        {"loss": "hinge", "dual": True},
        {"loss": "hinge", "regularize_intercept": False},
        {"multi_class": "crammer_singer"},
    ],
)
def test_a_gap_above_its_bound_comes_with_a_warning(options, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 60)), rng.integers(0, 2, 40)
    for C, scale in (
        (0.01, 1.0),
        (1.0, 1.0),
        (100.0, 1.0),
        (100.0, 100.0),
        (1e4, 1.0),
        (1e4, 100.0),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = LinearSVC(C=C, random_state=0, **options).fit(scale * X, y)
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        assert warned or (model.dual_gap_ <= 1e-3).all()
