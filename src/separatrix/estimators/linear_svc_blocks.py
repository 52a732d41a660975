"""`LinearSVC` over blocks that sum themselves up: the squared hinge in the primal."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.errors import UnsupportedError
from separatrix.estimators.base.monitoring import monitored
from separatrix.estimators.linear_svc import LinearSolution, gather_fits
from separatrix.solvers.linear_svm.block_newton import solve_newton_over_blocks


def require_primal(model: Any) -> None:
    """Refuse problems whose dual needs all samples."""
    for wrong, what in (
        (model.loss != "squared_hinge", "loss='hinge'"),
        (model.penalty != "l2", "penalty='l1'"),
        (model.multi_class != "ovr", "multi_class='crammer_singer'"),
        (model.dual is True, "dual=True"),
        (model.fit_intercept and not model.regularize_intercept, "regularize_intercept=False"),
    ):
        if wrong:
            raise UnsupportedError(
                f"LinearSVC with {what} needs all samples in one memory; use the squared hinge with the l2 "
                "penalty, which is a sum over blocks, or pass X.compute()"
            )


def solve_over_blocks(model: Any, blocks: Any) -> LinearSolution:
    """All boundaries; the blocks know the weights of the classes."""
    k, fits = blocks.n_classes, []
    options = {"tol": float(model.tol), "max_iter": model.max_iter}
    options["constant"] = float(model.intercept_scaling) * model.fit_intercept
    steps = max(1, model.max_iter) * k
    with monitored(model, None, None, steps=steps, task="iteration") as monitor:
        for own in [1] if k == 2 else range(k):
            # as in scikit-learn, a class weight counts for its own class only
            weighed = np.full(k, k == 2) | (np.arange(k) == own)
            price = float(model.C) * np.where(weighed, blocks.class_weights, 1.0)
            fits.append(solve_newton_over_blocks(blocks, own, price, monitor=monitor, **options))
    return gather_fits(fits)
