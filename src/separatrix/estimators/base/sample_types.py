"""Number types of samples that compiled code has no version for: converted, or refused in one sentence."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError


def as_native(X: Any, owner: str) -> Any:
    """Samples in the byte order of this machine, at most float64; dates are refused."""
    if issparse(X):
        return _as_native_sparse(X)
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or not isinstance(X, np.ndarray):
        return X
    if dtype.kind in "mM":
        raise DataError(
            f"X holds {dtype}, but {owner} takes numbers; pass X.astype('int64'), or its days as floats"
        )
    return X if _is_native(X) else X.astype(_native_type(dtype))


def _native_type(dtype: np.dtype[Any]) -> Any:
    return np.float64 if dtype == np.longdouble else dtype.newbyteorder("=")


def _is_native(values: Any) -> bool:
    return values.dtype.isnative and not (values.dtype.kind == "f" and values.dtype.itemsize > 8)


def _as_native_sparse(X: Any) -> Any:
    """A sparse matrix whose values and indices compiled code can read; the same one if it can already."""
    names = [name for name in ("data", "indices", "indptr", "row", "col") if hasattr(X, name)]
    foreign = [
        name
        for name in names
        if isinstance(getattr(X, name), np.ndarray)
        and getattr(X, name).dtype.kind in "biuf"
        and not _is_native(getattr(X, name))
    ]
    if not foreign:
        return X
    X = copy(X)  # SciPy itself copies none with such values
    for name in foreign:
        values = getattr(X, name)
        setattr(X, name, values.astype(_native_type(values.dtype)))
    return X


def canonical_rows(X: Any) -> Any:
    """CSR samples with sorted columns, each at most once in a row; a copy if these are not.

    Compiled loops trust the indices, and squares of parts of a value are not those of their sum.
    """
    X.check_format(full_check=True)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def is_valid_csr(X: Any) -> bool:
    """Whether CSR samples with stored values have valid indices, sorted and without repetitions.

    For arrays of the usual types only. It takes a tenth of the time of all of scikit-learn's and SciPy's
    checks, which take longer than many a prediction.
    """
    data, indices, indptr = X.data, X.indices, X.indptr
    n, d = X.shape
    types = {indices.dtype, indptr.dtype}
    if types not in ({np.dtype(np.int32)}, {np.dtype(np.int64)}) or not len(data):
        return False
    if len(indptr) != n + 1 or indptr[0] != 0 or not indptr[-1] == len(indices) == len(data):
        return False
    if indices.min() < 0 or indices.max() >= d or (indptr[1:] < indptr[:-1]).any():
        return False
    return bool(X.has_canonical_format)


def writable(X: Any) -> Any:
    """Samples as arrays whose memory counts as writable: read-only ones, such as memory maps, as views.

    Compiled functions have a version of their own for read-only arrays, which would have to be compiled
    for the first fit to such samples. None of them writes to samples.
    """
    if not issparse(X):
        return np.asarray(_Memory(X)) if type(X) is np.ndarray and not X.flags.writeable else X
    parts = (X.data, X.indices, X.indptr)
    if all(part.flags.writeable for part in parts):
        return X
    valid = X.has_canonical_format
    X = type(X)(tuple(writable(part) for part in parts), shape=X.shape, copy=False)
    X.has_canonical_format = valid
    return X


class _Memory:
    """The memory of a read-only array, without that flag."""

    def __init__(self, array: Any) -> None:
        self.array = array  # keeps the memory
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
