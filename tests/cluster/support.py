"""Samples in blocks, for the tests of fits on a cluster."""

import numpy as np

CUTS = (40, 1, 75, 34)  # rows of uneven blocks


def samples(seed=0, n=150, d=4, k=3):
    """Classes whose labels are sorted, so that no block has all of them, and weights."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, k, size=n))
    X = rng.normal(size=(n, d)) + 2.0 * np.eye(k, d)[y]
    return X, y, rng.uniform(0.5, 2.0, size=n)


def in_blocks(*arrays, cuts=CUTS):
    """Arrays as dask arrays, cut into rows like this."""
    import dask.array as da  # not everywhere

    return [da.from_array(a, chunks=(cuts, *a.shape[1:])) for a in arrays]
