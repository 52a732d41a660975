"""Novelty detection on files: rows without labels, and predictions 1 (like them) and -1 (outlier)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from separatrix.app.estimate import last_step
from separatrix.app.read_data import is_table, read_labelled
from separatrix.data.dataset import Dataset
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.registry import REGISTRY

NOVELTY = {record.name: record for record in REGISTRY if record.kind == "novelty"}
CLASSES = np.array([-1, 1])


def detects_novelty(model: Any) -> bool:
    """Whether a model predicts 1 and -1 for rows like those it was fitted to, and others."""
    return bool(is_outlier_detector(last_step(model)))


def classes_of(model: Any) -> Any:
    """What a model predicts: its classes, or -1 and 1."""
    return CLASSES if detects_novelty(model) else model.classes_


def read_unlabelled(
    name: str | Sequence[str], *, target: str | None = None, **file: Any
) -> Dataset:
    """Read a table whose columns are all features but `target`, which is dropped."""
    first = [name] if isinstance(name, str) else list(name)
    if target is None and is_table(first, file.get("format")):
        target = "none"
    data = read_labelled(name, target=target, **file)
    return replace(data, y=np.ones(_count(data), dtype=np.int64), X_test=None, y_test=None)


def _count(data: Dataset) -> int:
    return len(data.X) if isinstance(data.X, list) else int(data.X.shape[0])


def share_outside(model: Any, data: Dataset) -> float:
    """Share of the training rows that the model calls outliers."""
    return float(np.mean(np.asarray(model.predict(data.X)) == -1))


def require_no_labels(key: str, asked: dict[str, Any]) -> None:
    """Refuse options that need labels, which a novelty detector does not read."""
    flag = next((flag for flag, value in asked.items() if value), None)
    if flag is None:
        return
    error = UnsupportedError(f"{flag} needs labels, and {key} learns from rows without labels")
    error.hint = f"leave {flag} out; `evaluate --positive LABELS` compares predictions with labels"
    raise error


def require_two_kinds(data: Dataset) -> None:
    """Refuse labels other than 1 and -1 for a novelty detector."""
    found = np.unique(np.asarray(data.y)).tolist()
    if set(found) <= {-1, 1}:
        return
    shown = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
    error = DataError(
        f"the model predicts 1 for rows like its training rows and -1 for others, but {data.name} has "
        f"the labels {shown}"
    )
    error.hint = "--positive LABELS names the labels of rows like the training rows"
    raise error
