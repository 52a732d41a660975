import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix.data.targets import indicator
from separatrix.estimators.subgradient_svc import SubgradientSVC

IMAGES, DIGITS = load_digits(return_X_y=True)
PIXELS = (IMAGES * 15).astype(np.uint8)
PARITY = indicator(DIGITS, {0, 2, 4, 6, 8})
X, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
SCALED = {"alpha": 0.1, "eps": 1e-4}  # for features of about 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "steps", "train", "test", "digits"),
    [
        (42_000, 7, 0.929, 0.927, {0, 1}),
        (33_600, 7, 0.929, 0.927, {0, 1}),
        (42_000, 12, 0.80, 0.80, {0, 2, 4, 6, 8}),
    ],
)
def test_the_texts_numbers_on_disjoint_parts(mnist, rows, steps, train, test, digits):
    """Its constants on raw pixels. It has about 42,000 rows; here the first `rows` of the 60,000
    train and the others test. Its rows are in another order, so the last digit differs."""
    y = indicator(mnist.y, digits)
    model = SubgradientSVC().fit(mnist.X[:rows], y[:rows])
    assert (model.stop_, model.n_iter_) == ("eps", steps)
    assert model.score(mnist.X[:rows], y[:rows]) == pytest.approx(train, abs=0.005)
    assert model.score(mnist.X[rows:], y[rows:]) == pytest.approx(test, abs=0.007)


def test_pixels_are_never_copied_to_floats(mnist):
    y = indicator(mnist.y, {0, 1})
    SubgradientSVC(max_iter=1, eps=1e9).fit(mnist.X[:100], y[:100])  # compiled before
    tracemalloc.start()
    for labels in (y, mnist.y):
        model = SubgradientSVC(max_iter=2, eps=1e9, keep_iterates=False).fit(mnist.X, labels)
        model.predict(mnist.X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < mnist.X.nbytes  # a float64 copy would take eight times that


def test_the_defaults_are_those_of_the_text():
    model = SubgradientSVC()
    assert (model.loss, model.alpha, model.eps, model.mu) == ("hinge", 1e-5, 1e-2, 1e-1)


def test_two_classes_give_flat_attributes():
    model = SubgradientSVC().fit(PIXELS, PARITY)
    k = model.n_iter_
    assert k > 1
    assert model.classes_.tolist() == [-1, 1]
    assert model.coef_.shape == (1, 64)
    assert model.intercept_.shape == (1,)
    assert model.iterates_.shape == (k + 1, 65)
    assert model.loss_curve_.shape == (k + 1,)
    assert model.average_iterate_.shape == (65,)
    np.testing.assert_array_equal(model.iterate_steps_, np.arange(k + 1))
    assert not model.iterates_[0].any()
    np.testing.assert_array_equal(model.iterates_[-1], np.r_[model.intercept_, model.coef_[0]])
    np.testing.assert_allclose(model.average_iterate_, model.iterates_.mean(axis=0), atol=1e-15)


def test_more_classes_have_one_descent_each():
    model = SubgradientSVC().fit(PIXELS, DIGITS)
    assert model.coef_.shape == (10, 64)
    assert model.iterates_.shape == (model.n_iter_ + 1, 10, 65)
    assert model.loss_curve_.shape == (model.n_iter_ + 1, 10)
    assert model.steps_.max() == model.n_iter_ > model.steps_.min()
    assert set(model.stops_) == {"eps"} == {model.stop_}
    for digit in (0, 3):
        alone = SubgradientSVC().fit(PIXELS, digit == DIGITS)
        assert alone.n_iter_ == model.steps_[digit]
        np.testing.assert_allclose(model.coef_[digit], alone.coef_[0], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(model.intercept_[digit], alone.intercept_[0], rtol=1e-9)
    scores = PIXELS @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(PIXELS), scores, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(PIXELS), scores.argmax(axis=1))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "sigmoid"])
def test_the_loss_curve_is_the_objective_at_every_iterate(loss):
    model = SubgradientSVC(loss, alpha=0.05, eps=1e-3, mu=0.2).fit(X[Y > 0], Y[Y > 0])
    y = np.where(Y[Y > 0] == 2, 1, -1)
    assert model.n_iter_ > 5
    for (w0, *w), f in zip(model.iterates_, model.loss_curve_, strict=True):
        t = y * (w0 + X[Y > 0] @ w)
        sigma = 1 / (1 + np.exp(-t))
        losses = {
            "hinge": np.maximum(0, 1 - t),
            "squared_hinge": np.maximum(0, 1 - t) ** 2,
            "logistic": -np.log(sigma),
            "sigmoid": -sigma,
        }
        assert f == pytest.approx(0.2 * np.dot(w, w) + losses[loss].mean(), rel=1e-12)
    changes = np.abs(np.diff(model.loss_curve_))
    assert (changes[:-1] > 1e-3).all()
    assert changes[-1] <= 1e-3


