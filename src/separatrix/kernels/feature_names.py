"""Names of a kernel's features, decoded from the vocabulary that numbers them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels.strings.sequences import KEY_BITS, TOKEN_BITS
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes

NO_LABEL = "*"  # name of a node or an edge without a label
MAX_LETTERS = 60  # of a subtree's name
MAX_ROUNDS = MAX_LETTERS // 2  # each round writes two letters at least: deeper ones are cut off


def name_words(vocabulary: Vocabulary, keys: Codes, length: int) -> list[str]:
    """Words of `length` letters, by their keys from `encode_words`."""
    bits = vocabulary.letter_bits
    if not len(keys):
        return []
    per_key = KEY_BITS // bits
    letters = []
    for begin in reversed(range(per_key, length, per_key)):
        keys, rest = vocabulary.tables[f"first {begin} of {length}"].keys[keys].T
        letters.append(_unpack_letters(rest, min(per_key, length - begin), bits))
    letters.append(_unpack_letters(keys, min(length, per_key), bits))
    rows = np.concatenate(letters[::-1], axis=1).tolist()
    if bits == TOKEN_BITS:
        tokens = list(map(to_text, vocabulary.symbols))
        return [" ".join(tokens[code] for code in row) for row in rows]
    return ["".join(map(chr, row)) for row in rows]


def name_symbols(vocabulary: Vocabulary, numbers: Codes) -> list[str]:
    """Words or tokens, by their numbers."""
    texts = list(map(to_text, vocabulary.symbols))
    return [texts[number] for number in numbers.tolist()]


def name_labels(vocabulary: Vocabulary, name: str, numbers: Codes) -> list[str]:
    """Labels of nodes or edges, by their numbers in the named table."""
    texts = list(map(to_text, vocabulary.symbols))
    keys = vocabulary.tables[name].keys[numbers].tolist()
    return [
        NO_LABEL if kind == 0 else texts[n] if kind == 1 else str(n if kind == 2 else -n - 1)
        for n, kind in keys
    ]


def name_paths(vocabulary: Vocabulary, numbers: Codes, *, both_ways: bool) -> list[str]:
    """Both ends of paths and their lengths; the ends in alphabetical order unless `both_ways`."""
    if not len(numbers):
        return []
    ends, hops = vocabulary.tables["paths"].keys[numbers].T
    first, second = vocabulary.tables["ends"].keys[ends].T
    both = (name_labels(vocabulary, "node labels", nodes) for nodes in (first, second))
    pairs = [pair if both_ways else sorted(pair) for pair in zip(*both, strict=True)]
    lengths = hops.tolist()
    return [f"{a}-{b}, {d} apart" if d else a for (a, b), d in zip(pairs, lengths, strict=True)]


class SubtreeNames:
    """Names of subtrees: a node and, in parentheses, its neighbours with theirs."""

    def __init__(self, vocabulary: Vocabulary, *, with_edges: bool) -> None:
        self.tables = tables = vocabulary.tables
        self.keys_by_table: dict[str, Codes] = {}
        self.nodes = name_labels(vocabulary, "node labels", np.arange(len(tables["node labels"])))
        self.edges: list[str] = []
        if with_edges:
            self.edges = name_labels(
                vocabulary, "edge labels", np.arange(len(tables["edge labels"]))
            )
        self.with_edges = with_edges
        self.cache: dict[tuple[int, int], str] = {}

    def name(self, t: int, number: int) -> str:
        """Name of a label after round t, truncated to `MAX_LETTERS`."""
        while t > MAX_ROUNDS:
            t, number = t - 1, self._split_round(t, number)[0]
        if t == 0:
            return self.nodes[number]
        if (t, number) not in self.cache:
            root, branches = self._split_round(t, number)
            inside = ",".join(sorted(self._name_branch(t, branch) for branch in branches))
            for earlier in range(t - 1, 0, -1):
                root = self._split_round(earlier, root)[0]
            text = f"{self.nodes[root]}({inside})"
            cut = text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 3] + "..."
            self.cache[t, number] = cut
        return self.cache[t, number]

    def _split_round(self, t: int, number: int) -> tuple[int, list[int]]:
        """The label before round t, and those of the neighbours."""
        steps, branches = self._keys(f"steps {t}"), []
        first, second = steps[self._keys(f"round {t}")[number, 0]]
        while first % 2:
            branches.append(int(second))
            first, second = steps[first // 2]
        return int(first // 2), branches

    def _name_branch(self, t: int, branch: int) -> str:
        if not self.with_edges:
            return self.name(t - 1, branch)
        edge, node = self._keys(f"edges {t}")[branch].tolist()
        return f"{self.edges[edge]}:{self.name(t - 1, node)}"

    def _keys(self, name: str) -> Codes:
        if name not in self.keys_by_table:
            self.keys_by_table[name] = self.tables[name].keys
        return self.keys_by_table[name]


def to_text(symbol: Any) -> str:
    """A word, a token or a label as text."""
    return symbol.decode("latin-1") if isinstance(symbol, bytes) else str(symbol)


def _unpack_letters(keys: Codes, count: int, bits: int) -> Codes:
    """The letters packed into each key, (n, count)."""
    shifts = bits * np.arange(count - 1, -1, -1)
    return np.asarray((keys[:, None] >> shifts) & ((1 << bits) - 1))
