"""Cross-validated searches of kernel machines: folds are tasks, and a worker has all samples once."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from separatrix.cluster.engine import (
    call_on_worker,
    client_in_use,
    compute,
    persist,
    share,
    short_name,
    task,
    value_of_call,
)
from separatrix.cluster.pair_fits import fit_gathered, gather_samples, require_room_for_all
from separatrix.cluster.partitions import partition
from separatrix.errors import UnsupportedError
from separatrix.estimators.base.prepare import prepare


def fit_search(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """`SVCCV` or `KernelPerceptronCV`: each worker searches some folds, one trains the best cell.

    A grid that widens, and a combination of kernels, are one search: they run on one worker.
    """
    model._check_parameters()
    n_folds = model.cv if isinstance(model.cv, int) else 0
    if model.widen or model._combines or not n_folds:
        return fit_gathered(model, fit, X, y, sample_weight)
    if sample_weight is not None and not has_fit_parameter(model, "sample_weight"):
        raise UnsupportedError(f"fit of {type(model).__name__} takes no sample_weight")
    name, columns = short_name(model), require_room_for_all(model, partition(X, y, sample_weight))
    (samples,) = persist([task(f"{name}-samples", gather_samples)(*columns)])
    client = client_in_use()
    workers = 1 if client is None else len(client.scheduler_info(n_workers=-1)["workers"])
    cuts = np.linspace(0, n_folds, min(n_folds, max(1, workers)) + 1).astype(int).tolist()
    folds = [slice(a, b) for a, b in pairwise(cuts)]
    own = share(f"{name}-model", model)
    searched = [
        task(f"{name}-folds-{some.start}-{some.stop - 1}", call_on_worker)(
            search_folds, own, samples, some
        )
        for some in folds
    ]
    found = [value_of_call(one) for one in compute(*searched, counted=searched)]
    best = task(f"{name}-best", call_on_worker)(train_best, own, samples, found)
    (fitted,) = compute(best)
    model.__dict__ |= value_of_call(fitted).__dict__
    return model


def _prepare(search: Any, samples: Any) -> tuple[Any, Any, Any]:
    """A copy of the search, its model, and the checked samples."""
    search = copy(search)
    model = search._model()
    more = {"class_weight": model.class_weight} if hasattr(model, "class_weight") else {}
    return search, model, prepare(search, *samples, **more)


def search_folds(search: Any, samples: Any, some: slice) -> Any:
    """The results of a search on some of its folds."""
    search, model, train = _prepare(search, samples)
    return search._search(model, train, some)


def train_best(search: Any, samples: Any, found: list[Any]) -> Any:
    """The search with the results of all folds, and its best model trained on all samples."""
    search, model, train = _prepare(search, samples)
    return search._keep_best(model, train, search._merge_folds(model, train, found))
