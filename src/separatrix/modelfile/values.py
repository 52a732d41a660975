"""Fields of hyper-parameters: numbers, strings, lists, kernels, splitters, models.

What JSON cannot express is an object with one key that names its type: {"tuple": [...]}. Kernels, splitters
and types are looked up in the tables below; no name from a file is ever imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import BaseEstimator

from separatrix.errors import ModelFileError, ParameterError
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.combination import Combination
from separatrix.kernels.registry import KERNELS
from separatrix.modelfile import fields as f
from separatrix.modelfile.container import one_line
from separatrix.runtime.blocks import MEBIBYTE, memory_of_this_machine

SEED = "random_state"
SPLITTERS: dict[str, tuple[type, tuple[str, ...]]] = {  # with their parameters
    name: (getattr(model_selection, name), params)
    for names, params in (
        ("LeaveOneOut", ()),
        ("KFold GroupKFold StratifiedKFold StratifiedGroupKFold", ("n_splits", "shuffle", SEED)),
        ("ShuffleSplit StratifiedShuffleSplit", ("n_splits", "test_size", "train_size", SEED)),
    )
    for name in names.split()
}
TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(bool, int, float, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64),
    )
}
ANY_ARRAY = f.Array(f"{f.NUMBERS} ... any")
MOST_THREADS = 1024
MOST_LEVELS = 1_000  # of a kernel: time grows with them, whatever the samples are
MOST_ROUNDS = 200  # of refinement: 1,000 took 1.7 s and 220 MB for graphs of six nodes
STORED_KERNELS: dict[str, type[Kernel]] = {**KERNELS, "FromCallable": FromCallable}
NO_CODE = "for a file holds no code"


@dataclass(frozen=True)
class KernelObject(f.Field):
    """A kernel, with those inside it."""

    only: tuple[type[Kernel], ...] = (Kernel,)

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        name = type(value).__name__
        if STORED_KERNELS.get(name) is not type(value):
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
        kind = f.find_in(STORED_KERNELS, document["kernel"], at)
        f.require_keys(document["params"], at, {field.name for field in fields(kind)})
        params = {
            key: KERNEL_PARAMETERS.get(key, KERNEL_OR_NUMBER).get(inner, f"{at}.{key}", file)
            for key, inner in document["params"].items()
        }
        try:
            kernel = kind(**params)
        except ParameterError as error:
            raise ModelFileError("invariant", f"`{at}`: {one_line(error)}") from None
        if not isinstance(kernel, self.only):
            names = " or ".join(kind.__name__ for kind in self.only)
            raise f.schema_error(at, f"a {names}", document["kernel"])
        return kernel


@dataclass(frozen=True)
class FunctionName(f.Field):
    """A function of the user's: the file has its name, and the function is given to `load` again."""

    def put(self, value: Any, at: str, file: f.Archive) -> str:
        return str(file.code.name(value))

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        return file.code.find(f.Text().get(document, at, file), at)


class KernelParameter(f.Field):
    """The parameter `kernel` of a kernel machine: a value as any other, or a function."""

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        if callable(value) and not isinstance(value, type):
            return {"function": FunctionName().put(value, at, file)}
        return Value().put(value, at, file)

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if isinstance(document, dict) and list(document) == ["function"]:
            return FunctionName().get(document["function"], at, file)
        return Value().get(document, at, file)


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
        if isinstance(value, Combination):
            return {"combination": self.put(list(value), at, file)}
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
            return _check_text(document, at)
        if isinstance(document, list):
            return self._get_items(document, at, file)
        if not isinstance(document, dict) or not document:
            raise f.schema_error(at, "a value", document)
        what, inner = next(iter(document.items()))
        if what == "kernel":
            return KernelObject().get(document, at, file)
        if what == "splitter":
            return self._get_splitter(document, at, file)
        if len(document) != 1:
            raise f.schema_error(at, "a value of one type", sorted(document))
        readers: dict[str, Callable[[], Any]] = {
            "float": lambda: f.number_from_json(document, at),
            "tuple": lambda: tuple(self._get_items(inner, at, file)),
            "dict": lambda: self._get_dict(inner, at, file),
            "array": lambda: ANY_ARRAY.get(inner, at, file.scope()),
            "combination": lambda: Combination(self._get_items(inner, at, file)),
            "model": lambda: file.get_model(inner, at),
            "type": lambda: f.find_in(TYPES, inner, at),
        }
        if what not in readers:
            raise f.schema_error(at, "a value", document)
        return readers[what]()

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
        make, names = f.find_in(SPLITTERS, document["splitter"], at)
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
    return ModelFileError("unsupported", f"`{at}` {what}, which cannot be stored in a file; {hint}")


