"""Many binary problems over the rows of one Gram matrix.

One-vs-rest classes, one-vs-one pairs, folds and splits are all sets of rows with a side of each
boundary. `coding` gives the side of each class in every problem; `Problems` the rows that train.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.types import Codes, Signs


class Problems(NamedTuple):
    """Rows of a Gram matrix and their side of each boundary."""

    rows: Codes  # shape: (r,); rows of the Gram that train, in order
    targets: Signs  # shape: (r, p); +1, -1, or 0 where a row takes no part in a problem
    classes: Codes  # shape: (r,); class of each row, for the argmax rule
    among: tuple[Codes, int] | None = (
        None  # numbers of the rows among all that are met, (r,); how many
    )


def pairs(n_classes: int) -> Codes:
    """All pairs of classes (a, b), a < b, in scikit-learn's order, (p, 2).

    >>> pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.stack(np.triu_indices(n_classes, k=1), axis=1)


def coding(n_classes: int, scheme: str) -> Signs:
    """Side of each class in each binary problem, (k, p).

    Two classes make one problem, with the second class positive, except under "argmax", where every
    class has its own. In a pair (a, b) class a is positive, as in scikit-learn's votes.

    >>> coding(3, "ovr").tolist()
    [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> coding(3, "ovo").tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    >>> coding(2, "ovo").tolist(), coding(2, "argmax").tolist()
    ([[-1], [1]], [[1, -1], [-1, 1]])
    """
    if n_classes == 2 and scheme != "argmax":
        return np.array([[-1], [1]], dtype=np.int8)
    if scheme != "ovo":
        return (2 * np.eye(n_classes, dtype=np.int8) - 1).astype(np.int8)
    chosen = pairs(n_classes)
    sides = np.zeros((n_classes, len(chosen)), dtype=np.int8)
    numbers = np.arange(len(chosen))
    sides[chosen[:, 0], numbers] = 1
    sides[chosen[:, 1], numbers] = -1
    return sides


def problems_of(y: Codes, rows: Codes, sides: Signs) -> Problems:
    """The problems of a coding on some rows of a Gram whose rows have class codes y."""
    classes = y[rows]
    return Problems(rows, sides[classes], classes)
