"""What kernel estimators share: the kernel parameter, the device policy, kernel values with the support."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags

from separatrix.errors import ParameterError
from separatrix.estimators.base.device_support import device_support_blocks
from separatrix.estimators.base.parameters import Estimator
from separatrix.kernels.base import Kernel, Precomputed, device_kernel_refusal
from separatrix.kernels.callables import callables_in
from separatrix.kernels.gram.build import kernel_blocks
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.prepared import TOLERANCE
from separatrix.runtime.blocks import MEBIBYTE
from separatrix.runtime.device import DevicePolicy, as_numpy, device_name, is_tensor, run_on
from separatrix.runtime.threads import thread_count
from separatrix.types import Codes, Matrix, Vector

MOST_MB = 2**40  # more than any machine has, and still a number of bytes
LARGE_ROWS = 4096  # samples whose kernel matrix is large enough for a GPU
LARGE_VALUES = 2**24  # kernel values of a prediction that are
Found = TypeVar("Found")
ON_DEVICE: WeakKeyDictionary[Any, Any] = (
    WeakKeyDictionary()
)  # support vectors of each Support on a GPU


class TakesTensors(ClassifierMixin):
    """A classifier whose samples, labels and weights may be tensors on any device."""

    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions on samples X, (n, d), with labels y, (n,)."""
        labels, weights = as_numpy(y), as_numpy(sample_weight)
        return float(accuracy_score(labels, as_numpy(self.predict(X)), sample_weight=weights))


