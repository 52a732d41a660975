import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from tests.reference_loops import kernel_perceptron

from separatrix import KernelPerceptron, KernelPerceptronCV
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.multiclass import LabelledGram
from separatrix.kernels import Gaussian, Linear, Polynomial

X, Y = load_iris(return_X_y=True)
DIGITS, LABELS = load_digits(return_X_y=True)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
@pytest.mark.parametrize("predictor", ["last", "average"])
def test_the_model_is_that_of_the_plain_loop(multi_class, predictor):
    K = Gaussian(0.5).block(X, X)
    model = KernelPerceptron(
        Gaussian(0.5), multi_class=multi_class, predictor=predictor, max_iter=3, shuffle=False
    ).fit(X, Y)
    mistakes, coef = kernel_perceptron(
        K, Y, np.arange(150), 3, multi_class, 3, [np.arange(150)] * 3
    )
    if predictor == "average":
        coef[:] = 0.0
        steps = 150 * model.n_iter_
        for epoch, row, changes in mistakes:
            for column, delta in changes.items():
                coef[row, column] += delta * (1 - (150 * epoch + row) / steps)
    support = sorted({row for _, row, _ in mistakes})
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(model.alpha_, coef[support], atol=1e-12)
    np.testing.assert_allclose(model.boundary_scores(X), K @ coef, atol=1e-9)
    np.testing.assert_array_equal(model.support_vectors_, X[support])


def test_a_matrix_and_a_callable_give_the_model_of_the_kernel():
    K = Gaussian(0.5).block(X, X)
    named = KernelPerceptron(Gaussian(0.5)).fit(X, Y)
    from_matrix = KernelPerceptron("precomputed").fit(K, Y)
    np.testing.assert_array_equal(from_matrix.support_, named.support_)
    np.testing.assert_array_equal(from_matrix.predict(K[:9]), named.predict(X[:9]))
    called = KernelPerceptron(lambda A, B: Gaussian(0.5).block(A, B)).fit(X, Y)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
def test_memory_changes_the_form_of_the_matrix_and_not_the_model(multi_class, predictor):
    samples = np.round(DIGITS)[:900]
    held, cached, lazy = (
        KernelPerceptron(
            Polynomial(2), multi_class=multi_class, predictor=predictor, max_iter=3, cache_size=size
        ).fit(samples, LABELS[:900])
        for size in (None, 2.0, 0.5)
    )
    assert [model.gram_.split("(")[0] for model in (held, cached, lazy)] == [
        "HeldGram",
        "CachedGram",
        "LazyGram",
    ]
    for other in (cached, lazy):
        np.testing.assert_array_equal(other.support_, held.support_)
        np.testing.assert_allclose(other.alpha_, held.alpha_, atol=1e-12)
        np.testing.assert_array_equal(other.predict(DIGITS), held.predict(DIGITS))


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
@pytest.mark.parametrize("budget", [None, 400])
def test_rows_classified_on_the_gram_are_predictions_of_the_fitted_model(
    multi_class, predictor, budget
):
    if budget and predictor in ("vote", "random"):
        pytest.skip("refused: the budget keeps no list of mistakes")
    from separatrix.kernels.gram import make_gram

    model = KernelPerceptron(
        Polynomial(2), multi_class=multi_class, predictor=predictor, budget=budget, max_iter=2
    )
    rows = np.arange(0, 900, 2)
    fitted = model.fit(DIGITS[rows], LABELS[rows])
    data = LabelledGram(make_gram(Polynomial(2), DIGITS[:900]), LABELS[:900], 10)
    result = model.classify_rows(data, rows)
    everything = np.arange(900)
    if predictor == "random":  # one draw for each row: the draws differ with the rows asked about
        assert np.mean(result.codes(everything) == LABELS[:900]) > 0.5
        return
    np.testing.assert_array_equal(result.codes(everything), fitted.predict(DIGITS[:900]))
    np.testing.assert_allclose(
        result.values(everything), fitted.decision_function(DIGITS[:900]), rtol=1e-6, atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [{}, {"multi_class": "ovo", "predictor": "average"}, {"budget": 60}]
)
@pytest.mark.parametrize("samples", [X, csr_array(X)], ids=["dense", "sparse"])
def test_a_stream_gives_the_model_of_one_pass(parameters, samples):
    order = np.random.default_rng(0).permutation(150)
    samples, labels = samples[order], Y[order]
    whole = KernelPerceptron(Gaussian(0.5), shuffle=False, max_iter=1, **parameters).fit(
        samples, labels
    )
    stream = KernelPerceptron(Gaussian(0.5), shuffle=False, **parameters)
    for start in (0, 40, 41, 100):
        stop = {0: 40, 40: 41, 41: 100, 100: 150}[start]
        stream.partial_fit(samples[start:stop], labels[start:stop], classes=[0, 1, 2])
    np.testing.assert_array_equal(stream.support_, whole.support_)
    np.testing.assert_allclose(stream.alpha_, whole.alpha_, atol=1e-6)
    np.testing.assert_allclose(
        stream.decision_function(samples), whole.decision_function(samples), atol=1e-5
    )
    assert stream.mistakes_.sum() == whole.mistakes_.sum()
    assert len(stream.mistakes_) == 4


