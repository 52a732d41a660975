"""`svm-train`: fit an SVC to a file and write a LIBSVM model file, or cross-validate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from separatrix.app.libsvm.samples import PathLike, TrainingSet, training_samples, with_hint
from separatrix.errors import ParameterError, UnsupportedError
from separatrix.estimators.base.gram_training import classify_many, resolve_kernels
from separatrix.estimators.base.multiclass import RowsClassified
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
OTHER_MACHINES = {
    1: ("nu-SVC", "-s 0 finds the same boundaries for a suitable -c"),
    2: ("one-class SVM", "separatrix has no outlier detection"),
    3: ("epsilon-SVR", "separatrix has no regression"),
    4: ("nu-SVR", "separatrix has no regression"),
}
FOLD_SEED = 0


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The flags of `svm-train`."""

    svm_type: int = 0  # -s. Only 0, which is C-SVC
    kernel_type: int = 2  # -t. Index into KERNELS; with 4 the file holds a kernel matrix
    degree: int = 3  # -d
    gamma: float = 0.0  # -g. 0 is one over the number of features
    coef0: float = 0.0  # -r
    cost: float = 1.0  # -c
    cache: float | None = None  # -m, cache size in MB. None: a quarter of the memory, at most 4096
    tolerance: float = 1e-3  # -e
    probability: int = 0  # -b. Only 0
    weights: Mapping[int, float] = field(default_factory=dict)  # -wi. Factors of C by class label
    folds: int | None = None  # -v. Cross-validate instead of writing a model
    progress: bool | None = False  # draw a bar on stderr. None: if stderr is a terminal


class TrainResult(NamedTuple):
    """Output of `svm-train`."""

    lines: list[str]  # LIBSVM's, for stdout
    notes: list[str]  # for stderr
    model: Path | None  # the file written; None after a cross-validation


def train_file(path: PathLike, model: PathLike | None, options: TrainOptions) -> TrainResult:
    """Train an SVC on a file and write it in LIBSVM's format, or cross-validate.

    The default model file is `<file name>.model` in the current folder.
    """
    _require_supported(options)
    samples = training_samples(path, precomputed=options.kernel_type == PRECOMPUTED)
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
        accuracy = _cross_validate(machine, samples, folds, options.progress)
        return TrainResult([f"Cross Validation Accuracy = {100 * accuracy:g}%"], notes, None)
    machine.fit(samples.X, samples.y)
    lines = _summary(machine, samples)
    target = Path(f"{Path(path).name}.model") if model is None else Path(model)
    return TrainResult(lines, notes, _write_model(machine, samples, target))


def _require_supported(options: TrainOptions) -> None:
    """Raise an error for options that only LIBSVM supports."""
    if options.svm_type in OTHER_MACHINES:
        name, hint = OTHER_MACHINES[options.svm_type]
        message = f"-s {options.svm_type} ({name}) is not supported; only -s 0, C-SVC"
        raise with_hint(UnsupportedError(message), hint)
    if options.svm_type:
        raise UnsupportedError(f"unknown SVM type -s {options.svm_type}; only -s 0")
    if options.probability:
        raise with_hint(
            UnsupportedError("-b 1, LIBSVM's probability estimates, is not supported"),
            "in Python, save an SVC(calibration='sigmoid') with separatrix.save, and give that file "
            "to svm-predict -b 1",
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


def _machine(samples: TrainingSet, options: TrainOptions) -> SVC:
    """Make the estimator from the flags."""
    return SVC(
        C=options.cost,
        kernel=KERNELS[options.kernel_type],
        degree=options.degree,
        gamma=options.gamma or 1.0 / max(1, samples.X.shape[1]),
        coef0=options.coef0,
        tol=options.tolerance,
        cache_size=options.cache,
        class_weight=dict(options.weights) or None,
        verbose=int(bool(options.progress)),
        random_state=FOLD_SEED,
    )


def _summary(machine: SVC, samples: TrainingSet) -> list[str]:
    """Return LIBSVM's lines about every pair of classes and the number of support vectors."""
    k = len(samples.labels)
    numbers = {tuple(pair): p for p, pair in enumerate(pairs(k).tolist())}
    lines = []
    for one, other in samples.order[pairs(k)].tolist():
        fit = machine._fits[numbers[min(one, other), max(one, other)]]
        # LIBSVM's score is positive on the first side; ours of two classes on the greater label's
        same_side = (one > other) if k == 2 else (one < other)
        lines.append(f"optimization finished, #iter = {fit.n_iter}")
        if fit.box.min() == fit.box.max():
            lines.append(f"nu = {fit.alpha.sum() / fit.box.sum():f}")
        rho = -fit.intercept if same_side else fit.intercept
        lines.append(f"obj = {-fit.dual:f}, rho = {rho:f}")
        bound = np.count_nonzero(fit.alpha == fit.box)
        lines.append(f"nSV = {np.count_nonzero(fit.alpha)}, nBSV = {bound}")
    return [*lines, f"Total nSV = {len(machine.support_)}"]


def _write_model(machine: SVC, samples: TrainingSet, target: Path) -> Path:
    """Write the model with the label order and the sample numbers of the training file."""
    if (np.diff(samples.order) < 0).any():
        machine._ties = samples.order  # as in `load_libsvm`, where labels do not rise
    if samples.serials is not None:
        machine.support_ = (samples.serials[machine.support_] - 1).astype(np.int32)
    return save_libsvm(machine, target)


def _cross_validate(machine: SVC, samples: TrainingSet, folds: int, progress: bool | None) -> float:
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
            machine, shared, y, kernels, runs, count_correct, n_classes=k, monitor=monitor
        )
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