class KernelMachine(Estimator):
    """An estimator with a `kernel`, whose nested parameters (`kernel__gamma`) can be set."""

    kernel: Any
    cache_size: float | None
    n_jobs: int | None
    multi_class: str
    device: str  # of estimators that can run on a GPU
    kernel_: Any  # a Kernel
    support_: Codes

    @cached_property
    def support_vectors_(self) -> Any:
        """The support vectors, (s, d): those of a fit on a GPU are copied when they are asked for."""
        support = self.__dict__.get("_support")
        if support not in ON_DEVICE:
            raise AttributeError("support_vectors_")
        ON_DEVICE[support] = as_numpy(ON_DEVICE[support])
        return ON_DEVICE[support]

    @property
    def _vectors(self) -> Any:
        """The support vectors where they are: a tensor, or as `support_vectors_`."""
        support = self.__dict__.get("_support")
        if "support_vectors_" in self.__dict__ or support not in ON_DEVICE:
            return self.support_vectors_
        return ON_DEVICE[support]

    def _keep_vectors(self, vectors: Any) -> None:
        """Set the support vectors of `_support`; a tensor on a GPU stays there until they are asked for."""
        self.__dict__.pop("support_vectors_", None)
        if device_name(vectors) == "cpu":
            self.support_vectors_ = as_numpy(vectors)
        else:
            ON_DEVICE[self.__dict__["_support"]] = vectors

    def __getstate__(self) -> dict[str, Any]:
        if "support_vectors_" not in self.__dict__ and self.__dict__.get("_support") in ON_DEVICE:
            _ = self.support_vectors_
        state: dict[str, Any] = super().__getstate__()
        return state

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a kernel object inside as `kernel__gamma`."""
        inner = {name: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            if not isinstance(self.kernel, Kernel):
                name, value = next(iter(inner.items()))
                raise ParameterError(
                    type(self).__name__, name, "set on a kernel object, not on a name", value
                )
            changes = {name.removeprefix("kernel__"): value for name, value in inner.items()}
            self.kernel = self.kernel.with_params(**changes)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags_of_kernel(tags, self._own_kernel)

    @property
    def _own_kernel(self) -> Any:
        """The parameter that decides the kind of samples."""
        return getattr(self, "kernel", None)

    @property
    def _fitted_kernel(self) -> Any:
        """The kernel object in use, or None before a fit."""
        return self.__dict__.get("kernel_")

    @property
    def _precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, Precomputed) or (
            isinstance(kernel, str) and kernel == "precomputed"
        )

    @property
    def _budget(self) -> int | None:
        return None if self.cache_size is None else int(min(self.cache_size, MOST_MB) * MEBIBYTE)

    @property
    def _kernel_tolerance(self) -> float:
        """Upper bound of the error of kernel values."""
        return TOLERANCE

    @property
    def _scheme(self) -> str:
        """The coding of the classes in binary problems."""
        return "ovo" if self.multi_class == "ovo" else "ovr"

    @property
    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _kernel_parameters(self) -> dict[str, Any]:
        """Parameters of a kernel that is given by name."""
        return {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}

    def _resolve_kernel(self, X: Any) -> Kernel:
        """The kernel object that the parameters mean on samples X."""
        return resolve_kernel(type(self).__name__, self.kernel, X, **self._kernel_parameters())

    def _has_feature_space(self) -> bool:
        """Whether distances in the feature space of the kernel exist, as far as is known."""
        kernel = getattr(self, "kernel_", self.kernel)
        if isinstance(kernel, Kernel) and not (
            kernel.positive_semidefinite or isinstance(kernel, Precomputed) or callables_in(kernel)
        ):
            raise AttributeError(f"{kernel!r} is not positive semidefinite: it has no distances")
        return True

    def _weight_norms(self, coef: Matrix) -> Vector:  # coef (s, p)
        """|w| of each boundary in the feature space, (p,), from the coefficients of the support.

        NaN where w'w is below 0: the kernel is not positive semidefinite.
        """
        vectors, squares = self.support_vectors_, np.zeros(coef.shape[1])
        for rows, K in self._kernel_with_support(vectors, self.support_, vectors):
            squares += np.einsum("sp,sp->p", K @ coef, coef[rows])
        return np.sqrt(np.where(squares >= 0, squares, np.nan))

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        """Where to train on samples X under some kernels: on a GPU only if all of them can run there."""
        obstacles = [gpu_obstacle(kernel, X) for kernel in kernels]
        return DevicePolicy(
            owner or type(self).__name__,
            self.device,
            (X,),
            large=X.shape[0] >= LARGE_ROWS and not issparse(X),
            obstacle=next(filter(None, obstacles), None),
        )

    def _map_kernel_values(self, X: Any, function: Callable[[Iterator[Any]], Found]) -> Found:
        """`function` of the blocks of kernel values of samples with the support, on CPU or GPU."""
        return run_on(
            self._prediction_policy(X), lambda device: function(self._kernel_values(X, device))
        )

    def _prediction_policy(self, X: Any) -> DevicePolicy:
        """Where to predict samples X: on a GPU only if the kernel values are many."""
        large = X.shape[0] * len(self.support_) >= LARGE_VALUES
        return DevicePolicy(
            type(self).__name__,
            self.device,
            (X,),
            large=large and not isinstance(self.kernel_, Precomputed) and not issparse(X),
            obstacle=gpu_obstacle(self.kernel_, X, self._vectors),
        )

    def _kernel_values(self, X: Any, device: Any) -> Iterator[Any]:
        """Blocks of kernel values of samples with the support on a device; None is NumPy on the CPU."""
        if device is not None:
            return device_support_blocks(self, X, device)
        blocks = self._kernel_with_support(X, self.support_, self.support_vectors_)
        return (K for _, K in blocks)

    def _kernel_with_support(
        self, X: Any, support: Codes, vectors: Any
    ) -> Iterator[tuple[slice, Any]]:
        """Blocks of kernel values of new samples with the support, (rows, s)."""
        X = as_numpy(X)
        if isinstance(self.kernel_, Precomputed):
            return iter([(slice(0, len(X)), np.asarray(X, dtype=np.float64)[:, support])])
        return kernel_blocks(
            self.kernel_,
            X,
            vectors,
            memory=self._budget,
            tolerance=self._kernel_tolerance,
            threads=self._threads,
        )


def gpu_obstacle(kernel: Kernel, *samples: Any) -> str | None:
    """Why this kernel cannot run on a GPU for these samples, or None."""
    if any(issparse(part) for part in samples) and kernel.absolute_distances:
        return f"sparse samples and {kernel!r}"
    if any(getattr(part, "dtype", None) == np.float16 for part in samples):
        return "float16 samples"
    return device_kernel_refusal(kernel)


def concatenate(blocks: list[Any]) -> Any:
    """Blocks of rows as one array or tensor."""
    if len(blocks) == 1:
        return blocks[0]
    if not is_tensor(blocks[0]):
        return np.concatenate(blocks)
    import torch  # torch is optional

    return torch.cat(blocks)


def tags_of_kernel(tags: Tags, kernel: Any) -> Tags:
    """Tags of an estimator that takes lists of objects if its kernel does."""
    if isinstance(kernel, Kernel) and kernel.takes != "vectors":
        tags.input_tags.sparse = tags.input_tags.two_d_array = False
        tags.input_tags.string = kernel.takes == "sequences"
    return tags
