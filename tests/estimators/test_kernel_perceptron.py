import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from tests.reference_loops import kernel_perceptron

from separatrix import KernelPerceptron, KernelPerceptronCV
from separatrix.errors import DataError, ParameterError
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
    result = model.classify_rows(
        make_gram(Polynomial(2), DIGITS[:900]), LABELS[:900], rows, n_classes=10
    )
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
        model.set_params(multi_class="argmax").partial_fit(X, Y, classes=[0, 1])


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
