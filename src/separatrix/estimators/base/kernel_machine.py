"""What every kernel estimator shares: its kernel parameter, its samples, scores of new samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags

from separatrix.errors import ParameterError
from separatrix.kernels.base import Kernel, Precomputed, device_kernel_refusal
from separatrix.kernels.gram.host import kernel_blocks, make_gram
from separatrix.kernels.prepared import TOLERANCE
from separatrix.runtime.blocks import MEBIBYTE, row_blocks
from separatrix.runtime.device import as_numpy, choose_device, is_tensor, run_on
from separatrix.runtime.threads import thread_count
from separatrix.types import Codes, Gram, Matrix
from separatrix.validation import require_real, require_threads

MOST_MB = 2**40  # more than any machine has, and still a number of bytes
WORTH_ROWS = 4096  # samples whose kernel matrix is worth a card
WORTH_VALUES = 2**24  # kernel values of a prediction that are
Found = TypeVar("Found")


class OnCard(NamedTuple):
    """Support vectors that were made ready on a card, and what for."""

    vectors: Any  # shape: (s, d); as they are here
    kernel: Kernel
    place: Any
    tolerance: float
    prepared: Any


class TakesTensors(ClassifierMixin):
    """A classifier whose samples, labels and weights may be tensors, on a card or not."""

    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of samples whose label is predicted."""
        labels, weights = as_numpy(y), as_numpy(sample_weight)
        return float(accuracy_score(labels, as_numpy(self.predict(X)), sample_weight=weights))


class KernelMachine(BaseEstimator):
    """An estimator with a `kernel`, whose nested parameters (`kernel__gamma`) can be set."""

    kernel: Any
    cache_size: float | None
    n_jobs: int | None
    device: str  # of those that can work on a card
    kernel_: Kernel
    support_: Codes
    support_vectors_: Any
    _on_card: OnCard

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

    def __getstate__(self) -> dict[str, Any]:
        """All but what lies on a card: the copy may go to a machine without one."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_on_card"}

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

    def _gram(self, kernel: Kernel, X: Any, place: Any = None) -> Gram:
        """The kernel matrix of the training samples, here or on a card."""
        return make_gram(
            kernel,
            as_numpy(X) if place is None else X,
            memory=self._budget,
            threads=self._threads,
            device=place,
        )

    def _place(
        self, X: Any, n: int, *, kernel: Kernel | None = None, predicting: bool = False
    ) -> Any:
        """Where to work on n samples X: a torch device, or None for NumPy here."""
        kernel = kernel or self.kernel_
        worth, known = n >= WORTH_ROWS, []
        if predicting:
            worth = n * len(self.support_) >= WORTH_VALUES and not isinstance(kernel, Precomputed)
            known = [self.support_vectors_]
        return choose_device(
            type(self).__name__,
            self.device,
            X,
            worth=worth,
            without=gpu_obstacle(kernel, X, *known),
        )

    def _from_kernel_values(self, X: Any, work: Callable[[Iterator[Any]], Found]) -> Found:
        """What work makes of blocks of kernel values of samples with the support, on a card or here."""

        def there(place: Any) -> Found:
            blocks = self._kernel_with_support(X, self.support_, self.support_vectors_, place)
            return work(K for _, K in blocks)

        place = self._place(X, X.shape[0], predicting=True)
        return run_on(type(self).__name__, self.device, place, there)

    def _kernel_with_support(
        self, X: Any, support: Codes, vectors: Any, place: Any = None
    ) -> Iterator[tuple[slice, Any]]:
        """Blocks of kernel values of new samples with the support, (rows, s); tensors on a card."""
        if place is not None:
            from separatrix.kernels.gram.device_gram import device_blocks
            from separatrix.kernels.gram.device_prepared import on

            X = on(X, place)
            if isinstance(self.kernel_, Precomputed):
                yield slice(0, len(X)), X[:, on(support, place)].double()
            elif not len(support):
                yield slice(0, len(X)), X[:, :0].double()
            else:
                prepared = self._support_on(place, vectors, X)
                yield from device_blocks(self.kernel_, X, prepared, memory=self._budget)
        elif isinstance(self.kernel_, Precomputed):
            X = as_numpy(X)
            yield slice(0, len(X)), np.asarray(X, dtype=np.float64)[:, support]
        else:
            yield from kernel_blocks(
                self.kernel_,
                as_numpy(X),
                vectors,
                memory=self._budget,
                tolerance=self._kernel_tolerance,
                threads=self._threads,
            )

    def _support_on(self, place: Any, vectors: Any, X: Any) -> Any:
        """The support made ready on a card for samples X, and kept there for the next ones."""
        from separatrix.kernels.gram.device_prepared import prepare_on

        wanted = (self.kernel_, place, self._kernel_tolerance)
        kept = self.__dict__.get("_on_card")
        if kept is None or kept.vectors is not vectors or kept[1:4] != wanted:
            kept = self._keep_on(place, vectors, vectors)
        if kept.prepared.serves(self.kernel_, X, self._kernel_tolerance):
            return kept.prepared
        return prepare_on(place, self.kernel_, vectors, X, tolerance=self._kernel_tolerance)

    def _keep_on(self, place: Any, vectors: Any, there: Any) -> OnCard:
        """Make the support ready on a card, from here or from where it lies already, and keep it."""
        from separatrix.kernels.gram.device_prepared import prepare_on

        tolerance = self._kernel_tolerance
        prepared = prepare_on(place, self.kernel_, there, tolerance=tolerance)
        self._on_card = OnCard(vectors, self.kernel_, place, tolerance, prepared)
        return self._on_card

    def _check_resources(self) -> None:
        name = type(self).__name__
        if self.cache_size is not None:
            require_real(name, "cache_size", self.cache_size, above=0)
        require_threads(name, self.n_jobs)


def gpu_obstacle(kernel: Kernel, *samples: Any) -> str | None:
    """What stands against the kernel values of some samples being computed on a card, if anything."""
    if any(issparse(part) for part in samples):
        return "sparse samples"
    if any(getattr(part, "dtype", None) == np.float16 for part in samples):
        return "float16 samples"
    return device_kernel_refusal(kernel)


def concatenate(blocks: list[Any]) -> Any:
    """Blocks of rows as one array, or tensor."""
    if len(blocks) == 1:
        return blocks[0]
    if not is_tensor(blocks[0]):
        return np.concatenate(blocks)
    import torch

    return torch.cat(blocks)


def tags_of_kernel(tags: Tags, kernel: Any) -> Tags:
    """Tags of an estimator that takes lists of objects where its kernel does."""
    if isinstance(kernel, Kernel) and kernel.takes != "vectors":
        tags.input_tags.sparse = tags.input_tags.two_d_array = False
        tags.input_tags.string = kernel.takes == "sequences"
    return tags


def scores_of_rows(gram: Any, support: Codes, coef: Matrix) -> Any:
    """Scores of every row of a Gram under coefficients on some of them, (n, p); a tensor on a card."""
    if gram.device is not None:
        return gram.scores(support, coef)
    S = np.zeros((gram.shape[0], coef.shape[1]))
    for part in row_blocks(len(support), gram.batch):
        S += gram.rows(support[part]).T @ coef[part]
    return S
