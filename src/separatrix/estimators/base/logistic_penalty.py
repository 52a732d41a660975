"""The penalty of logistic regression in scikit-learn's old and new parameters, and its solver.

scikit-learn 1.8 replaced `penalty` by `l1_ratio` and C; both are served.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import ArrayBlocks, StreamBlocks
from separatrix.estimators.base.device_samples import DeviceBlocks
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.logistic.descent import LogisticSolver
from separatrix.solvers.logistic.elastic_net_path import ElasticNetSolver

SOLVERS = ("auto", "lbfgs", "newton-cholesky", "newton-cg", "liblinear", "sag", "saga")
SPARSE_SOLVERS = ("auto", "saga", "liblinear")  # of scikit-learn's names, those that make weights 0


def check_penalty(model: Any, l1_ratio: Any, *, name: str) -> None:
    """Refuse an l1_ratio that is no share, and what does not go with one above 0."""
    owner = type(model).__name__
    share = isinstance(l1_ratio, Real) and not isinstance(l1_ratio, bool | np.bool_)
    if l1_ratio is not None and not (share and 0.0 <= float(l1_ratio) <= 1.0):
        raise ParameterError(owner, name, "a number from 0 to 1", l1_ratio)
    if model.penalty == "elasticnet" and l1_ratio is None:
        raise ParameterError(owner, name, "a number from 0 to 1 with penalty='elasticnet'", None)
    ratio = effective_l1_ratio(model.penalty, l1_ratio)
    if ratio == 0.0:
        return
    if model.solver not in SPARSE_SOLVERS or (model.solver == "liblinear" and ratio < 1.0):
        must_be = "'auto' or 'saga'" + (" or 'liblinear'" if ratio == 1.0 else "")
        raise ParameterError(owner, "solver", f"{must_be} with an l1 penalty", model.solver)
    if isinstance(getattr(model, "C", 1.0), str):
        raise ParameterError(owner, "C", "a number with an l1 penalty", model.C)
    if getattr(model, "posterior", None) is not None:
        must_be = "None with an l1 penalty, under which the posterior has an edge"
        raise ParameterError(owner, "posterior", must_be, model.posterior)


def effective_l1_ratio(penalty: Any, l1_ratio: float | None) -> float:
    """The share of the l1 penalty that both parameters mean."""
    if penalty in ("l1", "l2", None):
        return 1.0 if penalty == "l1" else 0.0
    return float(l1_ratio or 0.0)


def resolve_penalty(model: Any) -> tuple[float | None, float]:
    """C, None for "evidence", and the share of the l1 penalty; warns as scikit-learn does."""
    penalty, ratio = model.penalty, model.l1_ratio
    if penalty == "deprecated":
        if ratio is None:
            warn_user(
                "'l1_ratio=None' was deprecated in scikit-learn 1.8, and so it is here: use l1_ratio=0",
                FutureWarning,
            )
    else:
        warn_of_penalty("l1_ratio", "C=np.inf")
        if penalty in ("l1", "l2") and ratio is not None and ratio != (penalty == "l1"):
            warn_user(
                f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. penalty is "
                "deprecated. Please use l1_ratio only.",
                UserWarning,
            )
        if penalty is None:
            if model.C != 1.0:
                warn_user(f"Setting penalty=None will ignore the C given, {model.C!r}", UserWarning)
            return float("inf"), 0.0
    C = None if isinstance(model.C, str) else float(model.C)
    return C, 0.0 if float("inf") == C else effective_l1_ratio(penalty, ratio)


def warn_of_penalty(ratio: str, without: str) -> None:
    """The warning of scikit-learn 1.8 for `penalty`."""
    warn_user(
        "'penalty' was deprecated in scikit-learn 1.8, and so it is here: leave it out; 'l2', the "
        f"default, is {ratio} 0, 'l1' is {ratio} 1, and {without} is what None was",
        FutureWarning,
    )


def build_solver(
    blocks: ArrayBlocks | StreamBlocks | DeviceBlocks, *, l1_ratio: float, **options: Any
) -> LogisticSolver | ElasticNetSolver:
    """The solver of one training set under this penalty; `options` are those of `LogisticSolver`."""
    if l1_ratio == 0.0:
        return LogisticSolver(blocks, **options)
    if not isinstance(blocks, ArrayBlocks):
        raise DataError(
            "an l1 penalty needs all samples in memory, for working sets of features; got blocks: "
            "pass X and y as arrays, or use l1_ratio=0"
        )
    kept = ("intercept", "intercept_precision", "tol", "max_iter", "monitor")
    train = blocks.train
    return ElasticNetSolver(
        train.X, train.y, blocks.weights, classes=train.classes, l1_ratio=l1_ratio,
        **{name: options[name] for name in kept},
    )  # fmt: skip
