"""The models that have loaded for one data set: their answers, the reasons, and corrections."""

from __future__ import annotations

import base64
import time
from typing import Any

import numpy as np

from separatrix.runtime.threads import blas_on_one_thread
from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing import explanation
from separatrix.workbench.drawing.corrections import Corrections
from separatrix.workbench.drawing.loaded_models import LoadedModel, TrainedModel
from separatrix.workbench.drawing.models import NEIGHBORS
from separatrix.workbench.drawing.pictures import Pictures, label_text
from separatrix.workbench.drawing.requests import OWN
from separatrix.workbench.drawing.strokes import rasterize
from separatrix.workbench.drawing.verdict import compare_distance, find_majority

Entry = dict[str, Any]


class Panel:
    """Models, their training pictures, and the corrections since."""

    def __init__(
        self, pictures: Pictures, corrections: Corrections, models: list[LoadedModel]
    ) -> None:
        self.pictures, self.corrections, self.models = pictures, corrections, models
        self._labels = {label_text(label): label for label in np.unique(pictures.y)}
        if pictures.name == OWN:
            self._labels = {name: name for name in corrections.classes}
        self._training_rows = np.zeros(pictures.total, dtype=np.int32)  # by row of the data set
        self._training_rows[pictures.rows] = np.arange(len(pictures.rows))

    @property
    def classes(self) -> list[str]:
        """The labels that a drawing can have."""
        return list(self._labels)

    def answer(self, values: Vector, count: int) -> Entry:
        """The answer of each model, the nearest pictures, and every picture that either refers to."""
        with blas_on_one_thread():
            nearest = self._neighbours(values, max(NEIGHBORS, count))
            answers = [self._answer_of(model, values, nearest) for model in self.models]
        errors = [model.error for model in self.models]
        labels = [answer["label"] for answer in answers]
        distances = np.array([entry["distance"] for entry in nearest[:NEIGHBORS]])
        neighbours = nearest[:count]
        terms = [term for answer in answers for term in answer["terms"] or ()]
        rows = {entry["row"] for entry in [*terms, *neighbours]}
        return {
            "image": encode_ink(self.pictures.canvas.ink_of(values)),
            "answers": answers,
            "verdict": find_majority(list(zip(labels, errors, strict=True))),
            "distance": compare_distance(distances, self._usual(), self.pictures.canvas),
            "neighbours": neighbours,
            "pictures": {str(row): encode_ink(self._ink(row)) for row in sorted(rows)},
        }

    def find_model(self, key: str | None) -> LoadedModel | None:
        """The model of that key, else the first."""
        matching = [model for model in self.models if model.key == key]
        return next(iter([*matching, *self.models]), None)

    def teach(self, model: TrainedModel, number: int) -> int:
        """Teach a model one correction; how many times it was shown. Unknown labels are ignored."""
        label = self.corrections.items[number].label
        if label not in self._labels:
            return 0
        x = model.to_row(self.pictures.canvas.values(self._correction_ink(number).ravel()))
        return model.learn(x, self._labels[label], number)

    def teach_all(self, number: int) -> list[Entry]:
        """Teach one correction to every model that can learn it, and measure each again."""
        values = self.pictures.canvas.values(self._correction_ink(number).ravel())
        return [self._teach_and_measure(model, values, number) for model in self.learners()]

    def learners(self) -> list[TrainedModel]:
        """The models that can learn a correction."""
        return [m for m in self.models if isinstance(m, TrainedModel) and m.online]

    def replay(self, model: TrainedModel) -> None:
        """Teach a model all corrections there are, from the beginning."""
        model.forget()
        for number in range(len(self.corrections.items)):
            self.teach(model, number)
        if self.corrections.items:
            model.error = model.measure_error()

    def forget(self) -> None:
        """Forget all corrections and restore the models."""
        self.corrections.clear()
        for model in self.models:
            model.forget()

    def _teach_and_measure(self, model: TrainedModel, values: Vector, number: int) -> Entry:
        """What a model answered before and after, how often it was shown the drawing, its errors."""
        x, names, error = model.to_row(values), model.classes, model.error
        before = names[model.predict(x)[0]]
        times = self.teach(model, number)
        model.error = model.measure_error()
        after = names[model.predict(x)[0]]
        errors = [None if one is None else round(one, 2) for one in (error, model.error)]
        return {
            "key": model.key,
            "before": before,
            "after": after,
            "times": times,
            "errors": errors,
        }

    def _usual(self) -> float | None:
        return next((model.usual for model in self.models if model.usual is not None), None)

    def _answer_of(self, model: LoadedModel, values: Vector, neighbours: list[Entry]) -> Entry:
        started = time.perf_counter()
        x, names = model.to_row(values), model.classes
        code, shares = model.predict(x)
        terms, totals = self._terms(model, x, code, neighbours)
        return {
            "key": model.key,
            "label": names[code],
            "confidence": [
                {"label": label, "share": round(float(share), 4)}
                for label, share in zip(names, shares, strict=True)
            ],
            "kind": model.kind,
            "terms": terms,
            "totals": totals,
            "evidence": explanation.pixel_evidence(model.model, x, code, shares),
            "milliseconds": milliseconds_since(started),
        }

    def _terms(
        self, model: LoadedModel, x: Matrix, code: int, neighbours: list[Entry]
    ) -> tuple[list[Entry] | None, Entry | None]:
        """The training pictures with the largest weights and the sums of all; None if there are none."""
        if not isinstance(model, TrainedModel):
            return None, None
        if model.kind == "votes":
            return _votes(neighbours[: model.model.n_neighbors], model.classes[code]), None
        if (terms := explanation.find_terms(model.model, x, code, model.support_rows)) is None:
            return None, None
        shown = [
            {**self._picture_entry(model, int(row)), "weight": _short(weight)}
            for row, weight in zip(terms.rows, terms.weights, strict=True)
        ]
        sums = {"for": _short(terms.favour), "against": _short(terms.against)}
        return shown, {**sums, "count": terms.number}

    def _neighbours(self, values: Vector, count: int) -> list[Entry]:
        """The nearest training pictures of any class."""
        model = next((model for model in self.models if model.kind == "votes"), None)
        if model is None:
            return []
        count = min(count, model.model.n_samples_fit_)
        distances, rows = model.model.kneighbors(model.to_row(values), count)
        return [
            {**self._picture_entry(model, int(row)), "distance": round(float(distance), 4)}
            for distance, row in zip(distances[0], rows[0], strict=True)
        ]

    def _picture_entry(self, model: LoadedModel, row: int) -> Entry:
        """The row in the data set and the label of a training row of a model."""
        pictures = self.pictures
        n = len(pictures.y)
        if row < n:
            return {"row": int(pictures.rows[row]), "label": label_text(pictures.y[row])}
        number = model.added[row - n]
        return {"row": pictures.total + number, "label": self.corrections.items[number].label}

    def _ink(self, row: int) -> Matrix:
        """The picture of a row of the data set, ink from 0 to 1."""
        pictures = self.pictures
        if row >= pictures.total:
            return self._correction_ink(row - pictures.total)
        return pictures.canvas.ink_of(pictures.X[self._training_rows[row]] * pictures.canvas.unit)

    def _correction_ink(self, number: int) -> Matrix:
        correction = self.corrections.items[number]
        ink = rasterize(correction.strokes, self.pictures.canvas, correction.pen)
        assert ink is not None  # blank drawings are never kept
        return ink


def _votes(neighbours: list[Entry], answer: str) -> list[Entry]:
    """Neighbours with their shares of the votes, negative against the answer."""
    votes = explanation.vote_shares(np.array([entry["distance"] for entry in neighbours]))
    return [
        {
            "row": entry["row"],
            "label": entry["label"],
            "weight": _short(vote if entry["label"] == answer else -vote) + 0.0,  # no -0.0
        }
        for entry, vote in zip(neighbours, votes.tolist(), strict=True)
    ]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def encode_ink(ink: Matrix) -> str:
    """Ink as bytes in base64, 0 for paper and 255 for ink."""
    return base64.b64encode(np.round(ink * 255.0).astype(np.uint8).tobytes()).decode()


def milliseconds_since(started: float) -> float:
    """Milliseconds since a reading of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000.0, 2)
