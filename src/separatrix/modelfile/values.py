"""Fields of hyper-parameters: numbers, strings, lists, kernels, splitters, models.

What JSON cannot express is an object with one key that names its type: {"tuple": [...]}. Kernels, splitters
and types are looked up in the tables below; no name from a file is ever imported.
"""

from __future__ import annotations

from collections.abc import Callable
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
from separatrix.modelfile import fields as f
from separatrix.modelfile.container import one_line

FOLDS = ("n_splits", "shuffle", "random_state")
SHUFFLES = ("n_splits", "test_size", "train_size", "random_state")
SPLITTERS: dict[str, tuple[type, tuple[str, ...]]] = {
    "LeaveOneOut": (LeaveOneOut, ()),
    **{kind.__name__: (kind, SHUFFLES) for kind in (ShuffleSplit, StratifiedShuffleSplit)},
    **{
        kind.__name__: (kind, FOLDS)
        for kind in (GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold)
    },
}
TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(bool, int, float, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64),
    )
}
ANY_ARRAY = f.Array(f.NUMBERS, f.ANY_SHAPE, "any")
MOST_LEVELS = 1_000  # of a kernel: time grows with them, whatever the samples are
NO_CODE = "for a file holds no code"


@dataclass(frozen=True)
class KernelObject(f.Field):
    """A kernel, with those inside it."""

    only: tuple[type[Kernel], ...] = (Kernel,)

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        name = type(value).__name__
        if isinstance(value, FromCallable):
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a function, and a file holds no code: save a model with a kernel of "
                f"separatrix.kernels, or with kernel='precomputed'; found {value!r:.60}",
            )
        if KERNELS.get(name) is not type(value):
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a kernel of your own, {name}: a file holds those of "
                "separatrix.kernels; use kernel='precomputed'",
            )
        params = {
            key: KERNEL_PARAMETERS.get(key, Value()).put(inner, f"{at}.{key}", file)
            for key, inner in value.get_params(deep=False).items()
        }
        return {"kernel": name, "params": params}

    def get(self, document: Any, at: str, file: f.Archive) -> Kernel:
        f.require_keys(document, at, {"kernel", "params"})
        kind = _find_in(document["kernel"], KERNELS, at)
        f.require_keys(document["params"], at, {field.name for field in fields(kind)})
        params: dict[str, Any] = {}
        for key, inner in document["params"].items():
            position = f"{at}.{key}"
            if isinstance(inner, dict) and "kernel" in inner:
                params[key] = KernelObject().get(inner, position, file)
            elif key in KERNEL_PARAMETERS:
                params[key] = KERNEL_PARAMETERS[key].get(inner, position, file)
            elif type(inner) in (int, float):
                params[key] = inner
            else:
                raise f.schema_error(position, "a number or a kernel", inner)
        try:
            kernel = kind(**params)
        except ParameterError as error:
            raise ModelFileError("invariant", f"`{at}`: {one_line(error)}") from None
        if not isinstance(kernel, self.only):
            names = " or ".join(kind.__name__ for kind in self.only)
            raise f.schema_error(at, f"a {names}", document["kernel"])
        return kernel


def _find_in(name: Any, table: dict[str, Any], at: str) -> Any:
    if not isinstance(name, str) or name not in table:
        raise f.schema_error(at, f"one of {', '.join(table)}", name)
    return table[name]


