"""One's own files: fit or tune a model to one, predict another, measure how well that goes.

Columns are known by name. A model fitted to a table keeps the names of its features, and any other
table is read so that it has them, in their order, whatever else it has.
"""

from __future__ import annotations

import csv
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from separatrix.app.estimate import Estimate, estimate, last_step
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.read import FORMATS, format_of
from separatrix.errors import DataError, ModelFileError, ParameterError, UnsupportedError
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.base.prepare import object_kernel
from separatrix.estimators.base.tuned import best_model, chosen_params
from separatrix.estimators.registry import COUNTED, REGISTRY
from separatrix.evaluation.candidates import BuildContext
from separatrix.evaluation.metrics import NAMES, compute_metrics
from separatrix.evaluation.profile import profile
from separatrix.evaluation.samples import require_classes, require_labels
from separatrix.evaluation.suite import suite
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import Normalized
from separatrix.kernels.graphs.graph_kernels import WeisfeilerLehman
from separatrix.kernels.names import parse_kernel
from separatrix.kernels.object_kernels import ObjectKernel
from separatrix.kernels.strings.string_kernels import Spectrum
from separatrix.modelfile.files import save
from separatrix.runtime.atomic_files import atomic_write

PLAIN: dict[str, tuple[str, dict[str, Any]]] = {  # keys of the suite as single models
    "svm": ("SVC", {}),
    "svm-poly": ("SVC", {"kernel": "poly"}),
    "svm-string": ("SVC", {"kernel": Normalized(Spectrum(4))}),
    "svm-graph": ("SVC", {"kernel": Normalized(WeisfeilerLehman(3))}),
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
    chosen_params: Mapping[str, Any]
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
            "chosen": {name: repr(value) for name, value in self.chosen_params.items()},
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
    terms = BuildContext(profile(data.X, data.y, data.kind), folds=2, seed=seed)
    kernel = given.get("kernel")
    if isinstance(kernel, Kernel) and kernel.takes != "vectors":  # takes the objects themselves
        return Pipeline([("model", made(**given))])
    return terms.pipeline(made(**given), counted=name in COUNTED)


def kernel_from(text: str) -> Kernel:
    """A kernel as typed; one on strings or graphs is normalised, unless it is times a number.

    >>> kernel_from("VertexHistogram()")
    Normalized(kernel=VertexHistogram())
    """
    kernel = parse_kernel(text)
    return Normalized(kernel) if isinstance(kernel, ObjectKernel) else kernel


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
    device: str = "auto",
) -> Fitted:
    """Fit a model to data, or tune and then fit it, and save it."""
    if not out.parent.is_dir():  # a fit may take hours
        raise ModelFileError("unwritable", f"{out} cannot be written: there is no such folder")
    model = wanted(data, key, parameters or {}, tune=tune, folds=folds, seed=seed, device=device)
    begun = time.perf_counter()
    model = clone(model).fit(data.X, data.y)
    seconds = time.perf_counter() - begun
    picked = chosen_params(model)
    model = best_model(model)
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
        chosen_params=picked,
        notes=data.notes,
    )


def wanted(
    data: Dataset,
    key: str,
    parameters: Mapping[str, Any],
    *,
    tune: bool,
    folds: int,
    seed: int,
    device: str = "auto",
) -> Any:
    """The model that was asked for, not fitted yet."""
    require_classes(data)
    if tune and key not in PLAIN:
        raise ParameterError("tune", "model", f"one of {', '.join(PLAIN)}", key)
    if tune:
        found = suite(data.X, data.y, models=[key], kind=data.kind, folds=folds, random_state=seed)
        model = next(iter(found.values()))
    else:
        model = build(key, data, parameters, seed)
    if device != "auto":
        set_device(device, model)
    return model


def planned_fit(
    data: Dataset, key: str, parameters: Mapping[str, Any], *, seed: int, **asked: Any
) -> tuple[Any, Estimate]:
    """The model that would be fitted, and what that would take."""
    model = wanted(data, key, parameters, seed=seed, **asked)
    return model, estimate(model, data, seed=seed)


