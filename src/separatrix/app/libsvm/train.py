"""`svm-train`: fit a support vector machine to a file and write a LIBSVM model file, or cross-validate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.app.libsvm.samples import PathLike, TrainingSet, training_samples, with_hint
from separatrix.errors import ParameterError, UnsupportedError
from separatrix.estimators.base.gram_training import (
    classify_many,
    resolve_kernels,
    with_coded_weights,
)
from separatrix.estimators.base.multiclass import RowsClassified
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.one_class_svm import OneClassSVM
from separatrix.estimators.svc import SVC
from separatrix.evaluation.study import Products
from separatrix.modelfile.libsvm_text import save_libsvm
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.progress import bar
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes
from separatrix.validation import require_integer

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # as -t numbers them
PRECOMPUTED = 4
C_SVC, NU_SVC, ONE_CLASS = range(3)  # as -s numbers them
OTHER_MACHINES = {
    3: ("epsilon-SVR", "separatrix has no regression"),
    4: ("nu-SVR", "separatrix has no regression"),
}
FOLD_SEED = 0


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The flags of `svm-train`."""

    svm_type: int = C_SVC  # -s. 0, 1 or 2
    kernel_type: int = 2  # -t. Index into KERNELS; with 4 the file holds a kernel matrix
    degree: int = 3  # -d
    gamma: float = 0.0  # -g. 0 is one over the number of features
    coef0: float = 0.0  # -r
    cost: float = 1.0  # -c, of C-SVC
    nu: float = 0.5  # -n, of the other two
    cache: float | None = None  # -m, cache size in MB. None: a quarter of the memory, at most 4096
    tolerance: float = 1e-3  # -e
    probability: int = 0  # -b. 1: Platt's probabilities, of a classifier
    weights: Mapping[int, float] = field(default_factory=dict)  # -wi. Factors of C by class label
    folds: int | None = None  # -v. Cross-validate instead of writing a model
    progress: bool | None = False  # draw a bar on stderr. None: if stderr is a terminal


class TrainResult(NamedTuple):
    """Output of `svm-train`."""

    lines: list[str]  # LIBSVM's, for stdout
    notes: list[str]  # for stderr
    model: Path | None  # the file written; None after a cross-validation


def train_file(path: PathLike, model: PathLike | None, options: TrainOptions) -> TrainResult:
    """Train a support vector machine on a file and write it in LIBSVM's format, or cross-validate.

    The default model file is `<file name>.model` in the current folder.
    """
    _require_supported(options)
    samples = training_samples(
        path,
        precomputed=options.kernel_type == PRECOMPUTED,
        one_class=options.svm_type == ONE_CLASS,
    )
    notes = [
        f"class label {label} of -w{label} is not in {path}"
        for label in options.weights
        if label not in samples.labels
    ]
    machine = _machine(samples, options)
    if options.folds is not None:
        folds = min(options.folds, len(samples.y))
        if folds < options.folds:
            notes.append(f"{path} has {folds} samples: every fold is one sample")
        if options.probability:
            notes.append("-b 1 has no effect on -v: folds are predicted by votes")
        cross_validate = (
            _cross_validate_one_class if options.svm_type == ONE_CLASS else _cross_validate
        )
        accuracy = cross_validate(machine, samples, folds, options.progress)
        return TrainResult([f"Cross Validation Accuracy = {100 * accuracy:g}%"], notes, None)
    machine.fit(samples.X, samples.y)
    lines = (
        _one_class_summary(machine) if options.svm_type == ONE_CLASS else _summary(machine, samples)
    )
    target = Path(f"{Path(path).name}.model") if model is None else Path(model)
    return TrainResult(lines, notes, _write_model(machine, samples, target))


def _require_supported(options: TrainOptions) -> None:
    """Raise an error for options that only LIBSVM supports."""
    if options.svm_type in OTHER_MACHINES:
        name, hint = OTHER_MACHINES[options.svm_type]
        message = f"-s {options.svm_type} ({name}) is not supported; expected -s 0, 1 or 2"
        raise with_hint(UnsupportedError(message), hint)
    if not C_SVC <= options.svm_type <= ONE_CLASS:
        raise UnsupportedError(f"unknown SVM type -s {options.svm_type}; expected 0, 1 or 2")
    if options.svm_type == ONE_CLASS and (options.probability or options.weights):
        flag = "-b 1" if options.probability else "-wi"
        raise with_hint(
            UnsupportedError(f"{flag} is not supported with -s 2, a one-class SVM"), f"omit {flag}"
        )
    if not 0 <= options.kernel_type <= PRECOMPUTED:
        raise UnsupportedError(
            f"unknown kernel type -t {options.kernel_type}; expected 0 to {PRECOMPUTED}"
        )
    if options.folds is not None:
        require_integer("svm-train", "-v", options.folds, least=2)
    positive = {"-c": options.cost, "-e": options.tolerance, "-m": options.cache}
    weights = {f"-w{label}": weight for label, weight in options.weights.items()}
    for flag, value in {**positive, **weights}.items():
        if value is not None and not value > 0:
            raise ParameterError("svm-train", flag, "above 0", value)


