"""One observation of a data set: an image, a sequence, a graph, or the values of its features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.catalogue import class_names
from separatrix.data.dataset import Dataset
from separatrix.data.images import sides
from separatrix.errors import DataError, ParameterError
from separatrix.plots.attribution_figure import FORMATS
from separatrix.plots.figures import INK, new_axes
from separatrix.plots.graph_drawing import MUTAG_ATOMS, MUTAG_BONDS, plot_graph
from separatrix.plots.sequence_drawing import plot_letters
from separatrix.runtime.atomic_files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = " .:-=+*#%@"
MOST_BARS = 60
FEWEST_PIXELS = 64  # of an image that no reader has declared to be one


def plot_observation(data: Dataset, row: int, *, test: bool = False) -> Figure:
    """Draw one row of a data set, of its test part with `test`.

    Pixels are drawn as an image, strings letter by letter, a graph in the plane, and any other row as
    one bar for each feature.

    Parameters
    ----------
    data
        A data set of the catalogue, or of a file that was read.
    row
        Its number, from 0.
    test
        Whether it is a row of the test part.

    Examples
    --------
    >>> from separatrix.data.catalogue import load
    >>> figure = plot_observation(load("digits"), 17)
    >>> figure.axes[0].get_title(), figure.axes[0].images[0].get_array().shape
    ('digits, row 17: 7', (8, 8))
    """
    sample, title = observation(data, row, test=test), _title(data, row, test)
    if data.kind == "graphs":
        known = data.name.upper() == "MUTAG"
        names, bonds = (MUTAG_ATOMS, MUTAG_BONDS) if known else (None, None)
        values = np.zeros(sample.n_nodes)
        return plot_graph(sample, values, names=names, bonds=bonds, title=title)
    if isinstance(data.X, list):
        return plot_letters(sample, np.zeros(len(sample)), title=title)
    shape = image_shape(data)
    if shape is not None:
        figure, axes = new_axes(3.0, 3.2)
        axes.imshow(sample.reshape(shape), cmap="gray_r")
        axes.set_title(title, fontsize=10)
        axes.set_axis_off()
        return figure
    return _bars(data, sample, title)


def observation(data: Dataset, row: int, *, test: bool = False) -> Any:
    """One sample: values of the features, (d,), a string or a graph."""
    X = data.X_test if test else data.X
    if X is None:
        raise DataError(f"{data.name} has no test part; leave --test out")
    n = len(X) if isinstance(X, list) else X.shape[0]
    if not 0 <= row < n:
        raise DataError(f"{data.name} has rows 0 to {n - 1}; got {row}")
    if isinstance(X, list):
        return X[row]
    return np.asarray(X[[row]].toarray()[0] if issparse(X) else X[row], dtype=np.float64)


def label_of(data: Dataset, row: int, *, test: bool = False) -> str | None:
    """The label of a row, by its name where the catalogue has one; None without labels."""
    y = data.y_test if test else data.y
    if y is None:
        return None
    label = np.asarray(y)[row].item() if hasattr(np.asarray(y)[row], "item") else y[row]
    names = class_names(data.name, np.unique(np.asarray(data.y)))
    return names.get(label, str(label))


def image_shape(data: Dataset) -> tuple[int, int] | None:
    """Rows and columns of the pixels of a sample; None if the features are not pixels.

    A table whose reader knows of no image is one if its columns are a square of at least 64 whole
    numbers from 0 to 255, as in a CSV file of digits.
    """
    if isinstance(data.X, list):
        return None
    if data.image is not None:
        return data.image
    shape = sides(data.X.shape[1])
    if issparse(data.X) or shape[0] == 1 or data.X.shape[1] < FEWEST_PIXELS:
        return None
    some = np.asarray(data.X[:100])
    pixels = some.min() >= 0 and some.max() <= 255 and bool((some == np.floor(some)).all())
    return shape if pixels else None


def as_characters(image: Any) -> str:
    """An image for a terminal: two characters for each pixel, darker for higher values.

    >>> print(as_characters(np.array([[0, 9], [5, 0]])))
      @@
    ++
    """
    low, high = float(np.min(image)), float(np.max(image))
    scale = (len(SHADES) - 1) / ((high - low) or 1.0)
    shades = np.rint((np.asarray(image) - low) * scale).astype(int)
    return "\n".join("".join(2 * SHADES[shade] for shade in line).rstrip() for line in shades)


def write_observation(data: Dataset, row: int, path: Path, *, test: bool = False) -> Path:
    """Draw one row into a file, which is there whole or not at all."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError("data draw", "out", f"a file {', '.join(FORMATS)}", str(path))
    figure = plot_observation(data, row, test=test)
    with atomic_write(path) as part:
        figure.savefig(part, format=path.suffix[1:].lower())
    return path


def _title(data: Dataset, row: int, test: bool) -> str:
    label = label_of(data, row, test=test)
    where = f"{data.name}, {'test ' if test else ''}row {row}"
    return where if label is None else f"{where}: {label}"


def _bars(data: Dataset, sample: Any, title: str) -> Figure:
    d = len(sample)
    figure, axes = new_axes(min(3.0 + 0.18 * d, 9.0), 3.2)
    if d <= MOST_BARS:
        axes.bar(range(d), sample, color=INK)
        names = data.features or [f"{j + 1}" for j in range(d)]
        axes.set_xticks(range(d), names, rotation=60, ha="right", fontsize=7)
    else:
        axes.plot(range(1, d + 1), sample, color=INK, linewidth=0.8)
        axes.set_xlabel("feature")
    axes.set_ylabel("value")
    axes.set_title(title, fontsize=10)
    return figure