def test_a_stream_must_name_its_classes_and_cannot_be_a_matrix():
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        KernelPerceptron().partial_fit(X, Y)
    assert not hasattr(KernelPerceptron("precomputed"), "partial_fit")


def test_a_stream_goes_on_only_with_the_parameters_and_classes_it_began_with():
    model = KernelPerceptron(Gaussian(0.5), max_iter=20).fit(X, Y)
    with pytest.raises(
        ParameterError, match="`budget` of KernelPerceptron must be None, as at the start"
    ):
        model.set_params(budget=5).partial_fit(X, Y)
    with pytest.raises(ParameterError, match=r"`multi_class` .* must be 'auto', as at the start"):
        model.set_params(budget=None, multi_class="ovo").partial_fit(X, Y)
    with pytest.raises(DataError, match="is not the same as on the first call"):
        model.set_params(multi_class="auto").partial_fit(X, Y, classes=[0, 1])


def test_min_gain_stops_with_a_budget_too():
    model = KernelPerceptron(Gaussian(0.5), budget=5, min_gain=0.5, max_iter=50).fit(X, Y)
    assert model.stop_ == "min_gain"
    assert model.n_iter_ == 2


@pytest.mark.parametrize("budget", [1, 20, 100])
def test_the_budget_bounds_the_support_and_more_of_it_helps(budget):
    model = KernelPerceptron(Gaussian(0.001), budget=budget, max_iter=3).fit(
        DIGITS[:1200], LABELS[:1200]
    )
    assert len(model.support_) <= budget
    if budget == 100:
        assert model.score(DIGITS[1200:], LABELS[1200:]) > 0.85


def test_margins_never_overrule_votes():
    from separatrix.estimators.base.multiclass import decision_values

    rng = np.random.default_rng(0)
    S = rng.normal(size=(500, 10)) * 10.0 ** rng.integers(-8, 9, size=(500, 1))
    plain, with_margin = decision_values(S, 5, "ovo"), decision_values(S, 5, "ovo", ties="margin")
    most = plain.max(axis=1)
    np.testing.assert_array_equal(plain[np.arange(500), with_margin.argmax(axis=1)], most)


def test_a_learning_rate_changes_no_prediction():
    one, tenth = (KernelPerceptron(eta0=eta0, max_iter=5).fit(X, Y) for eta0 in (1.0, 0.1))
    np.testing.assert_array_equal(one.support_, tenth.support_)
    np.testing.assert_allclose(tenth.alpha_, 0.1 * one.alpha_)


@pytest.mark.parametrize(
    ("multi_class", "by_vote", "by_boundary"), [("ovo", 0.842, 0.743), ("ovr", 0.862, 0.683)]
)
def test_the_first_epoch_of_digits_is_counted_by_the_combined_prediction(
    multi_class, by_vote, by_boundary
):
    model = KernelPerceptron(Polynomial(3), multi_class=multi_class, shuffle=False, max_iter=3)
    model.fit(DIGITS[:600] / 16, LABELS[:600])
    assert model.learning_curve_[0] == pytest.approx(by_vote, abs=5e-4)
    assert model.boundary_curve_[0] == pytest.approx(by_boundary, abs=5e-4)


