"""A switch that makes programs written for scikit-learn faster, without changing them.

`patch()` replaces the slow methods of scikit-learn's classes, in place: code imported before and after
sees the same classes, and a fitted model has scikit-learn's own attributes. Whatever separatrix does not
serve is computed by scikit-learn, as before. Nothing else is imported until a replaced method is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from separatrix.accel.counters import report
from separatrix.accel.switch import install, is_patched, patch, uninstall, unpatch
from separatrix.accel.switch_state import SETTINGS, SMALLEST

__all__ = ["install", "is_patched", "patch", "patched", "report", "uninstall", "unpatch"]


@contextmanager
def patched(*, smallest: float = SMALLEST) -> Iterator[None]:
    """Patch scikit-learn for the duration of a `with` block.

    Parameters
    ----------
    smallest
        As in `patch`.

    Examples
    --------
    >>> from separatrix import accel
    >>> with accel.patched():
    ...     accel.is_patched()
    True
    """
    before, earlier = is_patched(), SETTINGS.smallest
    patch(smallest=smallest)
    try:
        yield
    finally:
        SETTINGS.smallest = earlier
        if not before:
            unpatch()


def load_ipython_extension(_shell: Any) -> None:
    """`%load_ext separatrix.accel`."""
    patch()


def unload_ipython_extension(_shell: Any) -> None:
    """`%unload_ext separatrix.accel`."""
    unpatch()
