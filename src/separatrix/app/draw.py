"""Draw one observation of a data set, in a terminal or into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from separatrix.app.read_data import parse_column
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.plots.observation_figure import (
    as_characters,
    image_shape,
    label_of,
    observation,
    write_observation,
)


class DrawnRow(NamedTuple):
    """An observation as text, and as plain values."""

    text: str
    about: dict[str, Any]


def draw_row(
    name: str, row: int, *, test: bool = False, out: Path | None = None, **file: Any
) -> DrawnRow:
    """Draw a row of a data set or a file as text and, with `out`, into a file.

    >>> print(draw_row("iris", 60).text)
    iris, row 60: versicolor
    sepal length (cm)  5
    sepal width (cm)   2
    petal length (cm)  3.5
    petal width (cm)   1
    """
    file.pop("missing_label", None)
    options = {key: value for key, value in file.items() if value is not None}
    if "target" in options:
        options["target"] = parse_column(options["target"])
    data = find(name, **options)
    sample, label = observation(data, row, test=test), label_of(data, row, test=test)
    if out is not None:
        write_observation(data, row, out, test=test)
    title = f"{data.name}, {'test ' if test else ''}row {row}"
    title += "" if label is None else f": {label}"
    about = {"data": data.name, "row": row, "label": label, "value": _plain(sample)}
    return DrawnRow(f"{title}\n{_as_text(data, sample)}", about)


def _as_text(data: Dataset, sample: Any) -> str:
    shape = image_shape(data)
    if shape is not None:
        return as_characters(sample.reshape(shape))
    if data.kind == "graphs":
        edges = ", ".join(f"{a}-{b}" for a, b in sample.edges.tolist())
        labels = "" if sample.node_labels is None else f", labels {sample.node_labels.tolist()}"
        return f"{sample.n_nodes} nodes{labels}\nedges {edges}"
    if isinstance(data.X, list):
        return sample if isinstance(sample, str) else " ".join(map(str, sample))
    names = data.features or [f"x{j + 1}" for j in range(len(sample))]
    width = max(map(len, names))
    return "\n".join(f"{name:<{width}}  {x:g}" for name, x in zip(names, sample, strict=True))


def _plain(sample: Any) -> Any:
    if hasattr(sample, "edges"):
        return {"n_nodes": sample.n_nodes, "edges": sample.edges.tolist()}
    return sample.tolist() if hasattr(sample, "tolist") else sample
