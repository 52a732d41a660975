"""The decorator of every compiled loop: numba's, with a cache that need not be there.

Machine code is kept in numba's cache: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the
user's cache folder. Where none of them can be written, code that is there is read, and other code is
compiled in memory, with one warning. numba fills its tables of implementations before it loads a
function from its cache: 0.3 s, once in a process. Machine code needs none of them, only numba's runtime
and its symbols, so they are left to numba until it compiles.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pickle import UnpicklingError
from types import FrameType
from typing import Any

import numba
from numba.core import caching
from numba.core.dispatcher import Dispatcher

UNUSABLE = (OSError, EOFError, UnpicklingError)  # a cache file that cannot be read or written
OURS = ("separatrix", "numba", "numpy", "sklearn")  # between a call and its first compilation
_WARNED: list[str] = []


def njit(*, cache: bool, **options: Any) -> Any:
    """Decorate a function that numba compiles when it is first called with arguments of some types."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)  # noqa: TID251
        if cache and isinstance(compiled, Dispatcher):  # without NUMBA_DISABLE_JIT
            vars(compiled)["_cache"] = _cache_of(function)
        return compiled

    return decorate


def keeps_code(compiled: Any) -> bool:
    """Whether machine code of a compiled function is kept for other processes."""
    cache = getattr(compiled, "_cache", None)
    return isinstance(cache, KeptCode) and not isinstance(cache._impl.locator, _ReadOnly)


def _cache_of(function: Callable[..., Any]) -> Any:
    try:
        return KeptCode(function)
    except (RuntimeError, OSError):  # no folder to read or write
        return CodeInMemory()


class _ReadOnly:
    """A folder of cached code that can be read."""

    _cache_path: str

    def ensure_cache_path(self) -> None:
        os.scandir(self._cache_path).close()


class _ReadOnlyCacheDir(_ReadOnly, caching.UserProvidedCacheLocator):
    """NUMBA_CACHE_DIR."""


class _ReadOnlyPycache(_ReadOnly, caching.InTreeCacheLocator):
    """`__pycache__` beside the source."""


class _Folders(caching.CompileResultCacheImpl):
    """Where the code of a function may be."""

    _locator_classes = (
        *caching.CompileResultCacheImpl._locator_classes,
        *(_ReadOnlyCacheDir, _ReadOnlyPycache),
    )


class KeptCode(caching.FunctionCache):
    """numba's cache of a function; files that cannot be read or written only cost time."""

    _impl_class = _Folders

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for arguments of some types, or None."""
        _prepare(target_context)
        try:
            return self._load_overload(sig, target_context)
        except UNUSABLE:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, if that is possible."""
        try:
            super().save_overload(sig, data)
        except UNUSABLE as error:
            _warn_once(f"{self.cache_path}: {error}")


class CodeInMemory(caching.NullCache):
    """Code that this process alone has."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Say once that code is not kept."""
        _warn_once(
            "neither __pycache__ beside its source nor the user's cache folder can be written"
        )


def _warn_once(reason: str) -> None:
    if _WARNED:
        return
    _WARNED.append(reason)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(
        "compiled code of separatrix is kept in memory only, so each process compiles again, for seconds: "
        f"{reason}; set NUMBA_CACHE_DIR to a folder that can be written",
        stacklevel=level,
    )


def _is_inside(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in OURS


def _prepare(target_context: Any) -> None:
    """Register the symbols that machine code may call: numba's runtime, and its hash functions."""
    import numba.cpython.hashing  # noqa: F401
    from numba.core.runtime import rtsys

    rtsys.initialize(target_context)
