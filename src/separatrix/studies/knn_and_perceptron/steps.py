"""Steps of `knn-and-perceptron`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack

from separatrix import KNeighborsClassifier, Perceptron
from separatrix.data.catalogue import class_names
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.splits import random_splits
from separatrix.errors import ParameterError
from separatrix.evaluation.importance import permutation_importance
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult, metric_rows
from separatrix.runtime.device import choose_device
from separatrix.studies.inputs import feature_name, require_labelled
from separatrix.validation import require_choice, require_integer, require_real

NAME = "knn-and-perceptron"
DATA = "1 data"
NEIGHBOURS = "2 neighbours"
PERCEPTRON = "3 perceptron"
FEATURES = "4 important features"
SHUFFLED = "5 columns shuffled"
# rows in order from zero weights; a score of 0 predicts the first of two classes
RULE: dict[str, Any] = {"multi_class": "auto", "zero": "negative", "shuffle": False, "tol": None}
DISTANCES = {"euclidean": 2, "manhattan": 1}  # p of the Minkowski distance
TEST_SIZE = 0.3
QUICK_ROWS = 1500  # of each part
MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # passes with rows in the table
MOST_FEATURES = 15  # of each class in the table
SHUFFLED_SPLITS = 5  # whose test rows are predicted with columns shuffled


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    classifier: str = "both",
    data: str = "iris",
    subsample: int | None = None,
    test_size: float | None = None,
    distance: str = "euclidean",
    k: int | None = None,
    k_max: int = 50,
    max_iter: int = 100,
    repeats: int | None = None,
    device: str = "auto",
) -> Experiment:
    """Accuracy against k, mistakes in each pass, and the most important features of both.

    A quick run has 5 splits (`repeats`) instead of 20 and at most 1500 samples of each part; `subsample`
    draws samples before splitting. `test_size` is held out at random; None: the test part of the data
    set, or 0.3 if it has none. With `k` there is one number of neighbours, and one split instead of 20.
    `device` is that of the Euclidean neighbour search.
    """
    require_choice(NAME, "classifier", classifier, ("both", "knn", "perceptron"))
    require_choice(NAME, "distance", distance, list(DISTANCES))
    for name, value, least in (
        ("k", k, 1),
        ("k_max", k_max, 1),
        ("max_iter", max_iter, 1),
        ("subsample", subsample, 4),
        ("repeats", repeats, 1),
    ):
        if value is not None:
            require_integer(NAME, name, value, least=least)
    if test_size is not None:
        require_real(NAME, "test_size", test_size, above=0, below=1)
    obstacle = None if distance == "euclidean" else f"distance={distance!r}"
    if classifier == "perceptron":
        obstacle = f"classifier={classifier!r}"
    choose_device(NAME, device, large=False, obstacle=obstacle)
    options = {
        "quick": quick,
        "seed": seed,
        "classifier": classifier,
        "data": data,
        "subsample": subsample,
        "test_size": test_size,
        "distance": distance,
        "k": k,
        "k_max": k_max if k is None else None,
        "max_iter": max_iter,
        "repeats": repeats or (1 if k is not None else 5 if quick else 20),
    }
    study = _KnnStudy(device, options)
    steps = [Step(DATA, study.describe_data)]
    if classifier != "perceptron":
        steps.append(Step(NEIGHBOURS, study.score_neighbors if k is None else study.score_one_k))
    if classifier != "knn":
        steps += [Step(PERCEPTRON, study.train_perceptron), Step(FEATURES, study.rank_features)]
    if classifier != "perceptron":
        steps.append(Step(SHUFFLED, study.shuffle_columns))
    return Experiment(NAME, "Nearest neighbours and perceptrons", options, (data,), steps, find)


class PassLog(NamedTuple):
    """The perceptron after each pass; constant after a pass without mistakes."""

    mistakes: Any  # shape: (max_iter,)
    accuracy: Any  # shape: (max_iter,); on the test part
    passes: int
    model: Perceptron


class _KnnStudy:
    """The steps, under one set of options."""

    def __init__(self, device: str, options: Mapping[str, Any]) -> None:
        self.options, self.device = options, device
        self.data: str = options["data"]

    def describe_data(self, context: RunContext) -> StepResult:
        """Sizes of the parts."""
        parts = self.parts(context)
        counts = {
            "train_rows": parts[0].X.shape[0],
            "test_rows": parts[0].X_test.shape[0],
            "features": parts[0].X.shape[1],
            "classes": len(np.unique(context.data(self.data).y)),
            "splits": len(parts),
            "given_test_part": self.has_test_part(context.data(self.data)),
        }
        return StepResult(metric_rows(DATA, self.data, "", counts))

    def score_neighbors(self, context: RunContext) -> StepResult:
        """Accuracy of k = 1, ..., k_max on the test part, and leave-one-out on the training part."""
        rows, tested, left_out = [], [], []
        distance = self.options["distance"]
        parts = self.parts(context)
        k_max = min(self.options["k_max"], *(part.X.shape[0] - 1 for part in parts))
        for split, part in enumerate(parts):
            model = KNeighborsClassifier(
                ties="nearest", p=DISTANCES[distance], k_max=k_max, device=self.device
            )
            model.fit(part.X, part.y)
            wrong = model.predict_by_k(part.X_test, k_max) != part.y_test[:, None]
            errors, accuracy = wrong.sum(axis=0), 1.0 - wrong.mean(axis=0)
            for k in range(1, k_max + 1):
                values = {"test_errors": errors[k - 1], "test_accuracy": accuracy[k - 1]}
                rows += self._rows(NEIGHBOURS, "k-NN", values, split, part, k=k, distance=distance)
            best = model.best_k_
            values = {
                "chosen_k": best,
                "chosen_left_out_accuracy": model.accuracy_by_k_[best - 1],
                "chosen_test_accuracy": accuracy[best - 1],
            }
            rows += self._rows(NEIGHBOURS, "k-NN", values, split)
            tested.append(accuracy)
            left_out.append(model.accuracy_by_k_)
        return StepResult(rows, {"test": np.array(tested), "left_out": np.array(left_out)})

    def score_one_k(self, context: RunContext) -> StepResult:
        """Accuracy of one number of neighbours on the test part, and leave-one-out on the training part."""
        rows, tested, left_out = [], [], []
        k, distance = self.options["k"], self.options["distance"]
        for split, part in enumerate(self.parts(context)):
            most = part.X.shape[0] - 1
            if k > most:
                raise ParameterError(NAME, "k", f"at most {most}, the other training rows", k)
            model = KNeighborsClassifier(
                k, ties="nearest", p=DISTANCES[distance], device=self.device
            )
            model.fit(part.X, part.y)
            wrong = model.predict(part.X_test) != part.y_test
            left = KNeighborsClassifier(
                ties="nearest", p=DISTANCES[distance], k_max=k, device=self.device
            )
            own = left.fit(part.X, part.y).accuracy_by_k_[k - 1]
            values = {"test_errors": wrong.sum(), "test_accuracy": 1.0 - wrong.mean()}
            values |= {"train_accuracy": model.score(part.X, part.y), "left_out_accuracy": own}
            rows += self._rows(NEIGHBOURS, "k-NN", values, split, part, k=k, distance=distance)
            tested.append(1.0 - wrong.mean())
            left_out.append(own)
        return StepResult(rows, {"test": np.array(tested), "left_out": np.array(left_out)})

    def train_perceptron(self, context: RunContext) -> StepResult:
        """Last and averaged weights; training starts at zero and visits rows in order."""
        rows, logs = [], []
        limit = self.options["max_iter"]
        for split, part in enumerate(self.parts(context)):
            log = train_by_pass(part, limit)
            name = f"{'binary' if len(log.model.classes_) == 2 else 'multiclass'} perceptron"
            average = Perceptron(predictor="average", max_iter=limit, **RULE)
            values = {
                "passes": log.passes,
                "mistakes": log.mistakes.sum(),
                "clean_pass": log.mistakes[-1] == 0,
                "train_accuracy": log.model.score(part.X, part.y),
                "test_accuracy": log.accuracy[-1],
            }
            rows += self._rows(PERCEPTRON, name, values, split, part)
            score = average.fit(part.X, part.y).score(part.X_test, part.y_test)
            averaged = {"test_accuracy": score}
            rows += self._rows(PERCEPTRON, f"averaged {name}", averaged, split, part)
            for mark in _marks(limit):
                at_pass = {
                    "mistakes_in_pass": log.mistakes[mark - 1],
                    "test_accuracy_after_pass": log.accuracy[mark - 1],
                }
                rows += self._rows(PERCEPTRON, name, at_pass, split, None, **{"pass": mark})
            logs.append(log)
        arrays = {
            "mistakes": np.array([log.mistakes for log in logs]),
            "accuracy": np.array([log.accuracy for log in logs]),
            "weights": np.array(logs[0].model.coef_),
        }
        return StepResult(rows, arrays)

    def rank_features(self, context: RunContext) -> StepResult:
        """|w| of the first split without the bias; the largest of each class are rows."""
        data = context.data(self.data)
        importance = np.abs(context.result(PERCEPTRON).arrays["weights"])
        classes = np.unique(self.parts(context)[0].y)
        names = class_names(self.data, np.unique(np.asarray(data.y)))
        panels = classes if len(classes) > 2 else classes[1:]
        name = context.result(PERCEPTRON).rows[0].model
        rows = []
        for label, values in zip(panels, importance, strict=True):
            largest = np.argsort(-values, kind="stable")[:MOST_FEATURES]
            for rank, j in enumerate(largest.tolist(), start=1):
                about = {"class": label, "rank": rank, "feature": feature_name(data, j)}
                about |= {"name": names[label]} if label in names else {}
                rows += self._rows(FEATURES, name, {"importance": values[j]}, 0, **about)
        arrays = {"importance": importance}
        if data.image is not None:
            arrays["image"] = np.array(data.image)
        return StepResult(rows, arrays)

    def shuffle_columns(self, context: RunContext) -> StepResult:
        """Rise of the test error of k-NN by each of up to 200 columns; k is the chosen or the given one."""
        data, parts = context.data(self.data), self.parts(context)[:SHUFFLED_SPLITS]
        best = context.result(NEIGHBOURS).arrays["left_out"]
        fits, first = [], 0
        for number, part in enumerate(parts):
            k = self.options["k"] or int(best[number].argmax()) + 1
            p = DISTANCES[self.options["distance"]]
            model = KNeighborsClassifier(k, ties="nearest", p=p, device=self.device)
            fits.append((model.fit(part.X, part.y), first + np.arange(part.X_test.shape[0])))
            first += part.X_test.shape[0]
        stack = sparse_vstack if issparse(parts[0].X_test) else np.concatenate
        X, y = stack([part.X_test for part in parts]), np.concatenate([p.y_test for p in parts])
        found = permutation_importance(fits, X, y, data.features, self.options["seed"])
        rows: list[Row] = []
        for rank, one in enumerate(found, start=1):
            values = {"error_rise": one.rise, "half_width": one.half_width}
            rows += self._rows(SHUFFLED, "k-NN", values, 0, feature=one.column, rank=rank)
        return StepResult(rows)

    def parts(self, context: RunContext) -> list[Dataset]:
        """The given parts, or random ones; made once."""
        return context.shared("parts", lambda: self.split(context.data(self.data)))

    def has_test_part(self, data: Dataset) -> bool:
        """Whether the test part of the data set is used."""
        return data.X_test is not None and self.options["test_size"] is None

    def split(self, data: Dataset) -> list[Dataset]:
        """The test part of the data set, or random splits."""
        require_labelled(NAME, data, "vectors")
        y = np.asarray(data.y)
        rng = np.random.default_rng(self.options["seed"])
        rows = self._subsample(len(y), self.options["subsample"], rng)
        if self.has_test_part(data):
            tested = self._subsample(len(data.y_test), None, rng)
            y_test = np.asarray(data.y_test)
            return [Dataset(data.name, data.X[rows], y[rows], data.X_test[tested], y_test[tested])]
        return [
            Dataset(data.name, data.X[train], y[train], data.X[test], y[test])
            for train, test in self._random_splits(rows, rng)
        ]

    def _subsample(self, n: int, wanted: int | None, rng: np.random.Generator) -> Any:
        """Rows of a sub-sample in file order, which breaks ties."""
        size = min(n, wanted or (QUICK_ROWS if self.options["quick"] else n))
        return np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))

    def _random_splits(self, rows: Any, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
        """Random splits with shuffled training rows, since files are often sorted by class."""
        options = self.options
        for split in random_splits(
            len(rows),
            repeats=options["repeats"],
            test_size=options["test_size"] or TEST_SIZE,
            seed=options["seed"],
        ):
            yield rng.permutation(rows[split.train]), rows[split.test]

    def _rows(
        self,
        part: str,
        model: str,
        values: Mapping[str, Any],
        split: int,
        data: Dataset | None = None,  # whose test rows the values are shares of
        **params: Any,
    ) -> list[Row]:
        sizes = (0, 0) if data is None else (data.X.shape[0], data.X_test.shape[0])
        return metric_rows(part, self.data, model, values, split=split, sizes=sizes, **params)


def train_by_pass(part: Dataset, limit: int) -> PassLog:
    """A fit of `Perceptron(**RULE)`, scored after each pass."""
    model = Perceptron(**RULE)
    classes = np.unique(part.y)
    mistakes, accuracy = np.zeros(limit), np.zeros(limit)
    for number in range(limit):
        model.partial_fit(part.X, part.y, classes=classes if number == 0 else None)
        mistakes[number] = model.mistakes_[-1]
        accuracy[number:] = model.score(part.X_test, part.y_test)
        if mistakes[number] == 0:
            break
    return PassLog(mistakes, accuracy, model.n_iter_, model)


def _marks(limit: int) -> list[int]:
    """Passes with rows in the table, including the last.

    >>> _marks(30)
    [1, 2, 5, 10, 20, 30]
    """
    return sorted({*(mark for mark in MARKS if mark <= limit), limit})
