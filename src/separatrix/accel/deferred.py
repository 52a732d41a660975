"""Imports that scikit-learn makes at start-up and most programs never use: they wait for their first use.

pandas, `scipy.stats`, `scipy.optimize` and others take more than half of the time to import scikit-learn.
While a module of the table below is executed, a placeholder is in their place in `sys.modules`; afterwards
they are as absent as if nobody had imported them. What the module kept of a placeholder loads the real one
when it is used. Programs that import them, before or after, get the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Any

from separatrix.accel.replacements import FRAMES
from separatrix.accel.shortcuts import skip_arrays

STATS = ("scipy.stats", "scipy.stats.mstats")
NUMPY = ("numpy.f2py", "numpy.testing")
OPTIMIZE = ("scipy.optimize", "scipy.optimize._linesearch")
# What is imported for later, and the modules of scikit-learn that do so
SKLEARN: dict[tuple[str, ...], str] = {
    STATS: """_loss.link covariance._robust_covariance feature_selection._univariate_selection
        impute._iterative inspection._partial_dependence inspection._plot.partial_dependence isotonic
        metrics._ranking model_selection._search preprocessing._data utils.fixes""",
    OPTIMIZE: """calibration gaussian_process._gpc gaussian_process._gpr isotonic linear_model._base
        linear_model._glm._newton_solver linear_model._glm.glm linear_model._huber linear_model._logistic
        linear_model._quantile linear_model._ridge metrics.cluster._bicluster neighbors._nca
        neural_network._multilayer_perceptron utils.optimize""",
    ("scipy.interpolate",): "isotonic linear_model._least_angle preprocessing._polynomial",
    ("scipy.integrate",): "metrics._ranking",
    ("scipy.io",): "datasets._olivetti_faces",
    ("scipy.fft",): "kernel_approximation",
    ("pandas",): "utils.fixes",
    (
        "narwhals",
        "narwhals.stable",
        FRAMES,
    ): "compose._column_transformer utils._indexing utils.validation",
}
DEFERRED: dict[str, tuple[str, ...]] = {  # modules, and what they import for later
    "joblib.memory": ("asyncio",),
    "numba.core.config": ("yaml",),
    "joblib.externals.loky.backend.utils": ("psutil",),
    "joblib.externals.loky.process_executor": ("psutil",),
    "scipy._lib.array_api_compat.numpy": NUMPY,
    "sklearn.externals.array_api_compat.numpy": NUMPY,
}
for _wanted, _importers in SKLEARN.items():
    for _importer in _importers.split():
        _name = f"sklearn.{_importer}"
        DEFERRED[_name] = (*DEFERRED.get(_name, ()), *_wanted)

WIDEST = 1000  # class codes whose votes are counted in a table
_LOCK = Lock()


@contextmanager
def deferred_imports(importer: str) -> Iterator[None]:
    """Put placeholders in place of what a module imports for later, while it is executed."""
    put = [name for name in DEFERRED.get(importer, ()) if _put(name)]
    try:
        yield
    finally:
        _remove(put)


class DeferringLoader(Loader):
    """Loads a module with its own loader, and defers what the table has for it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module of its own loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, with placeholders if it can be executed with them."""
        try:
            with deferred_imports(module.__name__):
                self.loader.exec_module(module)
        except Exception:  # another version of scikit-learn, which uses at once what was deferred
            if module.__name__ not in DEFERRED:
                raise
            self.loader.exec_module(module)

    def __getattr__(
        self, name: str
    ) -> Any:  # get_source, get_data, ...: for tracebacks and inspect
        return getattr(self.loader, name)


class DeferringFinder(MetaPathFinder):
    """Finds the modules of the table with the other finders; in `sys.meta_path` it defers for all."""

    names: Container[str] = DEFERRED
    loader: type[DeferringLoader] = DeferringLoader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of another finder, with our loader around its own."""
        if name not in self.names:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None else None
            if spec is not None and spec.loader is not None:
                spec.loader = self.loader(spec.loader)
                return spec
        return None


def _put(name: str) -> bool:
    """Put a placeholder in place of a module that is installed and not imported."""
    parent = name.partition(".")[0]
    with _LOCK:
        if name in sys.modules or (parent not in sys.modules and find_spec(parent) is None):
            return False
        placeholder = sys.modules[name] = _PLACEHOLDERS.setdefault(name, _Placeholder(name))
        above, last = _parent_of(name)
        if above is not None:  # else a package that imports its parts when asked would ask again
            vars(above).setdefault(last, placeholder)
        return True


def _remove(names: Any) -> None:
    with _LOCK:
        for name in names:
            if isinstance(sys.modules.get(name), _Placeholder):
                del sys.modules[name]
            above, last = _parent_of(name)
            if above is not None and isinstance(vars(above).get(last), _Placeholder):
                delattr(above, last)