def test_small_steps_come_near_the_minimum_that_a_solver_finds():
    """mu |w|^2 + mean loss is 2 mu times LinearSVC's objective with C = 1 / (2 mu n)."""
    y = (Y == 2).astype(int)
    squared = SubgradientSVC("squared_hinge", alpha=0.05, eps=1e-13, mu=0.1, max_iter=20_000)
    squared.fit(X, y)
    peer = LinearSVC(C=1 / (2 * 0.1 * 150), tol=1e-10, intercept_scaling=1e4, max_iter=10**6)
    peer.fit(X, y)
    np.testing.assert_allclose(squared.coef_, peer.coef_, rtol=1e-3)
    np.testing.assert_allclose(squared.intercept_, peer.intercept_, rtol=1e-3)


def test_the_average_is_an_option():
    last, average = (SubgradientSVC(average=flag, **SCALED).fit(X, Y) for flag in (False, True))
    np.testing.assert_array_equal(last.iterates_, average.iterates_)
    np.testing.assert_array_equal(average.coef_, last.average_iterate_[:, 1:])
    np.testing.assert_array_equal(average.intercept_, last.average_iterate_[:, 0])
    assert (last.coef_ != average.coef_).any()
    for c, k in enumerate(last.steps_):
        mean = last.iterates_[: k + 1, c].mean(axis=0)
        np.testing.assert_allclose(last.average_iterate_[c], mean, rtol=1e-10, atol=1e-15)