def samples_for(model: Any, path: str, target: Any = None, **file: Any) -> Dataset:
    """A file, read so that it has the features that the model was fitted to.

    Of a set of the catalogue that comes with a test part, that part.
    """
    options = {key: value for key, value in file.items() if value is not None}
    if not Path(path).exists():
        data = find(path, **options)
        if data.X_test is None:
            return data
        return replace(data, name=f"{path}, its test part", X=data.X_test, y=data.y_test)
    format = options.get("format") or format_of(path)
    target = None if target is None else name_or_position(target)
    names = getattr(model, "feature_names_in_", None)
    if "features" in FORMATS[format].options:
        options["target"] = target
        if names is not None:
            options["features"] = tuple(str(name) for name in names)
    if "n_features" in FORMATS[format].options and hasattr(model, "n_features_in_"):
        options["n_features"] = int(model.n_features_in_)
    return find(path, **options)


def name_or_position(word: str) -> str | int:
    """A column as a person types it.

    >>> name_or_position("income"), name_or_position("-1")
    ('income', -1)
    """
    return int(word) if re.fullmatch(r"-?[0-9]{1,9}", word) else word


def labelled_for(model: Any, path: str, target: Any = None, **file: Any) -> Dataset:
    """The same with labels: those of the column named, or of the one that the reader finds."""
    return samples_for(model, path, "auto" if target is None else target, **file)


def predict_rows(model: Any, data: Dataset, *, probabilities: bool = False) -> tuple[Any, Any]:
    """Labels, and with `probabilities` those of every class; None where they are not wanted."""
    require_samples(model, data)
    if probabilities and not hasattr(model, "predict_proba"):
        error = UnsupportedError(f"{_named(model)} has no probabilities as it was fitted")
        error.hint = "logistic, lda, qda, knn and naive Bayes have them; so has svm, fitted with "
        error.hint += "--set calibration=sigmoid"
        raise error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NAMELESS)
        labels = model.predict(data.X)
        return labels, model.predict_proba(data.X) if probabilities else None


def write_predictions(out: Path, labels: Any, classes: Any, P: Any) -> None:
    """A CSV file with one line for each sample, there whole or not at all."""
    try:
        with atomic_write(out) as part, part.open("w", newline="", encoding="utf-8") as file:
            print_predictions(file, labels, classes, P)
    except OSError as error:  # it speaks of the temporary file
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(out)) from error


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
    if (known.dtype.kind in "USO") != (true.dtype.kind in "USO"):
        raise DataError(
            f"the model knows classes such as {known.tolist()[0]!r}, but the file has labels such as "
            f"{true.tolist()[0]!r}"
        )
    classes = np.unique(np.concatenate([known, true, np.asarray(labels, dtype=known.dtype)]))
    position = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([position[label] for label in true.tolist()], dtype=np.intp)
    guess = np.array([position[label] for label in np.asarray(labels).tolist()], dtype=np.intp)
    wide = None
    if P is not None:
        wide = np.zeros((len(codes), len(classes)))
        wide[:, np.searchsorted(classes, known)] = P
    confusion = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(confusion, (codes, guess), 1)
    values = compute_metrics(NAMES, codes, guess, wide)
    return Measured(len(codes), classes.tolist(), values, confusion)


def require_samples(model: Any, data: Dataset) -> None:
    """Refuse samples of another kind or width than the model was fitted to."""
    width = getattr(model, "n_features_in_", None)  # what takes lists has none
    kernel = object_kernel(model[0] if isinstance(model, Pipeline) else model)
    wanted = "texts" if kernel is None else kernel.takes
    if width is not None:
        fits, wanted = not isinstance(data.X, list), f"{width} features"
    else:
        fits = isinstance(data.X, list) and (data.kind == "graphs") == (wanted == "graphs")
    if not fits:
        raise DataError(f"{data.name} holds {data.kind}, but the model was fitted to {wanted}")
    if width is None:
        return
    if (found := data.X.shape[1]) != width:
        error = DataError(f"{data.name} has {found} features, but the model was fitted to {width}")
        if data.features is not None and found > width:
            error.hint = "if a column holds the labels, name it with --target"
        raise error
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
    filled = any(isinstance(step, SimpleImputer) for step in steps)
    values = data.X.data if issparse(data.X) else data.X
    if not filled and values.dtype.kind == "f" and np.isnan(values).any():
        error = DataError(
            f"{data.name} has missing values, but the model was fitted to data without any"
        )
        error.hint = "fill them, or fit the model to data that has some too"
        raise error


def name_features(model: Any, names: Sequence[str] | None) -> None:
    """Let a model that was fitted to a matrix remember what its columns are called."""
    if names is not None:
        first = model[0] if isinstance(model, Pipeline) else model
        first.feature_names_in_ = np.array(list(names), dtype=object)


def _named(model: Any) -> str:
    return type(last_step(model)).__name__
