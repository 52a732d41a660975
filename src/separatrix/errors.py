"""Every error of separatrix, one tree.

    SeparatrixError
    ├── ParameterError      (ValueError)   a hyper-parameter the algorithm cannot run with
    ├── DataError           (ValueError)   samples, labels or weights that cannot be used
    │   └── DataFileError                  a data file that is refused, with line and column
    │       └── EncodingError              a text file in another encoding
    ├── ExperimentError     (ValueError)   an invalid experiment file
    ├── UnsupportedError    (NotImplementedError, ValueError)  an unsupported combination of parameters
    ├── MissingDataError    (LookupError)  a data set that is not on this machine
    ├── MemoryBudgetError   (MemoryError)  work that does not fit the memory budget
    ├── MissingPackageError (ImportError)  an optional package that is not installed
    ├── DeviceError         (RuntimeError) a GPU that is missing, or cannot do this work
    ├── ClusterError        (RuntimeError) a cluster without workers, or one that lost the work
    └── ModelFileError      (ValueError)   a model file that is refused; `reason` is a keyword

Warnings: `PrecisionWarning` if even float64 cannot give kernel values to the tolerance, and scikit-learn's
`ConvergenceWarning` if a fit misses its tolerance. A message tells what was found, what was expected and,
if known, what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SeparatrixError(Exception):
    """Base of all errors of separatrix; `hint` suggests what to do."""

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
    """A data file is refused; line and column count from 1, 0 for none.

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


class EncodingError(DataFileError):
    """A text file is not in the encoding that it is read in."""


def _data_file_error(
    path: str, line: int, column: int, found: str, expected: str, hint: str
) -> DataFileError:
    return DataFileError(path, line, column, found=found, expected=expected, hint=hint)


class ExperimentError(SeparatrixError, ValueError):
    """An experiment file is invalid, or its folder holds another experiment."""


class UnsupportedError(SeparatrixError, NotImplementedError, ValueError):
    """The combination of parameters is not supported."""


class MissingDataError(SeparatrixError, LookupError):
    """A data set is not on this machine."""


class MemoryBudgetError(SeparatrixError, MemoryError):
    """The work does not fit the memory budget."""


class MissingPackageError(SeparatrixError, ImportError):
    """An optional package is not installed."""


def missing_package(package: str, extra: str) -> MissingPackageError:
    """The error for an optional package, with the command that installs it.

    >>> str(missing_package("matplotlib", "report"))
    "matplotlib is not installed; install it with: pip install 'separatrix[report]'"
    """
    command = f"pip install 'separatrix[{extra}]'"
    return MissingPackageError(f"{package} is not installed; install it with: {command}")


class DeviceError(SeparatrixError, RuntimeError):
    """There is no GPU, or it cannot do this work."""


class ClusterError(SeparatrixError, RuntimeError):
    """The cluster cannot be reached, has no workers, or lost the work."""


class ModelFileError(SeparatrixError, ValueError):
    """A model file is refused, or a model cannot be saved. `reason` is one of `REASONS`.

    >>> error = ModelFileError("checksum", "digits.model is damaged")
    >>> error.reason, str(error)
    ('checksum', 'digits.model is damaged')
    """

    REASONS: ClassVar[dict[str, str]] = {
        "missing": "there is no such file",
        "unreadable": "the system denies reading it",
        "unwritable": "the system denies writing it; an existing file is unchanged",
        "format": "not a model file",
        "size": "its length differs from the length in its header",
        "checksum": "its bytes have changed since it was written",
        "version": "it was written by a later separatrix",
        "limit": "it exceeds a limit on sizes",
        "schema": "a field is missing, unknown or of the wrong type",
        "invariant": "its fields contradict each other",
        "unsupported": "the model, or a part of it, cannot be saved",
        "function": "it needs a function of yours, which was not given to `load`",
    }

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type[ModelFileError], tuple[str, str]]:
        return type(self), (self.reason, str(self))


class PrecisionWarning(UserWarning):
    """Inner products cannot give kernel values to the wanted tolerance, even in float64."""
