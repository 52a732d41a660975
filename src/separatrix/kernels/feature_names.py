"""What the features of a kernel are called: read back from the vocabulary that numbers them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels.strings.sequences import KEY_BITS, TOKEN_BITS
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes

NO_LABEL = "*"  # what a node or an edge without a label is called
LONGEST = 60  # letters of a subtree's name
DEEPEST = LONGEST // 2  # rounds: each writes two letters at least, so that deeper ones are not seen


def words(vocabulary: Vocabulary, keys: Codes, length: int) -> list[str]:
    """Words of that many letters, by the keys that `words_of` gave them."""
    bits = vocabulary.letter_bits
    if not len(keys):
        return []
    together = KEY_BITS // bits
    parts = []
    for begin in reversed(range(together, length, together)):
        keys, rest = vocabulary.tables[f"first {begin} of {length}"].keys[keys].T
        parts.append(_letters(rest, min(together, length - begin), bits))
    parts.append(_letters(keys, min(length, together), bits))
    rows = np.concatenate(parts[::-1], axis=1).tolist()
    if bits == TOKEN_BITS:
        tokens = list(map(text_of, vocabulary.things))
        return [" ".join(tokens[code] for code in row) for row in rows]
    return ["".join(map(chr, row)) for row in rows]


def things(vocabulary: Vocabulary, numbers: Codes) -> list[str]:
    """Words or tokens that have numbers of their own."""
    texts = list(map(text_of, vocabulary.things))
    return [texts[number] for number in numbers.tolist()]


def labels(vocabulary: Vocabulary, name: str, numbers: Codes) -> list[str]:
    """Labels of nodes or edges, by their numbers in the table of that name."""
    texts = list(map(text_of, vocabulary.things))
    keys = vocabulary.tables[name].keys[numbers].tolist()
    return [
        NO_LABEL if kind == 0 else texts[n] if kind == 1 else str(n if kind == 2 else -n - 1)
        for n, kind in keys
    ]


def paths(vocabulary: Vocabulary, numbers: Codes, *, both_ways: bool) -> list[str]:
    """Both ends of paths, and their lengths; unless they count both ways, in the order of their names."""
    if not len(numbers):
        return []
    ends, hops = vocabulary.tables["paths"].keys[numbers].T
    first, second = vocabulary.tables["ends"].keys[ends].T
    both = (labels(vocabulary, "node labels", nodes) for nodes in (first, second))
    pairs = [pair if both_ways else sorted(pair) for pair in zip(*both, strict=True)]
    lengths = hops.tolist()
    return [f"{a}-{b}, {d} apart" if d else a for (a, b), d in zip(pairs, lengths, strict=True)]


class Subtrees:
    """Names of subtrees: a node and, in brackets, its neighbours with theirs."""

    def __init__(self, vocabulary: Vocabulary, *, with_edges: bool) -> None:
        self.tables = tables = vocabulary.tables
        self.read: dict[str, Codes] = {}
        self.nodes = labels(vocabulary, "node labels", np.arange(len(tables["node labels"])))
        self.edges: list[str] = []
        if with_edges:
            self.edges = labels(vocabulary, "edge labels", np.arange(len(tables["edge labels"])))
        self.with_edges = with_edges
        self.known: dict[tuple[int, int], str] = {}

    def name(self, t: int, number: int) -> str:
        """That of a label after round t; where it is long, its beginning."""
        while t > DEEPEST:
            t, number = t - 1, self._before(t, number)[0]
        if t == 0:
            return self.nodes[number]
        if (t, number) not in self.known:
            root, branches = self._before(t, number)
            inside = ",".join(sorted(self._branch(t, branch) for branch in branches))
            for earlier in range(t - 1, 0, -1):
                root = self._before(earlier, root)[0]
            text = f"{self.nodes[root]}({inside})"
            cut = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
            self.known[t, number] = cut
        return self.known[t, number]

    def _before(self, t: int, number: int) -> tuple[int, list[int]]:
        """The label before round t, and those around it."""
        steps, branches = self._keys(f"steps {t}"), []
        first, second = steps[self._keys(f"round {t}")[number, 0]]
        while first % 2:
            branches.append(int(second))
            first, second = steps[first // 2]
        return int(first // 2), branches

    def _branch(self, t: int, branch: int) -> str:
        if not self.with_edges:
            return self.name(t - 1, branch)
        edge, node = self._keys(f"edges {t}")[branch].tolist()
        return f"{self.edges[edge]}:{self.name(t - 1, node)}"

    def _keys(self, name: str) -> Codes:
        if name not in self.read:
            self.read[name] = self.tables[name].keys
        return self.read[name]


def text_of(thing: Any) -> str:
    """A word, a token or a label as a person reads it."""
    return thing.decode("latin-1") if isinstance(thing, bytes) else str(thing)


def _letters(keys: Codes, count: int, bits: int) -> Codes:
    """The letters that are packed into one whole number, (n, count)."""
    shifts = bits * np.arange(count - 1, -1, -1)
    return np.asarray((keys[:, None] >> shifts) & ((1 << bits) - 1))
