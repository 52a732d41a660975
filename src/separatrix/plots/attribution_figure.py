"""A picture of what decided: a sequence or a molecule, coloured by the share of each letter or atom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.errors import ParameterError
from separatrix.estimators.object_attribution import Attribution, explain_object
from separatrix.plots.graph_drawing import MUTAG_ATOMS, MUTAG_BONDS, plot_graph
from separatrix.plots.sequence_drawing import plot_letters
from separatrix.runtime.atomic_files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REST = "all others"
FORMATS = (".svg", ".png", ".pdf")


def plot_parts(
    parts: Attribution,
    *,
    title: str | None = None,
    names: Mapping[Any, str] | None = None,
    bonds: Mapping[Any, int | str] | None = None,
    limit: float | None = None,
) -> Figure:
    """The object with the share of each letter or node in its score.

    Parameters
    ----------
    parts
        What `explain_object` says of it.
    title
        Words above. None: what it is taken for, its score and the bias.
    names, bonds
        Of a graph: what node labels are called and how edge labels are drawn, as in `plot_graph`.
    limit
        Where the scale ends. None: the largest share.

    Examples
    --------
    >>> from separatrix import SVC
    >>> from separatrix.kernels import Spectrum
    >>> from separatrix.estimators.object_attribution import explain_object
    >>> model = SVC(kernel=Spectrum(2)).fit(["GATTACA", "TACTAC", "GGGG", "CGGC"], [1, 1, 0, 0])
    >>> figure = plot_parts(explain_object(model, "TACG"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1', 'T', 'A', 'C', 'G']
    """
    other = REST if parts.against is None else str(parts.against)
    caption = f"Taken for {parts.label}: score {parts.score:.3g} against {other}"
    caption += f", bias {parts.bias:.3g}" if parts.bias else ""
    title = caption if title is None else title
    how: Any = {"title": title, "classes": (other, str(parts.label)), "limit": limit}
    if isinstance(parts.object, Graph):
        return plot_graph(parts.object, parts.values, names=names, bonds=bonds, **how)
    if names is not None or bonds is not None:
        given = "names" if names is not None else "bonds"
        raise ParameterError("plot_parts", given, "None, for a sequence", names or bonds)
    return plot_letters(parts.object, parts.values, **how)


def write_parts(model: Any, data: Dataset, row: int, path: Path) -> Path:
    """Draw why one row of some data is taken for what it is; the file is there whole or not at all."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError("explain", "picture", f"a file {', '.join(FORMATS)}", str(path))
    known = data.name.upper() == "MUTAG"  # whose labels have names
    names, bonds = (MUTAG_ATOMS, MUTAG_BONDS) if known else (None, None)
    figure = plot_parts(explain_object(model, data.X[row]), names=names, bonds=bonds)
    with atomic_write(path) as part:
        figure.savefig(part, format=path.suffix[1:].lower())
    return path
