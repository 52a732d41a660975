"""One's own files: fit or tune a model to one, predict another, measure how well that goes.

Columns are known by name. A model fitted to a table keeps the names of its features, and any other
table is read so that it has them, in their order, whatever else it has.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.compute.files import written_whole
from separatrix.data.dataset import Dataset
from separatrix.data.find import find
from separatrix.data.read import FORMATS, format_of
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.candidates import Terms
from separatrix.evaluation.estimate import Estimate, estimate, last_step
from separatrix.evaluation.look import look_at
from separatrix.evaluation.measure import NAMES, measured
from separatrix.evaluation.suite import suite
from separatrix.models.modelfile.files import save
from separatrix.models.registry import REGISTRY
from separatrix.models.tuned import chosen, settled

PLAIN: dict[str, tuple[str, dict[str, Any]]] = {  # keys of the suite as single models
    "svm": ("SVC", {}),
    "svm-poly": ("SVC", {"kernel": "poly"}),
    "kernel-perceptron": ("KernelPerceptron", {}),
    "knn": ("KNeighborsClassifier", {}),
    "linear-svm": ("LinearSVC", {}),
    "logistic": ("LogisticRegression", {}),
    "least-squares": ("LeastSquaresClassifier", {}),
    "lda": ("LinearDiscriminantAnalysis", {}),
    "qda": ("QuadraticDiscriminantAnalysis", {}),
    "gaussian-nb": ("GaussianNB", {}),
    "multinomial-nb": ("MultinomialNB", {}),
    "bernoulli-nb": ("BernoulliNB", {}),
    "perceptron": ("Perceptron", {"predictor": "average"}),
}
COUNTED = ("MultinomialNB", "BernoulliNB")  # take counts as they are
_NAMELESS = "X does not have valid feature names"


@dataclass(frozen=True)
class Fitted:
    """A model that was fitted to a file and saved."""

    model: Any
    path: Path
    samples: int
    features: int
    classes: list[Any]
    train_error: float
    seconds: float
    chosen: Mapping[str, Any]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "file": str(self.path),
            "model": type(last_step(self.model)).__name__,
            "samples": self.samples,
            "features": self.features,
            "classes": self.classes,
            "train_error": self.train_error,
            "seconds": self.seconds,
            "chosen": {name: repr(value) for name, value in self.chosen.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Measured:
    """How a model does on labelled samples."""

    samples: int
    classes: list[Any]
    metrics: Mapping[str, float]
    confusion: Any  # shape: (k, k); rows are what it is, columns what it is taken for

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "samples": self.samples,
            "classes": self.classes,
            "metrics": dict(self.metrics),
            "confusion": self.confusion.tolist(),
        }

    def __str__(self) -> str:
        lines = [f"{self.samples} samples"]
        lines += [f"{name:<16}{value:.4f}" for name, value in self.metrics.items()]
        width = max(8, *(len(str(label)) + 2 for label in self.classes))
        lines += ["", "is, taken for" + "".join(f"{label!s:>{width}}" for label in self.classes)]
        for label, row in zip(self.classes, self.confusion, strict=True):
            lines.append(f"{label!s:<13}" + "".join(f"{count:>{width}d}" for count in row))
        return "\n".join(lines)


def build(key: str, data: Dataset, parameters: Mapping[str, Any], seed: int = 0) -> Pipeline:
    """A single model for the data, with what prepares its samples before it.

    >>> build("knn", find("iris"), {"n_neighbors": 3})[-1]
    KNeighborsClassifier(n_neighbors=3)
    """
    known = {entry.name: entry for entry in REGISTRY if entry.kind == "classifier"}
    name, fixed = PLAIN.get(key, (key, {}))
    if name not in known:
        raise ParameterError("fit", "model", f"one of {', '.join([*PLAIN, *known])}", key)
    made = known[name].load()
    given = {**fixed, **parameters}
    allowed = made().get_params()
    for word in given:
        if word not in allowed:
            raise ParameterError(
                name, word, f"one of its parameters: {', '.join(allowed)}", given[word]
            )
    if "random_state" in allowed:
        given.setdefault("random_state", seed)
    terms = Terms(look_at(data.X, data.y, data.kind), folds=2, seed=seed)
    return terms.behind(made(**given), counted=name in COUNTED)


def fit_file(
    data: Dataset,
    out: Path,
    *,
    key: str,
    parameters: Mapping[str, Any] | None = None,
    tune: bool = False,
    folds: int = 5,
    seed: int = 0,
    slim: bool = False,
    note: str = "",
) -> Fitted:
    """Fit a model to data, or tune and then fit it, and save it."""
    model = wanted(data, key, parameters or {}, tune=tune, folds=folds, seed=seed)
    begun = time.perf_counter()
    model = clone(model).fit(data.X, data.y)
    seconds = time.perf_counter() - begun
    picked = chosen(model)
    model = settled(model)
    wrong = float(np.mean(model.predict(data.X) != np.asarray(data.y)))
    name_features(model, data.features)
    path = save(model, out, slim=slim, data=(data.X, data.y), note=note)
    return Fitted(
        model=model,
        path=Path(path),
        samples=len(data.y),
        features=0 if isinstance(data.X, list) else int(data.X.shape[1]),
        classes=np.unique(data.y).tolist(),
        train_error=wrong,
        seconds=seconds,
        chosen=picked,
        notes=data.notes,
    )


def wanted(
    data: Dataset, key: str, parameters: Mapping[str, Any], *, tune: bool, folds: int, seed: int
) -> Any:
    """The model that was asked for, not fitted yet."""
    require_labels(data)
    if not tune:
        return build(key, data, parameters, seed)
    if key not in PLAIN:
        raise ParameterError("tune", "model", f"one of {', '.join(PLAIN)}", key)
    found = suite(data.X, data.y, models=[key], kind=data.kind, folds=folds, random_state=seed)
    return next(iter(found.values()))


def planned_fit(
    data: Dataset, key: str, parameters: Mapping[str, Any], *, tune: bool, folds: int, seed: int
) -> tuple[Any, Estimate]:
    """The model that would be fitted, and what that would take."""
    model = wanted(data, key, parameters, tune=tune, folds=folds, seed=seed)
    return model, estimate(model, data, seed=seed)


def samples_for(model: Any, path: str, target: Any = None) -> Dataset:
    """A file, read so that it has the features that the model was fitted to."""
    if not Path(path).exists():
        return find(path)
    format = format_of(path)
    options: dict[str, Any] = {}
    if isinstance(target, str) and target.lstrip("-").isdigit():
        target = int(target)
    names = getattr(model, "feature_names_in_", None)
    if "features" in FORMATS[format].options:
        options["target"] = target
        if names is not None:
            options["features"] = tuple(str(name) for name in names)
    if "n_features" in FORMATS[format].options and hasattr(model, "n_features_in_"):
        options["n_features"] = int(model.n_features_in_)
    return find(path, **options)


def labelled_for(model: Any, path: str, target: Any = None) -> Dataset:
    """The same with labels: those of the column named, or of the one that the reader finds."""
    return samples_for(model, path, "auto" if target is None else target)


def predict_rows(model: Any, data: Dataset, *, probabilities: bool = False) -> tuple[Any, Any]:
    """Labels, and with `probabilities` those of every class; None where they are not wanted."""
    if probabilities and not hasattr(model, "predict_proba"):
        raise ParameterError(
            "predict", "probabilities", f"left out: {_named(model)} has none", probabilities
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NAMELESS)
        labels = model.predict(data.X)
        return labels, model.predict_proba(data.X) if probabilities else None


def write_predictions(out: Path, labels: Any, classes: Any, P: Any) -> None:
    """A CSV file with one line for each sample, there whole or not at all."""
    with written_whole(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        print_predictions(file, labels, classes, P)


def print_predictions(file: TextIO, labels: Any, classes: Any, P: Any) -> None:
    """The same lines into an open file; rows count from 0."""
    writer = csv.writer(file, lineterminator="\n")
    many = [] if P is None else [f"p({label})" for label in np.asarray(classes).tolist()]
    writer.writerow(["row", "prediction", *many])
    for number, label in enumerate(np.asarray(labels).tolist()):
        writer.writerow([number, label, *([] if P is None else P[number].tolist())])


def measure(model: Any, data: Dataset) -> Measured:
    """Metrics and confusions of a model on labelled data."""
    require_labels(data)
    has = hasattr(model, "predict_proba")
    labels, P = predict_rows(model, data, probabilities=has)
    known = np.asarray(model.classes_)
    true = np.asarray(data.y)
    if (known.dtype.kind in "US") != (true.dtype.kind in "USO"):
        raise DataError(
            f"the model knows classes such as {known.tolist()[0]!r}, but the file has labels such as "
            f"{true.tolist()[0]!r}"
        )
    classes = np.unique(np.concatenate([known, true, np.asarray(labels, dtype=known.dtype)]))
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([place[label] for label in true.tolist()], dtype=np.intp)
    guess = np.array([place[label] for label in np.asarray(labels).tolist()], dtype=np.intp)
    wide = None
    if P is not None:
        wide = np.zeros((len(codes), len(classes)))
        wide[:, np.searchsorted(classes, known)] = P
    confusion = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(confusion, (codes, guess), 1)
    values = measured(NAMES, codes, guess, wide, len(classes))
    return Measured(len(codes), classes.tolist(), values, confusion)


def require_labels(data: Dataset) -> None:
    """Refuse data without labels, or of a kind that no model here takes."""
    if data.y is None:
        error = DataError(f"{data.name} has no labels")
        error.hint = "name the column that has them with --target"
        raise error
    if data.kind == "graphs":
        raise DataError(f"{data.name} holds graphs, which no model here takes yet")
    if len(np.unique(data.y)) < 2:
        raise DataError(f"{data.name} has one class only, {np.unique(data.y).tolist()[0]!r}")


def name_features(model: Any, names: Sequence[str] | None) -> None:
    """Let a model that was fitted to a matrix remember what its columns are called."""
    if names is not None:
        first = model[0] if isinstance(model, Pipeline) else model
        first.feature_names_in_ = np.array(list(names), dtype=object)


def _named(model: Any) -> str:
    return type(last_step(model)).__name__