def _parent_of(name: str) -> tuple[ModuleType | None, str]:
    """The package that a module is an attribute of, if it is imported, and the attribute."""
    package, _, last = name.rpartition(".")
    above = sys.modules.get(package)
    return (None if isinstance(above, _Placeholder) else above), last


class _Placeholder(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        part = sys.modules.get(f"{self.__name__}.{name}")
        if isinstance(part, _Placeholder):
            return part
        if self.__name__ == FRAMES and name == "dependencies":
            return _CHECKS
        caller = sys._getframe(1)
        if caller.f_code.co_name == "<module>" and caller.f_globals.get("__name__") in DEFERRED:
            if name.startswith("__"):  # asked for by the import statement itself
                raise AttributeError(name)
            return _Name(self.__name__, name)  # `from module import name`
        return getattr(_load(self.__name__), name)


class _Name:
    """A function or an object of a module that is imported when it is used."""

    def __init__(self, home: str, name: str) -> None:
        self._home, self._name = home, name

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self._name == "rankdata" and self._home not in sys.modules:
            ranks = lowest_ranks(*args, **more)
            if ranks is not None:
                return ranks
        return self._real()(*args, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __instancecheck__(self, one: Any) -> bool:
        return isinstance(one, self._real())

    def __subclasscheck__(self, one: Any) -> bool:
        return issubclass(one, self._real())

    def _real(self) -> Any:
        return getattr(_load(self._home), self._name)


class _FrameChecks:
    """`dependencies` of narwhals, which need not be loaded to see that arrays are not frames."""

    def __init__(self) -> None:
        self.is_into_dataframe = skip_arrays(
            lambda native: bool(_load(FRAMES).dependencies.is_into_dataframe(native))
        )
        self.is_into_series = skip_arrays(
            lambda native: bool(_load(FRAMES).dependencies.is_into_series(native))
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(FRAMES).dependencies, name)


_CHECKS = _FrameChecks()
_PLACEHOLDERS: dict[str, _Placeholder] = {}


def _load(name: str) -> ModuleType:
    """The real module."""
    _remove(_PLACEHOLDERS)
    return import_module(name)


def plain_docs(_original: type) -> type:
    """`FunctionDoc` of SciPy's decorators, which take a tenth of the import to add a note to docstrings.

    The note is appended to the text, which is not parsed for it.
    """

    class FunctionDoc:
        def __init__(self, function: Any) -> None:
            self.notes: list[str] = []
            text = (function.__doc__ or "").lstrip()
            signed = text.startswith(f"{function.__name__}(")
            self.text = text if signed else f"\n{text}"  # the first line is taken off

        def __getitem__(self, _section: str) -> list[str]:
            return self.notes

        def __str__(self) -> str:
            return "\n\n".join([self.text.rstrip(), *self.notes])

    return FunctionDoc


def row_modes(original: Callable[..., Any]) -> Callable[..., Any]:
    """`_mode` of neighbours: the most frequent class code of each row, without `scipy.stats`."""

    @wraps(original)
    def mode(codes: Any, axis: int = 0) -> Any:
        import numpy as np

        plain = (
            type(codes) is np.ndarray and codes.ndim == 2 and axis == 1 and codes.dtype.kind == "i"
        )
        if "scipy.stats" in sys.modules or not plain or not codes.size:
            return original(codes, axis)
        n, width = len(codes), int(codes.max()) + 1
        if codes.min() < 0 or width > WIDEST:
            return original(codes, axis)
        cells = (np.arange(n)[:, None] * width + codes).ravel()
        counts = np.bincount(cells, minlength=n * width).reshape(n, width)
        return counts.argmax(axis=1).astype(codes.dtype)[:, None], counts.max(axis=1)[:, None]

    return mode


FLOAT_RANKS = (1, 18)  # SciPy's ranks by method "min" are floats from this version on


def lowest_ranks(values: Any, method: str = "average", **more: Any) -> Any:
    """`scipy.stats.rankdata(values, method="min")`, as searches rank candidates; None for other calls.

    >>> import numpy as np
    >>> lowest_ranks(np.array([0.5, 0.1, 0.5, 0.7]), method="min").astype(int).tolist()
    [2, 1, 2, 4]
    """
    import numpy as np
    import scipy

    plain = method == "min" and not more and type(values) is np.ndarray and values.ndim == 1
    if not plain or values.dtype != np.float64 or np.isnan(values).any():
        return None
    ranks = np.searchsorted(np.sort(values), values) + 1
    whole = tuple(map(int, scipy.__version__.split(".")[:2])) < FLOAT_RANKS
    return ranks if whole else ranks.astype(np.float64)
