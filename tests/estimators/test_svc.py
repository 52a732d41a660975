import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from separatrix import SVC, kkt_report
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import Gaussian
from separatrix.solvers.decomposition import coding

X, Y = load_iris(return_X_y=True)
DIGITS, LABELS = load_digits(return_X_y=True)
CANCER, ILL = load_breast_cancer(return_X_y=True)


def certificates(model, K, y, C):
    """Largest violation and relative gap over all boundaries, from scratch in float64."""
    support, worst, widest = model.support_, 0.0, 0.0
    codes = np.searchsorted(model.classes_, y)
    coef = np.zeros((len(model.intercept_), len(y)))
    coef[:, support] = model._support.columns()
    sides = coding(len(model.classes_), model.multi_class)
    for p, bias in enumerate(model.intercept_):
        rows = np.flatnonzero(sides[codes, p])
        target, alpha = sides[codes[rows], p].astype(float), np.abs(coef[p, rows])
        scores = K[np.ix_(rows, rows)] @ coef[p, rows]
        up = np.where(target > 0, alpha < C, alpha > 0)
        down = np.where(target > 0, alpha > 0, alpha < C)
        errors = target - scores
        worst = max(worst, errors[up].max() - errors[down].min())
        square = coef[p, rows] @ scores
        primal = square / 2 + C * np.maximum(0, 1 - target * (scores + bias)).sum()
        dual = alpha.sum() - square / 2
        widest = max(widest, (primal - dual) / max(abs(primal), 1))
    return worst, widest


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": "sigmoid", "gamma": 0.01},
        {"C": 50.0, "gamma": 0.5},
        {"C": 0.01},
        {"class_weight": "balanced"},
        {"class_weight": {0: 5.0, 2: 0.5}},
    ],
)
@pytest.mark.parametrize(("samples", "labels"), [(X, Y), (X[:100], Y[:100] * 2)])
def test_it_is_scikit_learns_machine(parameters, samples, labels):
    ours, theirs = SVC(tol=1e-10, **parameters), sklearn.svm.SVC(tol=1e-10, **parameters)
    for weights in (None, np.linspace(0.1, 2.0, len(labels))):  # theirs miscounts after a 0
        ours.fit(samples, labels, sample_weight=weights)
        theirs.fit(samples, labels, sample_weight=weights)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
        np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape
        # LIBSVM keeps kernel values in float32: at this tol its own violation is 3e-5, ours 1e-10
        scale = np.abs(theirs.dual_coef_).max()
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=5e-4 * scale)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-4)
        np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
        np.testing.assert_array_equal(ours.predict(samples), theirs.predict(samples))
        for shape in ("ovo", "ovr"):
            ours.decision_function_shape = theirs.decision_function_shape = shape
            values, others = ours.decision_function(samples), theirs.decision_function(samples)
            np.testing.assert_allclose(values, others, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("C", "gamma"), [(1.0, "scale"), (10.0, 0.001), (1000.0, 0.0005)])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_both_certificates_hold_in_float64(C, gamma, multi_class):
    model = SVC(C=C, gamma=gamma, multi_class=multi_class).fit(DIGITS, LABELS)
    K = model.kernel_.block(DIGITS, DIGITS)
    violation, gap = certificates(model, K, LABELS, C)
    assert violation <= 1e-3
    assert gap <= 1e-3
    np.testing.assert_allclose(model.violation_.max(), violation, atol=1e-6)


def test_a_float32_matrix_keeps_the_certificate(monkeypatch):
    import separatrix.kernels.prepared as vectors

    monkeypatch.setattr(vectors, "SMALL", 0)
    model = SVC(C=10.0, gamma=0.001).fit(DIGITS, LABELS)
    assert "float32" in model.gram_
    violation, gap = certificates(model, model.kernel_.block(DIGITS, DIGITS), LABELS, 10.0)
    assert violation <= 1.02e-3  # kernel values themselves are off by up to 1e-6
    assert gap <= 1e-3


def test_large_coefficients_are_found_again_in_float64(monkeypatch):
    import separatrix.kernels.prepared as vectors

    monkeypatch.setattr(vectors, "SMALL", 0)
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(400, 3))
    labels = (samples[:, 0] > 0) ^ (rng.random(400) < 0.1)
    model = SVC(C=1e4, gamma=0.05).fit(samples, labels)
    assert "float64" in model.gram_
    violation, _ = certificates(model, model.kernel_.block(samples, samples), labels, 1e4)
    assert violation <= 1.001e-3
    assert "float32" in SVC(C=1.0, gamma=0.05).fit(samples, labels).gram_


