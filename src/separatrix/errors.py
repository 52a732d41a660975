"""Every error of separatrix, one tree.

    SeparatrixError
    ├── ParameterError      (ValueError)   a hyper-parameter the algorithm cannot run with
    ├── DataError           (ValueError)   samples, labels or weights that cannot be used
    │   └── DataFileError                  a file of data that is refused, and where in it
    ├── ExperimentError     (ValueError)   an experiment that cannot be run as it is written
    ├── UnsupportedError    (NotImplementedError, ValueError)  what goes with other parameters only
    ├── MissingDataError    (LookupError)  a data set that is not on this machine
    ├── MemoryBudgetError   (MemoryError)  work that does not fit the memory it was given
    ├── MissingPackageError (ImportError)  an optional package that is not installed
    ├── DeviceError         (RuntimeError) a card that is not there, or cannot do this work
    └── ModelFileError      (ValueError)   a model file that is refused; `reason` says why in a word

Warnings: `PrecisionWarning` where even float64 cannot give kernel values to the wanted tolerance, and
scikit-learn's `ConvergenceWarning` where a fit misses its tolerance.
Each sentence says what was found, what was expected and, where that is known, what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SeparatrixError(Exception):
    """Whatever separatrix refuses to do, with a sentence for a person; `hint` says what to do."""

    hint: str = ""


class ParameterError(SeparatrixError, ValueError):
    """A hyper-parameter has a value the algorithm cannot run with.

    >>> raise ParameterError("Gaussian", "gamma", "above 0", -1)
    Traceback (most recent call last):
    ...
    separatrix.errors.ParameterError: `gamma` of Gaussian must be above 0; got -1
    """

    def __init__(self, owner: str, name: str, must_be: str, got: object) -> None:
        super().__init__(f"`{name}` of {owner} must be {must_be}; got {got!r}")
        self._arguments = (owner, name, must_be, got)

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str, str, object]]:
        return type(self), self._arguments


class DataError(SeparatrixError, ValueError):
    """Samples, labels or weights cannot be used as they are."""


class DataFileError(DataError):
    """A file of data is refused; line and column count from 1, and 0 where there are none.

    >>> raise DataFileError("iris.csv", 3, 7, found="'abc'", expected="a number")
    Traceback (most recent call last):
    ...
    separatrix.errors.DataFileError: iris.csv:3:7: found 'abc', expected a number
    """

    def __init__(
        self,
        path: object,
        line: int = 0,
        column: int = 0,
        *,
        found: str,
        expected: str,
        hint: str = "",
    ) -> None:
        where = f"{path}" + (f":{line}" if line else "") + (f":{column}" if column else "")
        super().__init__(f"{where}: found {found}, expected {expected}")
        self.path, self.line, self.column = str(path), line, column
        self.found, self.expected, self.hint = found, expected, hint

    def __reduce__(self) -> tuple[Any, ...]:
        where = (str(self.path), self.line, self.column)
        return _data_file_error, (*where, self.found, self.expected, self.hint)


def _data_file_error(
    path: str, line: int, column: int, found: str, expected: str, hint: str
) -> DataFileError:
    return DataFileError(path, line, column, found=found, expected=expected, hint=hint)


class ExperimentError(SeparatrixError, ValueError):
    """An experiment cannot be run as it is written, or its folder holds another one."""


class UnsupportedError(SeparatrixError, NotImplementedError, ValueError):
    """What is asked for goes with other parameters, but not with these."""


class MissingDataError(SeparatrixError, LookupError):
    """A data set is not on this machine."""


class MemoryBudgetError(SeparatrixError, MemoryError):
    """The work does not fit the memory it was given."""


class MissingPackageError(SeparatrixError, ImportError):
    """An optional package is not installed."""


class DeviceError(SeparatrixError, RuntimeError):
    """There is no card to work on, or not for this work."""


class ModelFileError(SeparatrixError, ValueError):
    """A model file is refused, or a model cannot be put into one. `reason` is one of `REASONS`.

    >>> error = ModelFileError("checksum", "digits.model is damaged")
    >>> error.reason, str(error)
    ('checksum', 'digits.model is damaged')
    """

    REASONS: ClassVar[dict[str, str]] = {
        "missing": "there is no such file",
        "unreadable": "the system does not let it be read",
        "unwritable": "the system does not let it be written; what was there before still is",
        "format": "this is not a model file at all",
        "size": "bytes are missing at its end, or there are more than it speaks of",
        "checksum": "a bit has changed since it was written",
        "version": "it was written by a later separatrix",
        "limit": "it asks for more than any model may hold",
        "schema": "something is missing, is of the wrong type, or should not be there",
        "invariant": "its parts do not go together",
        "unsupported": "the model, or a part of it, has no place in a file",
    }

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type[ModelFileError], tuple[str, str]]:
        return type(self), (self.reason, str(self))


class PrecisionWarning(UserWarning):
    """Inner products cannot give kernel values to the wanted tolerance, even in float64."""
