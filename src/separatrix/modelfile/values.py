"""Hyper-parameters and other small values in the document: numbers, words, lists, kernels, models.

What JSON has no word for is an object with one key that says what it is: {"tuple": [...]}. Kernels and
splitters are looked up in tables of ours; no name in a file is ever imported.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from separatrix.errors import ModelFileError, ParameterError
from separatrix.kernels.base import FromCallable, Kernel
from separatrix.kernels.registry import KERNELS
from separatrix.modelfile.array_fields import ANY_SHAPE, NUMBERS, Array
from separatrix.modelfile.container import in_a_line
from separatrix.modelfile.fields import (
    MOST_ITEMS,
    Archive,
    ShapeEnv,
    checked_text,
    number_as_json,
    number_from_json,
    require_keys,
    schema_error,
)
from separatrix.modelfile.kernel_parameters import OTHER_PARAMETERS

SPLITTERS: dict[str, tuple[type, tuple[str, ...]]] = {
    "GroupKFold": (GroupKFold, ("n_splits", "shuffle", "random_state")),
    "KFold": (KFold, ("n_splits", "shuffle", "random_state")),
    "LeaveOneOut": (LeaveOneOut, ()),
    "ShuffleSplit": (ShuffleSplit, ("n_splits", "test_size", "train_size", "random_state")),
    "StratifiedGroupKFold": (StratifiedGroupKFold, ("n_splits", "shuffle", "random_state")),
    "StratifiedKFold": (StratifiedKFold, ("n_splits", "shuffle", "random_state")),
    "StratifiedShuffleSplit": (
        StratifiedShuffleSplit,
        ("n_splits", "test_size", "train_size", "random_state"),
    ),
}
TYPES: dict[str, type] = {
    **{kind.__name__: kind for kind in (bool, int, float)},
    **{
        kind.__name__: kind
        for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
    },
    **{kind.__name__: kind for kind in (np.uint64, np.float32, np.float64)},
}
ANY_ARRAY = Array(NUMBERS, ANY_SHAPE, "any")
SPLITTER_NAMES = {kind: name for name, (kind, _) in SPLITTERS.items()}
KERNEL_NAMES = {kind: name for name, kind in KERNELS.items()}
TYPE_NAMES = {kind: name for name, kind in TYPES.items()}
NO_CODE = "for a file holds no code"


@dataclass(frozen=True)
class KernelObject:
    """A kernel, with those inside it."""

    only: tuple[type[Kernel], ...] = (Kernel,)

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """Its name, and its parameters."""
        if isinstance(value, FromCallable):
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a function, and a file holds no code: save a model with a kernel of "
                f"separatrix.kernels, or with kernel='precomputed'; found {value!r:.60}",
            )
        if type(value) not in KERNEL_NAMES:
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a kernel of your own, {type(value).__name__}: a file holds those of "
                "separatrix.kernels; use kernel='precomputed'",
            )
        params = {}
        for name, inner in value.get_params(deep=False).items():
            position = f"{at}.{name}"
            if isinstance(inner, Kernel):
                params[name] = self.put(inner, position, file, sizes)
            else:
                field = OTHER_PARAMETERS.get(name, Value())
                params[name] = field.put(inner, position, file, sizes)
        return {"kernel": KERNEL_NAMES[type(value)], "params": params}

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Kernel:
        """The kernel; its own checks hold for its parameters."""
        require_keys(document, at, {"kernel", "params"})
        name = document["kernel"]
        if not isinstance(name, str) or name not in KERNELS:
            raise schema_error(at, f"one of {', '.join(KERNELS)}", name)
        kind = KERNELS[name]
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        require_keys(document["params"], at, names)
        params: dict[str, Any] = {}
        for key, inner in document["params"].items():
            position = f"{at}.{key}"
            if isinstance(inner, dict) and "kernel" in inner:
                params[key] = KernelObject().get(inner, position, file, sizes)
            elif key in OTHER_PARAMETERS:
                params[key] = OTHER_PARAMETERS[key].get(inner, position, file, sizes)
            elif type(inner) in (int, float):
                params[key] = inner
            else:
                raise schema_error(position, "a number or a kernel", inner)
        try:
            kernel = kind(**params)
        except ParameterError as error:
            raise ModelFileError("invariant", f"`{at}`: {in_a_line(error)}") from None
        if not isinstance(kernel, self.only):
            raise schema_error(at, f"a {' or '.join(k.__name__ for k in self.only)}", name)
        return kernel


@dataclass(frozen=True)
class Value:
    """A value of the kinds that hyper-parameters have."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As JSON, with one key for what JSON has no word for."""
        if isinstance(value, np.generic) and not isinstance(value, np.floating | np.void):
            value = value.item()
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if abs(value) >= 2**63:
                raise schema_error(at, "a number of 64 bits", value)
            return value
        if isinstance(value, float | np.floating):
            return number_as_json(float(value))
        if isinstance(value, str):
            return checked_text(str(value), at)
        if isinstance(value, list | tuple):
            items = [self.put(item, f"{at}[{i}]", file, sizes) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            pairs = [list(pair) for pair in value.items()]
            return {"dict": self.put(pairs, at, file, sizes)}
        if isinstance(value, np.ndarray):
            return self._put_array(value, at, file)
        if isinstance(value, Kernel):
            return KernelObject().put(value, at, file, sizes)
        if isinstance(value, BaseEstimator) and not isinstance(value, type):
            return {"model": file.put_model(value, at, False)}
        if type(value) in SPLITTER_NAMES:
            name = SPLITTER_NAMES[type(value)]
            kept = {key: getattr(value, key) for key in SPLITTERS[name][1]}
            return {
                "splitter": name,
                "params": {k: self.put(v, f"{at}.{k}", file, sizes) for k, v in kept.items()},
            }
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"type": TYPE_NAMES[value]}
        raise _unsupported(at, value)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The value back."""
        if document is None or isinstance(document, bool | int | float):
            return document
        if isinstance(document, str):
            return checked_text(document, at)
        if isinstance(document, list):
            return self._items(document, at, file, sizes)
        if not isinstance(document, dict) or not document:
            raise schema_error(at, "a value", document)
        what = next(iter(document))
        if what == "kernel":
            return KernelObject().get(document, at, file, sizes)
        if what == "splitter":
            return self._splitter(document, at, file, sizes)
        if len(document) != 1:
            raise schema_error(at, "a value of one kind", sorted(document))
        inner = document[what]
        if what == "float":
            return number_from_json(document, at)
        if what == "tuple":
            return tuple(self._items(inner, at, file, sizes))
        if what == "dict":
            return self._dict(inner, at, file, sizes)
        if what == "array":
            return ANY_ARRAY.get(inner, at, file, sizes)
        if what == "model":
            return file.get_model(inner, at)
        if what == "type" and isinstance(inner, str) and inner in TYPES:
            return TYPES[inner]
        raise schema_error(at, "a value", document)

    def _items(self, items: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        if not isinstance(items, list) or len(items) > MOST_ITEMS:
            raise schema_error(at, "a list", items)
        return [self.get(item, f"{at}[{i}]", file, sizes) for i, item in enumerate(items)]

    def _dict(self, pairs: Any, at: str, file: Archive, sizes: ShapeEnv) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, pair in enumerate(self._items(pairs, at, file, sizes)):
            if not isinstance(pair, list) or len(pair) != 2:
                raise schema_error(at, "pairs of a key and a value", pair)
            key, value = pair
            if not isinstance(key, str | int | float | bool | None) or key in found:
                raise schema_error(f"{at}[{i}]", "a key that comes once", key)
            found[key] = value
        return found

    def _put_array(self, value: Any, at: str, file: Archive) -> Any:
        if value.dtype.kind in "OUS":
            if value.ndim != 1:
                raise _unsupported(at, value)
            return {"tuple": [self.put(item, at, file, ShapeEnv()) for item in value.tolist()]}
        return {"array": ANY_ARRAY.put(value, at, file, ShapeEnv())}

    def _splitter(self, document: dict[str, Any], at: str, file: Archive, sizes: ShapeEnv) -> Any:
        require_keys(document, at, {"splitter", "params"})
        name = document["splitter"]
        if not isinstance(name, str) or name not in SPLITTERS:
            raise schema_error(at, f"one of {', '.join(SPLITTERS)}", name)
        make, names = SPLITTERS[name]
        require_keys(document["params"], at, set(names))
        params = {
            key: self.get(value, f"{at}.{key}", file, sizes)
            for key, value in document["params"].items()
        }
        if params.get("shuffle") is False:
            params.pop("random_state")
        try:
            return make(**params)
        except (TypeError, ValueError) as error:
            raise ModelFileError("invariant", f"`{at}`: {error}") from None


@dataclass(frozen=True)
class Only:
    """A parameter of which some values have a place in a file, and why others have none."""

    choices: tuple[Any, ...]
    why: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As it is."""
        value = value.item() if isinstance(value, np.generic) else value
        return self.get(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """One of the values."""
        if any(type(document) is type(one) and document == one for one in self.choices):
            return document
        allowed = " or ".join(map(repr, self.choices))
        found = "a function" if callable(document) else in_a_line(document)
        raise ModelFileError("unsupported", f"`{at}` must be {allowed}, {self.why}; found {found}")


@dataclass(frozen=True)
class Number:
    """A number that stays whole if it was."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As JSON."""
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, int | float):
            raise schema_error(at, "a number", value)
        return Value().put(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The number."""
        value = Value().get(document, at, file, sizes)
        if not isinstance(value, int | float):
            raise schema_error(at, "a number", value)
        return value


def _unsupported(at: str, value: object) -> ModelFileError:
    what = f"is {type(value).__name__}"
    hint = "set it to plain numbers, words or lists before saving"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        what, hint = "is a generator", "a file holds seeds: set it to a whole number or None"
    elif callable(value):
        what, hint = "is a function or a class", "a file holds no code: use a name instead"
    return ModelFileError("unsupported", f"`{at}` {what}, which has no place in a file; {hint}")
