"""The profile of a data set: the sizes and properties that decide which classifiers suit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.evaluation.samples import check_samples, is_graphs, is_text, require_features


@dataclass(frozen=True)
class DataProfile:
    """Sizes and properties of samples; nothing about how the classes differ."""

    kind: str
    n: int
    d: int  # features; 0 for texts and graphs, where it is unknown
    k: int
    smallest: int  # rows of the rarest class
    missing: bool = False
    sparse: bool = False
    counts: bool = False  # integers of at least 0
    categories: int = 0  # one more than the largest count; 0 if they are not counts
    one_unit: bool = False  # most features span about the same range, like pixels
    aligned: bool = False  # sequences of one length


def profile(X: Any, y: Any = None, kind: str | None = None) -> DataProfile:
    """Profile samples, or `CheckedSamples`; `kind` says whether strings are "text" or "sequences".

    >>> profile([[0, 2], [1, 3], [5, 2]], [0, 1, 1]).counts
    True
    """
    X, y = check_samples(X, y, missing=True)
    require_features(X)
    found = "text" if is_text(X) else "graphs" if is_graphs(X) else "vectors"
    kind = kind or found
    if found != ("text" if kind == "sequences" else kind):
        expected = {"vectors": "a matrix of numbers", "graphs": "a list of graphs"}
        must_be = expected.get(kind, "a list of strings")
        raise DataError(f"X must be {must_be} for kind={kind!r}")
    counts = np.unique(y, return_counts=True)[1]
    base: dict[str, Any] = {
        "kind": kind,
        "n": len(y),
        "k": len(counts),
        "smallest": int(counts.min()),
    }
    if kind == "graphs":
        return DataProfile(**base, d=0, sparse=True, counts=True, one_unit=True)
    if kind != "vectors":
        lengths = {len(sequence) for sequence in X}
        aligned = kind == "sequences" and len(lengths) == 1
        d = max(lengths) * len(set().union(*X)) if aligned else 0
        return DataProfile(
            **base, d=d, sparse=not aligned, counts=True, one_unit=True, aligned=aligned
        )
    values = X.data if issparse(X) else X
    missing = bool(np.isnan(values).any()) if values.dtype.kind == "f" else False
    seen = values[~np.isnan(values)] if missing else values
    counts_only = bool(seen.min(initial=0) >= 0 and (seen == np.floor(seen)).all())
    return DataProfile(
        **base,
        d=X.shape[1],
        missing=missing,
        sparse=issparse(X),
        counts=counts_only,
        categories=int(seen.max(initial=0)) + 1 if counts_only else 0,
        one_unit=not issparse(X) and _share_a_unit(X),
    )


def _share_a_unit(X: Any) -> bool:
    """Return whether more than half of the features span at least half of the overall range."""
    known = X[:, ~np.isnan(X).all(axis=0)] if X.dtype.kind == "f" else X
    if not known.size:
        return False
    # as floats: small integers overflow, and booleans cannot be subtracted
    low, high = (np.asarray(end(known, axis=0), float) for end in (np.nanmin, np.nanmax))
    spans = (high - low)[high > low]
    return len(spans) > 0 and bool(np.mean(spans >= (high.max() - low.min()) / 2) > 0.5)
