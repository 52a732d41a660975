"""Attribution of a sum of kernel values to the features of one object, and to its letters or nodes.

The contribution of one occurrence of a feature is divided equally among the letters or nodes it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.graph import Graph
from separatrix.kernels.object_kernels import FeatureKernel, Occurrences
from separatrix.kernels.strings.subsequence_attribution import attribute_letters
from separatrix.kernels.strings.subsequence_kernel import Subsequence
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.threads import thread_count
from separatrix.types import Vector


@dataclass(frozen=True)
class Feature:
    """A word, a label, a path or a subtree of an object."""

    name: str
    count: int
    weight: float  # contribution of one occurrence to the score
    term: float  # count * weight


class FeatureOccurrences(NamedTuple):
    """The features of some objects."""

    vocabulary: Vocabulary
    encoded: Any
    occurrences: list[Occurrences]  # one for each level


def find_features(kernel: FeatureKernel, X: Any, vocabulary: Vocabulary) -> FeatureOccurrences:
    """All features of checked objects, level by level."""
    levels = [level for level, _ in kernel.levels]
    encoded = kernel.encode(X, vocabulary, levels)
    occurrences = [kernel.occurrences(level, encoded, vocabulary) for level in levels]
    return FeatureOccurrences(vocabulary, encoded, occurrences)


def attribute_features(
    kernel: FeatureKernel,
    X: Any,
    found: FeatureOccurrences,
    weights: list[Vector],
    names: Mapping[Any, str] | None,
) -> tuple[Vector, list[Feature]]:
    """The contribution of each letter or node of one object, and its features, the largest terms first.

    `weights` are those of the features of each level; `names` replaces node labels.
    """
    size = X[0].n_nodes if isinstance(X[0], Graph) else len(X[0])
    named = (
        found if names is None else find_features(kernel, _rename_labels(X, names), Vocabulary())
    )
    values, features = np.zeros(size), []
    for number, ((level, _), weight) in enumerate(zip(kernel.levels, weights, strict=True)):
        occurrences = found.occurrences[number]
        known = np.flatnonzero(occurrences.features >= 0)
        each = np.zeros(len(occurrences.features))
        each[known] = weight[occurrences.features[known]]
        starts, positions = kernel.coverage(X, level, found.encoded, occurrences)
        sizes = np.diff(starts)
        values += np.bincount(positions, np.repeat(each / sizes, sizes), minlength=size)
        numbers, first, counts = np.unique(
            occurrences.features[known], return_index=True, return_counts=True
        )
        same = named.occurrences[number].features[known[first]]
        features += [
            Feature(name, count, w, count * w)
            for name, count, w in zip(
                kernel.names(level, named.vocabulary, same),
                counts.tolist(),
                weight[numbers].tolist(),
                strict=True,
            )
        ]
    return values, _sort_by_size(features)


def attribute_subsequences(
    kernel: Subsequence, X: Any, support: Any, coef: Vector
) -> tuple[Vector, list[Feature]]:
    """The contribution of each letter of one sequence to all subsequences; letters as features."""
    one, others = kernel.prepared(X, support)
    values = attribute_letters(
        one.letters.codes,
        others.letters,
        coef,
        kernel.k,
        kernel.decay,
        threads=thread_count(),
    )
    text = X[0].decode("latin-1") if isinstance(X[0], bytes) else X[0]
    features = [
        Feature(f"{letter} at {position}", 1, value, value)
        for position, (letter, value) in enumerate(zip(text, values.tolist(), strict=True), start=1)
    ]
    return values, _sort_by_size(features)


def _sort_by_size(features: list[Feature]) -> list[Feature]:
    return sorted(features, key=lambda feature: -abs(feature.term))


def _rename_labels(X: Any, names: Mapping[Any, str]) -> Any:
    """A graph with other names for its node labels."""
    graph = X[0]
    if graph.node_labels is None:
        return X
    labels = [str(names.get(label, label)) for label in graph.node_labels.tolist()]
    renamed = X.copy()
    renamed[0] = replace(graph, node_labels=np.array(labels, dtype=str))
    return renamed
