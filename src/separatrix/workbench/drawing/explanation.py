"""Why a model gives its answer: the pictures with the largest weights, or the evidence of each pixel.

Positive weights are for the answer, negative ones against it. Rows are as in `loaded_models.py`. Of many
terms the largest are shown, the strongest one against the answer always among them, and the sums of all.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

from separatrix.types import Matrix, Vector

TERMS = 6  # pictures that are shown for each model
NEUTRAL, LARGEST = 128, 127  # the byte of a pixel without evidence, the largest distance from it


class Terms(NamedTuple):
    """The largest terms of a sum, and the sum of all that are above and below 0."""

    rows: Any
    weights: Any
    favour: float
    against: float
    number: int  # of all terms


class PreparedSupportRows:
    """Kernel values of a picture with the support vectors of one model, prepared once for all pictures."""

    def __init__(self) -> None:
        self._of: tuple[Any, Any] = (None, None)  # what was prepared
        self._vectors: Any = None  # shape: (s, d); float32
        self._squares: Any = None  # shape: (s,)
        self._coefficients: Any = None  # shape: (k, s), or (p, s) of a perceptron

    def terms(self, model: Any, x: Matrix, code: int) -> Vector:
        """Kernel value times coefficient of each support vector, for class `code`."""
        self._prepare(model)
        rows = self._coefficients
        terms = self._kernel_values(model.kernel_, x) * rows[code if len(rows) > 1 else 0]
        return np.asarray(-terms if len(rows) == 1 and code == 0 else terms)

    def _prepare(self, model: Any) -> None:
        """A correction gives a kernel perceptron other vectors or other coefficients."""
        of = model.support_vectors_, model._support if hasattr(model, "_support") else model.alpha_
        if all(one is other for one, other in zip(of, self._of, strict=True)):
            return
        vectors, known = of
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self._squares = _squares(self._vectors)
        self._coefficients = known.by_class() if hasattr(model, "_support") else known.T
        self._of = of

    def _kernel_values(self, kernel: Any, x: Matrix) -> Vector:
        if not kernel.from_products:
            return np.asarray(kernel.block(x, self._vectors)[0], dtype=np.float64)
        P = (x.astype(np.float32) @ self._vectors.T).astype(np.float64)
        kernel.apply(P, _squares(x), self._squares)
        return np.asarray(P[0])


def _squares(X: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def find_terms(
    model: Any, x: Matrix, code: int, rows: PreparedSupportRows | None = None
) -> Terms | None:
    """The largest terms of class `code`; None if the model has no such terms.

    A term is a kernel value times a coefficient. `rows` keeps what all pictures share.
    """
    if not hasattr(model, "support_vectors_"):
        return None
    return choose_terms(model.support_, (rows or PreparedSupportRows()).terms(model, x, code))


def choose_terms(rows: Any, terms: Vector) -> Terms:
    """The largest terms by size; the last gives way to the strongest against if there is none among them.

    >>> choose_terms(np.arange(8), np.array([9.0, 8, 7, 6, 5, 4, 3, -1])).rows.tolist()
    [0, 1, 2, 3, 4, 7]
    """
    order = np.argsort(-np.abs(terms), kind="stable")
    shown = order[:TERMS]
    if len(order) > TERMS and terms[shown].min() >= 0.0 > terms.min():
        shown = np.append(shown[:-1], terms.argmin())
    favour, against = float(terms[terms > 0].sum()), float(terms[terms < 0].sum())
    return Terms(rows[shown], terms[shown], favour, against, len(terms))


def vote_shares(distances: Vector) -> Vector:
    """Shares of votes weighted by inverse distance; neighbours at distance 0 take all.

    >>> vote_shares(np.array([1.0, 3.0])).tolist(), vote_shares(np.array([0.0, 3.0])).tolist()
    ([0.75, 0.25], [1.0, 0.0])
    """
    votes = np.where(distances == 0.0, 1.0, 0.0)
    if not votes.any():
        votes = 1.0 / distances
    return np.asarray(votes / votes.sum())


def pixel_evidence(model: Any, x: Matrix, code: int, shares: Vector) -> str | None:
    """Evidence of each pixel for class `code` against the runner-up; None if the model is not linear."""
    W = getattr(model, "coef_", None)
    if not isinstance(W, np.ndarray) or W.ndim != 2 or W.shape[1] != x.shape[1]:
        return None
    if len(W) == 1:
        w = W[0] if code else -W[0]
    else:
        others = shares.copy()
        others[code] = -np.inf
        w = W[code] - W[int(others.argmax())]
    return signed_bytes((x[0] * w).astype(np.float64))


def signed_bytes(values: Vector) -> str:
    """Values as bytes around 128 in base64, the largest at distance 127.

    >>> list(base64.b64decode(signed_bytes(np.array([-0.5, 0.0, 1.0]))))
    [64, 128, 255]
    """
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    steps = np.round(values * (LARGEST / largest))
    return base64.b64encode((NEUTRAL + steps).astype(np.uint8).tobytes()).decode()