def test_every_form_of_the_samples_gives_the_same_machine():
    kernel = Gaussian(0.1)
    plain = SVC(kernel=kernel).fit(X, Y)
    forms = {
        "sparse": (SVC(kernel=kernel), csr_array(X), csr_array(X)),
        "named": (SVC(gamma=0.1), X, X),
        "callable": (SVC(kernel=lambda A, B: kernel.block(A, B)), X, X),
        "matrix": (SVC(kernel="precomputed"), kernel.block(X, X), kernel.block(X, X)),
        "float32": (SVC(kernel=kernel), X.astype(np.float32), X.astype(np.float32)),
        "little memory": (SVC(kernel=kernel, cache_size=0.05), X, X),
    }
    for name, (model, samples, asked) in forms.items():
        model.fit(samples, Y)
        np.testing.assert_array_equal(model.support_, plain.support_, err_msg=name)
        values = model.decision_function(asked)
        np.testing.assert_allclose(values, plain.decision_function(X), atol=1e-3, err_msg=name)
    assert forms["sparse"][0].dual_coef_.toarray().shape == plain.dual_coef_.shape
    assert SVC(kernel=kernel, n_jobs=1).fit(X, Y).intercept_.tolist() == plain.intercept_.tolist()


def test_a_linear_kernel_has_weights():
    for samples in (X, csr_array(X)):
        ours = SVC(kernel="linear").fit(samples, Y)
        theirs = sklearn.svm.SVC(kernel="linear").fit(samples, Y)
        dense = [c.toarray() if hasattr(c, "toarray") else c for c in (ours.coef_, theirs.coef_)]
        np.testing.assert_allclose(*dense, atol=2e-3)
    np.testing.assert_allclose(ours.margin_width_, 2 / np.linalg.norm(dense[0], axis=1), rtol=1e-6)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X, Y).coef_


def test_against_the_rest_each_class_is_its_own_machine():
    model = SVC(multi_class="ovr", gamma=0.1).fit(X, Y)
    for c in range(3):
        single = SVC(gamma=0.1).fit(X, c == Y)
        np.testing.assert_allclose(
            model.decision_function(X)[:, c], single.decision_function(X), atol=2e-3
        )
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_margins_and_slack_of_the_training_rows():
    model = SVC(C=2.0, gamma=0.5).fit(CANCER[:, :5], ILL)
    margins, slack = model.training_margins()
    values = np.where(ILL == 1, 1, -1) * model.decision_function(CANCER[:, :5])
    np.testing.assert_allclose(margins, values, atol=1e-5)
    np.testing.assert_allclose(slack, np.maximum(0, 1 - values), atol=1e-5)
    of_three, _ = SVC().fit(X, Y).training_margins()
    assert of_three.shape == (150, 3)
    np.testing.assert_array_equal(np.isnan(of_three).sum(axis=0), [50, 50, 50])


def test_an_explanation_is_the_largest_terms_of_the_sum():
    for labels in (Y, (Y == 2).astype(int)):
        model = SVC(gamma=0.3, decision_function_shape="ovo").fit(X, labels)
        found = model.explain(X[::7], n_terms=150)
        assert found.rows.shape == (22, len(model.support_))
        assert (np.diff(np.abs(found.terms), axis=1) <= 0).all()
        np.testing.assert_array_equal(found.predicted, model.predict(X[::7]))
        np.testing.assert_array_equal(found.labels, labels[found.rows])
        S, bias = model.boundary_scores(X[::7]), model.intercept_
        sides = coding(len(model.classes_), "ovo")[np.searchsorted(model.classes_, found.predicted)]
        np.testing.assert_allclose(found.terms.sum(axis=1), ((S - bias) * sides).sum(axis=1))
        three = model.explain(X[::7], n_terms=3)
        np.testing.assert_array_equal(three.rows, found.rows[:, :3])


def test_a_warm_start_begins_where_the_last_fit_ended():
    model = SVC(C=10.0, gamma=0.001, warm_start=True).fit(DIGITS, LABELS)
    first = model.objective_
    assert model.fit(DIGITS, LABELS).n_iter_.sum() == 0
    np.testing.assert_allclose(model.objective_, first, rtol=1e-9)
    steps = model.set_params(C=12.0).fit(DIGITS, LABELS).n_iter_.sum()
    assert steps < SVC(C=12.0, gamma=0.001).fit(DIGITS, LABELS).n_iter_.sum()
    model.fit(X, Y)  # other samples: from nothing
    np.testing.assert_array_equal(model.predict(X), SVC(C=12.0, gamma=0.001).fit(X, Y).predict(X))


