import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import KNeighborsClassifier
from separatrix.errors import DataError, ParameterError
from separatrix.report import plot_k

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return KNeighborsClassifier(k_max=30).fit(X, Y)


def words_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def band_of(axes, position):
    """Lower and upper edge of a band, by k."""
    corners = axes.collections[position].get_paths()[0].vertices
    return [
        np.array([edge(corners[corners[:, 0] == k, 1]) for k in np.unique(corners[:, 0])])
        for edge in (np.min, np.max)
    ]


def test_the_curve_of_a_model_is_drawn_with_its_best_and_its_standard_error(model):
    (axes,) = plot_k(model).axes
    curve, best = axes.lines
    accuracy = model.accuracy_by_k_
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(1, 31))
    np.testing.assert_allclose(curve.get_ydata(), 100 * accuracy)
    (k,), (height,) = best.get_data()
    assert (k, height) == (model.best_k_, pytest.approx(100 * accuracy.max()))
    spread = 100 * np.sqrt(accuracy * (1 - accuracy) / 150)
    np.testing.assert_allclose(band_of(axes, 0), [100 * accuracy - spread, 100 * accuracy + spread])
    assert words_of(axes) == [
        "each left out, n = 150: best 98.00 % at k = 19",
        "± 1 standard error",
    ]
    assert axes.get_ylabel() == "accuracy, %"


def test_errors_are_what_accuracies_leave(model):
    (axes,) = plot_k(model, error=True).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 100 * (1 - model.accuracy_by_k_))
    assert axes.get_ylabel() == "error, %"
    assert words_of(axes)[0] == "each left out, n = 150: best 2.00 % at k = 19"


def test_the_smallest_of_equally_good_numbers_is_marked():
    (axes,) = plot_k([0.5, 0.75, 0.75]).axes
    assert words_of(axes) == ["best 75.00 % at k = 2"]
    assert not axes.collections


def test_a_band_stays_between_0_and_100():
    (axes,) = plot_k([0.01, 1.0, 0.99], n=20).axes
    low, high = band_of(axes, 0)
    assert (low.min(), high.max()) == (0.0, 100.0)


def test_curves_are_told_apart_by_name_and_may_differ_in_length(model):
    some = model.score_by_k(X[::3], Y[::3], 12)
    (axes,) = plot_k({"left out": model, "seen": some}, n={"seen": 50}).axes
    assert [len(line.get_xdata()) for line in axes.lines] == [30, 1, 12, 1]
    assert axes.lines[0].get_color() != axes.lines[2].get_color()
    assert axes.lines[1].get_marker() != axes.lines[3].get_marker()
    assert [word.split(":")[0] for word in words_of(axes)] == [
        "left out, n = 150",
        "seen, n = 50",
        "± 1 standard error",
    ]


def test_of_three_curves_the_standard_error_is_a_bar_at_the_best():
    (axes,) = plot_k({"a": [0.5, 0.6], "b": [0.8, 0.7], "c": [0.9, 0.9]}, n=100).axes
    ends = [bar.get_segments()[0] for bar in axes.collections]
    np.testing.assert_allclose([end[:, 0] for end in ends], [[2, 2], [1, 1], [1, 1]])
    np.testing.assert_allclose(ends[1][:, 1], [76, 84])
    assert words_of(axes)[-1] == "± 1 standard error"


@pytest.mark.parametrize(
    ("k_max", "ticks"),
    [(1, [1]), (3, [1, 2, 3]), (20, [1, 5, 10, 15, 20]), (99, [1, *range(10, 91, 10)])],
)
def test_ticks_are_whole_numbers_from_1_on(k_max, ticks):
    assert plot_k(np.full(k_max, 0.5)).axes[0].get_xticks().tolist() == ticks


def test_axes_may_be_given(model):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    right.set_xscale("log")
    assert plot_k(model, ax=right) is figure
    assert not left.lines
    assert len(right.lines) == 2
    figure.canvas.draw()


def test_a_model_that_counted_nothing_is_refused_with_what_to_do(model):
    with pytest.raises(NotFittedError):
        plot_k(KNeighborsClassifier(k_max=5))
    plain = KNeighborsClassifier().fit(X, Y)
    wanted = r"`model` of plot_k must be fitted with k_max, or accuracies such as model.score_by_k"
    for given in (
        plain,
        make_pipeline(StandardScaler(), plain),
        {"left out": model, "plain": plain},
    ):
        with pytest.raises(ParameterError, match=wanted):
            plot_k(given)
    with pytest.raises(ParameterError, match="None for a model, which knows its samples; got 9"):
        plot_k(model, n=9)


def test_a_pipeline_that_ends_in_a_model_is_that_model():
    scaled = make_pipeline(StandardScaler(), KNeighborsClassifier(k_max=8)).fit(X, Y)
    (axes,) = plot_k(scaled).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 100 * scaled[-1].accuracy_by_k_)


def test_a_number_of_samples_is_for_the_curves_that_are_no_models(model):
    (axes,) = plot_k({"left out": model, "seen": [0.5, 0.6]}, n=40).axes
    assert [word.split(":")[0] for word in words_of(axes)][:2] == [
        "left out, n = 150",
        "seen, n = 40",
    ]


@pytest.mark.parametrize(
    ("given", "n", "sentence"),
    [
        ({}, None, "at least one curve; got none"),
        ([], None, r"for each number of neighbours; got shape \(0,\)"),
        ([[0.5], [0.6]], None, r"for each number of neighbours; got shape \(2, 1\)"),
        ([0.5, 98.0], None, "between 0 and 1; got 98"),
        ([0.5, np.nan], None, "between 0 and 1; got nan"),
        ([0.5], 0, "`n` of plot_k must be an integer of at least 1; got 0"),
        ({"a": [0.5]}, {"b": 9}, r"by name, of \['a'\]; got {'b': 9}"),
        ([0.5], {"a": 9}, "`n` of plot_k must be"),
    ],
)
def test_what_is_no_curve_is_refused(given, n, sentence):
    with pytest.raises((DataError, ParameterError), match=sentence):
        plot_k(given, n=n)
