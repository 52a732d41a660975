"""A fitted model of Draw: it answers for one picture, and some models learn corrections one by one.

Rows number what a model has learned from: the n training pictures first, then the corrections; `added`
maps the latter to their numbers. A confidence is one of three kinds. "probability": the model's own.
"votes": shares of the neighbours' votes. "score": a softmax of the model's scores, scaled so that the
median lead on held-out pictures gives odds of nine to one; it ranks classes as the model does but is not
a probability.
"""

from __future__ import annotations

import copy
import time
import warnings
from typing import Any

import numpy as np
from scipy.special import softmax

from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing.models import Recipe
from separatrix.workbench.drawing.pictures import Pictures, label_text

LOG_ODDS = float(np.log(9.0))
MAX_REPEATS = 100_000  # of one drawing, until a perceptron answers right
MAX_KERNEL_REPEATS = 50  # each costs a row of kernel values
BATCH_VALUES = 2**21  # pixels in a batch that repeats one drawing


class TrainedModel:
    """A model fitted to the pictures, with its error on held-out pictures."""

    def __init__(self, recipe: Recipe, pictures: Pictures) -> None:
        self.key, self.title, self.caption = recipe.key, recipe.title, recipe.caption
        self.options = recipe.options
        self._learns = recipe.learns
        self._pictures = pictures
        self.model = recipe.make(pictures)
        self.code = f"model = {self.model!r}.fit(X, y)"
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence does not matter here
            self.model.fit(pictures.X, pictures.y)
        self.fit_seconds: float | None = time.perf_counter() - started
        self.error: float | None = None
        if len(pictures.y_test):
            wrong = self.model.predict(pictures.X_test) != pictures.y_test
            self.error = 100.0 * float(np.mean(wrong))
        set_if_known(self.model, n_jobs=1, cache_size=100.0)  # threads slow one picture down
        self.kind = "votes" if self._learns == "row" else "score"
        if self.kind == "score" and hasattr(self.model, "predict_proba"):
            self.kind = "probability"
        self._lead = median_lead(self.model, pictures.X_test) if self.kind == "score" else 1.0
        self._original: Any = None  # the model before any correction
        self.added: list[int] = []  # the correction of each row after the training set
        self._rows: list[tuple[Matrix, Any]] = []  # corrections that vote

    @property
    def online(self) -> bool:
        """Whether it learns corrections."""
        return bool(self._learns)

    def to_row(self, values: Matrix) -> Matrix:
        """The values of a picture, (d,), as one sample."""
        return (values[None] / self._pictures.unit).astype(np.float32)

    def predict(self, x: Matrix) -> tuple[int, Vector]:
        """The code of the predicted class, and the confidence in each, (k,)."""
        if self.kind != "score":
            found = np.asarray(self.model.predict_proba(x))[0]
            return int(found.argmax()), found
        scores = class_scores(self.model, x)[0]
        return int(scores.argmax()), to_shares(scores, self._lead)

    def learn(self, x: Matrix, label: Any, number: int) -> int:
        """Learn correction `number`; how many times the model was shown it."""
        if self._original is None:
            self._original = self.model if self._learns == "row" else copy.deepcopy(self.model)
        if self._learns == "row":
            return self._add_row(x, label, number)
        if self._learns == "sums":
            self.model.partial_fit(x, np.array([label]))
            return 1
        return self._correct_mistakes(x, label, number)

    def forget(self) -> None:
        """Restore the model before any correction."""
        if self._original is None:
            return
        if self._learns == "row":
            self.model.fit(self._pictures.X, self._pictures.y)
        else:
            self.model = self._original
        self._original, self.added, self._rows = None, [], []

    def _add_row(self, x: Matrix, label: Any, number: int) -> int:
        self._rows.append((x, label))
        self.added.append(number)
        X, y = self._pictures.X, self._pictures.y
        rows, labels = zip(*self._rows, strict=True)
        self.model.fit(np.concatenate([X, *rows]), np.concatenate([y, np.array(labels, y.dtype)]))
        return 1

    def _correct_mistakes(self, x: Matrix, label: Any, number: int) -> int:
        """Show x until the answer is right: the mean over many steps moves slowly."""
        kernel = hasattr(self.model, "support_")
        limit, shown, count = MAX_KERNEL_REPEATS if kernel else MAX_REPEATS, 0, 1
        largest = 1 if kernel else max(1, BATCH_VALUES // x.shape[1])
        while shown < limit:
            self.model.partial_fit(np.repeat(x, count, axis=0), np.repeat(np.array([label]), count))
            shown += count
            self.added += [number] * count if kernel else []
            if self.model.predict(x)[0] == label:
                break
            count = min(2 * count, largest, limit - shown)
        return shown


def class_names(model: Any) -> list[str]:
    """The classes of a model as text."""
    return [label_text(label) for label in model.classes_]


def set_if_known(model: Any, **values: Any) -> None:
    """Set parameters of a model, or of any step of a pipeline, that has them."""
    last = {name: name.rpartition("__")[2] for name in model.get_params()}
    model.set_params(**{name: values[key] for name, key in last.items() if key in values})


def class_scores(model: Any, X: Matrix) -> Matrix:
    """A score for each class, (n, k), the highest for the predicted one."""
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def median_lead(model: Any, X: Matrix) -> float:
    """Median lead of the highest score over the second one."""
    if not len(X):
        return 1.0
    best = np.sort(class_scores(model, X), axis=1)[:, -2:]
    return float(np.median(best[:, 1] - best[:, 0])) or 1.0


def to_shares(scores: Vector, lead: float) -> Vector:
    """Scores as shares; a lead of `lead` gives odds of nine to one.

    >>> to_shares(np.array([0.0, 2.0]), 2.0).round(2).tolist()
    [0.1, 0.9]
    """
    return np.asarray(softmax(scores * (LOG_ODDS / lead)))
