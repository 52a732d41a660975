"""Data sets and options of studies, checked."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.dataset import Dataset
from separatrix.data.images import as_bytes, sides
from separatrix.data.splits import stratified_splits, subsample, subsampled
from separatrix.errors import ExperimentError, ParameterError
from separatrix.runtime.sums import dense
from separatrix.types import Codes, Matrix

MOST_ROWS, MOST_FEATURES = 600, 20  # of given data whose claims are checked
FEWEST_ROWS = 10  # of a class of them


class DigitImages(NamedTuple):
    """Images as bytes, with labels."""

    images: Any  # shape: (n, h, w)
    labels: Any  # shape: (n,)
    test: Any  # shape: (m, h, w)
    test_labels: Any  # shape: (m,)
    test_rows: Codes  # shape: (m,); rows of the data set


def require_labelled(study: str, data: Dataset, kind: str, name: str | None = None) -> None:
    """Refuse data of another kind, which may have a name of its own, and data without labels."""
    if data.kind != kind or data.y is None:
        found = data.kind if data.y is not None else "no labels"
        raise ExperimentError(
            f"{study} needs {name or kind} with labels; {data.name} holds {found}"
        )


def feature_name(data: Dataset, j: int) -> str:
    """The name of column j, or its number, from 1.

    >>> feature_name(Dataset("a", [[0.0, 1.0]], [0]), 1)
    'feature 2'
    """
    return data.features[j] if data.features is not None else f"feature {j + 1}"


def dense_images(study: str, data: Dataset) -> tuple[Any, Any]:
    """Images as rows of a dense matrix, and their labels."""
    require_labelled(study, data, "vectors", "images")
    return dense(data.X, None), np.asarray(data.y)


class ScaledSamples(NamedTuple):
    """Samples with class codes, and the names of classes and features."""

    X: Matrix  # shape: (n, d); columns have mean 0 and deviation 1
    y: Codes  # shape: (n,)
    names: tuple[str, ...]
    features: tuple[str, ...]


def scaled_samples(study: str, data: Dataset, seed: int) -> ScaledSamples:
    """Up to 600 rows of classes with at least ten, by the up to 20 features that differ most, scaled."""
    require_labelled(study, data, "vectors")
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    labels = labels[counts >= FEWEST_ROWS]
    if len(labels) < 2:
        raise ExperimentError(
            f"{study} needs two classes with {FEWEST_ROWS} rows; {data.name} has {len(labels)}"
        )
    kept = np.flatnonzero(np.isin(data.y, labels))
    if len(kept) > MOST_ROWS:
        kept = kept[subsample(np.asarray(data.y)[kept], MOST_ROWS, seed=seed)]
    kept = np.random.default_rng(seed).permutation(kept)  # files are often sorted by class
    names, codes = np.unique(np.asarray(data.y)[kept], return_inverse=True)
    X = np.asarray(dense(data.X[kept], None), dtype=np.float64)
    X = X - X.mean(axis=0)
    varied = np.flatnonzero(X.std(axis=0) > 0)
    if len(varied) < 2:
        raise ExperimentError(
            f"{study} needs two features that vary; {data.name} has {len(varied)}"
        )
    X = X[:, varied] / X[:, varied].std(axis=0)
    chosen = most_different(X, codes, min(MOST_FEATURES, len(varied)))
    features = tuple(feature_name(data, j) for j in varied[chosen].tolist())
    return ScaledSamples(X[:, chosen], codes.astype(np.intp), tuple(map(str, names)), features)


def most_different(X: Matrix, y: Codes, count: int) -> Codes:
    """Features with the largest scatter of class means over that within classes, in their order.

    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.1], [0.0, 1.0, 7.0]])
    >>> most_different(X, np.array([0, 0, 1]), 1)
    array([2])
    """
    sizes = np.bincount(y).astype(np.float64)
    means = np.stack([X[y == c].mean(axis=0) for c in range(len(sizes))])
    between = sizes @ (means - X.mean(axis=0)) ** 2
    within = np.maximum(((X - means[y]) ** 2).sum(axis=0), 1e-300)
    return np.sort(np.argsort(-between / within, kind="stable")[:count])


def split_images(
    study: str, data: Dataset, *, test_size: float, seed: int, rows: int | None = None
) -> DigitImages:
    """Training images, or `rows` of them, and a share of the test part; a fifth of data without one."""
    X, y = dense_images(study, data)
    low, high, shape = float(X.min()), float(X.max()), data.image or sides(X.shape[1])
    if data.X_test is None:
        (train, held), *_ = stratified_splits(y, repeats=1, test_size=0.2, seed=seed)
        test, test_labels, test_rows = X[held], y[held], held
        X, y = X[train], y[train]
    else:
        test, test_labels = dense(data.X_test, None), np.asarray(data.y_test)
        test_rows = np.arange(len(test))
    if test_size < 1:
        some = subsample(test_labels, float(test_size), seed=seed)
        test, test_labels, test_rows = test[some], test_labels[some], test_rows[some]
    drawn = subsampled(Dataset(data.name, X, y), rows, seed)
    images, tested = (as_bytes(part, low, high).reshape(-1, *shape) for part in (drawn.X, test))
    return DigitImages(images, np.asarray(drawn.y), tested, test_labels, test_rows)


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
