"""Decorators of several methods of a class, wherever they are defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import getattr_static
from typing import Any

from sklearn.utils.metaestimators import available_if

Method = Callable[..., Any]


def decorate_methods(
    cls: type, names: Iterable[str], decorate: Callable[[str, Method], Method]
) -> None:
    """Decorate the methods of a class that have these names, each once, also those it inherits."""
    mark = f"_{decorate.__name__}"
    for name in names:
        attribute = getattr_static(cls, name, None)
        conditional = hasattr(attribute, "fn") and hasattr(attribute, "check")  # an `available_if`
        method = attribute.fn if conditional else attribute
        if not callable(method) or hasattr(method, mark):
            continue
        decorated = decorate(name, method)
        setattr(decorated, mark, True)
        setattr(cls, name, available_if(attribute.check)(decorated) if conditional else decorated)
