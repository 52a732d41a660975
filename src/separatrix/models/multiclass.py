"""From scores of binary problems to one class: votes, ties and argmax, in one place.

Scores have one column for each problem of `solvers.problems.coding`. With two classes there is one,
and the second class wins where it is above 0. Equal votes or scores go to the lowest class index,
or, for votes, to the larger summed margin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.arrays import Codes, Matrix
from separatrix.solvers.problems import coding, pairs

TIES = ("lowest", "margin")
MATRIX_UP_TO = 64  # classes whose pairs are summed by one product; the matrix has k^3 / 2 numbers


def decision_values(S: Matrix, n_classes: int, scheme: str, ties: str = "lowest") -> Matrix:
    """One value for each class, (n, k), or for two classes the score itself, (n,).

    For pairs the value is the number of votes, plus, with ties="margin", the summed margins squeezed
    into (-1/3, 1/3) so that they only ever decide between equal votes. The class of the highest
    value, the first among equals, is the prediction.

    >>> S = np.array([[1.0, -0.5, 3.0]])  # 0 beats 1, 2 beats 0, 1 beats 2: one vote each
    >>> decision_values(S, 3, "ovo")
    array([[1., 1., 1.]])
    >>> int(decision_values(S, 3, "ovo", ties="margin").argmax())
    1
    """
    if n_classes == 2:
        return S[:, 0]
    if scheme != "ovo":
        return S
    for_first = (S > 0).astype(np.float64)
    votes = _by_class(for_first, 1.0 - for_first, n_classes)
    if ties == "margin":
        summed = _by_class(S, -S, n_classes)
        votes = votes + summed / (3.0 * (np.abs(summed) + 1.0))
    return votes


def _by_class(for_first: Matrix, for_second: Matrix, n_classes: int) -> Matrix:
    """What all pairs give to their first and to their second class, summed for each class, (n, k)."""
    if n_classes <= MATRIX_UP_TO:
        sides = coding(n_classes, "ovo").T.astype(np.float64)  # (p, k)
        product: Matrix = for_first @ (sides > 0) + for_second @ (sides < 0)
        return product
    summed = np.zeros((len(for_first), n_classes))
    first, second = pairs(n_classes).T
    for c in range(n_classes):
        summed[:, c] = for_first[:, first == c].sum(axis=1)
        summed[:, c] += for_second[:, second == c].sum(axis=1)
    return summed


def winners(values: Matrix) -> Codes:
    """Class codes that `decision_values` stand for.

    >>> winners(np.array([-1.0, 0.0, 0.5])).tolist()
    [0, 0, 1]
    >>> winners(np.array([[2.0, 2.0, 1.0]])).tolist()
    [0]
    """
    if values.ndim == 1:
        return (values > 0).astype(np.intp)
    return np.asarray(values.argmax(axis=1))


def voted(S: Matrix, n_classes: int, scheme: str, order: Codes | None = None) -> Codes:
    """Class codes from scores of support vector machines, as LIBSVM counts: of two, 0 is the second's.

    Equal votes go to the class that comes first in `order`, (k,), or else to the lowest.

    >>> voted(np.array([[-1.0], [0.0], [0.5]]), 2, "ovo").tolist()
    [0, 1, 1]
    """
    if order is not None:  # a score of 0 is that of the pair's later class, in that order
        first, second = np.argsort(order)[pairs(n_classes)].T
        S = np.where((S == 0) & (first > second), -1.0 if n_classes == 2 else 1.0, S)
    if n_classes == 2:
        return (S[:, 0] >= 0).astype(np.intp)
    values = decision_values(S, n_classes, scheme)
    return winners(values) if order is None else order[winners(values[:, order])]


class RowsClassified(NamedTuple):
    """Every row of a Gram matrix as seen by a model trained on some of them."""

    scores: Matrix  # shape: (n, p)
    n_classes: int
    scheme: str
    ties: str
    n_iter: int

    def values(self, rows: Codes) -> Matrix:
        """Confidence in each class for some rows, (rows, k), or in the second of two, (rows,)."""
        return decision_values(self.scores[rows], self.n_classes, self.scheme, self.ties)

    def codes(self, rows: Codes) -> Codes:
        """The most confident class of some rows, (rows,)."""
        return winners(self.values(rows))
