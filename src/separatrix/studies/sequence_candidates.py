"""What a study of sequences trains on a part: kernels with all that folds choose for them, and models."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.splits import Split
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.svc import SVC
from separatrix.estimators.svc_cv import SVCCV
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Kernel
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.studies.sequence_samples import Sequences
from separatrix.types import Matrix


class Tried(NamedTuple):
    """A candidate on one part."""

    fold_accuracy: float  # of what the folds chose, on the folds
    settings: dict[str, Any]  # what they chose
    guess: Any  # labels of the rows held out


class Candidate(Protocol):
    """What can be trained on the rows of a part, its settings chosen by the folds inside."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What makes it different from the others of its family."""

    def on(
        self, workshop: RunContext, data: Sequences, split: Split, inner: Sequence[Split]
    ) -> Tried:
        """Train on one part, and classify the rows that were held out."""


@dataclass(frozen=True)
class Machine:
    """A support vector machine with one kernel; folds choose C."""

    kernel: Kernel
    Cs: Sequence[float]
    family: Sequence[Kernel]  # kernels whose matrices are made with this one's

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel."""
        return parameters_of(self.kernel)

    def on(
        self, workshop: RunContext, data: Sequences, split: Split, inner: Sequence[Split]
    ) -> Tried:
        """Folds and machines read rows of one matrix."""
        K = workshop.once("matrices", Matrices).of(data.X, self.kernel, self.family)
        train, test = split
        search = SVCCV(self.Cs, estimator=SVC(kernel="precomputed"), cv=inner)
        search.fit(K[np.ix_(train, train)], data.y[train])
        guess = search.predict(K[np.ix_(test, train)])
        return Tried(search.best_score_, search.best_params_, guess)


@dataclass(frozen=True)
class Neighbours:
    """Nearest neighbours in the feature space of one kernel; folds choose how many."""

    kernel: Kernel
    k_max: int

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel."""
        return parameters_of(self.kernel)

    def on(
        self, workshop: RunContext, data: Sequences, split: Split, inner: Sequence[Split]
    ) -> Tried:
        """One search for each fold gives the accuracies of all numbers."""
        X, y = data.X[split.train], data.y[split.train]
        most = min(self.k_max, *(len(fold.train) for fold in inner))
        model = KNeighborsClassifier(kernel=self.kernel)
        accuracy = np.mean(
            [clone(model).fit(X[a], y[a]).score_by_k(X[b], y[b], most) for a, b in inner],
            axis=0,
        )
        best = int(np.argmax(accuracy))
        guess = model.fit(X, y).predict_by_k(data.X[split.test], best + 1)[:, best]
        return Tried(float(accuracy[best]), {"n_neighbors": best + 1}, guess)


@dataclass(frozen=True)
class Model:
    """Any classifier that takes sequences."""

    parameters: Mapping[str, Any]
    model: Any

    def on(
        self, workshop: RunContext, data: Sequences, split: Split, inner: Sequence[Split]
    ) -> Tried:
        """Fitted to every fold and then to the whole part."""
        X, y = data.X[split.train], data.y[split.train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # passes are limited on purpose
            accuracy = [
                np.mean(clone(self.model).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in inner
            ]
            guess = clone(self.model).fit(X, y).predict(data.X[split.test])
        return Tried(float(np.mean(accuracy)), {}, guess)


class Matrices:
    """Gram matrices of kernels that share their levels, made together; only the latest are kept."""

    def __init__(self) -> None:
        self._family: object = None
        self._kept: dict[Kernel, Matrix] = {}

    def of(self, X: Any, kernel: Kernel, family: Sequence[Kernel]) -> Matrix:
        """That of one kernel on all samples."""
        shared = _levels(kernel)
        if kernel not in self._kept or self._family != shared:
            self._kept.clear()
            alike = [other for other in family if _levels(other) == shared]
            self._kept = {
                other: gram.tile(np.arange(len(X)), slice(0, len(X)))
                for other, gram in zip(alike, SharedProducts(X).grams(alike), strict=True)
            }
            self._family = shared
        return self._kept[kernel]


def machines(kernels: Sequence[Kernel], Cs: Sequence[float]) -> list[Candidate]:
    """A machine for each kernel."""
    return [Machine(kernel, Cs, kernels) for kernel in kernels]


def parameters_of(kernel: Kernel) -> dict[str, Any]:
    """The kernel on sequences inside, with what was set of it.

    >>> from separatrix.kernels import Normalized, Spectrum
    >>> parameters_of(Normalized(Spectrum(3)))
    {'kernel': 'Spectrum', 'k': 3}
    """
    inside = kernel.base or kernel
    given = {name: value for name, value in inside.get_params().items() if value is not None}
    return {"kernel": type(inside).__name__, **given}


def settings(parameters: str) -> str:
    """Parameters of a row in words.

    >>> settings('{"C": 1.0, "k": 4, "kernel": "WeightedDegree"}')
    'WeightedDegree, k 4, C 1'
    """
    found = json.loads(parameters)
    first = [str(found.pop("kernel"))] if "kernel" in found else []
    rest = sorted(found.items(), key=lambda item: (item[0] == "C", item[0]))
    return ", ".join(first + [f"{name} {_short(value)}" for name, value in rest])


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _levels(kernel: Kernel) -> object:
    return kernel.base.family if kernel.base is not None else kernel
