"""Loads compiled functions of separatrix from numba's cache without the parts of numba that compile.

Before numba loads a function from its cache it fills its tables of implementations: 0.3 s, once in a
process. Machine code needs none of them, only numba's runtime and its symbols; numba fills them again
before it compiles. Functions of other packages are loaded as ever.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from numba.core import caching


def load_without_compiler() -> None:
    """Let numba load functions of separatrix without its tables, if it is built as expected."""
    cache = caching.FunctionCache
    original = cache.load_overload
    parts = ("_load_overload", "_guard_against_spurious_io_errors")
    if getattr(original, "of_separatrix", False) or not all(hasattr(cache, name) for name in parts):
        return

    @wraps(original)
    def load_overload(self: Any, sig: Any, target_context: Any) -> Any:
        function = getattr(self, "_py_func", None)
        if not str(getattr(function, "__module__", "")).startswith("separatrix."):
            return original(self, sig, target_context)
        _prepare(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    load_overload.of_separatrix = True  # type: ignore[attr-defined]
    cache.load_overload = load_overload


def _prepare(target_context: Any) -> None:
    """Register the symbols that machine code may call: numba's runtime, and its hash functions."""
    import numba.cpython.hashing  # noqa: F401
    from numba.core.runtime import rtsys

    rtsys.initialize(target_context)
