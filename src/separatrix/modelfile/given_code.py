"""Functions and classes that a model needs and a file does not hold: only their names, for the user.

`save` collects them; `load` takes them from its caller. No name from a file is ever imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from separatrix.errors import ModelFileError, ParameterError
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.pair_values import name_of
from separatrix.modelfile.container import one_line


@dataclass
class GivenCode:
    """The functions and dataclasses of one file."""

    functions: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    single: Any = None  # a function for the only name in the file
    described: bool = False  # whether the model is only described, and stand-ins will do
    used: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, kernel: Any, classes: Iterable[type] | None) -> GivenCode:
        """What the caller of `load` gave: a function or functions by name, and dataclasses."""
        kinds = list(classes or ())
        for kind in kinds:
            if not isinstance(kind, type) or not is_dataclass(kind):
                raise ParameterError("load", "classes", "a list of dataclasses", kind)
        functions = dict(kernel) if isinstance(kernel, Mapping) else {}
        single = None if isinstance(kernel, Mapping) else _function_of(kernel)
        functions = {str(name): _function_of(one) for name, one in functions.items()}
        return cls(functions, {kind.__name__: kind for kind in kinds}, single)

    def name(self, function: Any) -> str:
        """The name of a function in the file; another one if it is taken."""
        name, number = name_of(function), 2
        while self.functions.setdefault(name, function) is not function:
            name, number = f"{name_of(function)}-{number}", number + 1
        return name

    def keep_class(self, kind: type, at: str) -> str:
        """The name of a dataclass in the file."""
        if self.classes.setdefault(kind.__name__, kind) is not kind:
            raise ModelFileError("unsupported", f"`{at}` has two classes named {kind.__name__}")
        return kind.__name__

    def find(self, name: str, at: str) -> Callable[..., Any]:
        """The function of that name."""
        self.used.add(name)
        if self.described:
            return _stand_in
        found = self.functions.get(name, self.single)
        if found is None or (name not in self.functions and len(self.used) > 1):
            shown = ", ".join(f"{one_line(one)!r}: ..." for one in sorted(self.used))
            how = f"kernel={{{shown}}}"
            if len(self.used) == 1:
                how = f"kernel={name if name.isidentifier() else '...'}"
            raise ModelFileError(
                "function",
                f"`{at}` is a function of yours, {one_line(name)}, and a file holds no code: give it "
                f"again, load(path, {how})",
            )
        function: Callable[..., Any] = found
        return function

    def require_used(self) -> None:
        """Refuse functions that the file does not name."""
        unused = sorted(set(self.functions) - self.used)
        if unused or (self.single is not None and not self.used):
            found = ", ".join(map(one_line, unused)) or name_of(self.single)
            named = ", ".join(map(one_line, sorted(self.used))) or "none"
            raise ModelFileError(
                "function",
                f"`kernel` has {found}, but the functions that the model needs are: {named}",
            )


def _function_of(value: Any) -> Any:
    """The function of a kernel, or of itself; None for none."""
    value = value.function if isinstance(value, FromCallable) else value
    if value is not None and not callable(value):
        raise ParameterError("load", "kernel", "a function, or a dict of functions by name", value)
    return value


def _stand_in(*_: Any) -> Any:
    raise ModelFileError("function", "a description has no functions")