def test_a_warm_start_goes_on_if_samples_were_added():
    options = {"C": 10.0, "gamma": 0.001}
    n = len(DIGITS) * 9 // 10
    model = SVC(**options, warm_start=True).fit(DIGITS[:n], LABELS[:n]).fit(DIGITS, LABELS)
    whole = SVC(**options).fit(DIGITS, LABELS)
    assert model.n_iter_.sum() < 0.8 * whole.n_iter_.sum()
    np.testing.assert_allclose(model.objective_, whole.objective_, rtol=2e-3)
    swapped = LABELS.copy()
    swapped[0] = LABELS[LABELS[0] != LABELS][0]  # a row on another side: from nothing
    again = SVC(**options).fit(DIGITS, swapped)
    np.testing.assert_array_equal(model.fit(DIGITS, swapped).n_iter_, again.n_iter_)


def test_the_documents_scaling_is_C_of_one_half():
    """Their primal |w|^2 + sum of slack is twice ours at C = 1/2; their lambda is twice alpha."""
    samples, labels = CANCER[:, :4] / CANCER[:, :4].std(axis=0), np.where(ILL == 1, 1.0, -1.0)
    model = SVC(kernel="linear", C=0.5, tol=1e-8).fit(samples, labels)
    lam = np.zeros(len(labels))
    lam[model.support_] = 2 * np.abs(model.dual_coef_[0])
    assert ((lam >= 0) & (lam <= 1)).all()
    assert abs(lam @ labels) < 1e-8
    w = 0.5 * (lam * labels) @ samples
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-9)
    slack = np.maximum(0, 1 - labels * (samples @ w + model.intercept_[0]))
    primal = w @ w + slack.sum()
    dual = lam.sum() - 0.25 * (lam * labels) @ (samples @ samples.T) @ (lam * labels)
    np.testing.assert_allclose(primal, dual, rtol=1e-6)
    np.testing.assert_allclose(2 * model.objective_[0], dual, rtol=1e-9)
    on_margin = (lam > 0) & (lam < 1)
    np.testing.assert_allclose(
        model.intercept_[0], (labels - samples @ w)[on_margin].mean(), atol=1e-7
    )


def test_a_hard_margin_is_the_widest():
    samples, labels = make_blobs(60, centers=[[-4, 0], [4, 0]], random_state=0)
    model = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(samples, labels)
    margins, slack = model.training_margins()
    assert margins.min() > 1 - 1e-5
    assert slack.max() < 1e-5
    wide = sklearn.svm.SVC(kernel="linear", C=1e6, tol=1e-6).fit(samples, labels)
    np.testing.assert_allclose(model.coef_, wide.coef_, rtol=1e-3)
    closest = np.abs(samples @ model.coef_[0] + model.intercept_[0]).min()
    distance = closest / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(2 * distance, model.margin_width_[0], rtol=1e-4)


def test_a_hard_margin_that_does_not_exist_is_refused():
    with pytest.raises(DataError, match=r"C=inf .* cannot be separated .* give a finite C"):
        SVC(kernel="linear", C=float("inf")).fit(X[50:], Y[50:])
    SVC(kernel="linear", C=float("inf")).fit(X[:100], Y[:100])


def test_the_report_of_the_conditions():
    model = SVC(gamma=0.2).fit(X, Y)
    report = kkt_report(model)
    assert len(report.rows) == 3
    for row, violation in zip(report.rows, model.violation_, strict=True):
        assert row.n_zero + row.n_free + row.n_bound == 100
        assert max(row.worst_zero, row.worst_free, row.worst_bound) <= violation + 1e-12
        assert row.violation == violation
    lines = str(report).splitlines()
    assert lines[0].split()[:3] == ["boundary", "a=0", "free"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(NotFittedError):
        kkt_report(SVC())
    with pytest.raises(ParameterError, match="a fitted SVC"):
        kkt_report(sklearn.svm.SVC().fit(X, Y))


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("labels", [Y, (Y == 1).astype(int)], ids=["three", "two"])
def test_the_likeliest_class_is_the_predicted_one(method, multi_class, labels):
    rng = np.random.default_rng(0)
    model = SVC(gamma=0.05, C=0.3, calibration=method, multi_class=multi_class, random_state=0)
    model.fit(X, labels)
    asked = np.vstack([X, rng.uniform(-5, 15, size=(3000, 4)), np.full((1, 4), 1e4)])
    P = model.predict_proba(asked)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(asked))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(model.predict_log_proba(asked), np.log(P))
    again = clone(model).fit(X, labels)
    np.testing.assert_array_equal(again.predict_proba(asked), P)


