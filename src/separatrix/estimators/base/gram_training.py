"""Many trainings over one set of inner products: every kernel, split and fold of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.base import clone

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.multiclass import RowsClassified
from separatrix.estimators.base.prepare import generator
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.object_kernels import first_base
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes, Gram

Kept = TypeVar("Kept")


class TrainsOnGram(Protocol):
    """An estimator that can train on some rows of a Gram matrix and classify all of them."""

    time_limit: float | None
    random_state: Any

    def classify_rows(
        self,
        gram: Gram,
        y: Codes,
        rows: Codes,
        *,
        n_classes: int,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """As in `KernelPerceptron` and `SVC`."""
        ...


def seeded(model: Any) -> Any:
    """The model, or a copy with a number for a seed: threads cannot share a generator in any order."""
    if isinstance(model.random_state, int | np.integer):
        return model
    seed = int(generator(model).integers(2**31))
    return clone(model).set_params(random_state=seed)


def resolve_kernels(owner: str, kernels: Any, model: Any, X: Any) -> list[Kernel]:
    """Candidates by name or as objects; those given by name take the model's gamma, degree, coef0."""
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Iterable):
        raise ParameterError(owner, "kernels", "a list of at least one kernel, or None", kernels)
    kernels = list(kernels)
    taken = [kernel.takes if isinstance(kernel, Kernel) else "vectors" for kernel in kernels]
    for kernel, kind in zip(kernels, taken, strict=True):
        if kind != taken[0]:
            must_be = f"all kernels on {taken[0]}, as the first is"
            raise ParameterError(owner, "kernels", must_be, kernel)
    _require_samples_for(kernels[:1], X)
    named = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0}
    resolved = [
        resolve_kernel(owner, kernel, X, **({} if isinstance(kernel, Kernel) else named))
        for kernel in kernels
    ]
    if not resolved:
        raise ParameterError(owner, "kernels", "a list of at least one kernel, or None", kernels)
    return resolved


def _require_samples_for(kernels: Sequence[Any], X: Any) -> None:
    """Refuse samples of another kind than the kernels take: not everybody has checked them."""
    for kernel in kernels:
        base = first_base(kernel) if isinstance(kernel, Kernel) else None
        if base is not None:
            base.checked(X)
        elif X.dtype == object and not callable(kernel):
            raise DataError(
                f"{kernel!r} takes vectors; got a list of {type(X[0]).__name__}: a kernel on sequences, as "
                "Spectrum(3), or on graphs, as WeisfeilerLehman(3), takes those"
            )


def device_of_runs(model: Any, X: Any, kernels: Sequence[Kernel]) -> Any:
    """Where a model is trained under many kernels: on a card only where all of them can be there."""
    if not hasattr(model, "device"):
        return None
    places = [model._place(X, X.shape[0], kernel=kernel) for kernel in kernels]
    return None if None in places else places[0]


def classify_many(
    model: TrainsOnGram,
    shared: SharedProducts,
    y: Codes,  # shape: (n,)
    kernels: Sequence[Kernel],
    runs: Sequence[Codes],
    keep: Callable[[int, RowsClassified], Kept],
    *,
    n_classes: int,
    monitor: FitMonitor,
) -> Iterator[list[Kept]]:
    """For each kernel in turn, what `keep` makes of every run; all cores are busy with runs.

    `runs` are the rows that each run trains on. A run is a step of the watch. On a card all runs are
    trained at the same time by a model that can, and its time limit is that of all.
    """
    threads = shared.threads
    model = seeded(model)
    for gram in shared.grams(kernels):
        at_the_same_time = getattr(model, "classify_rows_many", None)
        if gram.device is not None and at_the_same_time is not None:
            inner = monitor.inner(model.time_limit)
            found = at_the_same_time(gram, y, runs, n_classes=n_classes, monitor=inner)
            yield [_kept(keep, number, result, monitor) for number, result in enumerate(found)]
            continue
        # a cache of rows serves one run at a time, and then every core works for that run
        at_once, inside = (threads, 1) if gram.held is not None else (1, threads)

        def one(run: tuple[int, Codes], gram: Gram = gram, inside: int = inside) -> Kept:
            result = model.classify_rows(
                gram,
                y,
                run[1],
                n_classes=n_classes,
                monitor=monitor.inner(model.time_limit),
                threads=inside,
            )
            monitor.step()
            return keep(run[0], result)

        yield in_threads(one, enumerate(runs), threads=at_once, monitor=monitor)


def _kept(
    keep: Callable[[int, RowsClassified], Kept],
    number: int,
    result: RowsClassified,
    monitor: FitMonitor,
) -> Kept:
    monitor.step()
    return keep(number, result)
