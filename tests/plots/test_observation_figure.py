import numpy as np
import pytest

from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.plots import plot_observation
from separatrix.plots.observation_figure import as_characters, image_shape, write_observation


def test_an_image_is_drawn_with_its_pixels_and_its_label():
    digits = load("digits")
    axes = plot_observation(digits, 17).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), digits.X[17].reshape(8, 8))
    assert axes.get_title() == f"digits, row 17: {digits.y[17]}"


def test_features_are_bars_with_names_and_the_class_has_its_own():
    iris = load("iris")
    axes = plot_observation(iris, 120).axes[0]
    assert [bar.get_height() for bar in axes.patches] == iris.X[120].tolist()
    assert axes.get_title() == "iris, row 120: virginica"
    assert [label.get_text() for label in axes.get_xticklabels()] == list(iris.features)


def test_strings_and_graphs_are_drawn_as_they_are(tmp_path):
    words = Dataset("dna", ["GATTACA", "CCC"], np.array(["a", "b"]), kind="sequences")
    letters = [text.get_text() for text in plot_observation(words, 0).axes[0].texts]
    assert "".join(letters[-7:]) == "GATTACA"
    graphs = Dataset("rings", [Graph(3, [(0, 1), (1, 2)])], np.array([1]), kind="graphs")
    path = write_observation(graphs, 0, tmp_path / "g.svg")
    assert path.read_text().count("<svg") == 1


def test_a_table_of_pixels_is_an_image_and_other_tables_are_not():
    pixels = np.random.default_rng(0).integers(0, 256, size=(5, 784)).astype(float)
    assert image_shape(Dataset("a", pixels, np.arange(5))) == (28, 28)
    assert image_shape(Dataset("a", pixels / 255, np.arange(5))) is None
    assert image_shape(Dataset("a", pixels[:, :60], np.arange(5))) is None
    assert image_shape(load("iris")) is None


def test_characters_get_darker_with_the_value():
    text = as_characters(np.array([[0.0, 1.0], [0.6, 0.0]]))
    assert text.split("\n") == ["  @@", "++"]
    assert as_characters(np.zeros((2, 2))) == "\n"


def test_rows_parts_and_files_that_are_not_there_are_named(tmp_path):
    iris = load("iris")
    with pytest.raises(DataError, match="iris has rows 0 to 149; got 150"):
        plot_observation(iris, 150)
    with pytest.raises(DataError, match="iris has no test part"):
        plot_observation(iris, 0, test=True)
    with pytest.raises(ParameterError, match="`out` of data draw must be a file"):
        write_observation(iris, 0, tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())
