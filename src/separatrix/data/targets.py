"""Targets of two classes from labels of many."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.data_table import Category
from separatrix.data.numerals import find_boolean
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


def merge_spellings(name: str, category: Category) -> tuple[Category, list[str]]:
    """Labels such as TRUE, True and true as one, in lower case; and a note. Only words of booleans.

    >>> merge_spellings("y", Category(np.array([0, 1, 2, 2]), ["TRUE", "no", "true"]))[1]
    []
    >>> merge_spellings("y", Category(np.array([0, 1, 2, 2]), ["TRUE", "False", "true"]))[1]
    ["y: 'TRUE', 'False', 'true' are two classes, false and true"]
    """
    codes, values = category
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    used = [values[i] for i in np.flatnonzero(counts)]
    words = {label.casefold() for label in used}
    pair = find_boolean(list(words)) if len(words) == 2 < len(used) else None
    if pair is None:
        return category, []
    to = [pair.index(value.casefold()) if value.casefold() in pair else -1 for value in values]
    shown = ", ".join(map(repr, used))
    note = f"{name}: {shown} are two classes, {pair[0]} and {pair[1]}"
    return Category(np.array([*to, -1])[codes], list(pair)), [note]


def spell_as(classes: Any, labels: Any) -> tuple[Any, list[str]]:
    """Labels that differ from a class of a model only in case, as that class; and a note.

    >>> spell_as(np.array(["no", "yes"]), np.array(["Yes", "no", "maybe"]))
    (array(['yes', 'no', 'maybe'], dtype='<U5'), ["labels 'Yes' count as the class 'yes' of the model"])
    """
    known, labels = np.asarray(classes), np.asarray(labels)
    if known.dtype.kind not in "UO" or labels.dtype.kind not in "UO":
        return labels, []
    folded = {str(label).casefold(): str(label) for label in known.tolist()}
    unknown = [label for label in np.unique(labels).tolist() if label not in set(known.tolist())]
    same = {label: folded[label.casefold()] for label in unknown if label.casefold() in folded}
    if not same or len(folded) < len(known):
        return labels, []
    notes = [f"labels {old!r} count as the class {new!r} of the model" for old, new in same.items()]
    return np.array(
        [same.get(label, label) for label in labels.tolist()], dtype=labels.dtype
    ), notes
