"""A model that has learned: it answers for one picture, and some can be corrected on the spot.

Places number what a model has learned from: the n training pictures first, then what was shown to it
since; `added` says which correction that was. A confidence is one of three kinds. "probability": the
model's own. "votes": shares of the neighbours' votes. "score": a softmax of the model's scores, stretched
so that its usual lead, the median on held-out pictures, is odds of nine to one; it ranks classes as the
model does and is no probability.
"""

from __future__ import annotations

import copy
import time
import warnings
from typing import Any

import numpy as np
from scipy.special import softmax

from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing.digits import Pictures, word
from separatrix.workbench.drawing.models import Recipe

ODDS = float(np.log(9.0))
MOST_REPEATS = 100_000  # of one drawing, until a perceptron answers right
MOST_ONE_BY_ONE = 50  # the same, where each costs a row of kernel values
BATCH_VALUES = 2**21  # pixels of one drawing, repeated


class Fitted:
    """A model of our own, its error on pictures held out, and what it was told since."""

    def __init__(self, recipe: Recipe, pictures: Pictures) -> None:
        self.key, self.title, self.says = recipe.key, recipe.title, recipe.says
        self.options = recipe.options
        self._learns = recipe.learns
        self._pictures = pictures
        self.model = recipe.make(pictures)
        self.code = f"model = {self.model!r}.fit(X, y)"
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a pass that was not clean is no news here
            self.model.fit(pictures.X, pictures.y)
        self.fit_seconds: float | None = time.perf_counter() - started
        self.error: float | None = self._held_out_error()
        self._hasten()
        self.kind = "votes" if self._learns == "row" else "score"
        if self.kind == "score" and hasattr(self.model, "predict_proba"):
            self.kind = "probability"
        self._lead = usual_lead(self.model, pictures.X_test) if self.kind == "score" else 1.0
        self._first: Any = None  # as it was before any correction
        self.added: list[int] = []  # the correction that each place after the training set holds
        self._drawn: list[tuple[Matrix, Any]] = []

    @property
    def online(self) -> bool:
        """Whether a correction changes it."""
        return bool(self._learns)

    @property
    def words(self) -> list[str]:
        """Its classes, as people read them."""
        return [word(label) for label in self.model.classes_]

    def row(self, values: Matrix) -> Matrix:
        """A picture's values, (d,), as one row that the model takes."""
        return (values[None] / self._pictures.unit).astype(np.float32)

    def shares(self, x: Matrix) -> tuple[int, Vector]:
        """The class that it answers, by number, and how sure it is of each, (k,)."""
        if self.kind != "score":
            found = np.asarray(self.model.predict_proba(x))[0]
            return int(found.argmax()), found
        values = class_values(self.model, x)[0]
        return int(values.argmax()), as_shares(values, self._lead)

    def learn(self, x: Matrix, label: Any, number: int) -> int:
        """Learn from a correction, row x and its label; how many times it was shown."""
        if self._first is None:
            self._first = self._rows() if self._learns == "row" else copy.deepcopy(self.model)
        if self._learns == "row":
            return self._learn_row(x, label, number)
        if self._learns == "sums":
            self.model.partial_fit(x, np.array([label]))
            return 1
        return self._learn_mistakes(x, label, number)

    def forget(self) -> None:
        """As it was before any correction."""
        if self._first is None:
            return
        if self._learns == "row":
            self.model.fit(*self._first)
        else:
            self.model = self._first
        self._first, self.added, self._drawn = None, [], []

    def _rows(self) -> tuple[Matrix, Any]:
        return self._pictures.X, self._pictures.y

    def _learn_row(self, x: Matrix, label: Any, number: int) -> int:
        """One more picture that votes."""
        self._drawn.append((x, label))
        self.added.append(number)
        X, y = self._rows()
        rows, labels = zip(*self._drawn, strict=True)
        self.model.fit(np.concatenate([X, *rows]), np.concatenate([y, np.array(labels, y.dtype)]))
        return 1

    def _learn_mistakes(self, x: Matrix, label: Any, number: int) -> int:
        """Shown again until the answer is right: a mean over many steps moves slowly."""
        kernel = hasattr(self.model, "support_")
        most, shown, count = MOST_ONE_BY_ONE if kernel else MOST_REPEATS, 0, 1
        largest = 1 if kernel else max(1, BATCH_VALUES // x.shape[1])
        while shown < most:
            self.model.partial_fit(np.repeat(x, count, axis=0), np.repeat(np.array([label]), count))
            shown += count
            self.added += [number] * count if kernel else []
            if self.model.predict(x)[0] == label:
                break
            count = min(2 * count, largest, most - shown)
        return shown

    def _hasten(self) -> None:
        """For one picture threads, and asking how much memory there is, cost more than they give."""
        quick = {"n_jobs": 1, "cache_size": 100.0}
        known = self.model.get_params()
        self.model.set_params(**{name: quick[name] for name in quick if name in known})

    def _held_out_error(self) -> float | None:
        if not len(self._pictures.y_test):
            return None
        wrong = self.model.predict(self._pictures.X_test) != self._pictures.y_test
        return 100.0 * float(np.mean(wrong))


def class_values(model: Any, X: Matrix) -> Matrix:
    """A score for each class, (n, k), the highest for the one that is answered."""
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.stack([-values, values], axis=1) if values.ndim == 1 else values


def usual_lead(model: Any, X: Matrix) -> float:
    """Median lead of the highest score over the second one."""
    if not len(X):
        return 1.0
    best = np.sort(class_values(model, X), axis=1)[:, -2:]
    return float(np.median(best[:, 1] - best[:, 0])) or 1.0


def as_shares(values: Vector, lead: float) -> Vector:
    """Scores as shares; the usual lead makes odds of nine to one.

    >>> as_shares(np.array([0.0, 2.0]), 2.0).round(2).tolist()
    [0.1, 0.9]
    """
    return np.asarray(softmax(values * (ODDS / lead)))
