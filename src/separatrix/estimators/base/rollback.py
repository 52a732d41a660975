"""A fit that raises an error leaves the estimator as it was: with its last good fit, or without one.

What a fit learned is replaced, never changed in place: `rollback_on_error` puts back the records and
arrays of the fit before, which must still hold what they held.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from separatrix.estimators.base.decorate import decorate_methods

METHODS = ("fit", "partial_fit", "fit_transform", "merge")  # those that learn
Method = TypeVar("Method", bound=Callable[..., Any])


def keep_fit_on_error(cls: type) -> None:
    """Decorate every method of an estimator that learns with `rollback_on_error`."""
    decorate_methods(cls, METHODS, _guard)


def rollback_on_error(method: Method) -> Method:
    """Decorate a method so that the estimator is unchanged if it raises, also by Ctrl-C."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **more: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **more)
        except BaseException:
            self.__dict__ = before  # in one step: a second Ctrl-C finds nothing half done
            raise

    return cast(Method, guarded)


def _guard(_name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    return rollback_on_error(method)
