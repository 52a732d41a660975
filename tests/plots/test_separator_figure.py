import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix import SVC, Perceptron
from separatrix.errors import DataError
from separatrix.plots import plot_separators
from separatrix.plots.separator_figure import margin_of

X, Y = load_iris(return_X_y=True)
X, Y = X[:100, 2:], Y[:100]


def test_the_margin_is_the_distance_to_the_nearest_sample():
    w, b = np.array([1.5, 1.6]), -4.0
    foot = X - ((X @ w + b) / (w @ w))[:, None] * w
    nearest = np.linalg.norm(X - foot, axis=1).min()
    assert margin_of(w, b, X, Y == 1) == pytest.approx(nearest)
    assert margin_of(-w, -b, X, Y == 1) < 0
    assert margin_of(7 * w, 7 * b, X, Y == 1) == pytest.approx(nearest)


def test_the_widest_margin_is_that_of_every_direction_searched():
    model = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(X, Y)
    angles = np.linspace(0, 2 * np.pi, 40_001)
    along = X @ np.stack([np.cos(angles), np.sin(angles)])
    widest = ((along[Y == 1].min(axis=0) - along[Y == 0].max(axis=0)) / 2).max()
    found = margin_of(model.coef_[0], model.intercept_[0], X, Y == 1)
    assert found == pytest.approx(widest, rel=1e-6)
    assert found == pytest.approx(model.margin_width_[0] / 2)


def test_each_line_has_a_panel_with_its_margin():
    lines = {
        "loose": Perceptron(random_state=1, tol=None).fit(X, Y),
        "wide": SVC(kernel="linear", C=1e6).fit(X, Y),
        "wrong": (np.array([1.0, 0.0]), 3.0),
    }
    figure = plot_separators(lines, X, Y, names=("length", "width"))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[1].startswith("wide\nmargin 0.65")
    assert titles[2] == "wrong\ndoes not separate"
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 1]
    assert figure.axes[0].get_xlabel() == "length"


@pytest.mark.parametrize(
    ("lines", "samples", "labels", "message"),
    [
        ({}, X, Y, "at least one line"),
        ({"a": ([1.0, 0.0], 0.0)}, X[:, :1], Y, "needs 2 features and 2 classes"),
        ({"a": ([1.0, 0.0], 0.0)}, X, np.arange(100), "needs 2 features and 2 classes"),
        ({"a": ([0.0, 0.0], 0.0)}, X, Y, "must have 2 weights, not both 0"),
        ({"a": object()}, X, Y, "must be a fitted linear model or"),
    ],
)
def test_lines_that_cannot_be_drawn_are_refused(lines, samples, labels, message):
    with pytest.raises(DataError, match=message):
        plot_separators(lines, samples, labels)
