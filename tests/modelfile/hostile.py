"""Files that somebody made to do harm, each with the right checksum.

They begin as files of ours and are changed in one to four places: values, keys, types, shapes, numbers,
the bytes of the header. Whoever signs them knows the format, so the checksum helps nobody here.
"""

from __future__ import annotations

import copy
import functools
import gc
import hashlib
import json
import os
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import load, save
from separatrix.errors import ModelFileError, SeparatrixError
from separatrix.modelfile.container import (
    BEGIN,
    DIGEST,
    LARGEST_HEADER,
    NAMES,
    NO_DIGEST,
    read_container,
)

MEMORY = 64 * 2**20
PARSES = 30  # what a load may take, in times to parse the longest header that is taken
NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 10**30)
REALS = (0.5, -0.5, 1e-300, 1e300, -1e300, 1e308, {"float": "nan"}, {"float": "inf"})
OTHERS = (
    *(None, True, False, "", "C", "F", "numbers", "objects", "rbf", "precomputed", "SVC"),
    "x" * 300,
    *([], [[]], {}, [None] * 20, {"tuple": []}, {"dict": [[1, 2], [1, 3]]}, {"array": "C"}),
    *({"kernel": "Linear", "params": {}}, {"kernel": "os.system", "params": {}}),
    {"kernel": "Polynomial", "params": {"degree": 2**52, "gamma": 1e200, "coef0": -1.0}},
    {"kind": "SVC", "params": {}, "state": {}, "slim": False},
    {"kind": "builtins.eval", "params": {}},
    {"same": "model"},
    {"csr": "array", "shape": [2**40, 2**40]},
    {"model": {"same": "model"}},
    {"words": 2**30},
    {"type": "object"},
    {"splitter": "KFold", "params": {"n_splits": 0, "shuffle": True, "random_state": "x"}},
)
BAD_FLOATS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -1.0, 1e-320)
DELETED = object()
BAD_WHOLE = (-1, 2**31 - 1, 2**62, -(2**63), 10**6, 0)


def signed(document: Any, tensors: dict[str, Any], rng: np.random.Generator | None = None) -> bytes:
    """A file of these parts with the right checksum; with a generator, perhaps of odd bytes."""
    text = '{"sha256":"' + NO_DIGEST + '",' + dumped(document)[1:]
    table: dict[str, Any] = {"__metadata__": {"separatrix": text}}
    end = 0
    for name, array in tensors.items():
        stop = end + array.nbytes
        dtype, shape = NAMES[array.dtype], [*array.shape]
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, stop]}
        end = stop
    header = dumped(table).encode()
    if rng is not None and rng.random() < 0.05:
        header = odd_bytes(header, rng)
    return sign(header, b"".join(array.tobytes() for array in tensors.values()))


def sign(header: bytes, data: bytes = b"") -> bytes:
    """A file with the right checksum, whatever is in it."""
    header += b" " * (-len(header) % 8)
    raw = bytearray(len(header).to_bytes(8, "little") + header + data)
    if header.startswith(BEGIN) and len(raw) >= DIGEST.stop:
        raw[DIGEST] = NO_DIGEST.encode()
        raw[DIGEST] = hashlib.sha256(raw).hexdigest().encode()
    return bytes(raw)


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def odd_bytes(header: bytes, rng: np.random.Generator) -> bytes:
    """The header with something in it that no JSON library of ours would write."""
    at = int(rng.integers(len(BEGIN) + 70, len(header)))
    odd = [b'"', b"\\", b"\xff", b"\0", b"{", b"[" * 200, b"NaN", b"9" * 400, b'"a":1,"a":1,']
    odd.append(b"\\ud800")
    return header[:at] + odd[rng.integers(len(odd))] + header[at:]


