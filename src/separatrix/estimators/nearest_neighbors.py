"""Searches for neighbours without labels; `neighbor_index.py` and `solvers/nearest` search."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from separatrix.estimators.base.neighbor_queries import ALGORITHMS, NearestQueries, RadiusQueries
from separatrix.estimators.base.parameters import choice, integer, real, threads, with_parameters
from separatrix.estimators.base.prepare import check_samples
from separatrix.runtime.device import DEVICES


@with_parameters
class NearestNeighbors(NearestQueries, RadiusQueries):
    """Searches for the nearest samples, without labels.

    A drop-in for scikit-learn's `NearestNeighbors`, exact: of equal distances the lower row is nearer.
    `NeighborIndex` is the same without the conventions of an estimator.

    Parameters
    ----------
    n_neighbors, radius
        Neighbours that `kneighbors` finds, at least 1, and the distance within which
        `radius_neighbors` does, at least 0.
    algorithm, leaf_size
        Checked as in scikit-learn, otherwise ignored: the search chooses its own method.
    metric, p, metric_params
        As in scikit-learn: p of "minkowski", above 0; a name, a function of two samples, or
        "precomputed", where X holds distances.
    n_jobs
        Threads, None for all cores, which do not change the result.
    device
        "auto" uses an NVIDIA GPU if one is present, there are enough samples and the metric depends on
        a Euclidean norm; "cpu"; "cuda" raises an error if that is impossible.

    Attributes
    ----------
    effective_metric_, effective_metric_params_
        The metric in use, and its parameters.
    n_samples_fit_, n_features_in_
        The shape of X.
    index_
        The `NeighborIndex`; its `method` names the search method.

    Examples
    --------
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[1.2]])
    >>> distances.round(1).tolist(), rows.tolist()
    ([[0.2, 1.2]], [[1, 0]])
    >>> model.radius_neighbors([[1.2]], radius=1.0, return_distance=False)[0].tolist()
    [1]
    """

    _: KW_ONLY
    n_neighbors: int = integer(5, least=1)
    radius: float = real(1.0, least=0, also=(np.inf,))
    algorithm: str = choice(*ALGORITHMS)
    leaf_size: int = integer(30, least=1)
    metric: Any = "minkowski"
    p: float | None = real(2, above=0, also=(None, np.inf))
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store samples X, (n, d), or their distances, (n, n); y is not used."""
        self._check_parameters()
        self._check_format(X)
        X = check_samples(self, X)
        self._set_metric(X)
        self._build_index(X)
        return self

    @property
    def expected_k(self) -> int:
        """Neighbours that a search will probably find."""
        return int(self.n_neighbors)
