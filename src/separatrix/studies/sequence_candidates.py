"""Candidates of sequence studies: kernels and models whose settings folds inside a training part choose."""

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
from separatrix.types import Codes, Matrix


class SequenceSamples(NamedTuple):
    """Sequences with labels."""

    X: Any  # shape: (n,) of str
    y: Any  # shape: (n,)
    groups: Codes  # shape: (n,); rows of one group stay on one side of a split


class CandidateResult(NamedTuple):
    """A candidate on one training part."""

    fold_accuracy: float  # of the chosen settings, on the folds
    settings: dict[str, Any]
    guess: Any  # labels of the test rows


class SequenceCandidate(Protocol):
    """A model that is trained on a part, with settings chosen by its inner folds."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What sets it apart from the others of its family."""

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """Train on a part and predict its test rows."""


@dataclass(frozen=True)
class SvmCandidate:
    """An SVM with one kernel; folds choose C."""

    kernel: Kernel
    Cs: Sequence[float]
    family: Sequence[Kernel]  # kernels whose matrices are computed together

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel."""
        return kernel_params(self.kernel)

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """All folds read rows of one matrix."""
        matrices: KernelMatrices = context.shared("matrices", KernelMatrices)
        K = matrices.compute(data.X, self.kernel, self.family)
        train, test = split
        search = SVCCV(self.Cs, estimator=SVC(kernel="precomputed"), cv=inner)
        search.fit(K[np.ix_(train, train)], data.y[train])
        guess = search.predict(K[np.ix_(test, train)])
        return CandidateResult(search.best_score_, search.best_params_, guess)


@dataclass(frozen=True)
class NeighborsCandidate:
    """Nearest neighbours in the feature space of one kernel; folds choose k."""

    kernel: Kernel
    k_max: int

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel."""
        return kernel_params(self.kernel)

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """One search for each fold gives the accuracy of every k."""
        X, y = data.X[split.train], data.y[split.train]
        most = min(self.k_max, *(len(fold.train) for fold in inner))
        model = KNeighborsClassifier(kernel=self.kernel)
        accuracy = np.mean(
            [clone(model).fit(X[a], y[a]).score_by_k(X[b], y[b], most) for a, b in inner], axis=0
        )
        best = int(np.argmax(accuracy))
        guess = model.fit(X, y).predict_by_k(data.X[split.test], best + 1)[:, best]
        return CandidateResult(float(accuracy[best]), {"n_neighbors": best + 1}, guess)


@dataclass(frozen=True)
class PipelineCandidate:
    """Any classifier of sequences, without settings to choose."""

    parameters: Mapping[str, Any]
    model: Any

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """Fit to every fold, then to the part."""
        X, y = data.X[split.train], data.y[split.train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is low on purpose
            accuracy = [
                np.mean(clone(self.model).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in inner
            ]
            guess = clone(self.model).fit(X, y).predict(data.X[split.test])
        return CandidateResult(float(np.mean(accuracy)), {}, guess)


class KernelMatrices:
    """Gram matrices of kernels that share their levels, computed together; the latest are kept."""

    def __init__(self) -> None:
        self._family: object = None
        self._kept: dict[Kernel, Matrix] = {}

    def compute(self, X: Any, kernel: Kernel, family: Sequence[Kernel]) -> Matrix:
        """The matrix of one kernel on all samples."""
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


def svm_candidates(kernels: Sequence[Kernel], Cs: Sequence[float]) -> list[SequenceCandidate]:
    """An SVM for each kernel."""
    return [SvmCandidate(kernel, Cs, kernels) for kernel in kernels]


def kernel_params(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters of the string kernel, inside `Normalized` or not.

    >>> from separatrix.kernels import Normalized, Spectrum
    >>> kernel_params(Normalized(Spectrum(3)))
    {'kernel': 'Spectrum', 'k': 3}
    """
    inside = kernel.base or kernel
    given = {name: value for name, value in inside.get_params().items() if value is not None}
    return {"kernel": type(inside).__name__, **given}


def format_settings(parameters: str) -> str:
    """The parameters of a row as a short text.

    >>> format_settings('{"C": 1.0, "k": 4, "kernel": "WeightedDegree"}')
    'WeightedDegree, k 4, C 1'
    """
    found = json.loads(parameters)
    first = [str(found.pop("kernel"))] if "kernel" in found else []
    rest = sorted(found.items(), key=lambda item: (item[0] == "C", item[0]))
    numbers = (int, float)
    return ", ".join(
        first + [f"{name} {v:g}" if isinstance(v, numbers) else f"{name} {v}" for name, v in rest]
    )


def _levels(kernel: Kernel) -> object:
    return kernel.base.family if kernel.base is not None else kernel
