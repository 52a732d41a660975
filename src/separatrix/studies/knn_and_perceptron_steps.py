"""S1: nearest neighbours and perceptrons, on Iris, on Adult, or on anyone's vectors.

All numbers of neighbours come from one search. The perceptron looks at the labels: of two classes it
learns one weight vector, of more one for each class. A set that comes with a test part is tested on
it, rows as they come; otherwise random parts are held out, and rows are met in a random order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.splits import random_splits
from separatrix.errors import ExperimentError
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.runtime.device import choose_device
from separatrix.validation import require_choice, require_integer, require_real

NAME = "knn-and-perceptron"
DATA = "1 data"
NEIGHBOURS = "2 neighbours"
PERCEPTRON = "3 perceptron"
FEATURES = "4 important features"
CLASSIFIERS = ("both", "knn", "perceptron")
DISTANCES = {"euclidean": 2, "manhattan": 1}  # p of Minkowski's
TEST_SIZE = 0.3
QUICK_ROWS = 1500  # of each part
MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # passes after which numbers are rows
MOST_FEATURES = 15  # of each class in the table


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    classifier: str = "both",
    data: str = "iris",
    subsample: int | None = None,
    test_size: float | None = None,
    distance: str = "euclidean",
    k_max: int = 50,
    max_iter: int = 100,
    repeats: int | None = None,
    device: str = "auto",
) -> Experiment:
    """Accuracy against k, mistakes of each pass, and the features that weigh most.

    Parameters
    ----------
    quick
        Five splits instead of twenty, and at most 1500 samples of each part.
    classifier
        "knn", "perceptron" or "both".
    data
        A name of the catalogue, or a file of vectors.
    subsample
        Draw this many samples to learn from, or to split. None: all.
    test_size
        Hold out this share at random. None: use the test part that the set comes with, or hold out
        0.3 where there is none.
    distance
        "euclidean" or "manhattan".
    k_max
        Neighbours at most; no more than there are other samples.
    max_iter
        Passes of the perceptron, at most; a clean pass ends it before.
    repeats
        Random splits. None: twenty, or five.
    device
        "auto", "cpu" or "cuda": where Euclidean neighbours are searched for.
    """
    require_integer(NAME, "seed", seed, least=0)
    require_choice(NAME, "classifier", classifier, CLASSIFIERS)
    require_choice(NAME, "distance", distance, list(DISTANCES))
    require_integer(NAME, "k_max", k_max, least=1)
    require_integer(NAME, "max_iter", max_iter, least=1)
    if subsample is not None:
        require_integer(NAME, "subsample", subsample, least=4)
    if test_size is not None:
        require_real(NAME, "test_size", test_size, above=0, below=1)
    if repeats is not None:
        require_integer(NAME, "repeats", repeats, least=1)
    alone = classifier == "perceptron"
    without = f"classifier={classifier!r}" if alone else f"distance={distance!r}"
    possible = distance == "euclidean" and not alone
    choose_device(NAME, device, worth=False, without=None if possible else without)
    options = {
        "quick": quick,
        "seed": seed,
        "classifier": classifier,
        "data": data,
        "subsample": subsample,
        "test_size": test_size,
        "distance": distance,
        "k_max": k_max,
        "max_iter": max_iter,
        "repeats": repeats or (5 if quick else 20),
    }
    protocol = _Protocol(device, **options)
    steps = [Step(DATA, protocol.look)]
    if classifier != "perceptron":
        steps.append(Step(NEIGHBOURS, protocol.neighbours))
    if classifier != "knn":
        steps += [Step(PERCEPTRON, protocol.perceptron), Step(FEATURES, protocol.features)]
    return Experiment(NAME, "Nearest neighbours and perceptrons", options, (data,), steps, find)


class Parts(NamedTuple):
    """What is learned from and what is tested on."""

    X: Any  # shape: (n, d)
    y: Any  # shape: (n,)
    X_test: Any  # shape: (m, d)
    y_test: Any  # shape: (m,)


class Descent(NamedTuple):
    """The perceptron after each pass; what a clean pass ended stays as it was."""

    mistakes: Any  # shape: (max_iter,)
    accuracy: Any  # shape: (max_iter,); on the test part
    passes: int
    model: Perceptron


class _Protocol:
    """The steps, under one set of options."""

    def __init__(self, device: str, **options: Any) -> None:
        self.options, self.device = options, device
        self.data: str = options["data"]

    def look(self, workshop: RunContext) -> StepResult:
        """How much data there is, and which perceptron its labels ask for."""
        parts = self.parts(workshop)
        first, classes = parts[0], np.unique(workshop.data(self.data).y)
        counts = {
            "train_rows": first.X.shape[0],
            "test_rows": first.X_test.shape[0],
            "features": first.X.shape[1],
            "classes": len(classes),
            "splits": len(parts),
            "given_test_part": float(self.given(workshop.data(self.data))),
        }
        return StepResult([self._row(DATA, "", n, value) for n, value in counts.items()])

    def neighbours(self, workshop: RunContext) -> StepResult:
        """1, 2, ..., k_max neighbours: of the test part, and of each training sample left out."""
        rows, tested, left_out = [], [], []
        p = DISTANCES[self.options["distance"]]
        parts = self.parts(workshop)
        k_max = min(self.options["k_max"], *(part.X.shape[0] - 1 for part in parts))
        for split, part in enumerate(parts):
            model = KNeighborsClassifier(p=p, k_max=k_max, device=self.device)
            model.fit(part.X, part.y)
            wrong = model.predict_by_k(part.X_test, k_max) != part.y_test[:, None]
            errors, accuracy = wrong.sum(axis=0), 1.0 - wrong.mean(axis=0)
            for k in range(1, k_max + 1):
                how = {"k": k, "distance": self.options["distance"]}
                for metric, value in (
                    ("test_errors", errors[k - 1]),
                    ("test_accuracy", accuracy[k - 1]),
                ):
                    rows.append(self._row(NEIGHBOURS, "k-NN", metric, value, split, **how))
            best = model.best_k_
            for metric, value in (
                ("chosen_k", best),
                ("chosen_left_out_accuracy", model.accuracy_by_k_[best - 1]),
                ("chosen_test_accuracy", accuracy[best - 1]),
            ):
                rows.append(self._row(NEIGHBOURS, "k-NN", metric, value, split))
            tested.append(accuracy)
            left_out.append(model.accuracy_by_k_)
        return StepResult(rows, {"test": np.array(tested), "left_out": np.array(left_out)})

    def perceptron(self, workshop: RunContext) -> StepResult:
        """Zero start, rows in order, until a clean pass or the limit; the average beside the last."""
        rows, mistakes, accuracy, weights = [], [], [], []
        limit = self.options["max_iter"]
        for split, part in enumerate(self.parts(workshop)):
            found = _learned(part, limit)
            name = _name(found.model)
            average = Perceptron(predictor="average", shuffle=False, tol=None, max_iter=limit)
            average.fit(part.X, part.y)
            rows += [
                self._row(PERCEPTRON, name, metric, value, split)
                for metric, value in (
                    ("passes", found.passes),
                    ("mistakes", found.mistakes.sum()),
                    ("clean_pass", found.mistakes[-1] == 0),
                    ("train_accuracy", found.model.score(part.X, part.y)),
                    ("test_accuracy", found.accuracy[-1]),
                )
            ]
            score = average.score(part.X_test, part.y_test)
            rows.append(self._row(PERCEPTRON, f"averaged {name}", "test_accuracy", score, split))
            for mark in _marks(limit):
                for metric, values in (
                    ("mistakes_in_pass", found.mistakes),
                    ("test_accuracy_after_pass", found.accuracy),
                ):
                    value = values[mark - 1]
                    rows.append(self._row(PERCEPTRON, name, metric, value, split, **{"pass": mark}))
            mistakes.append(found.mistakes)
            accuracy.append(found.accuracy)
            weights.append(found.model.coef_)
        return StepResult(
            rows,
            {
                "mistakes": np.array(mistakes),
                "accuracy": np.array(accuracy),
                "weights": np.array(weights[0]),
            },
        )

    def features(self, workshop: RunContext) -> StepResult:
        """|w| of the first split, the bias left out, the largest of each class as rows."""
        data = workshop.data(self.data)
        importance = np.abs(workshop.found(PERCEPTRON).arrays["weights"])
        classes = np.unique(self.parts(workshop)[0].y)
        panels = classes if len(classes) > 2 else classes[1:]
        name = workshop.found(PERCEPTRON).rows[0].model
        rows = []
        for label, values in zip(panels, importance, strict=True):
            largest = np.argsort(-values, kind="stable")[:MOST_FEATURES]
            for position, j in enumerate(largest.tolist(), start=1):
                how = {"class": label, "place": position, "feature": feature_name(data, j)}
                rows.append(self._row(FEATURES, name, "importance", values[j], 0, **how))
        arrays = {"importance": importance}
        if data.image is not None:
            arrays["image"] = np.array(data.image)
        return StepResult(rows, arrays)

    def parts(self, workshop: RunContext) -> list[Parts]:
        """The given parts, or random ones; made once."""
        made: list[Parts] = workshop.once("parts", lambda: self._parts(workshop.data(self.data)))
        return made

    def given(self, data: Dataset) -> bool:
        """Whether the test part is the one that the set comes with."""
        return data.X_test is not None and self.options["test_size"] is None

    def _parts(self, data: Dataset) -> list[Parts]:
        if data.kind != "vectors" or data.y is None:
            raise ExperimentError(
                f"{NAME} needs vectors with labels; {data.name} holds "
                f"{data.kind if data.y is not None else 'no labels'}"
            )
        y = np.asarray(data.y)
        rng = np.random.default_rng(self.options["seed"])
        rows = self._drawn(len(y), self.options["subsample"], rng)
        if self.given(data):
            tested = self._drawn(len(data.y_test), None, rng)
            y_test = np.asarray(data.y_test)
            return [Parts(data.X[rows], y[rows], data.X_test[tested], y_test[tested])]
        return [
            Parts(data.X[train], y[train], data.X[test], y[test])
            for train, test in self._splits(rows, rng)
        ]

    def _drawn(self, n: int, wanted: int | None, rng: np.random.Generator) -> Any:
        """Rows of a sub-sample, in the order of the file: ties go by it."""
        size = min(n, wanted or (QUICK_ROWS if self.options["quick"] else n))
        return np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))

    def _splits(self, rows: Any, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
        """Random parts; those to learn from in a random order, since files are often sorted."""
        for split in random_splits(
            len(rows),
            repeats=self.options["repeats"],
            test_size=self.options["test_size"] or TEST_SIZE,
            seed=self.options["seed"],
        ):
            yield rng.permutation(rows[split.train]), rows[split.test]

    def _row(
        self, part: str, model: str, metric: str, value: Any, split: int = ALL_SPLITS, **how: Any
    ) -> Row:
        return Row(part, self.data, model, params_json(**how), split, metric, float(value))


def feature_name(data: Dataset, j: int) -> str:
    """The name of column j, or its number, from 1.

    >>> feature_name(Dataset("a", [[0.0, 1.0]], [0]), 1)
    'feature 2'
    """
    return data.features[j] if data.features is not None else f"feature {j + 1}"


def _learned(part: Parts, limit: int) -> Descent:
    """As `Perceptron(shuffle=False, tol=None, max_iter=limit).fit`, looked at after each pass."""
    model = Perceptron(shuffle=False, tol=None)
    classes = np.unique(part.y)
    mistakes, accuracy = np.zeros(limit), np.zeros(limit)
    for number in range(limit):
        model.partial_fit(part.X, part.y, classes=classes if number == 0 else None)
        mistakes[number] = model.mistakes_[-1]
        accuracy[number:] = model.score(part.X_test, part.y_test)
        if mistakes[number] == 0:
            break
    return Descent(mistakes, accuracy, model.n_iter_, model)


def _name(model: Perceptron) -> str:
    return "binary perceptron" if len(model.classes_) == 2 else "multiclass perceptron"


def _marks(limit: int) -> list[int]:
    """Passes that are rows of the table, the last among them.

    >>> _marks(30)
    [1, 2, 5, 10, 20, 30]
    """
    return sorted({*(mark for mark in MARKS if mark <= limit), limit})
