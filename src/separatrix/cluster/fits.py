"""How each family of estimators is fitted to samples on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.cluster.engine import call_each, compute, compute_each, map_blocks, share
from separatrix.cluster.kernel_fits import fit_gathered, fit_pairs, fit_search
from separatrix.cluster.neighbor_blocks import fit_neighbors
from separatrix.cluster.partitions import Samples, partition
from separatrix.estimators.base import labelled_blocks as labelled
from separatrix.estimators.base.labelled_blocks import learn_block, take_landmarks
from separatrix.estimators.linear_svc_blocks import require_primal, solve_over_blocks
from separatrix.estimators.subgradient_svc import DTYPES
from separatrix.solvers.subgradient import BlockObjective

Fit = Callable[..., Any]  # the method of the estimator itself


def fit_sums(model: Any, fit: Fit, samples: Samples) -> Any:
    """A one-pass model: each block gives its sums, and they merge."""
    return fit(model, ClusterBlocks(model, samples))


def fit_steps(model: Any, fit: Fit, samples: Samples) -> Any:
    """Logistic regression: blocks are kept where they are, and each step is a sum over them."""
    model._check_parameters()
    return fit(model, ClusterBlocks(model, samples, keep=True))


def fit_linear_svc(model: Any, fit: Fit, samples: Samples) -> Any:
    """The squared hinge by Newton's method in the primal; each step is one sum over the blocks."""
    model._check_parameters()
    require_primal(model)
    blocks = ClusterBlocks(model, samples, keep=True, dtype=np.float64, weigh_classes=False)
    words = f"primal Newton: {len(blocks)} blocks on a cluster"
    return model._keep(blocks.in_class_order()[0], solve_over_blocks(model, blocks), words)


def fit_subgradient(model: Any, fit: Fit, samples: Samples) -> Any:
    """Subgradient descent; each step is one sum over the blocks."""
    model._check_parameters()
    labelled.require_row_weights(model, samples[2] is not None)
    blocks = ClusterBlocks(model, samples, keep=True, dtype=DTYPES)
    model.classes_, _ = blocks.in_class_order()
    weight = float(blocks.weight @ blocks.class_weights)
    options = {"total": float(blocks.weight.sum()), "loss": model.loss, "mu": float(model.mu)}
    return model._minimise(BlockObjective(blocks, weight, **options), None, None)


def fit_in_order(model: Any, fit: Fit, samples: Samples) -> Any:
    """Passes over the blocks in their order: `partial_fit` of each, on the worker that has it.

    The model goes from block to block; blocks are computed ahead, and kept for the next pass.
    """
    model._check_parameters()
    blocks = ClusterBlocks(model, samples, keep=True, dtype=model._dtypes, weigh_classes=False)
    classes, _ = blocks.in_class_order()

    def one_pass(state: Any, number: int) -> Any:
        chain = [share(f"{blocks.name}-model", state)]
        for block in blocks.tasks:
            name, call = f"{blocks.name}-pass-{number}", (chain[-1], classes, block)
            chain += call_each(name, learn_block, [call])
        return compute(chain[-1], counted=chain[1:-1])[0]

    return model._learn_in_passes(len(blocks), one_pass)


def fit_landmarks(model: Any, fit: Fit, samples: Samples) -> Any:
    """`Nystroem`: the landmarks that a fit in memory draws, taken from their blocks."""
    model._check_parameters()
    labelled.require_given_gamma(model)
    parts = partition(samples[0])
    rows: Any = parts.rows
    if np.isnan(rows).any():
        blocks = [(X,) for _, X in parts.samples]
        rows = [shape[0] for shape in compute_each("nystroem-rows", np.shape, blocks)]
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.intp)
    landmarks = model._draw(int(starts[-1]))
    taken = compute_each("nystroem-landmarks", take_landmarks, parts.samples, landmarks, starts)
    fit(model, labelled.concatenate_rows([part for part in taken if part.shape[0]]))
    model.component_indices_ = landmarks
    return model


def fit_to_shape(model: Any, fit: Fit, samples: Samples) -> Any:
    """A map that only needs the number of features, and their names."""
    labelled.require_given_gamma(model)
    blocks = [(X,) for _, X in partition(samples[0]).samples]
    for task_of_block in map_blocks("map-shape", itemgetter(slice(1)), blocks):
        (first,) = compute(task_of_block)
        if first.shape[0]:
            break
    return fit(model, first)


# by the name of the class, or of one that it inherits from
FITS: dict[str, Callable[..., Any]] = {
    "OnePass": fit_sums,
    "LogisticRegression": fit_steps,
    "LinearSVC": fit_linear_svc,
    "SubgradientSVC": fit_subgradient,
    "KNeighborsClassifier": fit_neighbors,
    "OnlineMachine": fit_in_order,
    "SVC": fit_pairs,
    "KernelPerceptron": fit_pairs,
    "NuSVC": fit_gathered,
    "SVCCV": fit_search,
    "KernelPerceptronCV": fit_search,
    "Nystroem": fit_landmarks,
    "RandomFourier": fit_to_shape,
    "PolynomialMap": fit_to_shape,
}
