"""The models that have loaded for one data set: what they say of a picture, why, what they are taught."""

from __future__ import annotations

import base64
import time
from typing import Any

import numpy as np

from separatrix.runtime.threads import blas_on_one_thread
from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing import why
from separatrix.workbench.drawing.corrections import Corrections
from separatrix.workbench.drawing.digits import Pictures, word
from separatrix.workbench.drawing.fitted import Fitted
from separatrix.workbench.drawing.models import NEIGHBORS
from separatrix.workbench.drawing.saved_models import Given
from separatrix.workbench.drawing.strokes import drawn

MOST_NEIGHBOURS = 20
LoadedModel = Fitted | Given


class Panel:
    """Models, the pictures that they have learned from, and the corrections made since."""

    def __init__(
        self, pictures: Pictures, corrections: Corrections, models: list[LoadedModel]
    ) -> None:
        self.pictures, self.corrections, self.models = pictures, corrections, models
        self._labels = {word(label): label for label in np.unique(pictures.y)}
        self._places = np.zeros(pictures.total, dtype=np.int32)  # of a row among the training rows
        self._places[pictures.rows] = np.arange(len(pictures.rows))

    @property
    def classes(self) -> list[str]:
        """The labels that a drawing can be given."""
        return list(self._labels)

    def answers(self, values: Vector, count: int) -> dict[str, Any]:
        """What each model says of a picture, the nearest pictures, and all pictures that were named."""
        with blas_on_one_thread():
            nearest = self._neighbours(values, max(NEIGHBORS, min(count, MOST_NEIGHBOURS)))
            answers = [self._answered(model, values, nearest) for model in self.models]
        neighbours = nearest[: max(count, 0)]
        return {
            "image": as_bytes(self.pictures.canvas.ink_of(values)),
            "answers": answers,
            "neighbours": neighbours,
            "pictures": self._named_by(answers, neighbours),
        }

    def named(self, key: str | None) -> LoadedModel | None:
        """The model of that key, else the first."""
        named = [model for model in self.models if model.key == key]
        return next(iter([*named, *self.models]), None)

    def teach(self, model: Fitted, number: int) -> int:
        """Teach a model one correction; how many times it was shown. Labels that are gone teach nothing."""
        label = self.corrections.items[number].label
        if label not in self._labels:
            return 0
        x = model.row(self.pictures.canvas.values(self._drawn(number).ravel()))
        return model.learn(x, self._labels[label], number)

    def teach_all(self, number: int) -> dict[str, int]:
        """Teach one correction to every model that can learn it; how many times each was shown it."""
        learners = [model for model in self.models if isinstance(model, Fitted) and model.online]
        return {model.key: self.teach(model, number) for model in learners}

    def forget(self) -> None:
        """Forget all corrections: models are as they were before."""
        self.corrections.clear()
        for model in self.models:
            if isinstance(model, Fitted):
                model.forget()

    def _answered(
        self, model: LoadedModel, values: Vector, neighbours: list[dict[str, Any]]
    ) -> dict[str, Any]:
        started = time.perf_counter()
        x, words = model.row(values), model.words
        code, shares = model.shares(x)
        return {
            "key": model.key,
            "label": words[code],
            "confidence": [
                {"label": label, "share": round(float(share), 4)}
                for label, share in zip(words, shares, strict=True)
            ],
            "kind": model.kind,
            "decided": self._decided(model, x, code, neighbours),
            "evidence": why.evidence(model.model, x, code, shares),
            "milliseconds": since(started),
        }

    def _decided(
        self, model: LoadedModel, x: Matrix, code: int, neighbours: list[dict[str, Any]]
    ) -> list[dict[str, Any]] | None:
        """The training pictures that had the largest say; None where there are none to name."""
        if isinstance(model, Given):
            return None
        if model.kind == "votes":
            return _voters(neighbours[:NEIGHBORS], model.words[code])
        terms = why.decided(model.model, x, code)
        if terms is None:
            return None
        rows = [self._row(model, term.place) for term in terms]
        return [
            {"row": row, "label": label, "weight": _short(term.weight)}
            for (row, label), term in zip(rows, terms, strict=True)
        ]

    def _neighbours(self, values: Vector, count: int) -> list[dict[str, Any]]:
        """The nearest training pictures, of whatever class."""
        model = next((model for model in self.models if model.kind == "votes"), None)
        if model is None:
            return []
        count = min(count, model.model.n_samples_fit_)
        distances, places = model.model.kneighbors(model.row(values), count)
        found = []
        for distance, place in zip(distances[0], places[0], strict=True):
            row, label = self._row(model, int(place))
            found.append({"row": row, "label": label, "distance": round(float(distance), 4)})
        return found

    def _row(self, model: LoadedModel, place: int) -> tuple[int, str]:
        """The number and the label of a picture that a model has learned from."""
        pictures = self.pictures
        n = len(pictures.y)
        if place < n:
            return int(pictures.rows[place]), word(pictures.y[place])
        number = model.added[place - n]
        return pictures.total + number, self.corrections.items[number].label

    def _named_by(
        self, answers: list[dict[str, Any]], neighbours: list[dict[str, Any]]
    ) -> dict[str, str]:
        """The picture of every row that an answer names."""
        decided = [term["row"] for answer in answers for term in answer["decided"] or ()]
        named = {*decided, *(neighbour["row"] for neighbour in neighbours)}
        return {str(row): as_bytes(self._ink(row)) for row in sorted(named)}

    def _ink(self, row: int) -> Matrix:
        """The picture of a row, by its number, ink from 0 to 1."""
        pictures = self.pictures
        if row >= pictures.total:
            return self._drawn(row - pictures.total)
        place = int(self._places[row])
        return pictures.canvas.ink_of(pictures.X[place] * pictures.unit)

    def _drawn(self, number: int) -> Matrix:
        """The picture of a correction."""
        ink = drawn(self.corrections.items[number].strokes, self.pictures.canvas)
        assert ink is not None  # blank ones are never kept
        return ink


def _voters(neighbours: list[dict[str, Any]], answer: str) -> list[dict[str, Any]]:
    """Neighbours with their shares of the votes, for the answer or against it."""
    votes = why.votes_of(np.array([neighbour["distance"] for neighbour in neighbours]))
    return [
        {
            "row": neighbour["row"],
            "label": neighbour["label"],
            "weight": _short(vote if neighbour["label"] == answer else -vote) + 0.0,  # no -0.0
        }
        for neighbour, vote in zip(neighbours, votes.tolist(), strict=True)
    ]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def as_bytes(ink: Matrix) -> str:
    """Ink as bytes, 0 for paper and 255 for ink, in base64."""
    return base64.b64encode(np.round(ink * 255.0).astype(np.uint8).tobytes()).decode()


def since(started: float) -> float:
    """Milliseconds since then."""
    return round((time.perf_counter() - started) * 1000.0, 2)