class Maker:
    """Makes hostile files out of files of ours."""

    def __init__(self, sources: list[Any], seed: int = 0) -> None:
        found = [read_container(path, versions=lambda _: None) for path in sources]
        self.sources = [(contents.document, contents.tensors) for contents in found]
        self.rng = np.random.default_rng(seed)

    def one(self, number: int) -> bytes:
        """The file of that number; the sources take turns."""
        rng = self.rng = np.random.default_rng([17, number])
        document, tensors = self.sources[number % len(self.sources)]
        document, tensors = copy.deepcopy(document), dict(tensors)
        for _ in range(rng.integers(1, 5)):
            document, tensors = self.changed(document, tensors)
        return signed(document, tensors, rng)

    def changed(self, document: Any, tensors: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """One change somewhere."""
        if not tensors or self.rng.random() < 0.5:
            self.change_document(document)
        elif self.rng.random() < 0.7:
            name = self.any_of(list(tensors))
            tensors[name] = self.changed_array(tensors[name])
        else:
            self.change_table(tensors)
        return document, tensors

    def any_of(self, values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def change_document(self, document: Any) -> None:
        positions = list(walked(document))
        holder, key = self.any_of(positions)
        what = self.rng.integers(7)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[self.any_of(["x", "kind", "state", "n_jobs", "", "__class__"])] = holder[key]
        elif what == 2:
            other, name = self.any_of(positions)
            holder[key] = copy.deepcopy(other[name])
        elif (
            what == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
        ):
            holder[key] = holder[key] + self.any_of([1, -1, 0.5, 10**6])
        elif what == 4 and isinstance(holder[key], str):
            holder[key] = holder[key][::-1] + self.any_of(["", "_", "\n", "\ud800", "é"])
        elif what == 5:
            deep: Any = 0
            for _ in range(self.rng.integers(1, 80)):
                deep = [deep] if self.rng.random() < 0.5 else {"tuple": [deep]}
            holder[key] = deep
        else:
            holder[key] = copy.deepcopy(self.any_of(self.any_of([NUMBERS, REALS, OTHERS])))

    def changed_array(self, array: Any) -> Any:
        what = self.rng.integers(8)
        if what == 0 and array.ndim:
            return array[: self.rng.integers(len(array) + 1)]
        if what == 1 and array.ndim:
            return np.concatenate([array, array])
        if what == 2:
            return array.reshape(-1) if array.ndim > 1 else array.reshape(1, *array.shape)
        if what == 3:
            return np.ascontiguousarray(array.T)
        if what == 4:
            with np.errstate(all="ignore"):
                return array.astype(self.any_of(list(NAMES)))
        if what == 5 and array.ndim:
            return array[::-1].copy()
        array = array.copy()
        if array.size:
            spots = self.rng.integers(array.size, size=self.rng.integers(1, 4))
            bad = BAD_FLOATS if array.dtype.kind == "f" else BAD_WHOLE
            with np.errstate(all="ignore"):
                array.flat[spots] = np.array(self.any_of(bad)).astype(array.dtype)
        return array

    def change_table(self, tensors: dict[str, Any]) -> None:
        what = self.rng.integers(5)
        name = self.any_of(list(tensors))
        if what == 0:
            del tensors[name]
        elif what == 1:
            tensors[name + self.any_of(["_", ".x", "[0]"])] = tensors[name]
        elif what == 2:
            tensors[name] = tensors[self.any_of(list(tensors))]
        elif what == 3:
            shape = self.any_of([(0,), (0, 0), (0, 2**40), (1,), (1, 1), (2**10,), ()])
            tensors[name] = np.zeros(shape, dtype=tensors[name].dtype)
        else:
            for extra in range(int(self.any_of([3, 2000]))):
                tensors[f"extra{extra}"] = np.zeros(0)


def walked(document: Any) -> Any:
    """Every place in a document: what holds it, and under which key."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(items):
        yield document, key
        if isinstance(value, dict | list):
            yield from walked(value)


def resident():
    """Bytes of memory now, and at most since the last call."""
    status = Path("/proc/self/status").read_text()
    now, peak = (
        int(line.split()[1]) * 1024
        for name in ("VmRSS", "VmHWM")
        for line in status.splitlines()
        if line.startswith(name)
    )
    return now, peak


def begin_anew():
    """Have the peak counted from now on; False where the system does not let us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def processor_time(work, *args):
    """Seconds of the processor that a call takes; a file may be refused."""
    gc.freeze()  # what other tests left takes no time in its collections
    began = time.process_time()
    with suppress(ModelFileError):
        work(*args)
    took = time.process_time() - began
    gc.unfreeze()
    return took


def longest_parse():
    """Seconds of the processor that JSON of the longest header takes on this machine now."""
    return processor_time(json.loads, dumped([0.5] * (LARGEST_HEADER // 4)))


usual_parse = functools.cache(longest_parse)


def load_within_limits(path, samples=None):
    """Load a file within limits of work and memory; why it was refused, or None."""
    usual_parse()
    measured = begin_anew()
    before = resident()[0] if measured else 0
    began = time.process_time()
    reason, model, said, cause = None, None, "", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError as error:
            reason, said, cause = error.reason, str(error), error.__cause__
        took = time.process_time() - began
        if measured:
            assert resident()[1] - before < MEMORY + os.path.getsize(path), "too much memory"
        if took > PARSES * usual_parse():  # once more, without what else may have been going on
            assert processor_time(load, path) < PARSES * longest_parse(), "too slow"
        if model is not None:
            use(model, samples)
    assert reason is None or reason in ModelFileError.REASONS
    assert "\n" not in said
    assert cause is None, "no check had foreseen this"
    return reason


def use(model, samples):
    """Predict with a model that was loaded; it may refuse, but not crash."""
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            with suppress(SeparatrixError, ValueError):
                getattr(model, method)(samples)


def split_file(model, path, **more):
    """The document and the arrays of a model's file, to be changed."""
    contents = read_container(save(model, path, **more), versions=lambda _: None)
    return contents.document, dict(contents.tensors)


def refused(document, tensors, path):
    """Write a changed file with the right checksum; the reason why it is refused."""
    path.write_bytes(signed(document, tensors))
    reason = load_within_limits(path)
    assert reason is not None
    return reason


def change(document, tensors, where, new):
    """Change a file at "state.x", "params.x", "card.x" or, an array, at "@.x"."""
    if where.startswith("@"):
        holder, key = tensors, f"model{where[1:]}" if where[1:] else ""
    else:
        *outer, key = where.split(".")
        holder = document if outer[0] == "card" else document["model"]
        for part in outer:
            holder = holder[int(part) if isinstance(holder, list) else part]
    if new is DELETED:
        del holder[key]
    else:
        holder[key] = new(holder[key]) if callable(new) else new


def refused_after(model, changes, path, **more):
    """The reason why the file of a model is refused after some changes."""
    document, tensors = split_file(model, path, **more)
    for where, new in changes.items():
        change(document, tensors, where, new)
    return refused(document, tensors, path)
