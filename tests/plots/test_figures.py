import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from separatrix import SVCCV, KernelPerceptron, Perceptron, evaluate
from separatrix.errors import DataError, MissingPackageError
from separatrix.estimators.decision import cost_curve
from separatrix.kernels import Polynomial
from separatrix.report import (
    plot_confusion,
    plot_costs,
    plot_features,
    plot_grid,
    plot_hardest,
    plot_k,
    plot_learning_curve,
    plot_letters,
    plot_regions,
)

X, Y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def found():
    return evaluate(KernelPerceptron(Polynomial(2), max_iter=5), X, Y, repeats=3)


def test_the_confusion_picture_shows_the_mean_of_every_mistake(found):
    figure = plot_confusion(found)
    mean, _ = found.confusion()
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), 100 * mean)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert len(shown) == np.count_nonzero(mean)


def test_the_hardest_images_are_drawn_with_their_labels(found):
    figure = plot_hardest(found, X, (8, 8), count=3)
    assert len(figure.axes) == 3
    for axes, (row, _, guess) in zip(figure.axes, found.hardest(3), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), X[row].reshape(8, 8))
        assert f"row {row}: labelled {Y[row]}" in axes.get_title()
        assert f"predicted as {guess}" in axes.get_title()
    with pytest.raises(DataError, match="have 81 pixels; got 64"):
        plot_hardest(found, X, (9, 9))


def test_features_are_drawn_for_each_class():
    iris, labels = load_iris(return_X_y=True)
    model = Perceptron().fit(iris, labels)
    figure = plot_features(model, names=["a", "b", "c", "d"])
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    np.testing.assert_allclose(heights, np.abs(model.coef_))
    digits = Perceptron(max_iter=50).fit(X, Y)
    assert len(plot_features(digits, shape=(8, 8)).axes) == 10


def test_the_learning_curve_is_the_mistakes(found):
    model = KernelPerceptron(Polynomial(2), max_iter=50).fit(X, Y)
    line = plot_learning_curve(model).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.mistakes_)


def test_the_grid_shows_every_cell_and_frames_the_best():
    iris, labels = load_iris(return_X_y=True)
    search = SVCCV([0.1, 1.0, 10.0], [0.01, 0.1]).fit(iris, labels)
    axes = plot_grid(search).axes[0]
    scores = 100 * search.cv_results_["mean_test_score"].reshape(3, 2)
    np.testing.assert_allclose(axes.images[0].get_array(), scores)
    assert [text.get_text() for text in axes.texts] == [f"{score:.1f}" for score in scores.ravel()]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["gamma=0.01", "gamma=0.1"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.1", "1", "10"]
    (x,), (y,) = axes.lines[0].get_data()
    assert 2 * y + x == search.best_index_


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_confusion(evaluate(Perceptron(), *load_iris(return_X_y=True), repeats=1)),
        lambda: plot_costs(
            cost_curve(np.array([0.2, 0.6]), np.array([False, True]), 1 - np.eye(2))
        ),
        lambda: plot_k([0.5, 0.6]),
        lambda: plot_letters("A", [1.0]),
        lambda: plot_regions(Perceptron(), [[0.0, 0.0], [1.0, 1.0]], [0, 1], grid=20),
    ],
    ids=["plot_confusion", "plot_costs", "plot_k", "plot_letters", "plot_regions"],
)
def test_without_matplotlib_the_error_names_the_extra_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'separatrix\[report\]'"):
        draw()
