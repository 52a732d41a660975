"""The neighbours that an index finds are those of an exhaustive search."""

import numpy as np
from scipy.sparse import issparse

from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.metrics import metric_of


def assert_exhaustive(index, X, Q, k, metric="l2", *, skip=None, threads=1, p=2.0, rtol=None):
    """To the last bit; or with rtol only the distances, to rounding."""
    skip = np.full(Q.shape[0], -1) if skip is None else skip
    dense = Q.toarray() if issparse(Q) else Q
    expected = Exhaustive(X, metric_of(metric, p)).nearest(dense, k, skip, threads=1)

    found = index.nearest(Q, k, skip, threads=threads)

    if rtol is None:
        np.testing.assert_array_equal(found.rows, expected.rows, err_msg=index.method)
        np.testing.assert_array_equal(found.distances, expected.distances, err_msg=index.method)
    else:
        np.testing.assert_allclose(found.distances, expected.distances, rtol=rtol)
    return found
