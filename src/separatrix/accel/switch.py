"""Turns the replacements on and off: at once for modules that are imported, at import for the others."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from separatrix.accel.deferred import DEFERRED, DeferringFinder, DeferringLoader
from separatrix.accel.dispatch import replace
from separatrix.accel.replacements import TARGETS, VALUES
from separatrix.accel.switch_state import SETTINGS

VARIABLE = "SEPARATRIX_ACCEL"  # of the environment: processes started from here are patched as well
ABSENT = object()

_undo: dict[str, list[Callable[[], None]]] = {}  # by patched module


def patch(*, fallback: bool = True) -> None:
    """Let separatrix do the work of scikit-learn's classifiers, in this process and its joblib workers.

    With fallback=False, what separatrix does not serve is an error instead of a call of scikit-learn's
    own method, and small problems are not left to scikit-learn: for tests.

    Parameters
    ----------
    fallback
        Whether scikit-learn's own method serves what separatrix does not.

    Examples
    --------
    >>> from separatrix import accel
    >>> with accel.patched():
    ...     accel.is_patched()
    True
    """
    SETTINGS.fallback = fallback
    if is_patched():
        return
    SETTINGS.active = True
    SETTINGS.variable_before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1" if fallback else "strict"
    sys.meta_path.insert(0, _FINDER)
    for name in (*TARGETS, *VALUES):
        if name in sys.modules and not _is_being_imported(sys.modules[name]):
            _patch_module(sys.modules[name])


def unpatch() -> None:
    """Restore scikit-learn's own methods; models fitted meanwhile go on working.

    Examples
    --------
    >>> from separatrix import accel
    >>> accel.patch()
    >>> accel.unpatch()
    >>> accel.is_patched()
    False
    """
    if not is_patched():
        return
    SETTINGS.active = False
    if SETTINGS.variable_before is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = SETTINGS.variable_before
    sys.meta_path.remove(_FINDER)
    for name in list(_undo):
        for restore in reversed(_undo.pop(name)):
            restore()


def is_patched() -> bool:
    """Whether the switch is on.

    Examples
    --------
    >>> from separatrix import accel
    >>> with accel.patched():
    ...     accel.is_patched()
    True
    """
    return SETTINGS.active


def _patch_module(module: ModuleType) -> None:
    """Replace what a module of scikit-learn or joblib defines."""
    name = module.__name__
    if name in _undo or not SETTINGS.active:
        return
    restore = _undo[name] = []
    for target in TARGETS.get(name, ()):
        owner = getattr(module, target.owner, None) if target.owner else module
        original = getattr(owner, target.name, None)
        if original is not None:  # else scikit-learn is of another version
            _set(owner, target.name, replace(original, target), restore)
    for attribute, path in VALUES.get(name, {}).items():
        home, function = path.split(":")
        above, _, last = attribute.rpartition(".")
        owner = getattr(module, above, None) if above else module
        before = getattr(owner, "__dict__", {}).get(last)
        if before is not None:
            make = getattr(import_module(f"separatrix.accel.{home}"), function)
            _set(owner, last, make(before), restore)


def _set(owner: Any, name: str, value: Any, restore: list[Callable[[], None]]) -> None:
    before = vars(owner).get(name, ABSENT)
    setattr(owner, name, value)
    restore.append(lambda: _put_back(owner, name, before))


def _put_back(owner: Any, name: str, before: Any) -> None:
    if before is ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


def _is_being_imported(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _PatchingLoader(DeferringLoader):
    """Loads a module with its own loader, then patches it."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _patch_module(module)


class _PatchingFinder(DeferringFinder):
    """Finds the modules that the switch patches, with the other finders."""

    names = frozenset((*TARGETS, *VALUES, *DEFERRED))
    loader = _PatchingLoader


_FINDER = _PatchingFinder()
