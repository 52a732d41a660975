"""Logistic regression on a stream, `partial_fit`; `solvers/logistic/averaged_sgd.py` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.base.logistic_penalty import effective_l1_ratio, resolve_penalty
from separatrix.estimators.base.prepare import classes_of_stream, prepare, require_whole
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.solvers.logistic.averaged_sgd import StreamState, learn_from_stream
from separatrix.solvers.rows import rows_of


def learn_from_batch(
    model: Any, X: Any, y: Any, classes: Any, sample_weight: Any
) -> tuple[StreamState, float]:
    """The state of a stream after one more batch, and C; a fitted model has met the samples of its fit."""
    require_whole(model, "partial_fit")
    C = _check_stream(model)
    fitted = hasattr(model, "coef_")
    train = prepare(
        model,
        X,
        y,
        sample_weight,
        class_weight=model.class_weight,
        dtype=model._dtypes,
        classes=classes_of_stream(model, classes),
        reset=not fitted,
    )
    k, d = len(train.classes), train.X.shape[1]
    p = 1 if k == 2 else k
    state = _present_state(model) if fitted else StreamState.after(0, np.zeros((p, d)), np.zeros(p))
    squares = np.asarray(squared_norms(train.X), dtype=np.float64) + bool(model.fit_intercept)
    found = learn_from_stream(
        state,
        rows_of(train.X),
        train.y,
        train.weights * train.class_weights,
        squares,
        C=C,
        intercept=bool(model.fit_intercept),
    )
    if not np.isfinite(found.online.W).all() or not np.isfinite(found.squares):
        raise DataError("weights overflowed; scale the features, for example with StandardScaler")
    model.classes_ = train.classes
    return found, C


def _present_state(model: Any) -> StreamState:
    """A copy of the state that the next batch goes on from: an error must leave the model as it is."""
    stream: StreamState | None = getattr(model, "_stream", None)
    if stream is not None:
        arrays = [array.copy() for array in stream.online]
        return stream._replace(online=type(stream.online)(*arrays))
    if not hasattr(model, "n_samples_seen_"):
        raise UnsupportedError(
            "partial_fit needs the number of samples of the fit, which a model file of an earlier "
            f"version leaves out; fit this {type(model).__name__} again"
        )
    W = model.coef_.toarray() if issparse(model.coef_) else model.coef_
    return StreamState.after(model.n_samples_seen_, W, model.intercept_)


def suits_streams(model: Any) -> bool:
    """Whether the model has `partial_fit`; raises a sentence if its parameters do not suit a stream."""
    sparse = effective_l1_ratio(model.penalty, model.l1_ratio) > 0
    for parameter, wrong, must_be in (
        ("l1_ratio", sparse, "0 for partial_fit: averages of weights are not sparse"),
        ("C", isinstance(model.C, str), "a number for partial_fit"),
        ("posterior", model.posterior is not None, "None for partial_fit"),
    ):
        if wrong:
            raise ParameterError(
                type(model).__name__, parameter, must_be, getattr(model, parameter)
            )
    return True


def _check_stream(model: Any) -> float:
    """C, if the other parameters suit a stream as well."""
    for parameter, wrong, must_be in (
        ("intercept_precision", model.intercept_precision is not None, "None for partial_fit"),
        ("class_weight", model.class_weight == "balanced", "a dict or None for partial_fit"),
    ):
        if wrong:
            raise ParameterError(
                type(model).__name__, parameter, must_be, getattr(model, parameter)
            )
    C, _ = resolve_penalty(model)
    assert C is not None
    return C
