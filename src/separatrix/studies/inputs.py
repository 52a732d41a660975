"""Data sets and options of studies, checked."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError, ParameterError


def require_labelled(study: str, data: Dataset, kind: str, name: str | None = None) -> None:
    """Refuse data of another kind, which may have a name of its own, and data without labels."""
    if data.kind != kind or data.y is None:
        found = data.kind if data.y is not None else "no labels"
        raise ExperimentError(
            f"{study} needs {name or kind} with labels; {data.name} holds {found}"
        )


def dense_images(study: str, data: Dataset) -> tuple[Any, Any]:
    """Images as rows of a dense matrix, and their labels."""
    require_labelled(study, data, "vectors", "images")
    return dense(data.X), np.asarray(data.y)


def dense(X: Any) -> Any:
    """Samples as a dense matrix."""
    return X.toarray() if issparse(X) else np.asarray(X)


def mnist_or_digits(quick: bool) -> str:
    """MNIST; a quick run downloads nothing, and takes scikit-learn's digits instead."""
    return "digits" if quick and state("mnist") == TO_DOWNLOAD else "mnist"


def parse_integers(
    study: str, option: str, given: Any, must_be: str, *, least: float = -inf, most: float = inf
) -> list[int]:
    """Different integers in a sequence or in a text, sorted.

    >>> parse_integers("a", "b", "8,0", "digits"), parse_integers("a", "b", "1-3,7", "degrees")
    ([0, 8], [1, 2, 3, 7])
    """
    try:
        parts = given.split(",") if isinstance(given, str) else [str(int(one)) for one in given]
        found = sorted({number for part in parts for number in _range_of(part, least, most)})
    except (TypeError, ValueError):
        found = []
    if not found or found[0] < least or found[-1] > most:
        raise ParameterError(study, option, must_be, given)
    return found


def _range_of(text: str, least: float, most: float) -> range:
    """The integers of "3" or of "1-7"; both ends are checked first, so that no range is huge."""
    first, dash, last = text.strip().partition("-")
    if not dash or not first:  # one number, which may be negative
        return range(int(text), int(text) + 1)
    low, high = int(first), int(last)
    if not least <= low <= high <= min(most, low + 1000):
        raise ValueError
    return range(low, high + 1)