def test_tied_votes_have_the_predicted_class_first():
    angles = np.arange(3) * 2 * np.pi / 3
    centres = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    samples = np.repeat(centres, 8, axis=0) + np.random.default_rng(0).normal(size=(24, 2)) * 0.8
    model = SVC(kernel="linear", calibration="sigmoid", random_state=0)
    model.fit(samples, np.repeat([0, 1, 2], 8))
    around = np.random.default_rng(1).normal(size=(20_000, 2))
    votes = model.boundary_scores(around) > 0
    tied = votes[:, 0] & ~votes[:, 1] & votes[:, 2] | ~votes[:, 0] & votes[:, 1] & ~votes[:, 2]
    assert tied.any()
    assert (model.predict(around[tied]) == 0).all()
    assert (model.predict_proba(around[tied]).argmax(axis=1) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_probabilities_are_as_good_as_those_of_calibrated_classifier_cv(method):
    for samples, labels, parameters in [
        (DIGITS, LABELS, {"C": 10.0, "gamma": 0.001}),
        (CANCER, ILL, {"C": 10.0}),
    ]:
        a, b, s, t = train_test_split(samples, labels, test_size=0.4, random_state=0)
        ours = SVC(**parameters, calibration=method, random_state=0).fit(a, s)
        peer = CalibratedClassifierCV(sklearn.svm.SVC(**parameters), ensemble=False).fit(a, s)
        mine, theirs = log_loss(t, ours.predict_proba(b)), log_loss(t, peer.predict_proba(b))
        assert mine < 1.25 * theirs, (mine, theirs)


def test_probability_is_scikit_learns_name_for_it():
    with pytest.warns(FutureWarning, match="deprecated"):
        model = SVC(probability=True, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        model.predict_proba(X),
        SVC(calibration="sigmoid", random_state=0).fit(X, Y).predict_proba(X),
    )
    assert not hasattr(SVC(), "predict_proba")
    late = SVC().fit(X, Y).set_params(calibration="sigmoid")
    with pytest.raises(NotFittedError, match="fit again"):
        late.predict_proba(X)


def test_one_row_in_a_class_learns_probabilities_in_sample_and_says_so():
    with pytest.warns(UserWarning, match="fewer than 2 samples"):
        model = SVC(calibration="sigmoid").fit(X[:101], Y[:101])
    P = model.predict_proba(X)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))


def test_features_of_1e8_are_solved_to_a_small_gap():
    model = SVC(kernel="linear").fit(1e8 * X, Y)
    assert set(model.stop_) == {"tol"}
    assert model.dual_gap_.max() <= 1e-3


def hard_inputs():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(80, 3)) * [1.0, 1e6, 1e-6]
    noise = rng.normal(size=(60, 4))
    yield "C=1e6", {"C": 1e6}, CANCER[:200, :5], ILL[:200]
    yield "C=1e6 on noise", {"C": 1e6, "gamma": 10.0}, noise, rng.integers(0, 2, 60)
    yield "unscaled", {}, wide, (wide[:, 0] > 0).astype(int)
    yield "unscaled linear", {"kernel": "linear", "max_iter": 10_000}, wide, wide[:, 0] > 0
    yield "opposite labels", {"C": 1e6}, np.vstack([noise, noise]), np.repeat([0, 1], 60)
    yield "one row each", {}, noise[:2], [0, 1]
    yield "one row each of three", {}, noise[:3], [0, 1, 2]
    yield "constant features", {}, np.ones((20, 3)), np.arange(20) % 2
    yield "constant zero", {"kernel": "linear"}, np.zeros((20, 3)), np.arange(20) % 2
    yield "indefinite", {"kernel": "sigmoid", "gamma": 2.0, "coef0": -1.0}, noise, noise[:, 0] > 0
    yield "indefinite, C=1e6", {"kernel": "sigmoid", "C": 1e6}, noise, noise[:, 0] > 0
    yield "tiny C", {"C": 1e-300}, X, Y
    yield "huge polynomial", {"kernel": "poly", "degree": 9, "max_iter": 10_000}, 100 * X, Y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "samples", "labels"),
    [case[1:] for case in hard_inputs()],
    ids=[case[0] for case in hard_inputs()],
)
def test_hard_inputs_converge_or_say_what_was_reached(parameters, samples, labels):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(**parameters).fit(samples, labels)
    assert np.isfinite(model.decision_function(samples)).all()
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    if (model.violation_ > 1e-3).any():
        assert any("wanted 0.001" in message for message in said), caught
        assert model.fit_status_ == 1
    else:
        assert model.fit_status_ == 0
        assert not said