@pytest.mark.parametrize("ties", ["lowest", "margin"])
@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
def test_the_learning_curve_is_of_predictions_made_before_learning(multi_class, ties):
    rows = np.random.default_rng(0).permutation(150)[:60]
    rest = {"multi_class": multi_class, "ties": ties, "shuffle": False}
    whole = KernelPerceptron(Gaussian(0.5), max_iter=1, **rest).fit(X[rows], Y[rows])
    stream = KernelPerceptron(Gaussian(0.5), **rest)
    stream.partial_fit(X[rows[:1]], Y[rows[:1]], classes=[0, 1, 2])
    right = [stream.learning_curve_[0]]
    for row in rows[1:]:
        right.append(float(stream.predict(X[[row]])[0] == Y[row]))
        stream.partial_fit(X[[row]], Y[[row]])
        assert stream.learning_curve_[-1] == right[-1]
    assert whole.learning_curve_[0] == pytest.approx(np.mean(right))


@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
def test_rosenblatts_bias_is_the_dual_of_the_linear_perceptron(predictor):
    from separatrix import Perceptron

    samples, labels = np.round(10 * X), (Y == 1).astype(int)  # whole numbers: sums are exact
    rest = {"predictor": predictor, "max_iter": 6, "random_state": 3}
    dual = KernelPerceptron(Linear(), bias="rosenblatt", **rest).fit(samples, labels)
    primal = Perceptron(bias="radius", tol=None, **rest).fit(samples, labels)
    np.testing.assert_array_equal(dual.mistakes_, primal.mistakes_)
    np.testing.assert_array_equal(dual.learning_curve_, primal.learning_curve_)
    if predictor in ("last", "average"):
        np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9)
        np.testing.assert_allclose(dual.alpha_.T @ dual.support_vectors_, primal.coef_, rtol=1e-9)
    values = dual.decision_function(samples), primal.decision_function(samples)
    np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)


def test_a_bias_streams_and_is_refused_with_a_budget_and_on_a_gpu():
    from separatrix.errors import DeviceError

    rest = {"bias": "rosenblatt", "shuffle": False}
    whole = KernelPerceptron(Gaussian(0.5), max_iter=1, **rest).fit(X, Y)
    stream = KernelPerceptron(Gaussian(0.5), **rest)
    for part in (slice(0, 40), slice(40, 150)):
        stream.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(stream.support_, whole.support_)
    np.testing.assert_allclose(stream.intercept_, whole.intercept_, atol=1e-9)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-5)
    with pytest.raises(
        ParameterError, match=r"`bias` .* None when a budget is set; got 'rosenblatt'"
    ):
        KernelPerceptron(budget=5, bias="rosenblatt").fit(X, Y)
    with pytest.raises(DeviceError, match="cannot run on a GPU with a bias; use device='cpu'"):
        KernelPerceptron(device="cuda", bias="rosenblatt").fit(X, Y)
    with pytest.raises(ParameterError, match=r"`bias` .* must be None, as at the start"):
        KernelPerceptron().fit(X, Y).set_params(bias="rosenblatt").partial_fit(X, Y)


def test_rows_classified_with_a_bias_are_predictions_of_the_fitted_model():
    from separatrix.kernels.gram import make_gram

    rows = np.arange(0, 150, 2)
    for predictor in ("last", "average", "vote"):
        model = KernelPerceptron(Linear(), bias="rosenblatt", predictor=predictor, max_iter=4)
        fitted = model.fit(X[rows], Y[rows])
        result = model.classify_rows(LabelledGram(make_gram(Linear(), X), Y, 3), rows)
        np.testing.assert_array_equal(result.codes(np.arange(150)), fitted.predict(X))