def test_iterates_can_be_thinned_or_left_out():
    full = SubgradientSVC(**SCALED).fit(X, Y)
    thin = SubgradientSVC(keep_iterates=10, **SCALED).fit(X, Y)
    none = SubgradientSVC(keep_iterates=False, **SCALED).fit(X, Y)
    np.testing.assert_array_equal(thin.iterates_, full.iterates_[thin.iterate_steps_])
    assert thin.iterate_steps_[-1] == none.iterate_steps_[0] == full.n_iter_
    assert len(thin.iterates_) == -(-full.n_iter_ // 10) + 1
    np.testing.assert_array_equal(none.iterates_[0][:, 1:], full.coef_)
    for model in (thin, none):
        np.testing.assert_array_equal(model.loss_curve_, full.loss_curve_)


def test_iterates_that_do_not_fit_in_memory_are_thinned_aloud(monkeypatch):
    from separatrix.solvers import subgradient

    monkeypatch.setattr(subgradient, "default_budget", lambda: 2 * 10 * 5 * 8)
    with pytest.warns(UserWarning, match="kept those after every 8 steps: set keep_iterates"):
        model = SubgradientSVC(**SCALED).fit(X, Y == 0)
    assert model.iterate_steps_.tolist()[:3] == [0, 8, 16]


def test_a_score_of_zero_is_of_the_second_class():
    model = SubgradientSVC(**SCALED).fit([[-1.0], [1.0]], ["no", "yes"])
    assert model.intercept_[0] == 0.0
    assert model.decision_function([[0.0]])[0] == 0.0
    assert model.predict([[0.0], [-1e-9], [1e-9]]).tolist() == ["yes", "no", "yes"]
    ties = SubgradientSVC().fit(np.zeros((3, 1)), [2, 1, 0])
    assert len(set(ties.decision_function([[5.0]])[0])) == 1
    assert ties.predict([[5.0]]).tolist() == [0]


def test_a_fixed_step_may_never_meet_eps():
    points = [[-1.0], [0.0], [1.0]]
    with pytest.warns(ConvergenceWarning, match="may never meet eps: lower alpha"):
        model = SubgradientSVC(alpha=0.1, eps=1e-4).fit(points, [0, 1, 2])
    assert np.abs(np.diff(model.loss_curve_[-100:], axis=0)).max() > 0.01
    assert SubgradientSVC(alpha=1e-5, eps=1e-5).fit(points, [0, 1, 2]).stop_ == "eps"


def test_distances_and_the_margin():
    model = SubgradientSVC(**SCALED).fit(X, Y)
    norms = np.linalg.norm(model.coef_, axis=1)
    np.testing.assert_allclose(model.margin_width_, 2 / norms)
    np.testing.assert_allclose(model.signed_distance(X), model.decision_function(X) / norms)
    binary = SubgradientSVC(**SCALED).fit(X, Y == 0)
    on_the_margin = (
        binary.coef_[0] * (1 - binary.intercept_[0]) / (binary.coef_[0] @ binary.coef_[0])
    )
    assert binary.decision_function([on_the_margin])[0] == pytest.approx(1.0)
    assert binary.signed_distance([on_the_margin])[0] == pytest.approx(binary.margin_width_[0] / 2)


def test_without_weights_the_margin_is_infinite():
    flat = SubgradientSVC().fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert flat.margin_width_.tolist() == [np.inf]
    assert flat.signed_distance(np.ones((1, 2))).tolist() == [0.0]


@pytest.mark.parametrize("samples", [X, csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("labels", [Y, Y == 1], ids=["three", "two"])
def test_a_weight_is_a_row_repeated_and_zero_is_no_row(samples, labels):
    weights = np.arange(150) % 4
    rows = np.repeat(np.arange(150), weights)
    weighted = SubgradientSVC("logistic", **SCALED).fit(samples, labels, sample_weight=weights)
    repeated = SubgradientSVC("logistic", **SCALED).fit(samples[rows], labels[rows])
    np.testing.assert_allclose(weighted.iterates_, repeated.iterates_, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=1e-12)
    scaled = SubgradientSVC("logistic", **SCALED).fit(samples, labels, sample_weight=1e95 * weights)
    np.testing.assert_allclose(scaled.coef_, weighted.coef_, rtol=1e-9)


def test_a_class_weight_multiplies_the_losses_of_its_class():
    y = (Y == 2).astype(int)
    weighted = SubgradientSVC(class_weight={0: 3.0, 1: 0.5}, **SCALED).fit(X, y)
    t = np.where(y == 1, 1, -1) * weighted.decision_function(X)
    losses = np.where(y == 1, 0.5, 3.0) * np.maximum(0, 1 - t)
    objective = 0.1 * np.sum(weighted.coef_**2) + losses.mean()
    assert weighted.loss_curve_[-1] == pytest.approx(objective, rel=1e-12)
    assert weighted.loss_curve_[0] == pytest.approx((3.0 * 100 + 0.5 * 50) / 150)
    none = SubgradientSVC(class_weight={0: 0.0, 1: 0.0}, **SCALED).fit(X, y)
    assert not none.coef_.any()
    balanced = SubgradientSVC(class_weight="balanced", **SCALED).fit(X, y)
    assert balanced.loss_curve_[0] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "samples",
    [
        PIXELS.astype(np.float32),
        PIXELS.astype(np.int64),
        PIXELS.astype(float),
        np.asfortranarray(PIXELS),
        PIXELS.repeat(2, axis=1)[:, ::2],
        csr_array(PIXELS),
        csr_array(PIXELS.astype(float)),
    ],
    ids=["float32", "int64", "float64", "columns first", "strided", "sparse bytes", "sparse"],
)
def test_what_holds_the_pixels_does_not_matter(samples):
    for labels in (PARITY, DIGITS):
        expected = SubgradientSVC().fit(PIXELS, labels)
        model = SubgradientSVC().fit(samples, labels)
        np.testing.assert_allclose(model.iterates_, expected.iterates_, rtol=1e-8, atol=1e-14)
        np.testing.assert_array_equal(model.predict(samples), expected.predict(PIXELS))


def test_a_limit_that_is_reached_is_said_with_numbers():
    with pytest.warns(
        ConvergenceWarning,
        match=r"still changed by [\d.e-]+ in step 3 \(max_iter reached\), more than eps=0\.0001; .*"
        "lower alpha",
    ) as caught:
        model = SubgradientSVC(max_iter=3, **SCALED).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.stop_ == "max_iter"
    assert model.n_iter_ == 3


def test_one_boundary_that_misses_eps_is_enough_to_say_so():
    steps = SubgradientSVC(**SCALED).fit(X, Y).steps_
    with pytest.warns(ConvergenceWarning, match="max_iter reached"):
        model = SubgradientSVC(max_iter=int(steps.min()), **SCALED).fit(X, Y)
    assert model.stop_ == "max_iter"
    assert set(model.stops_) == {"eps", "max_iter"}


def test_a_step_too_large_is_said():
    with pytest.warns(
        ConvergenceWarning, match=r"overflowed in step \d+: alpha=10 is too large a step; lower it"
    ):
        model = SubgradientSVC("squared_hinge", alpha=10.0).fit(X * 100, Y)
    assert model.stop_ == "diverged"
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_samples_too_large_are_said():
    with pytest.warns(ConvergenceWarning, match="overflowed in step 1: .* scale the features"):
        model = SubgradientSVC().fit(X * 1e300, Y)
    assert not model.coef_.any()
    assert model.predict(X).shape == (150,)


def test_time_that_is_over_at_once_leaves_zero():
    with pytest.warns(ConvergenceWarning, match=r"no step was finished \(time_limit reached\)"):
        model = SubgradientSVC(time_limit=1e-9).fit(X, Y)
    assert (model.n_iter_, model.stop_) == (0, "stopped")
    assert np.isfinite(model.decision_function(X)).all()


def test_one_feature_and_mu_zero():
    model = SubgradientSVC(mu=0, alpha=1, eps=0, max_iter=500).fit(
        [[0], [1], [2], [3]], [0, 0, 1, 1]
    )
    assert model.stop_ == "eps"
    assert model.loss_curve_[-1] == model.loss_curve_[-2]
    assert model.predict([[0], [1], [2], [3]]).tolist() == [0, 0, 1, 1]
