"""The model card in every model file: training data, versions, certificate of the fit."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from separatrix.data.data_table import DataTable
from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.estimators.base.prepare import object_kernel
from separatrix.kernels.graphs.from_networkx import is_networkx
from separatrix.kernels.graphs.graph_union import check_graphs
from separatrix.modelfile import fields as f
from separatrix.modelfile.plain_objects import canonical_text
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit

PACKAGES = ("separatrix", "numpy", "scipy", "scikit-learn", "numba")
CERTIFICATE = (  # attributes of a fitted model; of several boundaries, the worst counts
    *("violation_", "dual_gap_", "gradient_", "n_iter_"),
    *("rank_", "best_score_", "fit_status_"),
)


@dataclass(frozen=True)
class TrainingData:
    """SHA-256 and size of the training set."""

    sha256: str
    samples: int
    features: int | None  # None for texts, sequences and graphs


@dataclass(frozen=True)
class ModelCard:
    """Where a model comes from."""

    versions: dict[str, str]
    certificate: dict[str, float]  # what the fit reports about itself
    data: TrainingData | None = None
    seed: int | None = None
    note: str = ""

    def as_document(self) -> dict[str, Any]:
        """The card as JSON."""
        return MODEL_CARD.put(self, "card", f.Archive())


TRAINING_DATA = f.Struct(
    TrainingData, {"sha256": f.Text(), "samples": f.Integer(), "features": f.Maybe(f.Integer())}
)
MODEL_CARD = f.Struct(
    ModelCard,
    {
        **{"versions": f.Entries(f.Text()), "certificate": f.Entries(f.Real("any"))},
        **{"data": f.Maybe(TRAINING_DATA), "seed": f.Maybe(f.Integer(-f.MAX_INTEGER))},
        "note": f.Text(),
    },
)


def versions_here() -> dict[str, str]:
    """Versions of what the numbers of a model depend on."""
    return {**{name: version_of(name) for name in PACKAGES}, "python": platform.python_version()}


def version_of(package: str) -> str:
    """The version of a package, installed or not."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from its folder, not installed
        return str(import_module(package).__version__)


def make_model_card(model: Any, data: tuple[Any, Any] | None = None, note: str = "") -> ModelCard:
    """The card of a fitted model."""
    inner = _find_inside(model, -1)
    seed = getattr(inner, "random_state", None)
    return ModelCard(
        versions_here(),
        _read_certificate(inner),
        None if data is None else describe_data(model, data),
        int(seed) if isinstance(seed, int | np.integer) else None,
        f.Text().get(note, "note", f.Archive()),
    )


def read_model_card(document: Any) -> ModelCard:
    """The card back, checked."""
    return cast(ModelCard, MODEL_CARD.get(document, "card", f.Archive()))


def data_hash(X: Any, y: Any = None) -> str:
    """SHA-256 of samples and labels: of their shapes, types and values, whatever they come in.

    Samples may be rows, texts, bytes, lists of tokens, or graphs.

    >>> data_hash([[1.0, 2.0]], ["a"])[:12]
    '4e281e29b680'
    """
    digest = hashlib.sha256()
    if isinstance(X, DataTable):
        _hash_table(digest, X)
    elif issparse(X):
        X = csr_array(X)
        X.sum_duplicates()
        digest.update(f"csr {X.shape} {X.data.dtype.newbyteorder('<').str}".encode())
        for part, kind in ((X.indptr, "<i8"), (X.indices, "<i8"), (X.data, None)):
            digest.update(_bytes_of(part, kind))
    else:
        _hash_array(digest, _as_array(X))
    if y is not None:
        _hash_array(digest, _as_array(y))
    return digest.hexdigest()


def _hash_table(digest: Any, table: DataTable) -> None:
    """Hash the cells of a table, whatever the codes of its texts are."""
    digest.update(f"table {table.columns}".encode("utf-8", "surrogatepass"))
    _hash_array(digest, np.ascontiguousarray(table.numbers))
    for codes, values in table.texts.values():
        used, inverse = np.unique(codes, return_inverse=True)
        words = np.array(["" if code < 0 else f"={values[code]}" for code in used], dtype=object)
        order = np.argsort(words.astype(str), kind="stable")
        _hash_array(digest, words[order])
        _hash_array(digest, np.argsort(order).astype(np.int32)[inverse])


