"""All cells of a search over `SVC`: paths in C over the Gram matrices of shared inner products."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils import _safe_indexing, check_array, compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.accel.dispatch import NotServed
from separatrix.accel.searches import Cell, Fold, Solved, transform_by
from separatrix.accel.support_vectors import has_free_coefficients, require_definite
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.support import Support, class_segments, scores_of_all
from separatrix.estimators.base.svc_path import SvcPath, solve_svc_path
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.held import HeldGram
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.blocks import MEBIBYTE
from separatrix.runtime.device import as_numpy
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_order, thread_count
from separatrix.solvers.svm.problem import LIBSVM
from separatrix.types import Codes, Gram, Matrix, Vector

KERNELS = ("linear", "poly", "rbf", "sigmoid")
MATRICES = 12  # bytes for a pair of samples: products, kernel values, and half of one more
BESIDES = 64 * MEBIBYTE  # of scores and labels of all cells


class SearchSamples(NamedTuple):
    """The samples of some cells, in the order of their classes."""

    X: Any
    rows: Codes  # shape: (m,); the row of the data set that each sample is
    y: Codes  # shape: (m,); class codes, sorted
    classes: Any
    cells: list[Cell]

    def positions(self, rows: Codes) -> Codes:
        """Where rows of the data set are among the samples."""
        order = np.argsort(self.rows)
        return np.asarray(order[np.searchsorted(self.rows, rows, sorter=order)])


def solve_svc_cells(X: Any, y: Any, cells: list[Cell]) -> Iterator[tuple[int, Solved]]:
    """Predictions of the cells whose intercepts are determined, with their numbers."""
    for cell in cells:
        _require_served(cell.model)
    y = column_or_1d(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    for cell in cells:
        if len(np.unique(codes[cell.fold.train])) < len(classes) or len(classes) < 2:
            raise NotServed("folds without samples of a class")
    for samples in _samples_of(X, y, codes, classes, cells):
        yield from _solve_samples(samples)


def _require_served(model: Any) -> None:
    if not isinstance(model.kernel, str) or model.kernel not in KERNELS:
        raise NotServed("precomputed or own kernel")
    if model.probability not in (False, "deprecated"):
        raise NotServed("probability=True")
    if model.max_iter != -1 or model.verbose:
        raise NotServed("max_iter or verbose")
    require_definite(model.kernel, model.coef0)


def _samples_of(
    X: Any, y: Any, codes: Codes, classes: Any, cells: list[Cell]
) -> Iterator[SearchSamples]:
    """The samples as the last step sees them: the same for all folds, or each fold's own."""
    if cells[0].steps is None:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        order = np.argsort(codes, kind="stable")
        yield SearchSamples(X[order], order, codes[order], classes, cells)
        return
    groups: dict[tuple[str, Fold], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.before, cell.fold].append(cell)
    for own in groups.values():
        train, wanted = own[0].fold.train, np.setdiff1d(own[0].fold.wanted, own[0].fold.train)
        steps = own[0].steps
        learned = steps.fit_transform(_safe_indexing(X, train), _safe_indexing(y, train))
        parts = [learned, transform_by(steps, _safe_indexing(X, wanted))]
        sparse = any(issparse(part) for part in parts)
        merged = csr_array(vstack(parts)) if sparse else np.vstack(parts)
        merged = check_array(merged, accept_sparse="csr", dtype=np.float64)
        rows = np.concatenate([train, wanted])
        order = np.argsort(codes[rows], kind="stable")
        yield SearchSamples(merged[order], rows[order], codes[rows][order], classes, own)


def _solve_samples(samples: SearchSamples) -> Iterator[tuple[int, Solved]]:
    """Cells that share their samples, kernel by kernel."""
    by_kernel: dict[tuple[Kernel, float], list[Cell]] = defaultdict(list)
    for cell in samples.cells:
        by_kernel[_kernel_of(cell, samples), cell.model.tol].append(cell)
    shared = SharedProducts(
        samples.X,
        memory=_require_room(samples),
        tolerance=min(1e-4, *(tol for _, tol in by_kernel)),
        segments=class_segments(samples.y, len(samples.classes)),
    )
    grams = shared.grams(kernel for kernel, _ in by_kernel)
    for ((_, tol), cells), gram in zip(by_kernel.items(), grams, strict=True):
        yield from _solve_kernel(samples, gram, cells, tol)


