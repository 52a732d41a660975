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


def find_terms(model: Any, x: Matrix, code: int) -> Terms | None:
    """The largest terms of class `code`; None if the model has no such terms.

    A term of a kernel perceptron is a kernel value times a coefficient.
    """
    if hasattr(model, "explain"):  # an SVC, whose class need not be imported for the others
        found = model.explain(x, n_terms=len(model.support_))
        return choose_terms(found.rows[0], found.terms[0])
    if not hasattr(model, "alpha_"):
        return None
    columns = model.alpha_.shape[1]
    alpha = model.alpha_[:, code if columns > 1 else 0]
    terms = model.kernel_.block(x, model.support_vectors_)[0] * alpha
    if columns == 1 and code == 0:
        terms = -terms
    return choose_terms(model.support_, terms)


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