def _check_text(value: str, at: str) -> str:
    """Refuse text that is very long or that UTF-8 cannot encode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise f.schema_error(at, "text that UTF-8 can encode", "a lone surrogate") from None
    if len(value) > f.LONGEST_TEXT:
        raise ModelFileError("limit", f"`{at}` has {len(value)} letters")
    return value


def checked(holds: Callable[[Any], bool], expected: str) -> f.Mapped:
    """The field of a value that must fulfil a condition."""

    def decode(value: Any, at: str) -> Any:
        if not holds(value):
            raise f.schema_error(at, expected, value)
        return value

    return f.Mapped(Value(), decode)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _check_levels(value: Any, at: str, most: int = MOST_LEVELS) -> Any:
    """Refuse so many letters of a word, or rounds of refinement, that a short sample takes very long."""
    if type(value) is not int:
        raise f.schema_error(at, "a whole number", value)
    if value > most:
        raise ModelFileError("limit", f"`{at}` is {value}; a file holds at most {most}")
    return value


NUMBER = checked(_is_number, "a number")
KERNEL_OR_NUMBER = checked(
    lambda value: isinstance(value, Kernel) or _is_number(value), "a number or a kernel"
)
LEVELS = f.Mapped(Value(), _check_levels, int)
ROUNDS = f.Mapped(Value(), partial(_check_levels, most=MOST_ROUNDS), int)
WEIGHTS = checked(
    lambda value: isinstance(value, tuple) and all(map(_is_number, value)), "a tuple of numbers"
)
THREADS = checked(
    lambda count: count is None or (type(count) is int and abs(count) <= MOST_THREADS),
    f"at most {MOST_THREADS} threads",
)
# Parameters that are neither numbers nor kernels. A kernel checks its own parameters; the limits are ours.
KERNEL_PARAMETERS: dict[str, f.Field] = {
    "alphabet": f.Maybe(checked(lambda value: isinstance(value, str), "a string of letters")),
    "iterations": ROUNDS,
    "k": LEVELS,
    "shortest": f.Maybe(LEVELS),
    "weights": f.Maybe(replace(WEIGHTS, encode=lambda weights: tuple(map(float, weights)))),
    "function": FunctionName(),
    "objects": f.Maybe(f.Boolean()),
    "check_psd": f.Maybe(f.Text()),
    "workers": f.Text(),
    "n_jobs": THREADS,
    **dict.fromkeys(("both_ways", "edge_labels", "lowercase", "nodes"), f.Boolean()),
}
# Parameters that estimators themselves check only in `fit`.
PARAMETERS: dict[str, f.Field] = {
    "random_state": checked(
        lambda seed: seed is None or (type(seed) is int and seed >= 0),
        "a seed of at least 0 or null",
    ),
    "n_jobs": THREADS,
    "memory_limit": checked(
        lambda size: (
            size is None
            or (isinstance(size, int | float) and size <= memory_of_this_machine() / MEBIBYTE)
        ),
        "within this machine's memory",
    ),
    "dtype": checked(lambda kind: isinstance(kind, type) or kind in tuple(TYPES), "a number type"),
    "verbose": checked(lambda level: isinstance(level, bool | int | float), "a number"),
}
