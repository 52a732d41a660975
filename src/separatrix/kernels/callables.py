"""A kernel from a Python function: of two objects, or of two sample matrices.

What the function takes is decided by the samples: of a matrix, or rows of numbers, it is scikit-learn's
callable kernel, a function of two sample matrices; of a list of anything else it is a function of two
objects. `objects=True` or `False` decides it for all samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.base import ComposedKernel, Kernel
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.pair_values import PairCache, PairEvaluator, name_of
from separatrix.runtime.blocks import MEBIBYTE, row_blocks
from separatrix.types import Matrix, Vector
from separatrix.validation import require_choice, require_real, require_threads

PSD_CHOICES = (None, "warn", "error", "shift", "ignore")
WORKERS = ("threads", "processes")


@dataclass(frozen=True, repr=False)
class FromCallable(Kernel):
    """A function as a kernel: of two objects of any type, or of two sample matrices.

    For a list of objects (sets, strings, dicts, trees) the function takes two of them and returns a
    number. It is called once for each unordered pair. The values are kept for further fits and
    predictions with this kernel object, so the function must depend on its two arguments alone.

    For a matrix it takes two of them, (n, d) and (m, d), and returns (n, m) values, as in scikit-learn.

    Parameters
    ----------
    function
        The function.
    objects
        True: it takes two objects, whatever the samples are. False: two sample matrices. None: objects
        for a list of anything but numbers and rows of numbers.
    check_psd
        What to do if the kernel matrix of the training samples has a negative eigenvalue: "warn",
        "error", "shift" (add its absolute value to k(x, x) of the training samples) or "ignore".
        None: "warn" for objects, "ignore" for matrices. It is checked if the whole matrix is in memory.
    n_jobs, workers
        Calls at a time, -1 or None for all cores, in "threads" or in "processes". Threads help a
        function that releases the interpreter lock; processes, any function that takes some 10 us.
    cache_size
        Memory in MB for the values of pairs; 0 keeps none.
    verbose
        Above 0, a progress bar on stderr. That of an estimator with `verbose` shows the rows as well.

    Examples
    --------
    >>> def jaccard(a, b):
    ...     return len(a & b) / len(a | b)
    >>> kernel = FromCallable(jaccard, objects=True)
    >>> kernel.block([{1, 2}, {2, 3}], [{1, 2, 3, 4}]).tolist()
    [[0.5], [0.5]]
    >>> FromCallable(lambda X, Z: X @ Z.T).block(np.eye(2), np.ones((1, 2))).tolist()
    [[1.0], [1.0]]
    """

    function: Callable[[Any, Any], Any]
    _: KW_ONLY
    objects: bool | None = None
    check_psd: str | None = None
    n_jobs: int | None = 1
    workers: str = "threads"
    cache_size: float = 256.0
    verbose: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not callable(self.function) or isinstance(self.function, Kernel):
            raise ParameterError(name, "function", "callable", self.function)
        require_choice(name, "objects", self.objects, (None, True, False))
        require_choice(name, "check_psd", self.check_psd, PSD_CHOICES)
        require_choice(name, "workers", self.workers, WORKERS)
        require_threads(name, self.n_jobs)
        require_real(name, "cache_size", self.cache_size, least=0)
        object.__setattr__(self, "_cache", PairCache(int(self.cache_size * MEBIBYTE)))

    @property
    def takes(self) -> str:  # type: ignore[override]
        return "objects" if self.objects else "vectors"

    def on_objects(self) -> Kernel:
        """The kernel as a function of two objects, unless objects=False; it shares the values."""
        if self.objects is not None:
            return self
        decided = replace(self, objects=True)
        object.__setattr__(decided, "_cache", self._cache)  # type: ignore[attr-defined]
        return decided

    def checked(self, X: Any) -> Any:
        """Samples as an array (n,) of objects."""
        accepted = (
            "a list of objects, or list(X) for rows of a matrix, with a function of two of them"
        )
        return as_objects("FromCallable", X, accepted)

    def notes(self, X: Any) -> list[str]:
        """Remarks on training samples: none."""
        return []

    def block(self, X: Any, Z: Any) -> Matrix:
        if not self.objects:
            return self._block_of_matrices(X, Z)
        if X is Z:
            return self._evaluator.matrix(self.checked(X), check=self.check_psd != "ignore")
        return self._evaluator.block(self.checked(X), self.checked(Z))

    def diagonal(self, X: Any) -> Vector:
        if self.objects:
            return self._evaluator.diagonal(self.checked(X))
        blocks = (X[rows] for rows in row_blocks(X.shape[0], 16))
        return np.concatenate([np.diagonal(self.block(part, part)) for part in blocks])

    def _block_of_matrices(self, X: Any, Z: Any) -> Matrix:
        X, Z = (part.astype(np.float64) if part.dtype.kind in "iub" else part for part in (X, Z))
        hint = (
            "a function of two samples is FromCallable(function, objects=True), and takes list(X)"
        )
        try:
            values = self.function(X, Z)
            values = np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(
                f"{name_of(self.function)} as a kernel of two sample matrices, of shapes {X.shape} and "
                f"{Z.shape}, raised {type(error).__name__}: {error}; {hint}"
            ) from error
        if values.shape != (X.shape[0], Z.shape[0]):
            raise DataError(
                f"a callable kernel must return shape {(X.shape[0], Z.shape[0])}; "
                f"{self.function!r} returned {values.shape}; {hint}"
            )
        if not np.isfinite(values).all():
            raise DataError(
                f"a callable kernel must return finite values; {self.function!r} did not"
            )
        return values

    @property
    def _evaluator(self) -> PairEvaluator:
        cache: PairCache = self._cache  # type: ignore[attr-defined]
        return PairEvaluator.of(self.function, cache, self.n_jobs, self.workers, self.verbose)

    def __repr__(self) -> str:
        options = [
            f", {field.name}={getattr(self, field.name)!r}"
            for field in fields(self)[1:]
            if getattr(self, field.name) != field.default
        ]
        return f"FromCallable({name_of(self.function)}{''.join(options)})"


def callables_in(kernel: Any) -> list[FromCallable]:
    """The functions inside a kernel."""
    if isinstance(kernel, FromCallable):
        return [kernel]
    parts = kernel.parts if isinstance(kernel, ComposedKernel) else []
    return [found for part in parts for found in callables_in(part)]


def psd_policy(kernel: Kernel) -> str:
    """What to do if the kernel matrix is not positive semi-definite, by the functions in the kernel."""
    found = callables_in(kernel)
    explicit = (part.check_psd for part in found if part.check_psd is not None)
    default = "warn" if any(part.objects for part in found) else "ignore"
    return next(explicit, default)


def kernel_for_samples(kernel: Any, X: Any) -> Any:
    """A kernel or a function as it is meant for samples X: on objects if they are.

    >>> kernel_for_samples(len, ["a", "b"]).takes, kernel_for_samples(len, [[1.0], [2.0]]).takes
    ('objects', 'vectors')
    """
    if callable(kernel) and not isinstance(kernel, type):
        kernel = FromCallable(kernel)
    if not isinstance(kernel, Kernel) or kernel.takes != "vectors" or not callables_in(kernel):
        return kernel
    return kernel.on_objects() if are_objects(X) else kernel


def are_objects(X: Any) -> bool:
    """Whether X is a list of anything but numbers and equally long rows of numbers.

    >>> are_objects([{1}, {2}]), are_objects(["ab", "c"]), are_objects([[1, 2], [3, 4]]), are_objects([1])
    (True, True, False, False)
    """
    shape = getattr(X, "shape", None)
    if issparse(X) or not (isinstance(X, list | tuple) if shape is None else len(shape) == 1):
        return False
    if shape is not None and getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return False
    items = list(X)
    if not items or isinstance(items[0], Number | np.generic):
        return bool(items) and isinstance(items[0], str | bytes)
    if not all(map(_is_row, items)):
        return True
    return len({len(item) for item in items}) > 1


def _is_row(item: Any) -> bool:
    """Whether an item is a row of numbers."""
    if isinstance(item, list | tuple):
        return all(isinstance(value, Number) for value in item)
    return getattr(item, "ndim", 0) > 0 and getattr(getattr(item, "dtype", None), "kind", "") != "O"


def is_plain_object(item: Any) -> bool:
    """Whether an item is of a type that only a kernel of one's own takes: a set, a dict, a dataclass."""
    return isinstance(item, Set | Mapping) or (is_dataclass(item) and not isinstance(item, type))
