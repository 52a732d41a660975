"""Training many runs over shared inner products: every kernel, split and fold of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.multiclass import LabelledGram, RowsClassified
from separatrix.estimators.base.prepare import class_weights, generator
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import kernel_for_samples
from separatrix.kernels.gram.operations import concurrent_fits
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.object_kernels import first_base
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes

Kept = TypeVar("Kept")


def with_seed(model: Any) -> Any:
    """The model, or a copy with an integer seed: threads must not share a generator."""
    if isinstance(getattr(model, "random_state", 0), int | np.integer):
        return model
    seed = int(generator(model).integers(2**31))
    return clone(model).set_params(random_state=seed)


def resolve_kernels(owner: str, kernels: Any, model: Any, X: Any) -> list[Kernel]:
    """Candidates by name or as objects; those given by name take the model's gamma, degree, coef0."""
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Iterable):
        raise ParameterError(owner, "kernels", "a list of at least one kernel, or None", kernels)
    kernels = [kernel_for_samples(kernel, X) for kernel in kernels]
    taken = [kernel.takes if isinstance(kernel, Kernel) else "vectors" for kernel in kernels]
    for kernel, kind in zip(kernels, taken, strict=True):
        if kind != taken[0] and "objects" not in (kind, taken[0]):
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
    """Refuse samples of another kind than the kernels take."""
    for kernel in kernels:
        base = first_base(kernel) if isinstance(kernel, Kernel) else None
        if base is not None:
            base.checked(X)
        elif X.dtype == object:
            raise DataError(
                f"{kernel!r} takes vectors; got a list of {type(X[0]).__name__}: a kernel on sequences, as "
                "Spectrum(3), or on graphs, as WeisfeilerLehman(3), or a function of two objects, as "
                "FromCallable(k), takes those"
            )


def with_coded_weights(model: Any, classes: Any) -> Any:
    """The model with its class weights by code of the class, for labels that are codes.

    >>> from separatrix import SVC
    >>> with_coded_weights(SVC(class_weight={"b": 2.0}), np.array(["a", "b"]))
    SVC(class_weight={1: 2.0})
    """
    given = getattr(model, "class_weight", None)
    if not isinstance(given, dict):
        return model
    class_weights(model, given, classes, classes)  # raises errors
    coded = {c: given[label] for c, label in enumerate(classes.tolist()) if label in given}
    return clone(model).set_params(class_weight=coded)


def classify_many(
    model: Any,  # with classify_rows and classify_rows_many, as `KernelPerceptron` and `SVC`
    shared: SharedProducts,
    y: Codes,  # shape: (n,)
    kernels: Sequence[Kernel],
    runs: Sequence[Codes],
    keep: Callable[[int, RowsClassified], Kept],
    *,
    n_classes: int,
    monitor: FitMonitor,
) -> Iterator[list[Kept]]:
    """For each kernel in turn, `keep(number, result)` of every run.

    `runs` are the rows that each run trains on; a run is one step of the monitor. On a device all runs
    train in one batch, and the model's time limit is that of the batch.
    """
    threads, time_limit = shared.threads, getattr(model, "time_limit", None)
    model = with_seed(model)

    def finish(number: int, result: RowsClassified) -> Kept:
        monitor.step()
        return keep(number, result)

    for gram in shared.grams(kernels, monitor):
        data = LabelledGram(gram, y, n_classes)
        at_once = concurrent_fits(gram, threads)
        if at_once > threads:
            inner = monitor.inner(time_limit)
            found = model.classify_rows_many(data, runs, monitor=inner)
            yield [finish(number, result) for number, result in enumerate(found)]
            continue
        inside = threads if at_once == 1 else 1

        def train(run: tuple[int, Codes], data: LabelledGram = data, inside: int = inside) -> Kept:
            inner = monitor.inner(time_limit)
            return finish(run[0], model.classify_rows(data, run[1], monitor=inner, threads=inside))

        yield in_threads(train, enumerate(runs), threads=at_once, monitor=monitor)