def _as_array(values: Any) -> Any:
    """An array; of texts one of objects, since NumPy's strings are all as long as the longest."""
    if not isinstance(values, list | tuple) or not values:
        return np.asarray(values)
    for kind in (str, bytes):
        if all(isinstance(value, kind) for value in values):
            return np.fromiter((kind(value) for value in values), dtype=object)
    if isinstance(values[0], Graph) or is_networkx(values[0]):
        return check_graphs("a data set", values)
    try:
        return np.asarray(values)
    except ValueError:  # ragged: lists of tokens
        if not all(isinstance(value, list | tuple) for value in values) or any(
            not isinstance(token, str | int) for value in values for token in value
        ):
            raise
        return np.fromiter((tuple(value) for value in values), dtype=object)


def _hash_array(digest: Any, values: Any) -> None:
    if values.dtype.kind in "OUT":
        digest.update(f"words {values.shape}".encode())
        for word in values.ravel().tolist():
            if isinstance(word, Graph):
                _hash_graph(digest, word)
                continue
            plain = isinstance(word, str | bytes) or _is_tokens(word)
            part = (str(word) if plain else canonical_text(word)).encode("utf-8", "surrogatepass")
            digest.update(f"{type(word).__name__} {len(part)} ".encode() + part)
        return
    digest.update(f"array {values.shape} {values.dtype.newbyteorder('<').str}".encode())
    if not values.ndim:
        digest.update(_bytes_of(values, None))
        return
    row = max(1, values.nbytes // max(1, len(values)))
    for rows in row_blocks(len(values), rows_that_fit(row, 16 * MEBIBYTE)):
        digest.update(_bytes_of(values[rows], None))


def _is_tokens(word: Any) -> bool:
    """Whether a sample is a tuple of tokens, as kernels on sequences take."""
    return isinstance(word, tuple) and all(isinstance(token, str | int | bytes) for token in word)


def _hash_graph(digest: Any, graph: Graph) -> None:
    digest.update(f"graph {graph.n_nodes} ".encode())
    for part in (graph.edges, graph.node_labels, graph.edge_labels):
        if part is None:
            digest.update(b"none")
        else:
            _hash_array(digest, part)


def _bytes_of(values: Any, kind: str | None) -> bytes:
    wanted = values.dtype.newbyteorder("<") if kind is None else kind
    return np.ascontiguousarray(values, dtype=wanted).tobytes()


def _find_inside(model: Any, step: int) -> Any:
    """The model inside searches, decisions and pipelines; of a pipeline, the first or last (-1) step."""
    while True:
        if isinstance(model, Pipeline):
            steps = [one for _, one in model.steps if isinstance(one, BaseEstimator)]
            model = steps[step] if steps else None
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "estimator_"):
            model = model.estimator_
        else:
            return model


def _read_certificate(model: Any) -> dict[str, float]:
    found = {}
    for name in CERTIFICATE:
        value = getattr(model, name, None)
        if value is not None and np.size(value) and not np.isnan(np.max(value)):  # NaN: no gap
            found[name.rstrip("_")] = float(np.max(value))
    mistakes = getattr(model, "mistakes_", None)
    if mistakes is not None and len(mistakes):
        found["mistakes in the last pass"] = float(mistakes[-1])
    if isinstance(getattr(model, "tol", None), int | float):
        found["tol"] = float(model.tol)
    return found


def describe_data(model: Any, data: Any) -> TrainingData:
    """Hash and size of the training set (X, y) of a model, checked."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise DataError(f"`data` must be a tuple (X, y); got {type(data).__name__}")
    X, y = data
    first = _find_inside(model, 0)
    kernel = None if first is None else object_kernel(first)
    expected = "`data` must be what the model was trained on"
    if kernel is not None:
        try:
            X = kernel.checked(X)
        except DataError as error:
            raise DataError(f"{expected}: {kernel.takes}; {error}") from None
    try:
        shape, labels = (
            part.shape if hasattr(part, "shape") else _as_array(part).shape for part in (X, y)
        )
    except ValueError:
        raise DataError("`data` must be (X, y), samples and labels; X or y is ragged") from None
    if not labels or labels[0] != shape[0]:
        raise DataError(f"`data` must have a label for each sample; got {shape} and {labels}")
    if kernel is not None:
        return TrainingData(data_hash(X, y), int(shape[0]), None)
    if first is not None and not get_tags(first).input_tags.two_d_array:
        if len(shape) != 1 or not all(isinstance(text, str | bytes) for text in X):
            raise DataError(f"{expected}: texts; X has shape {tuple(shape)}")
        return TrainingData(data_hash(X, y), int(shape[0]), None)
    d = getattr(model, "n_features_in_", "rows of")
    if len(shape) != 2 or shape[1] != getattr(model, "n_features_in_", shape[1]):
        raise DataError(f"{expected}: {d} features; X has shape {tuple(shape)}")
    return TrainingData(data_hash(X, y), int(shape[0]), int(shape[1]))
