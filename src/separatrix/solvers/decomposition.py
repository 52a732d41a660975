"""Many binary problems over the rows of one Gram matrix.

One-vs-rest classes, one-vs-one pairs, folds and splits are all sets of rows with a side of each
boundary. `coding` gives the side of each class in every problem, `ClassSides` only those of classes that
take part; `Problems` the rows that train.
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


def n_boundaries(n_classes: int, scheme: str) -> int:
    """Number of binary problems of a coding.

    >>> n_boundaries(2, "ovo"), n_boundaries(4, "ovo"), n_boundaries(4, "ovr")
    (1, 6, 4)
    """
    if n_classes == 2 and scheme != "argmax":
        return 1
    return n_classes * (n_classes - 1) // 2 if scheme == "ovo" else n_classes


class ClassSides(NamedTuple):
    """The classes that take part in each of p binary problems, one problem after another.

    Of k classes in pairs there are k^2 entries, where `coding` has k^3 / 2.
    """

    starts: Codes  # shape: (p + 1,); where each problem starts
    classes: Codes  # shape: (entries,)
    sides: Signs  # shape: (entries,); +1 or -1
    n_classes: int

    @classmethod
    def of(cls, codes: Signs) -> ClassSides:
        """Those of a matrix of sides, (k, p)."""
        problem, classes = np.nonzero(codes.T)
        starts = np.searchsorted(problem, np.arange(codes.shape[1] + 1))
        return cls(starts, classes, codes[classes, problem], len(codes))

    @classmethod
    def for_scheme(cls, n_classes: int, scheme: str) -> ClassSides:
        """Those of `coding`.

        >>> ClassSides.for_scheme(3, "ovo").classes.tolist()
        [0, 1, 0, 2, 1, 2]
        """
        if scheme != "ovo" or n_classes == 2:
            return cls.of(coding(n_classes, scheme))
        chosen = pairs(n_classes)
        sides = np.tile(np.array([1, -1], dtype=np.int8), len(chosen))
        return cls(2 * np.arange(len(chosen) + 1), chosen.ravel(), sides, n_classes)

    def repeat(self, times: int) -> ClassSides:
        """All problems, then all of them again, so many times."""
        ends = self.starts[-1] * np.arange(times)[:, None] + self.starts[1:]
        sides, classes = np.tile(self.sides, times), np.tile(self.classes, times)
        return ClassSides(np.append(0, ends), classes, sides, self.n_classes)

    def codes(self, p: int) -> Signs:
        """The side of each class in one problem, 0 for those that take no part, (k,)."""
        own, sides = slice(self.starts[p], self.starts[p + 1]), np.zeros(self.n_classes, np.int8)
        sides[self.classes[own]] = self.sides[own]
        return sides


def problems_of(y: Codes, rows: Codes, sides: Signs) -> Problems:
    """The problems of a coding on some rows of a Gram whose rows have class codes y."""
    classes = y[rows]
    return Problems(rows, sides[classes], classes)