@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
def test_argmax_on_two_classes_has_a_coefficient_for_each(predictor):
    labels, K = (Y == 1).astype(int), Gaussian(0.5).block(X, X)
    rest = {"multi_class": "argmax", "shuffle": False, "max_iter": 4}
    model = KernelPerceptron(Gaussian(0.5), predictor=predictor, **rest).fit(X, labels)
    coef = np.zeros((150, 2))
    for _ in range(4):
        for t in range(150):
            guess = int(np.argmax(coef.T @ K[t]))
            if guess != labels[t]:
                coef[t, labels[t]] += 1
                coef[t, guess] -= 1
    assert model.alpha_.shape[1] == 2
    if predictor == "last":
        np.testing.assert_array_equal(model.alpha_, coef[model.support_])
        np.testing.assert_array_equal(model.predict(X), (K @ coef).argmax(axis=1))
    assert model.decision_function(X).shape == (150,)
    assert model.boundary_scores(X).shape == (150, 2)
    assert model.score(X, labels) > 0.85


def test_learning_curve_and_reason_to_stop_are_kept():
    model = KernelPerceptron(Polynomial(3), max_iter=50).fit(DIGITS, LABELS)
    assert model.stop_ == "clean pass"
    assert model.mistakes_[-1] == 0
    assert model.learning_curve_[-1] == 1.0
    assert len(model.mistakes_) == model.n_iter_


def test_a_limit_that_is_reached_is_said_with_numbers():
    with pytest.warns(
        ConvergenceWarning,
        match=r"still made \d+ mistakes in pass 2 \(max_iter reached, a clean pass",
    ) as caught:
        KernelPerceptron("linear", max_iter=2).fit(X, Y)
    assert caught[0].filename == __file__


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["argmax", "ovo"])
def test_the_search_scores_folds_as_grid_search_does(multi_class):
    kernels = [Linear(), Polynomial(2), Gaussian(0.001)]
    model = KernelPerceptron(max_iter=3, multi_class=multi_class)
    folds = StratifiedKFold(4)
    search = KernelPerceptronCV(kernels, cv=folds, estimator=model).fit(DIGITS, LABELS)
    grid = GridSearchCV(model, {"kernel": kernels}, cv=folds).fit(DIGITS, LABELS)
    for key in ("split0_test_score", "mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(search.cv_results_[key], grid.cv_results_[key], atol=1e-12)
    assert search.best_kernel_ == grid.best_params_["kernel"]
    np.testing.assert_array_equal(search.predict(DIGITS), grid.predict(DIGITS))


def test_the_search_has_widths_of_its_own():
    search = KernelPerceptronCV(cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 9
    assert search.score(X, Y) > 0.9


@pytest.mark.long
def test_raw_mnist_reaches_the_published_error(mnist):
    model = KernelPerceptron(
        Polynomial(4, coef0=1.0), multi_class="ovr", predictor="average", max_iter=10
    ).fit(mnist.X, mnist.y)
    error = 100 * (1 - model.score(mnist.X_test, mnist.y_test))
    assert error == pytest.approx(1.54, abs=0.1)


def test_a_stream_that_failed_at_once_can_begin_again():
    model = KernelPerceptron(lambda A, B: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    model.set_params(kernel="rbf").partial_fit(X, Y, classes=[0, 1, 2])
    fresh = KernelPerceptron("rbf").partial_fit(X, Y, classes=[0, 1, 2])
    np.testing.assert_array_equal(model.alpha_, fresh.alpha_)


def test_whole_numbers_reach_a_callable_kernel_as_floats():
    bytes_ = np.round(10 * X).astype(np.uint8)
    one, two = (
        KernelPerceptron(lambda A, B: A @ B.T, max_iter=3)
        .fit(samples, Y)
        .decision_function(samples)
        for samples in (bytes_, bytes_.astype(float))
    )
    np.testing.assert_array_equal(one, two)


def test_a_budget_beyond_all_samples_takes_no_more_memory():
    model = KernelPerceptron(Gaussian(0.5), budget=10**9, max_iter=3).fit(X, Y)
    assert len(model.support_) <= 150


def test_half_precision_matrices_and_numpy_counts_are_taken():
    K = Gaussian(0.5).block(X, X).astype(np.float16)
    model = KernelPerceptron("precomputed", predictor="vote", n_jobs=np.int64(2)).fit(K, Y)
    assert model.score(K, Y) > 0.9
