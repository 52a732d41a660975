"""How each family of estimators is fitted to samples on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from dask.delayed import Delayed
from sklearn.exceptions import ConvergenceWarning

from separatrix.cluster.cluster_blocks import CheckedBlock, ClusterBlocks
from separatrix.cluster.engine import (
    compute,
    compute_each,
    map_blocks,
    share,
    short_name,
    task,
)
from separatrix.cluster.fold_tasks import fit_search
from separatrix.cluster.linear_steps import fit_linear_svc, fit_subgradient
from separatrix.cluster.neighbor_blocks import fit_neighbors
from separatrix.cluster.pair_fits import concatenate_rows, fit_gathered, fit_svc
from separatrix.cluster.partitions import partition
from separatrix.errors import UnsupportedError
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes


def fit_sums(
    model: Any, fit: Callable[..., Any], X: Any, y: Any = None, sample_weight: Any = None
) -> Any:
    """A one-pass model: each block gives its sums, and they merge."""
    return fit(model, ClusterBlocks(model, partition(X, y, sample_weight)))


def fit_steps(
    model: Any, fit: Callable[..., Any], X: Any, y: Any = None, sample_weight: Any = None
) -> Any:
    """Logistic regression: blocks are kept where they are, and each step is a sum over them."""
    model._check_parameters()
    return fit(model, ClusterBlocks(model, partition(X, y, sample_weight), keep=True))


def fit_in_order(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """Passes over the blocks in their order: `partial_fit` of each, on the worker that has it.

    The model goes from block to block; blocks are computed ahead, and kept for the next pass.
    """
    model._check_parameters()
    parts = partition(X, y, sample_weight)
    blocks = ClusterBlocks(model, parts, keep=True, dtype=model._dtypes, weigh_classes=False)
    kept, (classes, _) = blocks.checked(), blocks.in_class_order()
    state = deepcopy(model)
    for name in ("_state", "classes_"):
        state.__dict__.pop(name, None)
    best, stale, passes = np.inf, 0, []
    for number in range(model.max_iter):
        state = _pass_in_order(state, kept, classes, number)
        wrong = int(state.mistakes_[-len(kept) :].sum())
        loss = float(state.loss_curve_[-len(kept) :].mean())
        passes.append(wrong)
        tol = -np.inf if model.tol is None else model.tol
        stale = stale + 1 if loss > best - tol else 0
        best = min(best, loss)
        if not wrong or (model.tol is not None and stale >= model.n_iter_no_change):
            state.stop_ = "tol" if wrong else "clean pass"
            break
    model.__dict__ |= state.__dict__
    model.n_iter_, model.mistakes_ = len(passes), np.array(passes, dtype=np.intp)
    if model.stop_ == "max_iter" and model.tol is not None:
        warn_user(
            f"{type(model).__name__} still made {passes[-1]} mistakes in pass {len(passes)} (max_iter "
            f"reached); the classes may not be separable: raise it, {model._advice}",
            ConvergenceWarning,
        )
    return model


def _pass_in_order(state: Any, kept: list[Delayed], classes: Any, number: int) -> Any:
    """The model after one more pass: a chain of tasks, one for each block."""
    name = short_name(state)
    chain, learn = [share(f"{name}-model", state)], task(f"{name}-pass-{number}", learn_block)
    for i, block in enumerate(kept):
        chain.append(learn(chain[-1], classes, block, number=i))
    (found,) = compute(chain[-1], counted=chain[1:-1])
    return found


def learn_block(model: Any, classes: Any, checked: CheckedBlock | None) -> Any:
    """The model after one more block."""
    if checked is None:
        return model
    X, y, weights = checked.block
    return deepcopy(model).partial_fit(X, classes[y], classes, weights)


def fit_landmarks(model: Any, fit: Callable[..., Any], X: Any, y: Any = None) -> Any:
    """`Nystroem`: the landmarks that a fit in memory draws, taken from their blocks."""
    model._check_parameters()
    given = {"gamma": model.gamma, **(model.kernel_params or {})}.get("gamma")
    _require_number(model, given)
    if model.kernel == "precomputed":
        raise UnsupportedError("kernel='precomputed' of Nystroem needs one matrix in memory")
    parts = partition(X)
    rows = parts.rows
    if np.isnan(rows).any():
        rows = compute_each("nystroem-rows", count_rows, None, parts.samples)
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.intp)
    landmarks = model._draw(int(starts[-1]))
    ranges = (landmarks, starts)
    taken = compute_each("nystroem-landmarks", take_rows, ranges, parts.samples)
    drawn = concatenate_rows([part for part in taken if part.shape[0]])
    fit(model, drawn)
    model.component_indices_ = landmarks
    return model


def count_rows(_shared: Any, number: int, X: Any) -> int:
    """Rows of a block."""
    return int(X.shape[0])


def take_rows(ranges: tuple[Codes, Codes], number: int, X: Any) -> Any:
    """The landmarks that lie in a block."""
    landmarks, starts = ranges
    low, high = starts[number], starts[number + 1]
    own = landmarks[(landmarks >= low) & (landmarks < high)] - low
    return X.iloc[own] if hasattr(X, "iloc") else X[own]


def fit_to_shape(model: Any, fit: Callable[..., Any], X: Any, y: Any = None) -> Any:
    """A map that only needs the number of features, and their names."""
    _require_number(model, getattr(model, "gamma", None))
    parts = partition(X)
    for block in map_blocks("map-shape", take_first, None, parts.samples):
        (first,) = compute(block)
        if first.shape[0]:
            break
    return fit(model, first)


def take_first(_shared: Any, number: int, X: Any) -> Any:
    """The first row of a block."""
    return X[:1]


def _require_number(model: Any, gamma: Any) -> None:
    if isinstance(gamma, str):
        raise UnsupportedError(
            f"gamma={gamma!r} of {type(model).__name__} needs all samples in one memory; pass a number: "
            "'scale' is 1 / (d X.var())"
        )


# by the name of the class, or of one that it inherits from
FITS: dict[str, Callable[..., Any]] = {
    "OnePass": fit_sums,
    "LogisticRegression": fit_steps,
    "LinearSVC": fit_linear_svc,
    "SubgradientSVC": fit_subgradient,
    "KNeighborsClassifier": fit_neighbors,
    "OnlineMachine": fit_in_order,
    "SVC": fit_svc,
    "NuSVC": fit_gathered,
    "KernelPerceptron": fit_gathered,
    "SVCCV": fit_search,
    "KernelPerceptronCV": fit_search,
    "Nystroem": fit_landmarks,
    "RandomFourier": fit_to_shape,
    "PolynomialMap": fit_to_shape,
}
