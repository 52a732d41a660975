"""Warnings attributed to the caller's line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])
_WRAPPER = "sklearn.callback"  # wraps `fit`


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into this package."""
    wrappers = getattr(sys.modules.get(_WRAPPER), "__path__", ())
    inside = (_PACKAGE, *(str(Path(path)) for path in wrappers))
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
