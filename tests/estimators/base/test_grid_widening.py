import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from separatrix import (
    SVC,
    SVCCV,
    BernoulliNB,
    GaussianNB,
    KernelPerceptron,
    KernelPerceptronCV,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.errors import ParameterError
from separatrix.estimators.base.grid_widening import (
    GridAxis,
    WideningSearchCV,
    find_edges,
    search_widening,
)
from separatrix.kernels import Gaussian, Polynomial

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
CHESS = RNG.uniform(0, 5, size=(500, 2))  # squares much smaller than the spread of the samples
AVERAGED = KernelPerceptron(predictor="average", max_iter=50, min_gain=0.001)
SQUARE = (np.floor(CHESS).sum(axis=1) % 2).astype(int)


def peak_at(*wanted):
    return lambda cells: [
        -sum(abs(i - j) for i, j in zip(cell, wanted, strict=True)) for cell in cells
    ]


@pytest.mark.parametrize("peak", [(0, 0), (5, 5), (-3, 5), (1, -2), (5, 1)])
def test_a_peak_beyond_the_grid_is_found_without_trying_everything(peak):
    axes = [GridAxis((0.1, 1.0, 10.0), widen=3), GridAxis((1.0, 4.0, 16.0), widen=3)]
    best, tried = search_widening(axes, peak_at(*peak))
    assert best == peak
    assert len(tried) < 9 * 9 / 2
    assert len(tried) == len(set(tried))


def test_the_limit_is_kept_and_said():
    axes = {"C": GridAxis((0.1, 1.0), widen=1), "gamma": GridAxis((1.0, 2.0), widen=1)}
    best, tried = search_widening(list(axes.values()), peak_at(7, 1))
    assert best == (2, 1)
    assert find_edges(axes, tried, best) == {"C": "largest"}
    assert axes["C"].at(2) == 10.0
    assert axes["C"].at(-1) == 0.01


def test_a_plateau_is_not_followed():
    axes = [GridAxis((0.1, 1.0, 10.0), widen=3)]
    for heights in ([0.5, 1.0, 1.0], [1.0, 1.0, 0.5]):
        best, tried = search_widening(axes, lambda cells, h=heights: [h[c] for (c,) in cells])
        assert best == (heights.index(1.0),)
        assert len(tried) == 3
        assert find_edges({"C": axes[0]}, tried, best) == {}


def test_a_grid_without_any_difference_is_left_upwards():
    axes = [GridAxis((0.1, 1.0), widen=3), GridAxis((1.0, 4.0), widen=3)]
    best, tried = search_widening(axes, lambda cells: [max(0, c + g - 4) for c, g in cells])
    assert axes[0].at(best[0]) == 1000.0
    assert axes[1].at(best[1]) == 256.0
    assert all(c >= 0 and g >= 0 for c, g in tried)


def test_words_and_failures_widen_nothing():
    axes = [GridAxis(("a", "b"), widen=2), GridAxis((1.0,), widen=1)]
    best, tried = search_widening(axes, lambda cells: [np.nan if c[1] else 1.0 for c in cells])
    assert best == (0, 0)
    assert {cell[1] for cell in tried} == {-1, 0, 1}
    assert {cell[0] for cell in tried} == {0, 1}


def test_a_widened_search_has_scikit_learns_scores():
    ours = WideningSearchCV(LogisticRegression(), {"C": [1e-4, 1e-3]}, cv=5, widen=3).fit(X, Y)
    tried = [cell["C"] for cell in ours.cv_results_["params"]]
    assert tried[:3] == [1e-4, 1e-3, 1e-2]
    theirs = GridSearchCV(LogisticRegression(), {"C": tried}, cv=5).fit(X, Y)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert ours.best_params_ == theirs.best_params_
    with pytest.raises(ParameterError, match="`widen` of WideningSearchCV"):
        WideningSearchCV(LogisticRegression(), {"C": [1.0]}, widen=-1).fit(X, Y)


def test_values_that_a_model_does_not_take_are_not_followed():
    """A share cannot be above 1."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 20))  # the strongest shrinkage is best
    search = WideningSearchCV(
        QuadraticDiscriminantAnalysis(), {"reg_param": [0.2, 0.6]}, cv=3, widen=2
    )
    search.fit(noise + 2 * (np.arange(60) % 2)[:, None], np.arange(60) % 2)
    assert all(cell["reg_param"] <= 1 for cell in search.cv_results_["params"])
    with pytest.raises(ValueError, match="fits failed") as failed:
        WideningSearchCV(QuadraticDiscriminantAnalysis(), {"reg_param": [2.0, 3.0]}).fit(X, Y)
    assert isinstance(failed.value.__cause__, ParameterError)  # of the first fit


def test_a_mistake_in_a_classifier_is_not_taken_for_a_failed_fit():
    class Wrong(LogisticRegression):
        def fit(self, X, y):
            raise TypeError("a mistake")

    with pytest.raises(TypeError, match="a mistake"):
        WideningSearchCV(Wrong(), {"C": [0.1, 1.0]}).fit(X, Y)


def test_widened_cells_of_an_svm_are_those_of_a_grid_search():
    how = {"Cs": [0.01, 0.1], "gammas": [0.001, 0.004], "cv": 3}
    ours = SVCCV(**how, widen=3).fit(X, Y)
    cells = ours.cv_results_["params"]
    assert len(cells) > 4
    assert ours.best_params_["C"] > 0.1
    for cell, score in zip(cells, ours.cv_results_["mean_test_score"], strict=True):
        alone = SVCCV([cell["C"]], [cell["gamma"]], cv=3).fit(X, Y)
        assert alone.best_score_ == pytest.approx(score, abs=1 / 150 + 1e-9)
    assert ours.best_score_ > SVCCV(**how).fit(X, Y).best_score_


def test_small_structures_are_found_beyond_the_first_values_of_gamma():
    """Squares of a chess board: gamma="scale" is far too small."""
    scaled = StandardScaler().fit_transform(CHESS)
    for search in (
        SVCCV((0.1, 1.0, 10.0), "scale", cv=3, widen=2),
        KernelPerceptronCV([Gaussian()], gammas="scale", cv=3, widen=2, estimator=AVERAGED),
    ):
        narrow = search.__class__(**{**search.get_params(deep=False), "widen": 0})
        wide, fixed = search.fit(scaled, SQUARE), narrow.fit(scaled, SQUARE)
        assert fixed.edges_["gamma"] == "largest"
        assert "gamma" not in wide.edges_
        assert 1 - wide.best_score_ < 0.75 * (1 - fixed.best_score_)


def test_kernels_and_gammas_are_crossed():
    kernels = [Polynomial(2, coef0=1.0), Polynomial(3, coef0=1.0)]
    search = SVCCV([1.0], [0.1, 1.0], kernels=kernels, cv=3).fit(X, Y)
    assert search.cv_results_["param_kernel"] == [
        kernel.with_params(gamma=gamma) for kernel in kernels for gamma in (0.1, 1.0)
    ]
    same = SVC(C=1.0, kernel=search.best_params_["kernel"]).fit(X, Y)
    np.testing.assert_array_equal(search.predict(X), same.predict(X))
    with pytest.raises(ParameterError, match="which has none"):
        SVCCV([1.0], [0.1], kernels=["linear"]).fit(X, Y)


def test_all_kernel_machines_choose_from_the_same_range():
    unit = 1.0 / (X.shape[1] * X.var())
    machine = SVCCV([1.0], "scale", cv=3).fit(X, Y)
    perceptron = KernelPerceptronCV([Gaussian()], gammas="scale", cv=3, estimator=AVERAGED)
    perceptron.fit(X, Y)
    assert machine.cv_results_["param_gamma"] == pytest.approx([unit / 4, unit, 4 * unit])
    gammas = [kernel.gamma for kernel in perceptron.cv_results_["param_kernel"]]
    assert machine.cv_results_["param_gamma"] == gammas


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_a_search_fold_by_fold_is_that_of_grid_search(sparse):
    X, y = load_iris(return_X_y=True)
    X = csr_array(X) if sparse else X
    models = [
        WideningSearchCV(LogisticRegression(), {"C": [0.001, 0.01]}, cv=4, scoring=scoring)
        for scoring in (None, "accuracy")  # with a name, it is scikit-learn's own loop
    ]
    plain, other = (model.fit(X, np.array(["a", "b", "c"])[y]) for model in models)
    assert "mean_fit_time" not in plain.cv_results_
    assert "mean_fit_time" in other.cv_results_
    assert plain.cv_results_["params"] == other.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "split3_test_score"):
        np.testing.assert_allclose(plain.cv_results_[name], other.cv_results_[name], rtol=1e-12)
    assert plain.best_params_ == other.best_params_
    assert plain.edges_ == other.edges_
    np.testing.assert_array_equal(plain.predict(X), other.predict(X))
    np.testing.assert_array_equal(plain.classes_, other.classes_)
    assert plain.score(X, np.array(["a", "b", "c"])[y]) == other.score(
        X, np.array(["a", "b", "c"])[y]
    )


def test_cells_that_fail_are_counted_by_grid_search():
    X, y = load_iris(return_X_y=True)
    search = WideningSearchCV(LogisticRegression(), {"C": [-1.0]}, cv=3, widen=0)
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(X, y)


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression(solver="lbfgs")])
@pytest.mark.parametrize("labels", [Y, Y == 1])
def test_a_loose_search_chooses_alike_and_its_answer_has_the_full_tolerance(model, labels):
    grid = {"C": [0.01, 1.0, 100.0]}
    loose = WideningSearchCV(model, grid, cv=3, widen=0, search_tol=0.01).fit(X, labels)
    exact = WideningSearchCV(model, grid, cv=3, widen=0).fit(X, labels)
    found, wanted = (s.cv_results_["mean_test_score"] for s in (loose, exact))
    np.testing.assert_allclose(found, wanted, atol=2 / 150)
    alone = clone(model).set_params(**loose.best_params_).fit(X, labels)
    np.testing.assert_array_equal(loose.best_estimator_.coef_, alone.coef_)
    assert loose.best_estimator_.tol == model.tol


@pytest.mark.parametrize("model", [LinearSVC(tol=1e-6), LogisticRegression(tol=1e-6)])
@pytest.mark.parametrize("labels", [Y, Y == 1])
def test_a_fit_from_a_near_one_takes_fewer_steps_to_the_same_solution(model, labels):
    alone = clone(model).set_params(C=2.0).fit(X, labels)
    near = clone(model).set_params(C=2.0)
    near._near = clone(model).set_params(C=1.9).fit(X, labels)
    near.fit(X, labels)
    assert np.max(near.n_iter_) < np.max(alone.n_iter_)
    np.testing.assert_allclose(near.coef_, alone.coef_, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(near.objective_, alone.objective_, rtol=1e-6)


def test_cells_with_parameters_of_an_inner_estimator_are_set():
    search = WideningSearchCV(
        SVC(kernel=Gaussian(1.0)), {"kernel__gamma": [0.1, 1.0]}, cv=3, widen=0
    )
    plain = GridSearchCV(SVC(kernel=Gaussian(1.0)), {"kernel__gamma": [0.1, 1.0]}, cv=3)
    ours, theirs = (s.fit(X, Y).cv_results_["mean_test_score"] for s in (search, plain))
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    ("model", "first", "values"),
    [
        (GaussianNB(), {}, {"var_smoothing": 0.1}),
        (LinearDiscriminantAnalysis("lsqr"), {"shrinkage": "auto"}, {"shrinkage": 0.1}),
        (QuadraticDiscriminantAnalysis(), {"reg_param": 0.5}, {"reg_param": 0.01}),
        (BernoulliNB(binarize=2.0), {"alpha": 3.0}, {"alpha": 0.1}),
    ],
)
def test_a_fit_from_the_sums_of_another_cell_is_that_to_the_samples(model, first, values):
    other = clone(model).set_params(**first).fit(X, Y)
    again = clone(model).set_params(**values)
    assert again._can_fit_again(other, values.keys())
    again._fit_again(other)
    alone = clone(model).set_params(**values).fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X), alone.predict_proba(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("model", "first", "values"),
    [
        (BernoulliNB(), {"binarize": 1.0}, {"binarize": 2.0}),  # counts other things
        (
            LinearDiscriminantAnalysis("lsqr"),
            {"shrinkage": 0.1},
            {"shrinkage": "auto"},
        ),  # reads rows
    ],
)
def test_a_cell_whose_sums_are_others_is_fitted_to_the_samples(model, first, values):
    other = clone(model).set_params(**first).fit(X, Y)
    assert not clone(model).set_params(**values)._can_fit_again(other, values.keys())
    grid = {name: [first[name], value] for name, value in values.items()}
    search = WideningSearchCV(model, grid, cv=3, widen=0).fit(X, Y)
    theirs = GridSearchCV(model, grid, cv=3).fit(X, Y)
    for name in ("mean_test_score", "split0_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], theirs.cv_results_[name])
