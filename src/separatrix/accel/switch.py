"""Turns the replacements on and off: at once for modules that are imported, at import for the others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from sysconfig import get_path
from types import ModuleType
from typing import Any

from separatrix.accel.dispatch import replace
from separatrix.accel.replacements import TARGETS, VALUES
from separatrix.accel.switch_state import SETTINGS, SMALLEST

ABSENT = object()
VARIABLE = "SEPARATRIX_ACCEL"
START_UP = (  # a line of a .pth file, which Python runs at every start
    f'import os; os.environ.get("{VARIABLE}", "").strip().lower() not in ("", "0", "false", "off", "no") '
    'and __import__("importlib.util").util.find_spec("separatrix") '
    'and __import__("separatrix.accel").accel.patch()\n'
)

_undo: dict[str, list[Callable[[], None]]] = {}  # by patched module


def patch(*, smallest: float = SMALLEST) -> None:
    """Let separatrix do the work of scikit-learn's classifiers, in this process and its joblib workers.

    Parameters
    ----------
    smallest
        Estimated seconds of scikit-learn from which on a call is served; 0 serves all sizes, for tests.

    Examples
    --------
    >>> from separatrix import accel
    >>> with accel.patched():
    ...     accel.is_patched()
    True
    """
    SETTINGS.smallest = smallest
    if is_patched():
        return
    SETTINGS.active = True
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


def install(folder: str | None = None) -> Path:
    """Let SEPARATRIX_ACCEL=1 in the environment turn the switch on in every Python of this installation.

    Parameters
    ----------
    folder
        Where to write the file that does so; the site-packages of this Python by default.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix import accel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     accel.install(folder).name
    'separatrix_accel.pth'
    """
    path = _start_up_file(folder)
    path.write_text(START_UP, encoding="utf-8")
    return path


def uninstall(folder: str | None = None) -> None:
    """Remove what `install` wrote.

    Parameters
    ----------
    folder
        As in `install`.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix import accel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = accel.install(folder)
    ...     accel.uninstall(folder)
    ...     path.exists()
    False
    """
    _start_up_file(folder).unlink(missing_ok=True)


def _start_up_file(folder: str | None) -> Path:
    return Path(get_path("purelib") if folder is None else folder) / "separatrix_accel.pth"


def _patch_module(module: ModuleType) -> None:
    """Replace what a module of scikit-learn or joblib defines."""
    name = module.__name__
    if name in _undo or not SETTINGS.active:
        return
    restore = _undo[name] = []
    for target in TARGETS.get(name, ()):
        owner = getattr(module, target.owner, None)
        original = getattr(owner, target.name, None)
        if owner is not None and original is not None:  # else scikit-learn is of another version
            _set(owner, target.name, replace(original, owner, target), restore)
    for attribute, path in VALUES.get(name, {}).items():
        home, function = path.split(":")
        before = vars(module).get(attribute)
        if before is not None:
            make = getattr(import_module(f"separatrix.accel.{home}"), function)
            _set(module, attribute, make(before), restore)


def _set(owner: Any, name: str, value: Any, restore: list[Callable[[], None]]) -> None:
    before = vars(owner).get(name, ABSENT)
    setattr(owner, name, value)
    restore.append(lambda: _put_back(owner, name, value, before))


def _put_back(owner: Any, name: str, value: Any, before: Any) -> None:
    if vars(owner).get(name) is not value:  # a program has replaced it meanwhile
        return
    if before is ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


def _is_being_imported(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _PatchingLoader(Loader):
    """Loads a module with its own loader, then patches it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _patch_module(module)

    def __getattr__(self, name: str) -> Any:  # get_source, get_data: for tracebacks and inspect
        return getattr(self.loader, name)


class _PatchingFinder(MetaPathFinder):
    """Finds the modules that the switch patches, with the other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in TARGETS and name not in VALUES:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None else None
            if spec is not None and spec.loader is not None:
                spec.loader = _PatchingLoader(spec.loader)
                return spec
        return None


_FINDER = _PatchingFinder()
