import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB

from separatrix import Perceptron, evaluate
from separatrix.errors import DataError
from separatrix.estimators.decision import BayesDecision, cost_curve
from separatrix.plots.probabilities import plot_costs, plot_reliability

X, Y = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def found():
    return evaluate(GaussianNB(), X, Y, repeats=3)


def test_reliability_is_drawn_with_its_diagonal_and_how_many_rows(found):
    table = found.reliability(5)
    above, below = plot_reliability(found, bins=5).axes
    diagonal, line = above.lines
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    filled = table.count > 0
    np.testing.assert_array_equal(line.get_xdata(), table.confidence[filled])
    np.testing.assert_array_equal(line.get_ydata(), table.share[filled])
    assert [bar.get_height() for bar in below.patches] == table.count.tolist()
    assert f"expected calibration error {table.expected_calibration_error:.3f}" in above.get_title()
    assert "3 splits, 342 predictions" in above.get_title()
    assert below.get_xlabel() == "probability of class 1"


def test_of_several_classes_the_likeliest_is_drawn():
    flowers = evaluate(GaussianNB(), *load_iris(return_X_y=True), repeats=2)
    assert plot_reliability(flowers).axes[1].get_xlabel() == "probability of the likeliest class"
    with pytest.raises(DataError, match="has no probabilities"):
        plot_reliability(evaluate(Perceptron(), X, Y, repeats=1))


def test_costs_are_drawn_as_steps_with_the_best_marked():
    model = BayesDecision(GaussianNB(), [[0, 10], [1, 0]], threshold="tune").fit(X, Y)
    curve = model.held_out_curve_
    (axes,) = plot_costs(curve).axes
    steps, best = axes.lines
    assert steps.get_drawstyle() == "steps-pre"
    np.testing.assert_array_equal(steps.get_xdata()[1:-1], curve.thresholds[:-1])
    np.testing.assert_array_equal(steps.get_ydata()[1:], curve.mean_cost)
    assert steps.get_xdata()[-1] == 1.0
    (x,), (y,) = best.get_data()
    assert (x, y) == (curve.best_threshold, curve.best_cost)


def test_several_curves_are_told_apart_by_name():
    p, second = np.array([0.2, 0.6]), np.array([False, True])
    never = cost_curve(p, second, np.array([[0.0, 5.0], [-1.0, 0.0]]))
    even = cost_curve(p, second, 1.0 - np.eye(2))
    (axes,) = plot_costs({"never": never, "even": even}).axes
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["never: best -0.5 at inf", "even: best 0 at 0.4"]
    assert axes.lines[0].get_color() != axes.lines[2].get_color()
    with pytest.raises(DataError, match="at least one curve"):
        plot_costs({})
