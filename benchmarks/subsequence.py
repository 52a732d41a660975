"""The peer: the subsequence kernel in NumPy, as a careful student would write it.

One pair of strings at a time. Both sums of a level, along rows and along columns, run over whole rows of
a matrix that is turned between them. Scaled `cumsum` in blocks, and many strings in lockstep, took about
as long on a busy machine; row by row with all levels at once took twice as long.
"""

from itertools import pairwise

import numpy as np

from separatrix.data.catalogue import load

CLASSES = ("earn", "acq", "crude", "grain")


def documents(count=470, words=300, letters=1500):
    """Documents of R8's four classes nearest to so many words, cut to so many letters."""
    data = load("r8")
    texts = [text for text, y in zip(data.X, data.y, strict=True) if y in CLASSES]
    texts.sort(key=lambda text: abs(len(text.split()) - words))
    return [text[:letters] for text in texts[:count]]


def numpy_subsequence(a, b, k, decay):
    """K_k of two strings, given as arrays of letter codes."""
    same = a[:, None] == b
    turned = np.ascontiguousarray(same.T)
    M = same.astype(np.float64)  # weight of all that ends in letters i and j
    for _ in range(k - 1):
        _sum_down(M, decay)
        M, same, turned = np.ascontiguousarray(M.T), turned, same
        _sum_down(M, decay)
        longer = np.zeros(M.shape)
        np.multiply(M[:-1, :-1], same[1:, 1:], out=longer[1:, 1:])
        M = longer
    return decay ** (2 * k) * M.sum()


def _sum_down(M, decay):
    """Each row gains what the one above has, times the decay."""
    faded = np.empty(M.shape[1])
    for above, row in pairwise(M):
        np.multiply(above, decay, out=faded)
        np.add(row, faded, out=row)
