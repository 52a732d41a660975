"""Explain a model or one prediction: weights, support vectors, neighbours, permutation importance.

For a sequence or a graph: the words, subtrees or paths with the largest terms, and the contribution of
each letter or node.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline

from separatrix.app.estimate import last_step
from separatrix.app.predict_from_file import ignore_missing_names, require_samples
from separatrix.app.preprocessing import undecided
from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.prepare import object_kernel
from separatrix.estimators.base.tuned import best_model
from separatrix.estimators.object_attribution import explain_object, largest_weights

COUNT = 10


@dataclass(frozen=True)
class ModelExplanation:
    """A caption and a table; for a sequence or a graph also the contribution of each letter or node.

    `shares` holds the "object", the "values" of its letters or nodes, and the class "against" which the
    score was computed (None: all others).
    """

    caption: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    shares: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        plain: dict[str, Any] = {
            "caption": self.caption,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }
        if self.shares is not None:
            plain["shares"] = {**self.shares, "object": _plain(self.shares["object"])}
        return plain

    def __str__(self) -> str:
        rows = (self.columns, *self.rows)
        cells = [[" ".join(_shown(value).split()) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(f"{c:<{w}}" for c, w in zip(r, widths, strict=True)) for r in cells]
        return "\n".join([self.caption, *(line.rstrip() for line in lines)])


def explain(
    model: Any, data: Dataset | None = None, *, row: int | None = None, count: int = COUNT
) -> ModelExplanation:
    """Explain the model, or its prediction of one row of the data."""
    model = best_model(undecided(model))
    inner = last_step(model)
    if data is not None:
        require_samples(model, data)
    if row is not None:
        if data is None:
            raise DataError("`row` needs the data that it is in")
        n = len(data.X) if isinstance(data.X, list) else data.X.shape[0]
        if not 0 <= row < n:
            raise DataError(f"{data.name} has rows 0 to {n - 1}; got {row}")
        return _of_row(model, inner, data, row, count)
    if hasattr(inner, "coef_"):
        return _weights(model, inner, count)
    if hasattr(inner, "feature_log_prob_"):
        return _words(model, inner, count)
    if data is not None and data.y is not None and not isinstance(data.X, list):
        return _permuted(model, data, count)
    if hasattr(inner, "support_"):
        with suppress(UnsupportedError):
            return _counted_weights(model, count)
        return _support(inner)
    raise UnsupportedError(
        f"{type(inner).__name__} has no weights; pass labelled data for permutation importance, or "
        "data and a row"
    )


def _weights(model: Any, inner: Any, count: int) -> ModelExplanation:
    """List the largest weights of each boundary, for the preprocessed features."""
    names = feature_names(model, inner)
    W = np.atleast_2d(np.asarray(inner.coef_))
    rows = [
        (title, names[j], float(w[j]))
        for title, w in zip(_boundaries(inner, len(W)), W, strict=True)
        for j in _largest(np.abs(w), count)
    ]
    caption = "The largest weights of each boundary, for the scaled features."
    return ModelExplanation(caption, ("boundary", "feature", "weight"), rows)


def _words(model: Any, inner: Any, count: int) -> ModelExplanation:
    """List the features with the largest log-probability ratio of each class to the others."""
    names = feature_names(model, inner)
    L = np.asarray(inner.feature_log_prob_)
    finite = np.where(np.isfinite(L), L, L[np.isfinite(L)].min(initial=0.0))
    rows = []
    for k, label in enumerate(inner.classes_.tolist()):
        gain = finite[k] - np.delete(finite, k, axis=0).mean(axis=0)
        rows += [(label, names[j], float(gain[j])) for j in _largest(gain, count)]
    caption = "The strongest evidence for each class: log probability, less the mean of the other classes."
    return ModelExplanation(caption, ("class", "feature", "gain"), rows)


def _permuted(model: Any, data: Dataset, count: int) -> ModelExplanation:
    """Compute the permutation importance of each feature."""
    if isinstance(data.X, DataTable):
        names: Any = data.X.columns
        mean, sd = _permute_columns(model, data.X, data.y)
    else:
        X = data.X.toarray() if issparse(data.X) else data.X
        with ignore_missing_names():
            found = permutation_importance(model, X, data.y, n_repeats=5, random_state=0)
        names = data.features or _numbered(X.shape[1])
        mean, sd = found.importances_mean, found.importances_std
    rows = [(names[j], float(mean[j]), float(sd[j])) for j in _largest(mean, count)]
    lost = "accuracy lost when a feature is shuffled, 5 times"
    caption = f"Permutation importance on {data.name}: {lost}."
    return ModelExplanation(caption, ("feature", "loss", "sd"), rows)


def _permute_columns(model: Any, table: DataTable, y: Any, repeats: int = 5) -> tuple[Any, Any]:
    """Mean and deviation of the accuracy that is lost when a column of a table is shuffled."""
    rng = np.random.default_rng(0)
    before = np.mean(model.predict(table) == y)
    lost = np.empty((table.shape[1], repeats))
    for j, name in enumerate(table.columns):
        for repeat in range(repeats):
            shuffled = table.with_column(name, rng.permutation(len(table)))
            lost[j, repeat] = before - np.mean(model.predict(shuffled) == y)
    return lost.mean(axis=1), lost.std(axis=1)


def _counted_weights(model: Any, count: int) -> ModelExplanation:
    """List the largest weights of each boundary, for the features that a kernel counts."""
    rows = [(title, _readable(name), w) for title, name, w in largest_weights(model, count)]
    return ModelExplanation(
        "The largest weights of each boundary: contribution of each occurrence of a feature to the score; "
        "with Normalized, in an object of norm 1.",
        ("boundary", "feature", "weight"),
        rows,
    )


def _support(inner: Any) -> ModelExplanation:
    rows: list[tuple[Any, ...]] = [("all", len(inner.support_))]
    if hasattr(inner, "n_support_"):
        counts = np.asarray(inner.n_support_).tolist()
        rows = list(zip(inner.classes_.tolist(), counts, strict=False))
    hint = "pass data and a row to see those most similar to it"
    caption = f"{len(inner.support_)} support vectors; {hint}."
    return ModelExplanation(caption, ("class", "support vectors"), rows)


def _of_row(model: Any, inner: Any, data: Dataset, row: int, count: int) -> ModelExplanation:
    X = data.at([row]).X
    if object_kernel(model[0] if isinstance(model, Pipeline) else model) is not None:
        with suppress(UnsupportedError):
            return _parts(model, data, row, count)
    with ignore_missing_names():
        label = np.asarray(model.predict(X)).tolist()[0]
        for _, step in model.steps[:-1] if isinstance(model, Pipeline) else ():
            X = step.transform(X)
    begin = f"Row {row} of {data.name} is predicted as {label!r}."
    if hasattr(inner, "coef_"):
        return _terms(model, inner, X, label, begin, count)
    if hasattr(inner, "kneighbors"):
        return _neighbors(inner, X, begin)
    if hasattr(inner, "support_vectors_") and hasattr(inner, "kernel_"):
        return _similar(inner, X, begin, count)
    if hasattr(inner, "predict_proba"):
        with ignore_missing_names():
            P = inner.predict_proba(X)[0]
        rows = [(inner.classes_.tolist()[k], float(P[k])) for k in _largest(P, count)]
        return ModelExplanation(begin, ("class", "probability"), rows)
    raise UnsupportedError(f"{type(inner).__name__} cannot explain a single row")


def _parts(model: Any, data: Dataset, row: int, count: int) -> ModelExplanation:
    """List the features with the largest terms, and the contribution of each letter or node."""
    found = explain_object(model, data.X[row])
    others = "all others" if found.against is None else repr(found.against)
    caption = (
        f"Row {row} of {data.name} is predicted as {found.label!r}. Its score against {others} is "
        f"{found.score:.4g}: a bias of {found.bias:.4g}, and count times weight of "
        f"{len(found.features):,} features; these terms are the largest."
    )
    largest = found.features[:count]
    rows = [(_readable(one.name), one.count, one.weight, one.term) for one in largest]
    values = found.values.tolist()
    shares = {"object": found.object, "values": values, "against": found.against}
    return ModelExplanation(caption, ("feature", "count", "weight", "term"), rows, shares)


def _terms(model: Any, inner: Any, X: Any, label: Any, begin: str, count: int) -> ModelExplanation:
    """List the terms w_j x_j of the predicted class, largest first."""
    names = feature_names(model, inner)
    W = np.atleast_2d(np.asarray(inner.coef_))
    x = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)[0]
    position = inner.classes_.tolist().index(label)
    if len(W) == 1:
        w = W[0] if position == 1 else -W[0]
    elif len(W) == len(inner.classes_):
        w = W[position]
    else:
        raise UnsupportedError("one-vs-one boundaries have no single weight per class")
    terms = w * x
    largest = _largest(np.abs(terms), count)
    rows = [(names[j], float(x[j]), float(w[j]), float(terms[j])) for j in largest]
    caption = f"{begin} Its score is a sum of value times weight; these terms are the largest."
    return ModelExplanation(caption, ("feature", "value", "weight", "term"), rows)


def _neighbors(inner: Any, X: Any, begin: str) -> ModelExplanation:
    distances, rows = inner.kneighbors(X)
    labels = inner.classes_[inner._voters[0].y[rows[0]]].tolist()
    table = list(zip(rows[0].tolist(), labels, distances[0].tolist(), strict=True))
    caption = f"{begin} Its nearest training samples, which vote:"
    return ModelExplanation(caption, ("training row", "class", "distance"), table)


def _similar(inner: Any, X: Any, begin: str, count: int) -> ModelExplanation:
    if inner.kernel_.takes == "vectors":
        X = np.asarray(X.toarray() if issparse(X) else X)
    K = np.asarray(inner.kernel_.block(X, inner.support_vectors_)[0])
    rows = [(int(inner.support_[j]), float(K[j])) for j in _largest(K, count)]
    caption = f"{begin} The most similar support vectors:"
    return ModelExplanation(caption, ("training row", "similarity"), rows)


def feature_names(model: Any, inner: Any) -> list[str]:
    """Return the names of the features that enter the last step."""
    d = int(getattr(inner, "n_features_in_", 0)) or np.atleast_2d(inner.coef_).shape[1]
    names: Any = getattr(model, "feature_names_in_", None)
    for _, step in model.steps[:-1] if isinstance(model, Pipeline) else ():
        if hasattr(step, "get_feature_names_out"):
            names = step.get_feature_names_out(None if names is None else list(names))
    if names is None or len(names) != d:
        return _numbered(d)
    return [str(name) for name in names]


def _numbered(d: int) -> list[str]:
    return [f"x{j + 1}" for j in range(d)]


def _largest(values: Any, count: int) -> Any:
    """Positions of the largest values, largest first."""
    return np.argsort(-values, kind="stable")[:count]


def _boundaries(inner: Any, rows: int) -> list[str]:
    labels = inner.classes_.tolist()
    if rows == 1:
        return [f"{labels[1]} against {labels[0]}"]
    if rows == len(labels):
        return [f"{label}" for label in labels]
    return [f"boundary {number + 1}" for number in range(rows)]


def _plain(item: Any) -> Any:
    """Convert a sequence or a graph to JSON types."""
    if isinstance(item, Graph):
        labels = {"node_labels": item.node_labels, "edge_labels": item.edge_labels}
        plain = {name: None if one is None else one.tolist() for name, one in labels.items()}
        return {"n_nodes": item.n_nodes, "edges": item.edges.tolist(), **plain}
    if isinstance(item, bytes):
        return item.decode("latin-1")
    return list(item) if isinstance(item, tuple) else item


def _readable(name: str) -> str:
    """Quote a name with invisible characters."""
    seen = name.isprintable() and name == name.strip() and "  " not in name
    return name if seen else repr(name)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