def _machine(samples: TrainingSet, options: TrainOptions) -> Any:
    """Make the estimator from the flags."""
    common: dict[str, Any] = {
        "kernel": KERNELS[options.kernel_type],
        "degree": options.degree,
        "gamma": options.gamma or 1.0 / max(1, samples.X.shape[1]),
        "coef0": options.coef0,
        "tol": options.tolerance,
        "cache_size": options.cache,
        "verbose": int(bool(options.progress)),
    }
    if options.svm_type == ONE_CLASS:
        return OneClassSVM(nu=options.nu, **common)
    known = {label: w for label, w in options.weights.items() if label in samples.labels}
    common |= {
        "class_weight": known or None,
        "calibration": "platt" if options.probability and options.folds is None else None,
        "random_state": FOLD_SEED,
    }
    return (
        SVC(C=options.cost, **common)
        if options.svm_type == C_SVC
        else NuSVC(nu=options.nu, **common)
    )


def _one_class_summary(machine: OneClassSVM) -> list[str]:
    """Return LIBSVM's lines about a one-class SVM."""
    alpha = machine._support.coef[0]
    return [
        f"optimization finished, #iter = {machine.n_iter_}",
        f"obj = {-machine.objective_:f}, rho = {machine.offset_[0]:f}",
        f"nSV = {len(alpha)}, nBSV = {np.count_nonzero(alpha == 1.0)}",
    ]


def _summary(machine: SVC | NuSVC, samples: TrainingSet) -> list[str]:
    """Return LIBSVM's lines about every pair of classes and the number of support vectors."""
    k = len(samples.labels)
    numbers = {tuple(pair): p for p, pair in enumerate(pairs(k).tolist())}
    lines = []
    for one, other in samples.order[pairs(k)].tolist():
        number = numbers[min(one, other), max(one, other)]
        fit = machine._fits[number]
        # LIBSVM's score is positive on the first side; ours of two classes on the greater label's
        same_side = (one > other) if k == 2 else (one < other)
        lines.append(f"optimization finished, #iter = {fit.n_iter}")
        by_nu = isinstance(machine, NuSVC)
        if fit.box.min() == fit.box.max():
            nu = fit.alpha.sum() / fit.box.sum()
            lines.append(f"C = {fit.box[0]:f}" if by_nu else f"nu = {nu:f}")
        intercept = machine._support.intercept[number]
        rho = -intercept if same_side else intercept
        lines.append(f"obj = {0.5 * fit.square if by_nu else -fit.dual:f}, rho = {rho:f}")
        bound = np.count_nonzero(fit.alpha == fit.box)
        lines.append(f"nSV = {np.count_nonzero(fit.alpha)}, nBSV = {bound}")
    return [*lines, f"Total nSV = {len(machine.support_)}"]


def _write_model(machine: Any, samples: TrainingSet, target: Path) -> Path:
    """Write the model with the label order and the sample numbers of the training file."""
    if (np.diff(samples.order) < 0).any():
        machine._ties = samples.order  # as in `load_libsvm`, where labels do not rise
    if samples.serials is not None:
        machine.support_ = (samples.serials[machine.support_] - 1).astype(np.int32)
    return save_libsvm(machine, target)


def _cross_validate_one_class(
    machine: OneClassSVM, samples: TrainingSet, folds: int, progress: bool | None
) -> float:
    """Return the share of samples whose label, 1 or -1, the machine of the other folds predicts."""
    machine.set_params(verbose=0)
    X, y = samples.X, samples.y
    part = _assign_folds(np.zeros(len(y), dtype=np.intp), folds)
    correct = 0
    with bar("folds", folds, show=progress) as advance:
        for fold in range(folds):
            train, test = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
            columns = slice(None) if samples.serials is None else train
            machine.fit(X[train][:, columns])
            correct += int(np.count_nonzero(machine.predict(X[test][:, columns]) == y[test]))
            advance()
    return correct / len(y)


def _cross_validate(
    machine: SVC | NuSVC, samples: TrainingSet, folds: int, progress: bool | None
) -> float:
    """Return the cross-validation accuracy; folds share one Gram matrix."""
    machine._check_parameters()
    classes, codes = np.unique(samples.y, return_inverse=True)
    order, k = np.argsort(codes, kind="stable"), len(classes)
    X, y = samples.X[order], codes[order]
    X = X if samples.serials is None else X[:, order]
    part = _assign_folds(y, folds)

    def count_correct(fold: int, result: RowsClassified) -> int:
        rows = np.flatnonzero(part == fold)
        return int(np.count_nonzero(result.codes(rows) == y[rows]))

    kernels = resolve_kernels("svm-train", [machine.kernel], machine, X)
    runs = [np.flatnonzero(part != fold) for fold in range(folds)]
    with bar("folds", folds, show=progress) as advance:
        monitor = FitMonitor(None, lambda _number: bool(advance()))
        shared = Products().of(machine, X, y, k)
        found = classify_many(
            with_coded_weights(machine, classes), shared, y, kernels, runs, count_correct,
            n_classes=k, monitor=monitor,
        )  # fmt: skip
        return sum(next(found)) / len(y)


def _assign_folds(y: Codes, folds: int) -> Codes:
    """Assign a fold to each row; the rows of every class are dealt out in random order.

    >>> _assign_folds(np.array([0, 0, 1, 1]), 2).reshape(2, 2).sum(axis=1).tolist()
    [1, 1]
    """
    rng = np.random.default_rng(FOLD_SEED)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)])
    part = np.empty(len(y), dtype=np.intp)
    part[rows] = np.arange(len(y)) % folds
    return part
