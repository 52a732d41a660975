"""Whether objects are scikit-learn's own: no subclass, no method overridden in an object or by assignment.

What a program may have changed, its own code answers: nothing of it is served.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from separatrix.accel.dispatch import NotServed

SKLEARN, OURS = (f"{Path(home).parent}/" for home in (str(sklearn.__file__), __file__))
PLAIN = (bool, int, float, complex, str, bytes, type(None), slice, np.generic, np.dtype)


def require_original(estimator: Any, owner: type) -> None:
    """Raise an error unless an estimator is of this class, and that is as scikit-learn defines it."""
    if type(estimator) is not owner:
        raise NotServed("a subclass")
    if any(callable(getattr(owner, name, None)) for name in vars(estimator)):
        raise NotServed("a method of the object's own")
    if not is_original(owner):
        raise NotServed("a changed class")


def is_original(owner: type) -> bool:
    """Whether all methods of a class of scikit-learn, and of its bases, are those of its source."""
    return owner.__module__.partition(".")[0] == "sklearn" and all(
        isinstance(function, FunctionType) and _is_of(function, base)
        for base in owner.__mro__[:-1]
        for value in vars(base).values()
        for function in _functions_of(value)
    )


def _is_of(function: FunctionType, base: type) -> bool:
    """Whether a method was defined in this class or one above, or the switch has replaced one that was."""
    if function.__code__.co_filename.startswith(OURS):
        function = vars(function)["__wrapped__"]
    names = {"", *(above.__qualname__ for above in base.__mro__)}
    home, name = function.__code__.co_filename, function.__qualname__.rpartition(".")[0]
    return home.startswith(SKLEARN) and name in names


def _functions_of(value: Any) -> Iterator[Any]:
    """The functions of an attribute of a class: what runs when it is used."""
    if isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield from filter(None, (value.fget, value.fset, value.fdel))
    elif hasattr(value, "fn"):  # scikit-learn's `available_if`
        yield value.fn
    elif callable(value) or (hasattr(value, "__get__") and not _is_known(type(value))):
        yield value


def _is_known(descriptor: type) -> bool:
    """Whether attributes of this type, which are no functions, stand in classes of scikit-learn."""
    return descriptor.__module__.partition(".")[0] in ("builtins", "sklearn")


def is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, texts, arrays and scikit-learn's own estimators and functions."""
    if isinstance(value, BaseEstimator):
        shadowed = any(callable(getattr(type(value), name, None)) for name in vars(value))
        return not shadowed and is_original(type(value)) and is_plain(value.get_params(deep=False))
    if isinstance(value, dict):
        return type(value) is dict and is_plain([*value, *value.values()])
    if isinstance(value, list | tuple | set | frozenset):
        return type(value) in (list, tuple, set, frozenset) and all(map(is_plain, value))
    if isinstance(value, FunctionType):
        return value.__code__.co_filename.startswith(SKLEARN)
    if isinstance(value, type):
        return value.__module__ in ("builtins", "numpy")
    if issparse(value):
        return True
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and not value.dtype.hasobject
    return isinstance(value, PLAIN)
