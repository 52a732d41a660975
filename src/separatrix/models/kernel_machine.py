"""What every kernel estimator shares: its kernel parameter, its samples, scores of new samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from separatrix.arrays import Codes, Gram, Matrix, require_real, require_threads
from separatrix.compute.blocks import MEBIBYTE, row_blocks
from separatrix.compute.threads import thread_count
from separatrix.errors import ParameterError
from separatrix.kernels.gram import kernel_blocks, make_gram
from separatrix.kernels.kernel import Kernel, Precomputed
from separatrix.kernels.vectors import TOLERANCE

MOST_MB = 2**40  # more than any machine has, and still a number of bytes


class KernelMachine(BaseEstimator):
    """An estimator with a `kernel`, whose nested parameters (`kernel__gamma`) can be set."""

    kernel: Any
    cache_size: float | None
    n_jobs: int | None
    kernel_: Kernel

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
        """What decides the kind of samples."""
        return getattr(self, "kernel", None)

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
        """How far off kernel values may be."""
        return TOLERANCE

    @property
    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _gram(self, kernel: Kernel, X: Any) -> Gram:
        """The kernel matrix of the training samples."""
        return make_gram(kernel, X, memory=self._budget, threads=self._threads)

    def _kernel_with_support(
        self, X: Any, support: Codes, vectors: Any
    ) -> Iterator[tuple[slice, Matrix]]:
        """Blocks of kernel values of new samples with the support, (rows, s)."""
        if isinstance(self.kernel_, Precomputed):
            yield slice(0, len(X)), np.asarray(X, dtype=np.float64)[:, support]
        else:
            yield from kernel_blocks(
                self.kernel_,
                X,
                vectors,
                memory=self._budget,
                tolerance=self._kernel_tolerance,
                threads=self._threads,
            )

    def _check_resources(self) -> None:
        name = type(self).__name__
        if self.cache_size is not None:
            require_real(name, "cache_size", self.cache_size, above=0)
        require_threads(name, self.n_jobs)


def tags_of_kernel(tags: Tags, kernel: Any) -> Tags:
    """Tags of an estimator that takes lists of objects where its kernel does."""
    if isinstance(kernel, Kernel) and kernel.takes != "vectors":
        tags.input_tags.sparse = tags.input_tags.two_d_array = False
        tags.input_tags.string = kernel.takes == "sequences"
    return tags


def scores_of_rows(gram: Gram, support: Codes, coef: Matrix) -> Matrix:
    """Scores of every row of a Gram under coefficients on some of them, (n, p)."""
    S = np.zeros((gram.shape[0], coef.shape[1]))
    for part in row_blocks(len(support), gram.batch):
        S += gram.rows(support[part]).T @ coef[part]
    return S
