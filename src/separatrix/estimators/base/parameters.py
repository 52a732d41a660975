"""Parameters of estimators, declared once: name, type, default and permitted values.

The body of a class lists its parameters as a dataclass lists fields. `with_parameters` writes `__init__`
from them, and `Estimator._check_parameters` refuses values that are not permitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator

from separatrix.estimators.base.handover import hand_over_cluster_samples
from separatrix.estimators.base.rollback import keep_fit_on_error
from separatrix.validation import (
    require_choice,
    require_flag,
    require_integer,
    require_real,
    require_threads,
)

Made = TypeVar("Made")


class Estimator(BaseEstimator):
    """An estimator whose parameters are declared in its class, by `with_parameters`."""

    _least_classes: ClassVar[int] = 2  # in y
    _least_weighted: ClassVar[int] = 2  # of those, with a weight above 0

    @property
    def _class_at_zero(self) -> str:
        """Which of two classes a score of exactly 0 is predicted as: "first" or "second"."""
        return "first"

    def _check_parameters(self) -> None:
        for parameter in fields(self):
            if "check" in parameter.metadata:
                value = getattr(self, parameter.name)
                parameter.metadata["check"](type(self).__name__, parameter.name, value)


@dataclass_transform(eq_default=False)
def with_parameters(cls: type[Made]) -> type[Made]:
    """Decorate an estimator whose annotated class attributes are its parameters.

    >>> @with_parameters
    ... class Machine(Estimator):
    ...     C: float = real(1.0, above=0)
    >>> Machine(C=2.0)
    Machine(C=2.0)
    >>> Machine(C=-1)._check_parameters()
    Traceback (most recent call last):
        ...
    separatrix.errors.ParameterError: `C` of Machine must be above 0; got -1
    """
    made = dataclass(eq=False, repr=False)(cls)
    hand_over_cluster_samples(made)
    keep_fit_on_error(made)
    return made


def real(default: Any, *, also: tuple[Any, ...] = (), **bounds: float) -> Any:
    """A finite number within the bounds of `require_real`, or None or an infinity if in `also`."""
    return _declare(default, also, require_real, **bounds)


def integer(default: Any, *, least: int) -> Any:
    """An integer of at least `least`; or None if it is the default."""
    return _declare(default, (), require_integer, least=least)


def flag(default: bool) -> Any:
    """True or False."""
    return _declare(default, (), require_flag)


def choice(*choices: Any) -> Any:
    """One of several values; the first is the default."""
    return _declare(choices[0], (), require_choice, choices=choices)


def threads() -> Any:
    """A number of threads in scikit-learn's meaning; None by default."""
    return _declare(None, (), lambda owner, _name, value: require_threads(owner, value))


def _declare(
    default: Any, also: tuple[Any, ...], require: Callable[..., None], **terms: Any
) -> Any:
    """A field whose metadata has the check; a default of None is always permitted."""
    optional = default is None or None in also

    def check(owner: str, name: str, value: Any) -> None:
        infinite = isinstance(value, Real) and value in also
        if not (infinite or (optional and value is None)):
            require(owner, name, value, **terms)

    return field(default=default, metadata={"check": check})