@dataclass(frozen=True)
class Value(f.Field):
    """A value of any type that hyper-parameters have."""

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        value, name = f.as_plain(value), type(value).__name__
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return f.number_as_json(float(value))
        if isinstance(value, list | tuple):
            items = [self.put(item, f"{at}[{i}]", file) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            return {"dict": self.put([list(pair) for pair in value.items()], at, file)}
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
            return {"array": ANY_ARRAY.put(value, at, file)}
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return {"tuple": [self.put(item, at, file) for item in value.tolist()]}
        if isinstance(value, Kernel):
            return KernelObject().put(value, at, file)
        if isinstance(value, BaseEstimator) and not isinstance(value, type):
            return {"model": file.put_model(value, at, False)}
        if name in SPLITTERS and type(value) is SPLITTERS[name][0]:
            kept = {key: getattr(value, key) for key in SPLITTERS[name][1]}
            params = {key: self.put(item, f"{at}.{key}", file) for key, item in kept.items()}
            return {"splitter": name, "params": params}
        if isinstance(value, type) and TYPES.get(value.__name__) is value:
            return {"type": value.__name__}
        raise _unsupported(at, value)

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if document is None or isinstance(document, bool | int | float):
            return document
        if isinstance(document, str):
            return f.check_text(document, at)
        if isinstance(document, list):
            return self._get_items(document, at, file)
        if not isinstance(document, dict) or not document:
            raise f.schema_error(at, "a value", document)
        what = next(iter(document))
        if what == "kernel":
            return KernelObject().get(document, at, file)
        if what == "splitter":
            return self._get_splitter(document, at, file)
        if len(document) != 1:
            raise f.schema_error(at, "a value of one type", sorted(document))
        inner = document[what]
        if what == "float":
            return f.number_from_json(document, at)
        if what == "tuple":
            return tuple(self._get_items(inner, at, file))
        if what == "dict":
            return self._get_dict(inner, at, file)
        if what == "array":
            return ANY_ARRAY.get(inner, at, file.scope())
        if what == "model":
            return file.get_model(inner, at)
        if what == "type":
            return _find_in(inner, TYPES, at)
        raise f.schema_error(at, "a value", document)

    def _get_items(self, items: Any, at: str, file: f.Archive) -> list[Any]:
        if not isinstance(items, list) or len(items) > f.MOST_ITEMS:
            raise f.schema_error(at, "a list", items)
        return [self.get(item, f"{at}[{i}]", file) for i, item in enumerate(items)]

    def _get_dict(self, pairs: Any, at: str, file: f.Archive) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, pair in enumerate(self._get_items(pairs, at, file)):
            if not isinstance(pair, list) or len(pair) != 2:
                raise f.schema_error(at, "pairs of a key and a value", pair)
            key, value = pair
            if not isinstance(key, str | int | float | bool | None) or key in found:
                raise f.schema_error(f"{at}[{i}]", "a key that comes once", key)
            found[key] = value
        return found

    def _get_splitter(self, document: dict[str, Any], at: str, file: f.Archive) -> Any:
        f.require_keys(document, at, {"splitter", "params"})
        make, names = _find_in(document["splitter"], SPLITTERS, at)
        f.require_keys(document["params"], at, set(names))
        items = document["params"].items()
        params = {key: self.get(value, f"{at}.{key}", file) for key, value in items}
        if params.get("shuffle") is False:
            params.pop("random_state")
        try:
            return make(**params)
        except (TypeError, ValueError) as error:
            raise ModelFileError("invariant", f"`{at}`: {error}") from None


@dataclass(frozen=True)
class Only(f.Field):
    """A parameter that a file may hold with some values only, and why."""

    choices: tuple[Any, ...]
    why: str

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        return self.get(f.as_plain(value), at, file)  # others, such as functions, have no JSON

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if any(type(document) is type(one) and document == one for one in self.choices):
            return document
        allowed = " or ".join(map(repr, self.choices))
        found = "a function" if callable(document) else one_line(document)
        raise ModelFileError("unsupported", f"`{at}` must be {allowed}, {self.why}; found {found}")


def _unsupported(at: str, value: object) -> ModelFileError:
    what = f"is {type(value).__name__}"
    hint = "set it to plain numbers, words or lists before saving"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        what, hint = "is a generator", "a file holds seeds: set it to a whole number or None"
    elif callable(value):
        what, hint = "is a function or a class", "a file holds no code: use a name instead"
    return ModelFileError("unsupported", f"`{at}` {what}, which has no place in a file; {hint}")


def _of_type(expected: str, *kinds: type) -> Callable[[Any, str], Any]:
    def decode(value: Any, at: str) -> Any:
        if type(value) not in kinds:
            raise f.schema_error(at, expected, value)
        return value

    return decode


def _check_levels(value: Any, at: str) -> Any:
    """Refuse so many letters of a word, or rounds of refinement, that a short sample takes very long."""
    if type(value) is not int:
        raise f.schema_error(at, "a whole number", value)
    if value > MOST_LEVELS:
        raise ModelFileError("limit", f"`{at}` is {value}; a file holds at most {MOST_LEVELS}")
    return value


def _check_weights(value: Any, at: str) -> Any:
    if not isinstance(value, tuple) or not all(type(item) in (int, float) for item in value):
        raise f.schema_error(at, "a tuple of numbers", value)
    return value


NUMBER = f.Mapped(Value(), f.as_plain, _of_type("a number", int, float))
LEVELS = f.Mapped(Value(), int, _check_levels)
# Parameters that are neither numbers nor kernels. A kernel checks its own parameters; the limits are ours.
KERNEL_PARAMETERS: dict[str, f.Field] = {
    "alphabet": f.Maybe(f.Mapped(Value(), f.as_plain, _of_type("a string of letters", str))),
    "iterations": LEVELS,
    "k": LEVELS,
    "shortest": f.Maybe(LEVELS),
    "weights": f.Maybe(f.Mapped(Value(), lambda w: tuple(map(float, w)), _check_weights)),
    **dict.fromkeys(("both_ways", "edge_labels", "lowercase", "nodes"), f.Boolean()),
}
