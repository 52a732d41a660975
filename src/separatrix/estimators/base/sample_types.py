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
