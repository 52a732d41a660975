"""Fields of samples that are sequences or graphs, and of the vocabulary of a kernel.

Strings are UTF-8; lone surrogates, which Python allows in a string, are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.data.graph import Graph
from separatrix.errors import ModelFileError
from separatrix.jit import njit
from separatrix.kernels.strings.sequences import ASCII_BITS, BYTE_BITS, TOKEN_BITS, UNICODE_BITS
from separatrix.kernels.vocabulary import MIN_SLOTS, PairTable, Vocabulary, hash_slot
from separatrix.modelfile import fields as f
from separatrix.modelfile.given_code import GivenCode
from separatrix.modelfile.plain_objects import CODES, MOST_VALUES, PlainReader, PlainWriter
from separatrix.types import Codes

STRING, NUMBER, BYTES = range(3)  # types of a token
TOKENS = (str, int, bytes)
FORMS = {"strings": str, "bytes": bytes, "tokens": tuple, "graphs": Graph}
KEYS = {"graphs": ("node_labels", "edge_labels"), "plain": ("count",)}
MOST_SEQUENCES = 200_000  # each takes some eighty bytes besides its letters
MOST_GRAPHS = 50_000  # each is a few Python objects
MOST_NODES = 2**31 - 1
MOST_ISOLATED = 2**20  # nodes without a label and an edge: they take no space in a file
LETTER_BITS = (0, ASCII_BITS, BYTE_BITS, UNICODE_BITS, TOKEN_BITS)
MOST_TABLES = 5_000
STEPS, SPARE_STEPS = 64, 1_000_000  # through taken slots of a hash table, by pair and in total


class SamplesField(f.MatrixField):
    """Samples: a matrix of numbers, or an array (n,) of strings, bytes, tuples of tokens or graphs."""

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype != object:
            return super().put(value, at, file)
        form = _form_of(value) if len(value) else "nothing"
        if form == "plain":
            return _put_plain(value, at, file)
        if form == "graphs":
            return {"objects": form, **_put_graphs(value, at, file)}
        if form == "tokens":
            _put_tuples(value, at, file)
        elif form != "nothing":
            f.put_parts(map(_encode, value), f"{at}.letters", f"{at}.ends", file)
        return {"objects": form}

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if not isinstance(document, dict) or "objects" not in document:
            return super().get(document, at, file)
        form = f.Text(("nothing", "plain", *FORMS)).get(document["objects"], at, file)
        f.require_keys(document, at, {"objects", *KEYS.get(form, ())})
        found: Any = []
        if form == "graphs":
            found = _get_graphs(document, at, file)
        elif form == "tokens":
            found = _get_tuples(at, file)
        elif form == "plain":
            found = _get_plain(document, at, file)
        elif form != "nothing":
            names = f"{at}.letters", f"{at}.ends"
            parts = f.get_parts(*names, file, "sequences", MOST_SEQUENCES)
            found = parts if form == "bytes" else (_decode(part, at) for part in parts)
        items = list(found)
        objects = np.empty(len(items), dtype=object)
        for row, item in enumerate(items):  # one by one: NumPy would make a matrix of arrays
            objects[row] = item
        file.sizes.unify(at, objects.shape, str(self.dense.shape)[0])
        return objects


def sample_type(samples: Any) -> str | None:
    """What kernels take such samples: "vectors", "sequences", "graphs" or "objects"; None if empty."""
    if samples.dtype != object:
        return "vectors"
    if not len(samples):
        return None
    form = _form_of(samples)
    return {"graphs": "graphs", "plain": "objects"}.get(form, "sequences")


def _form_of(samples: Any) -> str:
    """How a file stores objects: by the one type that they have, or as plain objects of any types."""
    forms = (form for form, kind in FORMS.items() if all(isinstance(v, kind) for v in samples))
    form = next(forms, "plain")
    return "plain" if form == "tokens" and not all(map(_are_tokens, samples)) else form


def _are_tokens(item: Any) -> bool:
    return all(type(token) in TOKENS for token in item)


def _put_plain(value: Any, at: str, file: f.Archive) -> dict[str, Any]:
    """Store objects of any plain type."""
    writer = PlainWriter(code=file.code or GivenCode())
    for item in value:
        writer.add(item, at)
    file.keep(f"{at}.codes", np.array(writer.codes, dtype=np.uint8))
    file.keep(f"{at}.arguments", np.array(writer.arguments, dtype=np.int64))
    file.keep(f"{at}.floats", np.array(writer.floats, dtype=np.float64))
    f.put_parts(writer.arrays, f"{at}.arrays", f"{at}.array_ends", file)
    _put_tokens([word for _, word in writer.words], at, file)
    return {"objects": "plain", "count": len(value)}


def _get_plain(document: dict[str, Any], at: str, file: f.Archive) -> list[Any]:
    count, scope = f.Integer().get(document["count"], at, file), file.scope(c=CODES)
    codes = f.Array("u1 n <c").read(f"{at}.codes", scope)
    arguments = f.Array("i8 n >=0").read(f"{at}.arguments", scope)
    file.spend("values of samples", len(codes), MOST_VALUES, at)
    arrays = f.get_parts(f"{at}.arrays", f"{at}.array_ends", file, "arrays", MOST_SEQUENCES)
    floats = f.Array("f8 m any").read(f"{at}.floats", scope).tolist()
    parts = codes.tolist(), arguments.tolist(), _get_tokens(at, file), floats, list(arrays)
    reader = PlainReader(*parts, (file.code or GivenCode()).classes, at)
    if count > len(codes):
        raise f.mismatch_error(at, f"at most {len(codes)} samples", count)
    found = [reader.read() for _ in range(count)]
    if reader.position != len(codes):
        raise f.mismatch_error(at, f"{count} samples", "more values")
    return found


def _encode(token: Any) -> bytes:
    return token if isinstance(token, bytes) else token.encode("utf-8", "surrogatepass")


def _decode(part: bytes, at: str) -> str:
    try:
        return part.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise f.schema_error(at, "strings in UTF-8", "other bytes") from None


def _put_tokens(tokens: Sequence[Any], at: str, file: f.Archive) -> None:
    """Store different tokens: strings, integers or bytes, in any order."""
    kinds = [next((n for n, kind in enumerate(TOKENS) if isinstance(t, kind)), -1) for t in tokens]
    numbers = [token for token in tokens if isinstance(token, int)]
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        raise f.schema_error(at, "tokens of at most 64 bits", max(numbers, key=abs))
    file.keep(f"{at}.kinds", np.array(kinds, dtype=np.uint8))
    file.keep(f"{at}.numbers", np.array(numbers, dtype=np.int64))
    texts = (_encode(token) for token in tokens if not isinstance(token, int))
    f.put_parts(texts, f"{at}.letters", f"{at}.ends", file)


def _get_tokens(at: str, file: f.Archive) -> list[Any]:
    kinds = f.Array("u1 t <k").read(f"{at}.kinds", file.scope(k=len(TOKENS)))
    numbers = f.Array("i8 n").read(f"{at}.numbers", file.scope())
    file.spend("words", len(numbers), f.MOST_WORDS, at)
    parts = list(f.get_parts(f"{at}.letters", f"{at}.ends", file, "words", f.MOST_WORDS))
    count = int((kinds == NUMBER).sum())
    if (len(numbers), len(parts)) != (count, len(kinds) - count):
        raise f.mismatch_error(at, f"{count} numbers and {len(kinds) - count} words", len(numbers))
    integers, texts = iter(numbers.tolist()), iter(parts)
    tokens: list[Any] = []
    for kind in kinds.tolist():
        token = next(integers) if kind == NUMBER else next(texts)
        tokens.append(_decode(token, at) if kind == STRING else token)
    if len(set(tokens)) < len(tokens):
        raise f.mismatch_error(at, "all different", "one of them twice")
    return tokens


def _put_tuples(value: Any, at: str, file: f.Archive) -> None:
    number: dict[Any, int] = {}
    codes = [number.setdefault(token, len(number)) for item in value for token in item]
    _put_tokens(list(number), at, file)
    file.keep(at, np.array(codes, dtype=np.int32))
    file.keep(f"{at}.cuts", np.cumsum([len(item) for item in value], dtype=np.int64))


def _get_tuples(at: str, file: f.Archive) -> list[tuple[Any, ...]]:
    tokens = np.fromiter(_get_tokens(at, file), dtype=object)
    codes = f.Array("i4 n >=0 <t").read(at, file.scope(t=len(tokens)))
    cuts = f.get_cuts(f"{at}.cuts", len(codes), file, "sequences", MOST_SEQUENCES)
    return [tuple(tokens[codes[start:end]].tolist()) for start, end in pairwise(cuts)]


def _put_graphs(graphs: Any, at: str, file: f.Archive) -> dict[str, Any]:
    nodes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    sizes = np.array([len(graph.edges) for graph in graphs], dtype=np.int64)
    edges = np.concatenate([graph.edges for graph in graphs]).astype(np.int32)
    for name, array in (("nodes", nodes), ("sizes", sizes), ("edges", edges)):
        file.keep(f"{at}.{name}", array)
    return {
        name: _put_labels([getattr(graph, name) for graph in graphs], counts, f"{at}.{name}", file)
        for name, counts in (("node_labels", nodes), ("edge_labels", sizes))
    }


def _put_labels(labels: list[Any], counts: Codes, at: str, file: f.Archive) -> str | None:
    """Store the labels of all graphs that have something to label."""
    some = [part for part, count in zip(labels, counts.tolist(), strict=True) if count]
    kinds = {None if part is None else part.dtype.kind for part in some}
    if kinds <= {None}:
        return None
    if kinds == {"U"}:
        words, codes = np.unique(np.concatenate(some), return_inverse=True)
        _put_tokens(words.tolist(), at, file)
        file.keep(at, codes.astype(np.int32))
        return "strings"
    if kinds != {"i"}:
        raise f.schema_error(at, "labels of one type, in all graphs or none", kinds)
    file.keep(at, np.concatenate(some).astype(np.int64))
    return "numbers"


def _get_graphs(document: dict[str, Any], at: str, file: f.Archive) -> list[Graph]:
    """The graphs, checked all at once: `Graph` itself would check them one by one."""
    scope = file.scope(c=2)
    nodes = f.Array("i8 n >=0").read(f"{at}.nodes", scope)
    sizes = f.Array("i8 n >=0").read(f"{at}.sizes", scope)
    edges = f.Array("i4 m c").read(f"{at}.edges", scope).astype(np.intp)
    file.spend("graphs", len(nodes), MOST_GRAPHS, at)
    if nodes.max(initial=0) > MOST_NODES or int(nodes.sum()) > MOST_NODES:
        raise ModelFileError("limit", f"`{at}`: a file holds at most {MOST_NODES} nodes")
    if sizes.max(initial=0) > len(edges) or int(sizes.sum()) != len(edges):
        expected = f"{len(edges)} together, as there are edges"
        raise f.mismatch_error(f"{at}.sizes", expected, "others")
    _check_edges(nodes, sizes, edges, f"{at}.edges")
    isolated = int(nodes.sum()) - 2 * len(edges)
    if document["node_labels"] is None and isolated > MOST_ISOLATED:
        most = f"{MOST_ISOLATED} nodes without labels and edges"
        raise ModelFileError("limit", f"`{at}`: a file holds at most {most}")
    columns = {
        "n_nodes": nodes.tolist(),
        "edges": _split(edges, sizes),
        "node_labels": _get_labels(document["node_labels"], nodes, f"{at}.node_labels", file),
        "edge_labels": _get_labels(document["edge_labels"], sizes, f"{at}.edge_labels", file),
    }
    graphs = [object.__new__(Graph) for _ in nodes]
    for graph, *parts in zip(graphs, *columns.values(), strict=True):
        vars(graph).update(zip(columns, parts, strict=True))
    return graphs


def _split(values: Any, counts: Codes) -> list[Any]:
    return [values[start:end] for start, end in pairwise([0, *np.cumsum(counts).tolist()])]


def _check_edges(nodes: Codes, sizes: Codes, edges: Codes, at: str) -> None:
    """Each edge joins two nodes of its own graph, and comes once."""
    low, high = edges.min(axis=1, initial=MOST_NODES), edges.max(axis=1, initial=-1)
    if (low < 0).any() or (high >= np.repeat(nodes, sizes)).any():
        raise f.mismatch_error(at, "between nodes of their graph", "others")
    if (low == high).any():
        raise f.mismatch_error(at, "between different nodes", "a loop")
    first = np.repeat(np.cumsum(nodes) - nodes, sizes)  # numbers of nodes over all graphs
    keys = (first + low) * int(nodes.sum()) + first + high
    if len(np.unique(keys)) < len(keys):
        raise f.mismatch_error(at, "each of them once", "one of them twice")


def _get_labels(document: Any, counts: Codes, at: str, file: f.Archive) -> list[Any]:
    """The labels of each graph; NumPy strings are as long as the longest of that graph."""
    form = f.Maybe(f.Text(("numbers", "strings"))).get(document, at, file)
    if form is None:
        return [None] * len(counts)
    total = int(counts.sum())
    if form == "numbers":
        return _split(f.Array("i8 n").read(at, file.scope(n=total)).astype(np.intp), counts)
    words = _get_tokens(at, file)
    if not all(isinstance(word, str) for word in words):
        raise f.schema_error(at, "strings", "other tokens")
    scope = file.scope(n=total, w=len(words))
    codes = f.Array("i4 n >=0 <w").read(at, scope)
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    file.spend("letters of labels", int(lengths.max(initial=0)) * len(words), f.MOST_LETTERS, at)
    table = np.array(words, dtype=np.str_)
    if table.tolist() != words:  # zeros at the end, which NumPy drops
        raise f.schema_error(at, "strings that NumPy can hold", "others")
    found = []
    for part in _split(codes, counts):
        width = max(1, int(lengths[part].max(initial=0)))
        file.spend("letters of labels", width * len(part), f.MOST_LETTERS, at)
        found.append(table[part].astype(f"<U{width}"))
    return found


class VocabularyField(f.Field):
    """A closed vocabulary: the pairs of all tables in one array, and the tokens in order."""

    def put(self, value: Vocabulary, at: str, file: f.Archive) -> dict[str, Any]:
        tables = [table.keys.astype(np.int64) for table in value.tables.values()]
        file.keep(f"{at}.keys", np.concatenate([np.zeros((0, 2), dtype=np.int64), *tables]))
        file.keep(f"{at}.cuts", np.cumsum([len(table) for table in tables], dtype=np.int64))
        _put_tokens(list(value.symbols), at, file)
        return {"tables": list(value.tables), "letter_bits": int(value.letter_bits)}

    def get(self, document: Any, at: str, file: f.Archive) -> Vocabulary:
        f.require_keys(document, at, {"tables", "letter_bits"})
        names = f.Listed(f.Text()).get(document["tables"], at, file)
        if len(set(names)) < len(names):
            raise f.schema_error(at, "tables of different names", "one of them twice")
        found = Vocabulary()
        found.letter_bits = document["letter_bits"]
        if type(found.letter_bits) is not int or found.letter_bits not in LETTER_BITS:
            raise f.schema_error(at, f"letters of {LETTER_BITS} bits", found.letter_bits)
        keys = f.Array("i8 m c >=0").read(f"{at}.keys", file.scope(c=2))
        cuts = f.get_cuts(f"{at}.cuts", len(keys), file, "tables", MOST_TABLES)
        if len(cuts) != len(names) + 1:
            raise f.mismatch_error(f"{at}.cuts", f"of {len(names)} tables", len(cuts) - 1)
        for name, (start, end) in zip(names, pairwise(cuts), strict=True):
            found.tables[name] = _get_pairs(keys[start:end], f"{at}.keys")
        found.symbols = {token: number for number, token in enumerate(_get_tokens(at, file))}
        found.closed = True
        return found


def _get_pairs(keys: Codes, at: str) -> PairTable:
    """The hash table of pairs, refused if they collide on purpose."""
    size = MIN_SLOTS
    while size // 4 < len(keys):  # as it grows, at most half full
        first = keys[: size // 2]
        if _count_steps(_find_slots(first, size - 1)) > STEPS * len(first) + SPARE_STEPS:
            raise f.mismatch_error(at, "pairs with different hashes", "many with the same")
        size *= 2
    table = PairTable(keys)
    if len(table) < len(keys):
        raise f.mismatch_error(at, "all different", "one of them twice")
    return table


def _count_steps(slots: Codes) -> int:
    """How many taken slots all keys together pass until each finds a free one."""
    slots = np.sort(slots)
    turn = np.arange(len(slots))
    return int((np.maximum.accumulate(slots - turn) + turn - slots).sum())


@njit(cache=True, nogil=True)
def _find_slots(keys: Codes, mask: int) -> Codes:
    slots = np.empty(len(keys), np.int64)
    for number in range(len(keys)):
        slots[number] = hash_slot(keys[number, 0], keys[number, 1], mask)
    return slots
