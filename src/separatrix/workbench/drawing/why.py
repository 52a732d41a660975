"""Why a model answers so: the pictures that decided it, or what each pixel says.

A weight above 0 speaks for the answer, below 0 against it. Places are as in `fitted.py`.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

from separatrix.estimators.svc import SVC
from separatrix.types import Matrix, Vector

TERMS = 6  # pictures that are shown for each model
NOTHING, FARTHEST = 128, 127  # the byte of a pixel that says nothing, and the largest step from it


class Term(NamedTuple):
    """A picture that had a say."""

    place: int
    weight: float


def decided(model: Any, x: Matrix, code: int) -> list[Term] | None:
    """The pictures that decided class `code`, the most telling first; None: it has none."""
    if isinstance(model, SVC):
        found = model.explain(x, n_terms=TERMS)
        return _terms(found.rows[0], found.terms[0])
    if hasattr(model, "alpha_"):
        return _mistakes(model, x, code)
    return None


def votes_of(distances: Vector) -> Vector:
    """Share of the votes of neighbours at these distances: one over each; those at 0 take all.

    >>> votes_of(np.array([1.0, 3.0])).tolist(), votes_of(np.array([0.0, 3.0])).tolist()
    ([0.75, 0.25], [1.0, 0.0])
    """
    votes = np.where(distances == 0.0, 1.0, 0.0)
    if not votes.any():
        votes = 1.0 / distances
    return np.asarray(votes / votes.sum())


def evidence(model: Any, x: Matrix, code: int, shares: Vector) -> str | None:
    """What each pixel says for class `code` against the runner-up: bytes in base64; None: not linear."""
    W = getattr(model, "coef_", None)
    if not isinstance(W, np.ndarray) or W.ndim != 2 or W.shape[1] != x.shape[1]:
        return None
    return signed_bytes((x[0] * _towards(W, code, shares)).astype(np.float64))


def signed_bytes(values: Vector) -> str:
    """Values as bytes around 128, the largest 127 from it, in base64.

    >>> list(base64.b64decode(signed_bytes(np.array([-0.5, 0.0, 1.0]))))
    [64, 128, 255]
    """
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    steps = np.round(values * (FARTHEST / largest))
    return base64.b64encode((NOTHING + steps).astype(np.uint8).tobytes()).decode()


def _towards(W: Matrix, code: int, shares: Vector) -> Vector:
    """The weights of a class less those of the runner-up."""
    if len(W) == 1:
        return np.asarray(W[0] if code else -W[0])
    others = shares.copy()
    others[code] = -np.inf
    return np.asarray(W[code] - W[int(others.argmax())])


def _mistakes(model: Any, x: Matrix, code: int) -> list[Term]:
    """The largest terms of the score of a class, kernel value times coefficient."""
    K = model.kernel_.block(x, model.support_vectors_)[0]
    terms = K * model.alpha_[:, code if model.alpha_.shape[1] > 1 else 0]
    if model.alpha_.shape[1] == 1 and code == 0:
        terms = -terms
    largest = np.argsort(-np.abs(terms), kind="stable")[:TERMS]
    return _terms(model.support_[largest], terms[largest])


def _terms(places: Any, weights: Any) -> list[Term]:
    return [Term(int(p), float(w)) for p, w in zip(places, weights, strict=True)]
