"""Labels of classes: checked, sorted and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.errors import DataError
from separatrix.types import Codes


def as_labels(y: Any) -> Any:
    """Labels as a flat array that can be sorted; raises an error if they are not classes."""
    if type(y) is not np.ndarray or y.ndim != 1:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        y = _from_objects(y)
    if y.dtype.kind == "S":
        raise DataError("labels in y are byte strings; decode them, as y.astype(str) does")
    if not y.dtype.isnative:
        y = y.astype(y.dtype.newbyteorder("="))
    if y.dtype.kind not in "biu":  # integers are classes
        check_classification_targets(y)
    return y


def _from_objects(y: Any) -> Any:
    """Labels as the array NumPy makes of them; raises an error if it takes different ones for equal.

    It drops zeros at the end of strings, and rounds large integers beside negative ones.
    """
    labels = np.array(y.tolist())
    try:
        different = len(set(y.tolist()))
        kept = len(np.unique(labels)) if labels.ndim == 1 else different
    except TypeError:  # no labels at all: the next check says so
        return labels
    if labels.dtype.kind in "SUiuf" and kept < different:
        raise DataError(
            f"y holds {different} different labels, of which NumPy tells only {kept} apart; number them"
        )
    return labels


def encode_labels(y: Any) -> tuple[Any, Codes]:
    """The labels in y, sorted, and the code of each sample's.

    >>> encode_labels(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    if y.dtype.kind in "biu" and len(y):
        least, most = int(y.min()), int(y.max())
        if most - least < len(y) and max(-least, most) < 2**62:  # counted, not sorted
            positions = y.astype(np.intp) - least
            present = np.bincount(positions, minlength=most - least + 1) > 0
            rank = np.cumsum(present) - 1
            return (np.flatnonzero(present) + least).astype(y.dtype), rank[positions]
    found, codes = np.unique(y, return_inverse=True)
    return found, codes


def require_one_type(y: Any) -> None:
    """Raise an error for strings and numbers in one y, or for labels that are missing in text."""
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "name", "") in ("string", "str") and (missing := int(y.isna().sum())):
        raise DataError(f"y contains {missing} missing labels of {len(y)}; drop these samples")
    if isinstance(y, list | tuple) or dtype == np.dtype(object):
        kinds = {isinstance(label, str) for label in np.asarray(y, dtype=object).ravel()}
        if len(kinds) > 1:
            raise DataError("labels in y must be all strings or all numbers; got both")
