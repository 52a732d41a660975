"""Targets of two classes from labels of many."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.errors import DataError, ParameterError


def indicator(d: Any, v: Collection[Any]) -> npt.NDArray[np.int64]:
    """+1 where the label is in v, else -1; an array of the shape of d.

    Labels are numbers or strings, v any collection of the same kind. All are -1 for an empty v.

    Parameters
    ----------
    d
        Labels, an array of any shape.
    v
        The labels that become +1.

    Examples
    --------
    >>> indicator([3, 0, 4, 1], {0, 2, 4, 6, 8})  # parity of digits
    array([-1,  1,  1, -1])
    >>> indicator(["cat", "dog"], ["dog"])
    array([-1,  1])
    """
    labels, wanted = _labels(d, "d"), _labels(_items(v), "v")
    if labels.size and wanted.size and (labels.dtype.kind == "U") != (wanted.dtype.kind == "U"):
        raise DataError(
            f"labels in d and v must be all strings or all numbers; got {labels.dtype} in d "
            f"and {wanted.dtype} in v"
        )
    return np.where(np.isin(labels, wanted), 1, -1)


def _items(v: Any) -> list[Any]:
    flat = isinstance(v, Collection) and getattr(v, "ndim", 1) == 1
    if not flat or isinstance(v, str | bytes) or any(np.ndim(label) for label in v):
        raise ParameterError("indicator", "v", "a collection of labels, such as {0, 2, 4, 6, 8}", v)
    return list(v)


def _labels(values: Any, name: str) -> npt.NDArray[Any]:
    """Labels as an array of numbers or of strings."""
    labels = np.asarray(values)
    if labels.dtype.kind in "OU":
        kinds = {isinstance(label, str) for label in np.asarray(values, dtype=object).ravel()}
        labels = np.array(labels.tolist()) if len(kinds) == 1 else labels.astype(object)
    if labels.dtype.kind not in "biufU":
        raise DataError(f"labels in {name} must be all strings or all numbers; got {values!r:.60}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise DataError(f"labels in {name} must not be NaN")
    return labels