def test_rows_of_weight_zero_and_a_class_of_them():
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    weighted = SVC(gamma=0.1).fit(X, Y, sample_weight=weights)
    without = SVC(gamma=0.1).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(weights)[without.support_])
    np.testing.assert_array_equal(weighted.predict(X), without.predict(X))
    K = np.asarray(X @ X.T)
    kernel = SVC(kernel="precomputed").fit(K, Y, sample_weight=weights)
    linear = SVC(kernel="linear").fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(kernel.support_, np.flatnonzero(weights)[linear.support_])
    gone = SVC().fit(X, Y, sample_weight=(Y != 1).astype(float))
    assert 1 not in gone.predict(X)


def test_steps_and_time_that_ran_out_are_told_and_leave_a_model():
    with pytest.warns(
        ConvergenceWarning, match=r"\(max_iter=5\).*raise `max_iter`.*3 of 3 .*wanted 0.001"
    ):
        model = SVC(max_iter=5, C=100).fit(X, Y)
    assert model.fit_status_ == 1
    assert (model.n_iter_ == 5).all()
    assert model.predict(X).shape == (150,)


def test_ties_can_be_broken_by_the_margins():
    model = SVC(break_ties=True, kernel="linear").fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
    model.decision_function_shape = "ovo"
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


def test_many_rows_are_scored_as_precisely_as_few_where_kernel_values_cancel():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 20)).astype(np.float32)
    y = (X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=1500) > 2.5).astype(int) + (X[:, 5] > 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the gap
        model = SVC(kernel="poly", coef0=1.0, gamma=3.0, multi_class="ovr").fit(X, y)
    many = rng.random((10_000, 20)).astype(np.float32)
    parts = [model.decision_function(part) for part in np.array_split(many, 20)]
    np.testing.assert_allclose(model.decision_function(many), np.vstack(parts), atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_hard_margin_between_samples_in_one_place_is_refused(kernel):
    """All kernel values are equal, and about the mean those of a linear kernel are 0."""
    X, y = np.ones((10, 2)), np.arange(10) % 2
    with pytest.raises(DataError, match="cannot be separated"):
        SVC(C=np.inf, kernel=kernel).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("by_class", [False, True])
def test_classes_without_weight_leave_the_boundary_of_the_others_as_it_is(kernel, scheme, by_class):
    """Nothing but 0 is the solution of a boundary between two of them."""
    X, y = make_blobs(80, n_features=3, centers=4, cluster_std=2.0, random_state=0)
    weights = np.isin(y, [0, 3]).astype(float)
    model = SVC(
        kernel=kernel,
        multi_class=scheme,
        gamma=0.1,
        class_weight={1: 0, 2: 0} if by_class else None,
        decision_function_shape="ovo",
    ).fit(X, y, sample_weight=None if by_class else weights)
    assert model.stop_ == ["tol"] * len(model.stop_)
    assert (model.dual_gap_ <= 1e-3).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(X)).all()
    codes = model.predict(X)
    assert set(codes) == {0, 3}
    kept = weights > 0
    alone = SVC(kernel=kernel, gamma=0.1).fit(X[kept], y[kept])
    if scheme == "ovo":
        assert (model.objective_ > 0).sum() == 1
        np.testing.assert_array_equal(codes, alone.predict(X))


def test_a_hard_margin_is_fitted_beside_classes_without_weight():
    X, y = make_blobs(80, n_features=3, centers=4, cluster_std=2.0, random_state=0)
    model = SVC(C=np.inf, gamma=1.0).fit(X, y, sample_weight=np.isin(y, [0, 3]).astype(float))
    assert set(model.stop_) == {"tol"}
    assert (model.dual_gap_ < 1e-3).all()


@pytest.mark.parametrize("seed", [0, 3, 5, 6])
def test_a_hard_margin_that_overflows_is_refused(seed):
    """An indefinite kernel: the dual grows without bound, until its coefficients are no numbers."""
    X, y = make_blobs(41, centers=3, cluster_std=0.6, center_box=(-5, 5), random_state=seed)
    with np.errstate(all="ignore"), pytest.raises(DataError, match="cannot be separated"):
        SVC(C=np.inf, kernel="sigmoid", gamma=1.0, coef0=1.0).fit(X, y)
