import numpy as np
import pytest

from separatrix import SVC
from separatrix.data.graph import Graph
from separatrix.errors import ParameterError
from separatrix.estimators.object_attribution import explain_object
from separatrix.kernels import Spectrum, VertexHistogram
from separatrix.plots.attribution_figure import plot_parts

WATER = Graph(3, np.array([[0, 1], [0, 2]]), np.array([8, 1, 1]))


def words(figure):
    return " ".join(text.get_text() for axes in figure.axes for text in [axes.title, *axes.texts])


def test_a_sequence_is_drawn_with_its_letters_and_classes():
    model = SVC(kernel=Spectrum(1)).fit(["ab", "cd"] * 2, ["x", "y"] * 2)
    parts = explain_object(model, "abba")

    figure = plot_parts(parts)

    letters = [text.get_text() for text in figure.axes[0].texts]
    assert letters == ["1", *"abba"]
    everything = words(figure) + " ".join(
        label.get_text() for axes in figure.axes for label in axes.get_xticklabels()
    )
    assert f"Taken for x: score {parts.score:.3g} against y" in " ".join(
        axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes
    )
    assert "towards x" in everything
    assert "towards y" in everything


def test_a_molecule_is_drawn_with_its_atoms():
    model = SVC(kernel=VertexHistogram()).fit([WATER, Graph(1, [], np.array([8]))] * 2, [0, 1] * 2)

    figure = plot_parts(explain_object(model, WATER), names={8: "O", 1: "H"}, title="water")

    assert [text.get_text() for text in figure.axes[0].texts] == ["O", "H", "H"]
    assert "water" in words(figure)


def test_names_of_atoms_are_refused_for_a_sequence():
    model = SVC(kernel=Spectrum(1)).fit(["ab", "cd"] * 2, [0, 1] * 2)

    with pytest.raises(ParameterError, match="`names` of plot_parts must be None, for a sequence"):
        plot_parts(explain_object(model, "ab"), names={"a": "b"})
