"""Small random problems that reach to the ends of floating point, for tests of certificates."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array


class RandomProblem(NamedTuple):
    """Samples as a user would give them."""

    X: Any  # dense or sparse, float32 or float64
    y: Any
    weights: Any
    C: float

    @property
    def dense(self):
        """The same samples as an array of the numbers given."""
        X = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        return np.asarray(X, np.float64)


def random_problem(seed, *, most_rows=60):
    """Samples far from the origin, of any units, repeated, weighed; two or three classes."""
    rng = np.random.default_rng(seed)
    k = 2 if rng.random() < 0.7 else 3
    n, d = int(rng.integers(k, most_rows + 1)), int(rng.integers(1, 4))
    offset = rng.choice([0.0, 1.0]) * 10.0 ** rng.uniform(0, 9)
    scales = 10.0 ** (rng.uniform(-9, 9, size=d) * (rng.random() < 0.5))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = (rng.normal(size=(n, d)) + rng.random() * y[:, None] + offset * rng.normal(size=d)) * scales
    if rng.random() < 0.4:
        rows = rng.integers(0, n, n // 2)
        X[rng.integers(0, n, len(rows))] = X[rows]
    if rng.random() < 0.3:
        X = X * (rng.random(X.shape) < 0.5)
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    weights = rng.integers(1, 4, n) * 10.0 ** rng.uniform(-2, 2, n) if rng.random() < 0.4 else None
    C = 10.0 ** rng.uniform(-3, 6)
    return RandomProblem(csr_array(X) if rng.random() < 0.3 else X, y, weights, C)
