"""What the searches of kernel machines share: the model, the results and the predictions of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.gram_training import resolve_kernels
from separatrix.estimators.base.grid_widening import (
    GAMMA_FACTORS,
    Cell,
    GridAxis,
    results_table,
)
from separatrix.estimators.base.kernel_machine import TakesTensors, tags_of_kernel
from separatrix.estimators.base.parameters import Estimator
from separatrix.estimators.base.prepare import check_samples, prepare
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.names import resolve_kernel, width
from separatrix.runtime.device import DEVICES, like
from separatrix.types import Matrix
from separatrix.validation import require_choice, require_real


class KernelGrid(NamedTuple):
    """Kernels, each with every value of gamma; a column of a grid is (kernel, gamma) or (kernel,)."""

    own: list[Kernel]
    gammas: GridAxis | None
    name: str  # of the parameter that a column sets; "": none
    written: Mapping[float, Any] = MappingProxyType({})  # values of gamma that were given as words

    @property
    def axes(self) -> dict[str, GridAxis]:
        """The kernels, and their gamma."""
        kernels = {"kernel": GridAxis(self.own)}
        return kernels if self.gammas is None else {**kernels, "gamma": self.gammas}

    @property
    def columns(self) -> list[Cell]:
        """Those of the grid before it is widened."""
        return list(product(*(range(len(axis.values)) for axis in self.axes.values())))

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of these columns."""
        return [self.kernel(column) for column in self.columns]

    def kernel(self, column: Cell) -> Kernel:
        """The kernel of a column."""
        kernel = self.own[column[0]]
        if self.gammas is None:
            return kernel
        return kernel.with_params(gamma=self.gammas.at(column[1]))

    def params(self, column: Cell) -> dict[str, Any]:
        """The parameters of the estimator for a column."""
        if not self.name:
            return {}
        if self.name == "kernel":
            return {"kernel": self.kernel(column)}
        assert self.gammas is not None
        gamma = self.gammas.at(column[1])
        return {self.name: self.written.get(gamma, gamma)}


