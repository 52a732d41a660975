"""Warnings attributed to the caller's line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_QUIET = ContextVar("quiet", default=False)
_PACKAGE = str(Path(__file__).parents[1])
_WRAPPER = "sklearn.callback"  # wraps `fit`


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into this package."""
    if _QUIET.get():
        return
    wrappers = getattr(sys.modules.get(_WRAPPER), "__path__", ())
    inside = (_PACKAGE, *(str(Path(path)) for path in wrappers))
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def without_own_warnings() -> Iterator[None]:
    """Leave out this package's warnings in the thread that calls; filters are those of all threads."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)
