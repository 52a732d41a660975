"""Predict or score the rows of a file with a saved model."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from separatrix.app.decisions import WITH_PROBABILITIES
from separatrix.app.estimate import last_step
from separatrix.app.novelty import classes_of, detects_novelty, require_two_kinds
from separatrix.app.preprocessing import undecided
from separatrix.app.read_data import encoder_of
from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.prepare import object_kernel
from separatrix.estimators.decision import BayesDecision
from separatrix.evaluation.metrics import NAMES, compute_metrics, require_metrics, score_classes
from separatrix.evaluation.samples import require_labels
from separatrix.evaluation.trial import by_class
from separatrix.runtime.atomic_files import atomic_write


class FileScores(NamedTuple):
    """Metrics of a model on labelled samples."""

    samples: int
    classes: list[Any]
    metrics: dict[str, float]
    confusion: Any  # shape: (k, k); rows are true classes, columns predicted ones
    by_class: list[dict[str, Any]]  # precision, recall, F1 and rows of each class
    rejected: int = 0  # rows that are in no other number but `mean_cost`
    mean_cost: float | None = None  # of a decision, rejections among them

    def __str__(self) -> str:
        lines = [f"{self.samples} samples"]
        if self.rejected:
            lines[0] += f", {self.rejected} rejected; all but the mean cost is of the others"
        if self.mean_cost is not None:
            lines.append(f"{'mean cost':<19}{self.mean_cost:.4f}")
        lines += [f"{name:<19}{value:.4f}" for name, value in self.metrics.items()]
        lines += ["", f"{'class':<15}{'precision':>11}{'recall':>9}{'F1':>9}{'rows':>8}"]
        lines += [
            f"{row['class']!s:<15}{row['precision']:>11.4f}{row['recall']:>9.4f}{row['f1']:>9.4f}"
            f"{row['rows']:>8}"
            for row in self.by_class
        ]
        width = max(8, *(len(str(label)) + 2 for label in self.classes))
        lines += ["", "true, predicted" + "".join(f"{label!s:>{width}}" for label in self.classes)]
        for label, row in zip(self.classes, self.confusion, strict=True):
            lines.append(f"{label!s:<15}" + "".join(f"{count:>{width}d}" for count in row))
        return "\n".join(lines)


def predict_rows(model: Any, data: Dataset, *, probabilities: bool = False) -> tuple[Any, Any]:
    """Predict labels, and with `probabilities` those of every class (otherwise None)."""
    require_samples(model, data)
    require_classifier(model)
    if probabilities and not hasattr(model, "predict_proba"):
        name = type(last_step(model)).__name__
        if detects_novelty(model):
            raise UnsupportedError(f"{name} has no probabilities; predictions are 1 and -1")
        error = UnsupportedError(f"this {name} was fitted without probabilities")
        error.hint = f"use {WITH_PROBABILITIES}, or fit svm with --set calibration=sigmoid"
        raise error
    with ignore_missing_names():
        labels = model.predict(data.X)
        return labels, model.predict_proba(data.X) if probabilities else None


def require_classifier(model: Any) -> None:
    """Raise an error for a model that only embeds samples."""
    if hasattr(model, "predict"):
        return
    name = type(last_step(model)).__name__
    error = UnsupportedError(f"this {name} is an embedding, not a classifier")
    error.hint = (
        "fit it with --set threshold=midpoint, or use lda; `predict` prints its coordinates"
    )
    raise error


def embed_rows(model: Any, data: Dataset) -> tuple[list[str], Any]:
    """Names of the axes of an embedding, and the coordinates of every row, (n, axes)."""
    require_samples(model, data)
    with ignore_missing_names():
        F = model.transform(data.X)
    return [f"axis {number + 1}" for number in range(F.shape[1])], F


@contextmanager
def ignore_missing_names() -> Iterator[None]:
    """Accept a matrix for a model that was fitted to named columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def write_predictions(
    out: Path, labels: Any, classes: Any, P: Any, kept: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write predictions to a CSV file, one line per sample, atomically."""
    write_file(out, lambda file: print_predictions(file, labels, classes, P, kept))


def write_file(out: Path, print_to: Callable[[TextIO], None]) -> None:
    """Write a text file atomically."""
    try:
        with atomic_write(out) as part, part.open("w", newline="", encoding="utf-8") as file:
            print_to(file)
    except OSError as error:  # its message names the temporary file
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(out)) from error


def print_predictions(
    file: TextIO,
    labels: Any,
    classes: Any,
    P: Any,
    kept: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write predictions to an open file as CSV, after columns that are kept; rows count from 0."""
    writer = csv.writer(file, lineterminator="\n")
    columns = [] if P is None else [f"p({label})" for label in np.asarray(classes).tolist()]
    writer.writerow(["row", *kept, "prediction", *columns])
    own = [np.asarray(values).tolist() for values in kept.values()]
    for number, label in enumerate(np.asarray(labels).tolist()):
        before = [values[number] for values in own]
        writer.writerow([number, *before, label, *([] if P is None else P[number].tolist())])


def print_coordinates(file: TextIO, names: list[str], F: Any) -> None:
    """Write the coordinates of an embedding to an open file as CSV; rows count from 0."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", *names])
    writer.writerows([number, *row] for number, row in enumerate(np.asarray(F).tolist()))


def score_file(model: Any, data: Dataset, metrics: Sequence[str] = NAMES) -> FileScores:
    """Compute metrics, scores of each class and the confusion matrix of a model on labelled data."""
    require_metrics(metrics)
    require_labels(data)
    labels, P = predict_rows(model, data, probabilities=hasattr(model, "predict_proba"))
    if detects_novelty(model):
        require_two_kinds(data)
    known = np.asarray(classes_of(model))
    true = np.asarray(data.y)
    if (known.dtype.kind in "USO") != (true.dtype.kind in "USO"):
        raise DataError(
            f"the model has classes such as {known.tolist()[0]!r}, but the file has labels such as "
            f"{true.tolist()[0]!r}"
        )
    decided = np.isin(labels, known)
    if not decided.any():
        raise DataError(f"every row of {data.name} is rejected; raise --reject-cost")
    mean_cost = None
    if isinstance(model, BayesDecision):
        with ignore_missing_names():
            mean_cost = model.mean_cost(data.X, true)
    true, labels, P = true[decided], labels[decided], None if P is None else P[decided]
    classes = np.unique(np.concatenate([known, true]))
    codes, guess = (
        np.searchsorted(classes, true),
        np.searchsorted(classes, labels.astype(known.dtype)),
    )
    wide = None
    if P is not None:
        wide = np.zeros((len(codes), len(classes)))
        wide[:, np.searchsorted(classes, known)] = P
    scores = None
    if P is None and hasattr(model, "decision_function") and len(known) == len(classes):
        with ignore_missing_names():
            scores = by_class(np.asarray(model.decision_function(data.X))[decided], len(classes))
    values = compute_metrics(metrics, codes, guess, wide, scores)
    table = score_classes(codes, guess, len(classes))
    lines = [
        {"class": label, **{name: column[k].item() for name, column in table.items()}}
        for k, label in enumerate(classes.tolist())
    ]
    confusion = confusion_matrix(codes, guess, labels=np.arange(len(classes)))
    return FileScores(
        len(decided),
        classes.tolist(),
        dict(values),
        confusion,
        lines,
        int((~decided).sum()),
        mean_cost,
    )


def require_samples(model: Any, data: Dataset) -> None:
    """Raise an error if the samples differ in kind or width from those that the model was fitted to."""
    model = undecided(model)
    width = getattr(model, "n_features_in_", None)  # None for models of lists
    kernel = object_kernel(model[0] if isinstance(model, Pipeline) else model)
    expected = "texts" if kernel is None else kernel.takes
    if width is not None:
        fits, expected = not isinstance(data.X, list), f"{width} features"
    else:
        fits = isinstance(data.X, list) and (data.kind == "graphs") == (expected == "graphs")
    if not fits:
        found = "a table" if data.kind == "table" else data.kind
        raise DataError(f"{data.name} holds {found}, but the model was fitted to {expected}")
    if width is None:
        return
    if (found := data.X.shape[1]) != width:
        error = DataError(f"{data.name} has {found} features, but the model was fitted to {width}")
        if data.features is not None:
            error.hint = "if one column holds the labels, name it with --target"
        raise error
    if isinstance(data.X, DataTable):
        if encoder_of(model) is None:
            raise DataError(
                f"{data.name} has columns that are no complete numbers, as the model needs"
            )
        return  # the encoder imputes
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
    filled = any(isinstance(step, SimpleImputer) for step in steps)
    values = data.X.data if issparse(data.X) else data.X
    if not filled and values.dtype.kind == "f" and np.isnan(values).any():
        error = DataError(
            f"{data.name} has missing values, but the model was fitted to data without missing values"
        )
        error.hint = "impute them, or fit the model to data with missing values"
        raise error