def as_list(owner: str, name: str, values: Any) -> list[Any]:
    """At least one value, as Python's own numbers."""
    if isinstance(values, str) or not np.iterable(values) or not len(list(values)):
        raise ParameterError(owner, name, "a list of at least one value", values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


class KernelMachineCV(CallbackSupportMixin, TakesTensors, Estimator):
    """A kernel machine whose parameters are chosen by cross-validation."""

    kernels: Any
    gammas: Any
    widen: int
    estimator: Any
    device: str
    _kind: ClassVar[type]  # of the estimator
    _best_name: ClassVar[str]  # attribute of the best model
    _combines: Any = False  # whether the kernels are combined, not chosen from

    def decision_function(self, X: Any) -> Any:
        """The decision function of the best model."""
        return self._predict_best("decision_function", X)

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,)."""
        return self._predict_best("predict", X)

    @property
    def _class_at_zero(self) -> str:
        rule: str = getattr(self, self._best_name)._class_at_zero
        return rule

    def _predict_best(self, method: str, X: Any) -> Any:
        """The predictions of the best model, on the device that the parameters name now."""
        check_is_fitted(self)
        best = getattr(self, self._best_name)
        best.device = self._device
        return like(getattr(best, method)(check_samples(self, X, reset=False)), X)

    @property
    def _own_kernel(self) -> Any:
        """The first of the kernels, which decides the kind of samples."""
        return next(iter(self.kernels), None) if np.iterable(self.kernels) else None

    @property
    def _fitted_kernel(self) -> Any:
        """The kernel object of the best model, or None before a fit."""
        return getattr(self.__dict__.get(self._best_name), "kernel_", None)

    @property
    def _device(self) -> str:
        """The device of the estimator unless "auto", else that of the search."""
        require_choice(type(self).__name__, "device", self.device, DEVICES)
        own: str = getattr(self.estimator, "device", "auto")
        return self.device if own == "auto" else own

    def _check_parameters(self) -> None:
        self._model()

    def _model(self) -> Any:
        """A checked copy of the estimator, on the device of the search."""
        super()._check_parameters()
        name, kind = type(self).__name__, self._kind.__name__
        if self.estimator is not None and not isinstance(self.estimator, self._kind):
            article = "an" if kind == "SVC" else "a"
            raise ParameterError(name, "estimator", f"{article} {kind} or None", self.estimator)
        model = self._kind() if self.estimator is None else clone(self.estimator)
        model._check_parameters()
        return model.set_params(device=self._device)

    def _resolve_kernels(self, model: Any, X: Any, kernels: Any = None) -> list[Kernel]:
        name = type(self).__name__
        resolved = resolve_kernels(name, self.kernels if kernels is None else kernels, model, X)
        for kernel in resolved:
            if isinstance(kernel, Precomputed):
                raise ParameterError(name, "kernels", "kernels on samples", kernel)
        return resolved

    def _kernel_grid(self, model: Any, X: Any, name: str) -> KernelGrid:
        """The kernels, or the estimator's own, with `gammas`; `name` is what a value of gamma sets."""
        owner = type(self).__name__
        if self.kernels is None or self._combines:
            resolved = [resolve_kernel(owner, model.kernel, X, **model._kernel_parameters())]
        else:
            resolved = self._resolve_kernels(model, X)
        if self.gammas is None:
            return KernelGrid(resolved, None, "kernel" if self.kernels is not None else "")
        for kernel in resolved:
            if "gamma" not in kernel.get_params():
                must_be = f"None for {kernel!r}, which has none"
                raise ParameterError(owner, "gammas", must_be, self.gammas)
        given: Sequence[Any] = GAMMA_FACTORS
        unit = 1.0
        if isinstance(self.gammas, str) and self.gammas == "scale":
            unit = width(owner, "scale", X)
        else:
            given = as_list(owner, "gammas", self.gammas)
        gammas = [unit * width(owner, gamma, X) for gamma in given]
        written = {g: word for g, word in zip(gammas, given, strict=True) if isinstance(word, str)}
        axis = GridAxis(sorted(gammas) if self.widen else gammas, self.widen)
        return KernelGrid(resolved, axis, name, written)

    def _keep_results(self, cells: list[dict[str, Any]], scores: Matrix) -> dict[str, Any]:
        """Set the attributes of the search; returns the best cell."""
        self.cv_results_ = results_table(cells, scores)
        self.best_index_ = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        return cells[self.best_index_]


class CostSearch(KernelMachineCV):
    """A search among values of C and among values of gamma or kernels."""

    Cs: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = isinstance(self.estimator, self._kind)
        estimator: Any = self.estimator if given else self._kind()
        pairwise = self.kernels is None and estimator._precomputed
        tags.input_tags.pairwise = pairwise
        tags.input_tags.sparse = not pairwise
        return tags_of_kernel(tags, self._own_kernel)

    @property
    def _own_kernel(self) -> Any:
        """The first of the kernels, which decides the kind of samples."""
        own = self.kernels is None or isinstance(self.kernels, str)
        if own and isinstance(self.estimator, self._kind):
            own_kernel: Any = self.estimator.kernel  # type: ignore[attr-defined]
            return own_kernel
        return super()._own_kernel

    def _check_parameters(self) -> None:
        self._values_of_C()
        super()._check_parameters()

    def _values_of_C(self) -> list[float]:
        owner = type(self).__name__
        Cs = as_list(owner, "Cs", self.Cs)
        for C in Cs:
            require_real(owner, "Cs", C, above=0)
        return Cs

    def _columns(self, model: Any, X: Any) -> KernelGrid:
        """The columns of the grid: kernels, or values of gamma of the estimator's own."""
        own = isinstance(model.kernel, Kernel)
        gamma = "kernel__gamma" if own else "gamma"
        return self._kernel_grid(model, X, gamma if self.kernels is None else "kernel")


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
