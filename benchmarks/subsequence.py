"""The peer: the subsequence kernel in NumPy.

One pair of strings at a time. Both sums of a level, along rows and along columns, process full rows of a
matrix that is transposed in between. Scaled `cumsum` in blocks, and many strings at once, took about as
long; row by row with all levels at once took twice as long.
"""

from itertools import pairwise

import numpy as np

from separatrix.data.catalogue import load

CLASSES = ("earn", "acq", "crude", "grain")


def documents(count=470, words=300, letters=1500):
    """Documents of R8's four classes with about `words` words, truncated to `letters` letters."""
    data = load("r8")
    texts = [text for text, y in zip(data.X, data.y, strict=True) if y in CLASSES]
    texts.sort(key=lambda text: abs(len(text.split()) - words))
    return [text[:letters] for text in texts[:count]]


def numpy_subsequence(a, b, k, decay):
    """K_k of two strings, given as arrays of letter codes."""
    same = a[:, None] == b
    transposed = np.ascontiguousarray(same.T)
    M = same.astype(np.float64)  # weight of all subsequences that end in letters i and j
    for _ in range(k - 1):
        _accumulate_down(M, decay)
        M, same, transposed = np.ascontiguousarray(M.T), transposed, same
        _accumulate_down(M, decay)
        longer = np.zeros(M.shape)
        np.multiply(M[:-1, :-1], same[1:, 1:], out=longer[1:, 1:])
        M = longer
    return decay ** (2 * k) * M.sum()


def _accumulate_down(M, decay):
    """Add to each row the one above, times the decay."""
    faded = np.empty(M.shape[1])
    for above, row in pairwise(M):
        np.multiply(above, decay, out=faded)
        np.add(row, faded, out=row)
