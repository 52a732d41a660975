"""Arrays that are on a Dask cluster: the same sums, merges and searches, where the samples are.

Estimators know nothing of it: `estimators/base/handover.py` sees an array type and calls `dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from separatrix.errors import MissingPackageError, UnsupportedError

for _package in ("dask", "distributed"):
    if find_spec(_package) is None:
        raise MissingPackageError(
            f"samples on a cluster need {_package}, which is not installed; install it with: "
            "pip install 'separatrix[dask]'"
        )

from separatrix.cluster.engine import run_fit  # noqa: E402
from separatrix.cluster.fits import FITS  # noqa: E402
from separatrix.cluster.lazy import apply_lazily, score_lazily  # noqa: E402
from separatrix.cluster.neighbor_blocks import ClusterIndex, query_lazily  # noqa: E402
from separatrix.cluster.partitions import Samples  # noqa: E402


def dispatch(
    model: Any, method: str, function: Callable[..., Any], X: Any, *args: Any, **more: Any
) -> Any:
    """Run a method of an estimator on samples that are on a cluster; `function` is the method itself."""
    name = type(model).__name__
    if method == "fit":
        fit = next(
            (FITS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in FITS), None
        )
        if fit is None:
            raise UnsupportedError(
                f"{name} is not fitted on a cluster; pass X.compute() and y.compute() if they fit into "
                "memory, or fit Nystroem and LinearSVC, which are"
            )
        return run_fit(lambda: fit(model, function, _samples(X, *args, **more)))
    if method == "score":
        return run_fit(lambda: score_lazily(model, X, *args, **more))
    if method == "partial_fit":
        raise UnsupportedError(
            f"partial_fit of {name} takes blocks in memory; call fit, which reads all blocks on the "
            "cluster, or pass a block at a time"
        )
    if isinstance(getattr(model, "index_", None), ClusterIndex):
        return query_lazily(model, method, X, *args, **more)
    return apply_lazily(model, method, X, *args, **more)


def _samples(X: Any, y: Any = None, sample_weight: Any = None) -> Samples:
    return X, y, sample_weight
