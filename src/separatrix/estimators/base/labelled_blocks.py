"""Blocks of samples that are checked one by one, where no block need have all labels.

Codes of a block are of its own labels. Parts with different labels are aligned when they are merged, so
that no pass over the labels comes first; `recode` turns codes into those of all classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy, deepcopy
from functools import partial, reduce
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

from separatrix.errors import DataError, SeparatrixError, UnsupportedError
from separatrix.estimators.base.blocks import split_block
from separatrix.estimators.base.labels import as_labels, encode_labels
from separatrix.estimators.base.prepare import check_samples, check_weights, class_weights
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.sums import rows_of_a_block, shared_rows, total
from separatrix.types import Block, Codes, Vector

NAMES = {
    "LinearDiscriminantAnalysis": "lda",
    "QuadraticDiscriminantAnalysis": "qda",
    "LogisticRegression": "logistic",
    "KNeighborsClassifier": "knn",
}


def short_name(model: Any) -> str:
    """The name of a model in the names of its tasks, such as "lda" or "gaussian-nb"."""
    name = type(model).__name__
    return NAMES.get(name) or re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower()


class LabelledBlock(NamedTuple):
    """Checked samples of one block; codes are of its own labels, or of all classes."""

    number: int
    labels: Any  # shape: (k,); sorted
    block: Block
    names: Any  # of the features, or None


class LabelledPart(NamedTuple):
    """What is known of some blocks: their labels, the weight of each, and the sums over them."""

    number: int  # of the first block
    labels: Any  # shape: (k,); sorted
    weight: Vector  # shape: (k,)
    n_features: int
    names: Any
    part: Any


class BlockChecks(NamedTuple):
    """How blocks are checked, and what is known of all of them."""

    estimator: Any
    dtype: Any = "numeric"
    classes: Any = None  # shape: (k,); None: codes are of the labels of the block
    class_weight: Any = None  # shape: (k,); multiplied into the weights; None: not used


def check_block(number: int, X: Any, y: Any, weights: Any, checks: BlockChecks) -> Any:
    """The `LabelledBlock` of a block, None if it has no rows; errors name the block and the row."""
    if y is None and isinstance(X, tuple):
        X, y, weights = split_block(number, X)
    if not X.shape[0]:
        return None
    model = copy(checks.estimator)  # the checks set attributes
    try:
        X, y = check_samples(model, X, y=y, dtype=checks.dtype)
        labels, codes = encode_labels(as_labels(y))
        weights = check_weights(weights, X.shape[0])
    except (ValueError, TypeError) as error:
        raise DataError(f"block {number}{_row_at_fault(X)}: {error}") from None
    block = Block(X, codes.astype(np.intp), weights)
    found = LabelledBlock(number, labels, block, getattr(model, "feature_names_in_", None))
    return found if checks.classes is None else recode(found, checks)


def _row_at_fault(X: Any) -> str:
    """The first row that has a value which is not a finite number, as words."""
    try:
        if issparse(X):
            bad = np.flatnonzero(~np.isfinite(X.data))[:1]
            rows = np.searchsorted(X.tocsr().indptr, bad, side="right") - 1
        elif (values := np.asarray(X)).dtype.kind == "O":
            rows = np.flatnonzero([not _are_finite(row) for row in values])
        else:
            rows = np.flatnonzero(~np.isfinite(values).all(axis=1))
    except (TypeError, ValueError):
        return ""
    return f", row {rows[0]}" if len(rows) else ""


def _are_finite(row: Any) -> bool:
    try:
        return bool(np.isfinite(row.astype(np.float64)).all())
    except (TypeError, ValueError):
        return False


def recode(found: LabelledBlock | None, checks: BlockChecks) -> LabelledBlock | None:
    """The block with codes of all classes, its weights times those of the classes."""
    if found is None:
        return None
    classes, (X, y, weights) = checks.classes, found.block
    position = np.minimum(np.searchsorted(classes, found.labels), len(classes) - 1)
    if not np.array_equal(classes[position], found.labels):
        raise DataError(
            f"block {found.number} holds labels that the first pass did not have; its source must give the "
            "same rows each time"
        )
    codes = position[y].astype(np.intp)
    if checks.class_weight is not None:
        weights = weights * checks.class_weight[codes]
    return found._replace(labels=classes, block=Block(X, codes, weights))


def sum_block(
    found: LabelledBlock | None,
    part_of: Callable[[Block], Any],
    merge: Callable[[Any, Any], Any],
    *,
    own_codes: bool = False,
) -> LabelledPart | None:
    """The merged parts of a block, cut so that its rows stay in the cache.

    own_codes: codes are of the labels of the block, and a piece of it need not have the last.
    """
    if found is None:
        return None
    X, y, weights = found.block
    cut = row_blocks(X.shape[0], rows_of_a_block(X.shape[1]))
    pieces = [Block(shared_rows(X, rows), y[rows], weights[rows]) for rows in cut]
    try:
        part = total(part_of, pieces, merge)
    except SeparatrixError as error:
        raise DataError(f"block {found.number}: {error}") from None
    if own_codes and hasattr(part, "grown"):
        part = part.grown(len(found.labels))
    return labels_of(found, part)


def labels_of(found: LabelledBlock | None, part: Any = None) -> LabelledPart | None:
    """The labels of a block, and the weight of each."""
    if found is None:
        return None
    X, y, weights = found.block
    weight = np.bincount(y, weights, minlength=len(found.labels)).astype(np.float64)
    return LabelledPart(found.number, found.labels, weight, int(X.shape[1]), found.names, part)


def merge_labelled(merge: Any, parts: list[LabelledPart | None]) -> LabelledPart | None:
    """Several parts as one; those of blocks without rows are left out."""
    kept = [part for part in parts if part is not None]
    if len(kept) > 1:  # a merge may write into the arrays of the first, which others may read
        kept[0] = deepcopy(kept[0])
    return reduce(partial(_merge_two, merge), kept) if kept else None


def _merge_two(merge: Any, a: LabelledPart, b: LabelledPart) -> LabelledPart:
    if a.n_features != b.n_features:
        raise DataError(
            f"block {b.number} has {b.n_features} features, but block {a.number} has {a.n_features}"
        )
    if not np.array_equal(a.names, b.names):
        raise DataError(
            f"block {b.number} has other feature names than block {a.number}: {_first(b.names)}, not "
            f"{_first(a.names)}"
        )
    labels = a.labels
    if not np.array_equal(a.labels, b.labels):
        if (a.labels.dtype.kind in "US") != (b.labels.dtype.kind in "US"):
            raise DataError(
                f"labels must be all strings or all numbers; block {b.number} holds the other kind than "
                f"block {a.number}"
            )
        labels = np.union1d(a.labels, b.labels)
        a, b = _align(a, labels), _align(b, labels)
    part = None if a.part is None else merge(a.part, b.part)
    return a._replace(labels=labels, weight=a.weight + b.weight, part=part)


def _first(names: Any) -> Any:
    return "none" if names is None else list(names)[:5]


def _align(part: LabelledPart, labels: Any) -> LabelledPart:
    """The same with room for more labels, all in their order."""
    k, own = len(labels), len(part.labels)
    order = np.full(k, -1)
    order[np.searchsorted(labels, part.labels)] = np.arange(own)
    order[order < 0] = np.arange(own, k)
    weight = np.append(part.weight, np.zeros(k - own))[order]
    sums = part.part.grown(k).taken(order) if hasattr(part.part, "taken") else part.part
    return part._replace(weight=weight, part=sums)


def concatenate_rows(parts: list[Any]) -> Any:
    """Blocks of rows in memory as one: frames, sparse or dense."""
    if hasattr(parts[0], "columns"):
        return import_module(type(parts[0]).__module__.partition(".")[0]).concat(parts)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def require_classes(model: Any, found: LabelledPart) -> None:
    """Refuse labels that the model cannot learn from."""
    wanted = f"{type(model).__name__} needs samples of at least 2 classes; "
    if len(found.labels) < model._least_classes:
        raise DataError(f"{wanted}got one class, {found.labels.tolist()[0]!r}")
    if np.count_nonzero(found.weight) < model._least_weighted:
        raise DataError(f"{wanted}all but one class have weight 0")
    if not found.weight.any():
        raise DataError("`sample_weight` must have a weight above zero; all weights are zero")


def require_row_weights(model: Any, weighted: bool) -> None:
    """Refuse balanced classes of weighted rows: they count rows."""
    if model.class_weight == "balanced" and weighted:
        raise UnsupportedError(
            f"class_weight='balanced' of {type(model).__name__} counts rows; on a cluster pass a dict of "
            "weights"
        )


def require_given_gamma(model: Any) -> None:
    """Refuse a feature map whose kernel depends on all samples."""
    gamma = (getattr(model, "kernel_params", None) or {}).get("gamma", getattr(model, "gamma", 0))
    if isinstance(gamma, str):
        raise UnsupportedError(
            f"gamma={gamma!r} of {type(model).__name__} needs all samples in one memory; pass a number: "
            "'scale' is 1 / (d X.var())"
        )
    if getattr(model, "kernel", None) == "precomputed":
        raise UnsupportedError("kernel='precomputed' of Nystroem needs one matrix in memory")


def weights_of_classes(model: Any, found: LabelledPart) -> Vector:
    """Weight of each class, (k,): that of `class_weight`, or balanced by the weights of the samples."""
    given, k = getattr(model, "class_weight", None), len(found.labels)
    if given is None:
        return np.ones(k)
    if isinstance(given, str) and given == "balanced":
        return np.asarray(found.weight.sum() / (k * np.maximum(found.weight, 1e-300)))
    class_weights(model, given, found.labels, found.labels)  # raises errors
    return np.array([float(given.get(label, 1.0)) for label in found.labels.tolist()])


def call_method(number: int, X: Any, model: Any, method: str) -> Any:
    """A method of the model on one block; errors name it."""
    if not X.shape[0]:
        zeros = np.zeros((1, int(model.n_features_in_)), getattr(X, "dtype", None))
        return getattr(model, method)(
            type(X)(zeros, columns=X.columns) if hasattr(X, "columns") else zeros
        )[:0]
    try:
        return getattr(model, method)(X)
    except (SeparatrixError, ValueError) as error:
        raise DataError(f"block {number}: {error}") from None


def count_right(number: int, predicted: Any, y: Any, weights: Any) -> Any:
    """Weight of the samples of a block whose class is predicted, and of all."""
    y = np.asarray(y).ravel()
    if len(y) != len(predicted):
        raise DataError(f"block {number} has {len(predicted)} samples, but {len(y)} labels")
    weights = np.ones(len(y)) if weights is None else np.asarray(weights)
    return np.array([weights[predicted == y].sum(), weights.sum()])


def score_block(number: int, X: Any, y: Any, weights: Any, model: Any) -> Any:
    """The same for a model that predicts the block."""
    return count_right(number, call_method(number, X, model, "predict"), y, weights)


def result_for_a_row(model: Any, method: str, X: Any) -> Any:
    """What the method gives for one made-up row, for its shape and dtype."""
    if hasattr(X, "_meta_nonempty"):  # a frame
        row = X._meta_nonempty.iloc[:1]
    else:
        row = np.zeros((1, int(model.n_features_in_)), getattr(X, "dtype", None))
    found = getattr(model, method)(row)
    if not isinstance(found, np.ndarray):
        raise UnsupportedError(
            f"{method} of {type(model).__name__} gives {type(found).__name__}, not one array: call it on "
            "each block, with map_blocks"
        )
    return found


def learn_block(model: Any, classes: Any, found: LabelledBlock | None) -> Any:
    """The model after one more block."""
    if found is None:
        return model
    X, y, weights = found.block
    return deepcopy(model).partial_fit(X, classes[y], classes, weights)


def take_landmarks(number: int, X: Any, landmarks: Codes, starts: Codes) -> Any:
    """The landmarks that lie in a block."""
    low, high = starts[number], starts[number + 1]
    own = landmarks[(landmarks >= low) & (landmarks < high)] - low
    return X.iloc[own] if hasattr(X, "iloc") else X[own]
