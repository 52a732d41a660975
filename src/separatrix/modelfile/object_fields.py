"""Samples of any kind as a part of a model: rows of numbers, sequences, graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.data.graph import Graph
from separatrix.modelfile.array_fields import Array, Rows
from separatrix.modelfile.fields import Archive, ShapeEnv, schema_error
from separatrix.modelfile.graph_fields import get_graphs, put_graphs
from separatrix.modelfile.token_fields import (
    cuts_of,
    get_bytes,
    get_strings,
    get_tokens,
    put_bytes,
    put_strings,
    put_tokens,
)

MOST = ("sequences", 200_000)  # each takes some eighty bytes besides its letters


@dataclass(frozen=True)
class Samples:
    """Samples: an array of numbers, CSR, or an array (n,) of strings, bytes, tuples or graphs."""

    shape: str  # of rows of numbers; the first letter counts samples of any kind
    values: str = "finite"

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """What kind they are."""
        if not isinstance(value, np.ndarray) or value.dtype != object:
            return Rows(self.shape, self.values).put(value, at, file, sizes)
        sizes.unify(at, value.shape, self.shape.split()[0])
        form = form_of(value)
        if form not in FORMS:
            raise schema_error(at, "sequences or graphs, all of one type", form)
        return {"objects": form, **FORMS[form].put(value, at, file)}

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The samples."""
        if not isinstance(document, dict) or "objects" not in document:
            return Rows(self.shape, self.values).get(document, at, file, sizes)
        form = document["objects"]
        if not isinstance(form, str) or form not in FORMS:
            raise schema_error(at, f"one of {', '.join(FORMS)}", form)
        rest = {name: said for name, said in document.items() if name != "objects"}
        found = FORMS[form].get(rest, at, file)
        objects = np.empty(len(found), dtype=object)
        for row, item in enumerate(found):  # one by one: NumPy would look into tuples
            objects[row] = item
        sizes.unify(at, objects.shape, self.shape.split()[0])
        return objects


def form_of(samples: Any) -> str:
    """What an array of objects is in a file: the name of a form, or else its types."""
    if not len(samples):
        return "nothing"
    for form, kind in (("strings", str), ("bytes", bytes), ("tokens", tuple), ("graphs", Graph)):
        if all(isinstance(item, kind) for item in samples):
            return form
    return ", ".join(sorted({type(item).__name__ for item in samples}))


def kind_of(samples: Any) -> str | None:
    """What kernel takes such samples: one on "vectors", "sequences" or "graphs"; None of nothing."""
    if samples.dtype != object:
        return "vectors"
    if not len(samples):
        return None
    return "graphs" if isinstance(samples[0], Graph) else "sequences"


@dataclass(frozen=True)
class _Form:
    """How objects of one type lie in a file."""

    put: Callable[[Any, str, Archive], dict[str, Any]]
    get: Callable[[dict[str, Any], str, Archive], list[Any]]


def _sequences(
    put: Callable[[Any, str, Archive], None], get: Callable[[str, Archive], list[Any]]
) -> _Form:
    """Sequences, about which the document has nothing more to say."""

    def kept(value: Any, at: str, file: Archive) -> dict[str, Any]:
        put(value, at, file)
        return {}

    def read(rest: dict[str, Any], at: str, file: Archive) -> list[Any]:
        if rest:
            raise schema_error(at, "nothing but the kind of samples", sorted(rest))
        return get(at, file)

    return _Form(kept, read)


def _put_tuples(value: Any, at: str, file: Archive) -> None:
    """Each token once, and which of them is where."""
    number: dict[Any, int] = {}
    codes = [number.setdefault(token, len(number)) for item in value for token in item]
    put_tokens(list(number), at, file)
    file.keep(at, np.array(codes, dtype=np.int32))
    file.keep(f"{at}.cuts", np.cumsum([len(item) for item in value], dtype=np.int64))


def _get_tuples(at: str, file: Archive) -> list[tuple[Any, ...]]:
    tokens = get_tokens(at, file)
    codes = file.take(at)
    Array("i4", "n", least=0, below="t").check(codes, at, ShapeEnv(t=len(tokens)))
    table = np.empty(len(tokens), dtype=object)
    table[:] = tokens
    cuts = cuts_of(f"{at}.cuts", len(codes), file, *MOST)
    return [tuple(table[codes[start:end]].tolist()) for start, end in pairwise(cuts)]


FORMS = {
    "nothing": _sequences(lambda *_: None, lambda *_: []),
    "strings": _sequences(put_strings, lambda at, file: get_strings(at, file, *MOST)),
    "bytes": _sequences(
        put_bytes, lambda at, file: [bytes(part) for part in get_bytes(at, file, *MOST)]
    ),
    "tokens": _sequences(_put_tuples, _get_tuples),
    "graphs": _Form(put_graphs, get_graphs),
}
