"""`svm-train`: an SVC from a file of samples into a model file of LIBSVM, or cross-validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from separatrix.app.libsvm.samples import (
    PathLike,
    Samples,
    training_samples,
    with_hint,
)
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
    2: ("one-class SVM", "separatrix classifies; it does not look for outliers"),
    3: ("epsilon-SVR", "separatrix classifies; it has no regression"),
    4: ("nu-SVR", "separatrix classifies; it has no regression"),
}
FOLD_SEED = 0


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The flags of `svm-train`."""

    svm_type: int = 0
    """-s. Only 0, which is C-SVC."""
    kernel_type: int = 2
    """-t. 0 linear, 1 polynomial, 2 Gaussian, 3 sigmoid, 4 a kernel matrix in the file."""
    degree: int = 3
    """-d."""
    gamma: float = 0.0
    """-g. 0 is one over the number of features."""
    coef0: float = 0.0
    """-r."""
    cost: float = 1.0
    """-c."""
    cache: float | None = None
    """-m, megabytes for kernel values. None: a share of what the machine has."""
    tolerance: float = 1e-3
    """-e."""
    probability: int = 0
    """-b. Only 0."""
    weights: Mapping[int, float] = field(default_factory=dict)
    """-wi. Factors of the cost of classes."""
    folds: int | None = None
    """-v. Cross-validate instead of writing a model."""
    progress: bool | None = False
    """Whether to draw a bar on stderr. None: where that is a terminal."""


class Trained(NamedTuple):
    """What there is to say in the end."""

    lines: list[str]  # LIBSVM's, for stdout
    notes: list[str]  # for stderr
    model: Path | None  # where it was written; None after a cross-validation


def train_file(path: PathLike, model: PathLike | None, options: TrainOptions) -> Trained:
    """Train an SVC on a file and write it in LIBSVM's format, or cross-validate.

    Without a name the model goes to `<name of the file>.model` in the current folder.
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
            notes.append(f"{path} has {folds} samples: each is a fold of its own")
        share = _cross_validated(machine, samples, folds, options.progress)
        return Trained([f"Cross Validation Accuracy = {100 * share:g}%"], notes, None)
    machine.fit(samples.X, samples.y)
    lines = _summary(machine, samples)
    target = Path(f"{Path(path).name}.model") if model is None else Path(model)
    return Trained(lines, notes, _written(machine, samples, target))


def _require_supported(options: TrainOptions) -> None:
    """Refuse by name what LIBSVM has and separatrix has not."""
    if options.svm_type in OTHER_MACHINES:
        name, hint = OTHER_MACHINES[options.svm_type]
        said = (
            f"-s {options.svm_type} is {name}, which separatrix does not have; it has -s 0, C-SVC"
        )
        raise with_hint(UnsupportedError(said), hint)
    if options.svm_type:
        raise UnsupportedError(f"-s {options.svm_type} is no type of SVM; separatrix has -s 0")
    if options.probability:
        raise with_hint(
            UnsupportedError(
                "-b 1 asks for LIBSVM's probability estimates, which separatrix does not have"
            ),
            "in Python, save an SVC(calibration='sigmoid') with separatrix.save, and give that file "
            "to svm-predict -b 1",
        )
    if not 0 <= options.kernel_type <= PRECOMPUTED:
        raise UnsupportedError(
            f"-t {options.kernel_type} is no type of kernel; there are 0 to {PRECOMPUTED}"
        )
    if options.folds is not None:
        require_integer("svm-train", "-v", options.folds, least=2)
    positive = {"-c": options.cost, "-e": options.tolerance, "-m": options.cache}
    weights = {f"-w{label}": weight for label, weight in options.weights.items()}
    for flag, value in {**positive, **weights}.items():
        if value is not None and not value > 0:
            raise ParameterError("svm-train", flag, "above 0", value)


def _machine(samples: Samples, options: TrainOptions) -> SVC:
    """The estimator that the flags ask for."""
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


def _summary(machine: SVC, samples: Samples) -> list[str]:
    """LIBSVM's lines on every pair of classes, in its order, and how many support vectors there are."""
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


def _written(machine: SVC, samples: Samples, target: Path) -> Path:
    """Write the model with the order of labels, and the numbers of samples, of the training file."""
    if (np.diff(samples.order) < 0).any():
        machine._ties = samples.order  # as in `load_libsvm`, where labels do not rise
    if samples.serials is not None:
        machine.support_ = (samples.serials[machine.support_] - 1).astype(np.int32)
    return save_libsvm(machine, target)


def _cross_validated(machine: SVC, samples: Samples, folds: int, progress: bool | None) -> float:
    """Share of samples that are right when their fold is left out; folds share one Gram matrix."""
    machine._check_parameters()
    classes, codes = np.unique(samples.y, return_inverse=True)
    order, k = np.argsort(codes, kind="stable"), len(classes)
    X, y = samples.X[order], codes[order]
    X = X if samples.serials is None else X[:, order]
    part = _stratified(y, folds)

    def right(fold: int, result: RowsClassified) -> int:
        rows = np.flatnonzero(part == fold)
        return int(np.count_nonzero(result.codes(rows) == y[rows]))

    kernels = resolve_kernels("svm-train", [machine.kernel], machine, X)
    runs = [np.flatnonzero(part != fold) for fold in range(folds)]
    with bar("folds", folds, show=progress) as advance:
        monitor = FitMonitor(None, lambda _number: bool(advance()))
        shared = Products().of(machine, X, y, k)
        found = classify_many(
            machine, shared, y, kernels, runs, right, n_classes=k, monitor=monitor
        )
        return sum(next(found)) / len(y)


def _stratified(y: Codes, folds: int) -> Codes:
    """A fold for each row; every class is dealt out over the folds in a random order.

    >>> _stratified(np.array([0, 0, 1, 1]), 2).reshape(2, 2).sum(axis=1).tolist()
    [1, 1]
    """
    rng = np.random.default_rng(FOLD_SEED)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)])
    part = np.empty(len(y), dtype=np.intp)
    part[rows] = np.arange(len(y)) % folds
    return part
