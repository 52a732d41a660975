"""How a sum of kernel values is shared by what one object has: its features, and its letters or nodes.

What a feature gives at one place is shared equally by the letters or nodes that it covers there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.graph import Graph
from separatrix.kernels.object_kernels import FeatureKernel, Occurrences
from separatrix.kernels.strings.subsequence import letter_shares
from separatrix.kernels.strings.subsequence_kernel import Subsequence
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.threads import thread_count
from separatrix.types import Vector


@dataclass(frozen=True)
class Feature:
    """A word, a label, a path or a subtree that an object has."""

    name: str
    count: int
    weight: float  # what it gives to the score each time
    term: float  # all of them together


class FoundFeatures(NamedTuple):
    """What a kernel finds in some objects."""

    vocabulary: Vocabulary
    found: Any
    occurrences: list[Occurrences]  # one for each level


def find_features(kernel: FeatureKernel, X: Any, vocabulary: Vocabulary) -> FoundFeatures:
    """All features of checked objects, level by level."""
    levels = [level for level, _ in kernel.levels]
    found = kernel.found_features(X, vocabulary, levels)
    met = [kernel.occurrences(X, level, found, vocabulary) for level in levels]
    return FoundFeatures(vocabulary, found, met)


def shared_out(
    kernel: FeatureKernel,
    X: Any,
    look: FoundFeatures,
    weights: list[Vector],
    names: Mapping[Any, str] | None,
) -> tuple[Vector, list[Feature]]:
    """The share of each letter or node of one object, and its features, the largest terms first.

    `weights` are those of the features of each level; `names` says what node labels are called.
    """
    size = X[0].n_nodes if isinstance(X[0], Graph) else len(X[0])
    called = look if names is None else find_features(kernel, _renamed(X, names), Vocabulary())
    shares, features = np.zeros(size), []
    for number, ((level, _), weight) in enumerate(zip(kernel.levels, weights, strict=True)):
        met = look.occurrences[number]
        known = np.flatnonzero(met.features >= 0)
        each = np.zeros(len(met.features))
        each[known] = weight[met.features[known]]
        starts, positions = kernel.covers(X, level, look.found, met)
        sizes = np.diff(starts)
        shares += np.bincount(positions, np.repeat(each / sizes, sizes), minlength=size)
        numbers, first, counts = np.unique(
            met.features[known], return_index=True, return_counts=True
        )
        same = called.occurrences[number].features[known[first]]
        features += [
            Feature(text, count, w, count * w)
            for text, count, w in zip(
                kernel.names(level, called.vocabulary, same),
                counts.tolist(),
                weight[numbers].tolist(),
                strict=True,
            )
        ]
    return shares, _sorted(features)


def shared_by_letters(
    kernel: Subsequence, X: Any, support: Any, coef: Vector
) -> tuple[Vector, list[Feature]]:
    """The part of each letter of one sequence in all subsequences that use it, and letters as features."""
    one, others = kernel.prepared(X, support)
    shares = letter_shares(
        one.letters.codes,
        others.letters,
        coef,
        kernel.k,
        kernel.decay,
        threads=thread_count(),
    )
    text = X[0].decode("latin-1") if isinstance(X[0], bytes) else X[0]
    features = [
        Feature(f"{letter} at {position}", 1, share, share)
        for position, (letter, share) in enumerate(zip(text, shares.tolist(), strict=True), start=1)
    ]
    return shares, _sorted(features)


def _sorted(features: list[Feature]) -> list[Feature]:
    return sorted(features, key=lambda feature: -abs(feature.term))


def _renamed(X: Any, names: Mapping[Any, str]) -> Any:
    """A graph with other words for its labels."""
    graph = X[0]
    if graph.node_labels is None:
        return X
    labels = [str(names.get(label, label)) for label in graph.node_labels.tolist()]
    renamed = X.copy()
    renamed[0] = replace(graph, node_labels=np.array(labels, dtype=str))
    return renamed