def _require_room(samples: SearchSamples) -> int:
    """Bytes that LIBSVM may take for its cache; raises an error if products and values need more."""
    room = int(min(cell.model.cache_size for cell in samples.cells) * MEBIBYTE)
    rows, cells, k = len(samples.rows), samples.cells, len(samples.classes)
    held = sum(len(cell.fold.wanted) for cell in cells) * (k * (k - 1) // 2 + 1)  # scores, labels
    if MATRICES * rows * rows > room or 8 * held > BESIDES:
        raise NotServed("much memory")
    return room


def _kernel_of(cell: Cell, samples: SearchSamples) -> Kernel:
    """The kernel of a cell; gamma="scale" is that of the training samples."""
    model = cell.model
    learned = samples.X
    if model.gamma == "scale" and model.kernel != "linear":
        learned = samples.X[samples.positions(cell.fold.train)]
    return resolve_kernel(
        "SVC",
        model.kernel,
        learned,
        gamma=model.gamma,
        degree=model.degree,
        coef0=float(model.coef0),
    )


def _solve_kernel(
    samples: SearchSamples, gram: Gram, cells: list[Cell], tol: float
) -> Iterator[tuple[int, Solved]]:
    """Cells over one Gram matrix: those with the same values of C are solved together."""
    chains: dict[Hashable, list[Cell]] = defaultdict(list)  # of one fold and one class weight
    for cell in cells:
        chains[cell.fold, repr(cell.model.class_weight)].append(cell)
    together: dict[tuple[float, ...], list[list[Cell]]] = defaultdict(list)
    for chain in chains.values():
        together[tuple(float(cell.model.C) for cell in chain)].append(chain)
    model = SVC(tol=tol, stop=LIBSVM)
    for Cs, group in together.items():
        weights = np.stack([_weights_of(chain[0], samples) for chain in group])
        k = len(samples.classes)
        path = solve_svc_path(model, gram, k, weights, Cs, FitMonitor(), [])
        if path.unfinished:
            raise NotServed("missed its tolerance")
        for chain, solved in in_order(
            partial(_predict_chain, samples, gram, path),
            zip(group, weights, path.supports, strict=True),
            threads=_scoring_threads(gram, len(group)),
        ):
            for c, answer in zip(path.reached, solved, strict=True):
                if answer is not None:
                    yield chain[c].number, answer


def _scoring_threads(gram: Gram, chains: int) -> int:
    """Threads that score chains: on a device one does."""
    return min(thread_count(), chains) if isinstance(gram, HeldGram) else 1


def _predict_chain(
    samples: SearchSamples,
    gram: Gram,
    path: SvcPath,
    task: tuple[list[Cell], Vector, list[Support]],
) -> tuple[list[Cell], list[Solved | None]]:
    """Predictions of the cells of one fold, in the order in which its values of C were reached.

    None for a cell with an intercept that its solution leaves open.
    """
    chain, weights, supports = task
    wanted = samples.positions(chain[0].fold.wanted)
    distinct = list(dict.fromkeys(supports))
    with blas_on_one_thread():  # many small products: its threads would spin more than they work
        S = as_numpy(scores_of_all(distinct, gram, wanted))  # (wanted, distinct, p)
    solved = [
        _predict(chain[c], samples, S[:, distinct.index(support)])
        if has_free_coefficients(support, gram.segments, chain[c].model.C * weights)
        else None
        for support, c in zip(supports, path.reached, strict=True)
    ]
    return chain, solved


def _weights_of(cell: Cell, samples: SearchSamples) -> Vector:
    """Factors of C of the samples: the weights of their classes, 0 outside of the training."""
    where = samples.positions(cell.fold.train)
    labels = samples.classes[samples.y[where]]
    of_class = compute_class_weight(cell.model.class_weight, classes=samples.classes, y=labels)
    weights = np.zeros(len(samples.y))
    np.add.at(weights, where, of_class[samples.y[where]])  # rows may be drawn several times
    return weights


def _predict(cell: Cell, samples: SearchSamples, S: Matrix) -> Solved:
    """Labels and decision values of the wanted rows, from scores at the boundaries, (wanted, p)."""
    k, model = len(samples.classes), cell.model
    n = int(max(samples.rows.max(), cell.fold.wanted.max())) + 1

    def decide() -> Matrix:
        if k == 2:
            return S[:, 0]
        by_class = model.decision_function_shape == "ovr"
        return np.asarray(_ovr_decision_function(S < 0, -S, k) if by_class else S)

    def spread() -> Matrix:
        values = decide()
        scores = np.full((n, *values.shape[1:]), np.nan)
        scores[cell.fold.wanted] = values
        return scores

    ties = model.break_ties and k > 2 and model.decision_function_shape == "ovr"
    codes = np.argmax(decide(), axis=1) if ties else as_numpy(vote(S, k, "ovo"))
    labels = np.empty(n, dtype=samples.classes.dtype)
    labels[cell.fold.wanted] = samples.classes[codes]
    return Solved(samples.classes, labels, spread)
