"""Model files of LIBSVM, as `svm-train` writes and `svm-predict` reads them.

In such a file, classes come in any order, the score of a pair is positive for the class that comes first, a
score of 0 goes to the other, and of equal votes the first class wins. In an `SVC`, classes are sorted, and
the score of two classes is positive for the second. `_PairBoundaries` has LIBSVM's signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from separatrix.errors import ModelFileError, UnsupportedError
from separatrix.estimators.base.support import Support, centred_weights
from separatrix.estimators.base.svc_certificate import EXACT, has_weights, is_far
from separatrix.estimators.calibration import Calibration
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.one_class_svm import OneClassSVM
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Precomputed
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.modelfile.container import open_container, unwritable
from separatrix.modelfile.files import PathLike, as_path, require_fitted
from separatrix.modelfile.libsvm_parser import (
    KERNELS,
    LARGEST_INT,
    LONGEST_LINE,
    LibsvmHeader,
    NumberedLines,
    SupportRows,
    read_header,
    read_rows,
)
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer

BLOCK_BYTES = 16 * MEBIBYTE  # of support vectors written at a time
SPARSE_BELOW = 0.25  # fraction of stored values
MOST_CHECKED = 200  # support vectors whose scores are compared with the rounding of LIBSVM's
NAMES = {make: name for name, make in KERNELS.items()}


def save_libsvm(model: Any, path: PathLike) -> Path:
    """Write a fitted `SVC`, `NuSVC` or `OneClassSVM` as a model file of LIBSVM, for `svm-predict`.

    Every number is read back exactly. The format holds integer labels, one boundary for each pair of
    classes, and the kernels "linear", "poly", "rbf", "sigmoid" and "precomputed"; other models are refused.
    Of the probabilities it holds those of `calibration="platt"`; others are left out, with a warning.
    `save` keeps the complete model.

    LIBSVM adds products with the vectors as they are, and far from the origin these cancel. A linear kernel
    whose coefficients sum to 0 has the same scores with the vectors about their mean, which are written
    there. Where the signs of other models would be rounding, a warning says at how many support vectors.

    Parameters
    ----------
    model
        A fitted `SVC`, `NuSVC` or `OneClassSVM`.
    path
        The file to write; an existing one is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, load_libsvm, save_libsvm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_libsvm(save_libsvm(model, f"{folder}/iris.model"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    path = as_path(path)
    _require_svc(model)
    vectors = _vectors_to_write(model)
    if isinstance(model, OneClassSVM):
        written = _lines_of_one_class(model, vectors)
    else:
        labels = _integer_labels(model.classes_)
        _warn_of_what_is_left_out(model, labels)
        written = _lines_of(model, labels, vectors)
    _warn_of_rounding(model, vectors)
    try:
        with (
            atomic_write(path) as temporary,
            temporary.open("w", encoding="ascii", newline="\n") as file,
        ):
            for line in written:
                if len(line) >= LONGEST_LINE:
                    size, most = in_words(len(line)), in_words(LONGEST_LINE)
                    why = f"a line of {path} would have {size}, and `load_libsvm` reads at most {most}"
                    raise ModelFileError("limit", f"{why}; use `save`")
                file.write(line + "\n")
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _warn_of_what_is_left_out(model: Any, labels: list[int]) -> None:
    name = type(model).__name__
    calibration = getattr(model, "_calibration", None)
    for left_out, found in (
        (
            f"the probabilities of this {name}, only those of calibration='platt': they are left out",
            calibration is not None and calibration.method != "platt",
        ),
        (
            "break_ties=True: in this file equal votes go to the class that comes first",
            model.break_ties and len(labels) > 2,
        ),
    ):
        if found:
            warn_user(f"LIBSVM's format cannot store {left_out}; `save` keeps it")


def _vectors_to_write(model: Any) -> Any:
    """The support vectors, (s, d), or about their mean where that gives the same scores to more digits."""
    vectors = model.support_vectors_
    if not len(model.support_) or not (has_weights(model.kernel_, vectors) and is_far(vectors)):
        return vectors
    return vectors - centred_weights(model._support, vectors)[1]


def _warn_of_rounding(model: Any, vectors: Any) -> None:
    """Warn if LIBSVM's sums leave rounding of some scores of support vectors."""
    if isinstance(model.kernel_, Precomputed | Gaussian) or not len(model.support_):
        return  # no products that cancel
    every = -(-vectors.shape[0] // MOST_CHECKED)
    own, coef = model.support_vectors_[::every], np.asarray(model._support.columns())
    K = model.kernel_.block(own, vectors)
    scores = np.asarray(K @ coef.T) + model._support.intercept
    sizes = np.abs(K) @ np.abs(coef).T + np.abs(model._support.intercept)
    uncertain = (np.abs(scores) <= np.finfo(np.float64).eps * sizes).any(axis=1)
    if uncertain.any():
        warn_user(
            f"svm-predict cannot tell the side of {uncertain.sum()} of {len(uncertain)} support vectors "
            f"of this {type(model).__name__}: its sums reach {sizes.max():.2g}, and their last digit is "
            "larger than the score; scale the features and fit again, or use `save`"
        )


def load_libsvm(path: PathLike, *, n_features: int | None = None) -> SVC | NuSVC | OneClassSVM:
    """Read a C-SVC, a nu-SVC or a one-class machine of LIBSVM as `SVC`, `NuSVC` or `OneClassSVM`.

    It predicts as `svm-predict` does, and cannot be trained further; the file does not hold C or nu.
    Probabilities of classes (`svm-train -b 1`) are those of `calibration="platt"`; of a one-class machine
    they are left out, with a warning. A damaged or truncated file raises `ModelFileError`.

    Parameters
    ----------
    path
        The file.
    n_features
        Number of features, or of training samples if the kernel is precomputed. The file does not contain
        it; the default is the largest index in the file.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix import SVC, save_libsvm
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_libsvm(save_libsvm(model, f"{folder}/small.txt"))
    >>> again.predict([[0.2]]).tolist()
    [0]
    """
    path = as_path(path)
    if n_features is not None:
        require_integer("load_libsvm", "n_features", n_features, least=1)
    with open_container(path) as file:
        lines = NumberedLines(path, file)
        header = read_header(lines)
        rows = read_rows(lines, header)
        make = _make_one_class if header.machine == "one_class" else _make_svc
        model = make(lines, header, rows, n_features)
    if header.marks and header.machine == "one_class":
        warn_user(
            f"{path} has probabilities of a density (svm-train -s 2 -b 1), which are left out: "
            "OneClassSVM has scores, but no probabilities"
        )
    return model


class _PairBoundaries(NamedTuple):
    """One boundary for each pair of classes, positive for the first class of the pair."""

    counts: Codes  # shape: (k,); support rows of each class, which lie class after class
    coef: Matrix  # shape: (k - 1, s); of each row against each other class
    intercept: Vector  # shape: (p,)

    def in_order(self, order: Codes) -> tuple[_PairBoundaries, Codes]:
        """The same boundaries with the classes in another order, and the rows in theirs.

        >>> one = _PairBoundaries(np.array([1, 2]), np.array([[0.5, -0.2, -0.3]]), np.array([7.0]))
        >>> turned, rows = one.in_order(np.array([1, 0]))
        >>> rows.tolist(), turned.coef.tolist(), turned.intercept.tolist()
        ([1, 2, 0], [[0.2, 0.3, -0.5]], [-7.0])
        """
        k = len(order)
        own = np.repeat(np.arange(k), self.counts)
        rows = np.argsort(np.argsort(order)[own], kind="stable")
        full = np.zeros((len(own), k))  # of each row against each class, its own among them
        full[own[:, None] != np.arange(k)] = self.coef.T.ravel()
        full *= _first_sign(own, k)  # positive for its own class, then for the first of the pair
        full, own = full[rows][:, order], np.repeat(np.arange(k), self.counts[order])
        full *= _first_sign(own, k)
        coef = np.ascontiguousarray(full[own[:, None] != np.arange(k)].reshape(-1, k - 1).T)
        first, second = order[pairs(k)].T
        between = np.zeros((k, k))
        between[tuple(pairs(k).T)] = self.intercept
        intercept = np.where(first < second, between[first, second], -between[second, first])
        return _PairBoundaries(self.counts[order], coef, intercept), rows


def _first_sign(own: Codes, k: int) -> Matrix:
    """+1 where the class of a row comes before the other, -1 where after."""
    return np.where(own[:, None] < np.arange(k), 1.0, -1.0)


def _sign(k: int) -> float:
    """From the signs of `Support` to those of `_PairBoundaries`, or back."""
    return -1.0 if k == 2 else 1.0


def _unsupported(why: str) -> ModelFileError:
    return ModelFileError("unsupported", why)


def _require_svc(model: Any) -> None:
    name = type(model).__name__
    if type(model) not in (SVC, NuSVC, OneClassSVM):
        raise _unsupported(f"`save_libsvm` takes a fitted SVC, NuSVC or OneClassSVM; got {name}")
    require_fitted(model)
    if model.kernel_.takes != "vectors":
        raise UnsupportedError(
            f"LIBSVM's files hold vectors, and this {name} was trained on {model.kernel_.takes}; `save` "
            "writes a file of separatrix, which can hold them"
        )
    if type(model.kernel_) not in NAMES:
        raise _unsupported(
            f"LIBSVM has no kernel {model.kernel_!r:.80}; it has {', '.join(KERNELS)}. `save` writes "
            "a file of separatrix, which can hold more"
        )
    if isinstance(model, OneClassSVM):
        return
    if model.multi_class == "ovr" and len(model.classes_) > 2:
        raise _unsupported(
            f"LIBSVM has one boundary for each pair of classes, and this {name} one for each class against "
            "the rest; fit it with multi_class='ovo', or use `save`"
        )


def _integer_labels(classes: Any) -> list[int]:
    encode = "encode them, for example with sklearn.preprocessing.LabelEncoder, and fit again"
    if classes.dtype.kind not in "iuf" or (classes % 1 != 0).any():
        found = f"{classes.tolist()!r:.60}"
        raise _unsupported(f"labels of LIBSVM are whole numbers, and these are {found}; {encode}")
    labels = [int(label) for label in classes.tolist()]
    large = [label for label in labels if not -LARGEST_INT - 1 <= label <= LARGEST_INT]
    if large:
        raise _unsupported(f"labels of LIBSVM have 32 bits, and {large[0]} has more; {encode}")
    return labels


def _lines_of_one_class(model: Any, vectors: Any) -> Iterator[str]:
    rows = np.arange(len(model.support_))
    yield from _kernel_lines(model, "one_class")
    yield "nr_class 2"
    yield f"total_sv {len(rows)}"
    yield f"rho {_format(-model._support.intercept)}"
    yield from _support_lines(model, vectors, model._support.coef, rows)


def _kernel_lines(model: Any, machine: str) -> Iterator[str]:
    yield f"svm_type {machine}"
    yield f"kernel_type {NAMES[type(model.kernel_)]}"
    for name, value in model.kernel_.get_params(deep=False).items():
        yield f"{name} {int(value) if name == 'degree' else repr(float(value))}"


def _support_lines(model: Any, vectors: Any, coef: Matrix, rows: Codes) -> Iterator[str]:
    yield "SV"
    for own, entries in zip(coef.T, _entries(model, vectors, rows), strict=True):
        yield f"{_format(own)} {entries}"


def _lines_of(model: Any, labels: list[int], vectors: Any) -> Iterator[str]:
    k = len(labels)
    order = getattr(model, "_ties", np.arange(k))  # of a model from a LIBSVM file, as there
    support, sign = model._support, _sign(k)
    own = _PairBoundaries(np.diff(support.cuts), sign * support.coef, sign * support.intercept)
    boundaries, rows = own.in_order(order)
    yield from _kernel_lines(model, "nu_svc" if isinstance(model, NuSVC) else "c_svc")
    yield f"nr_class {k}"
    yield f"total_sv {len(rows)}"
    yield f"rho {_format(-boundaries.intercept)}"
    yield f"label {' '.join(str(labels[c]) for c in order)}"
    calibration = getattr(model, "_calibration", None)
    if calibration is not None and calibration.method == "platt":
        slopes = calibration.slopes * [1.0, _sign(k)]
        A, B = _platt_in_order(slopes, order).T
        yield f"probA {_format(A)}"
        yield f"probB {_format(B)}"
    yield f"nr_sv {' '.join(map(str, boundaries.counts.tolist()))}"
    yield from _support_lines(model, vectors, boundaries.coef, rows)


def _platt_in_order(slopes: Matrix, order: Codes) -> Matrix:
    """A and B of each pair with the classes in another order: a pair that is turned has -B.

    >>> _platt_in_order(np.array([[-2.0, 0.5]]), np.array([1, 0])).tolist()
    [[-2.0, -0.5]]
    """
    k = len(order)
    numbers = np.zeros((k, k), dtype=np.int64)
    numbers[tuple(pairs(k).T)] = np.arange(len(slopes))
    first, second = order[pairs(k)].T
    turned = first > second
    number = numbers[np.minimum(first, second), np.maximum(first, second)]
    return np.asarray(slopes[number] * np.stack([np.ones(len(turned)), 1 - 2.0 * turned], axis=1))


def _format(values: Vector) -> str:
    return " ".join(map(repr, values.tolist()))


def _entries(model: Any, vectors: Any, rows: Codes) -> Iterator[str]:
    """Indices and values of each support vector; of a precomputed kernel, its number."""
    if isinstance(model.kernel_, Precomputed):
        yield from (f"0:{number}" for number in (model.support_[rows] + 1).tolist())
        return
    for part in row_blocks(len(rows), rows_that_fit(8 * vectors.shape[1], BLOCK_BYTES, most=256)):
        block = csr_array(vectors[rows[part]], dtype=np.float64)
        block.sum_duplicates()
        block.eliminate_zeros()
        words = [
            f"{index}:{value!r}"
            for index, value in zip((block.indices + 1).tolist(), block.data.tolist(), strict=True)
        ]
        yield from (" ".join(words[start:end]) for start, end in pairwise(block.indptr.tolist()))


def _make_svc(
    lines: NumberedLines, header: LibsvmHeader, rows: SupportRows, n_features: int | None
) -> SVC | NuSVC:
    """An SVC or NuSVC with the attributes of a fitted one that the file determines."""
    labels = np.array(header.labels, dtype=np.int64)
    order = np.argsort(labels)
    pairs_of_file = _PairBoundaries(header.counts, rows.coef.T, -header.rho)
    (counts, coef, intercept), which = pairs_of_file.in_order(order)
    k, s, d = len(order), len(which), _count_features(lines, header, rows, n_features)

    model = (NuSVC if header.machine == "nu_svc" else SVC)(**header.params)
    model.kernel_, model.classes_ = header.kernel, labels[order]
    if header.platt is not None:
        slopes = _platt_in_order(header.platt, order) * [1.0, _sign(k)]
        model.calibration = "platt"
        model._calibration = Calibration("platt", k, "ovo", slopes)
    cuts, own = np.concatenate([[0], np.cumsum(counts)]), np.repeat(np.arange(k), counts)
    coef, intercept = _sign(k) * coef, _sign(k) * intercept
    model._support = Support(np.arange(s), own, cuts, coef, intercept, paired=k > 2)
    _set_vectors(model, header, rows, which, d)
    if (np.diff(order) < 0).any():
        model._ties = np.argsort(order)
    return model


def _make_one_class(
    lines: NumberedLines, header: LibsvmHeader, rows: SupportRows, n_features: int | None
) -> OneClassSVM:
    """A OneClassSVM with the attributes of a fitted one that the file determines."""
    s, d = len(rows.coef), _count_features(lines, header, rows, n_features)
    model = OneClassSVM(**header.params)
    model.kernel_ = header.kernel
    own = np.zeros(s, dtype=np.int64)
    coef = np.ascontiguousarray(rows.coef.T)
    model._support = Support(np.arange(s), own, np.array([0, s]), coef, -header.rho, paired=False)
    _set_vectors(model, header, rows, np.arange(s), d)
    return model


def _set_vectors(model: Any, header: LibsvmHeader, rows: SupportRows, which: Codes, d: int) -> None:
    """Set what a fitted model has beside its coefficients; `which` is the order of the file's rows."""
    s = len(which)
    model.n_features_in_ = d
    if isinstance(header.kernel, Precomputed):
        model.shape_fit_ = (max(s, d), d)
        model.support_ = (rows.values[which] - 1).astype(np.int32)
        model.support_vectors_ = np.empty((0, 0))
    else:
        model.shape_fit_ = (s, d)
        model.support_ = np.arange(s, dtype=np.int32)
        model.support_vectors_ = _make_vectors(rows, d)[which]
    model._show_coefficients()
    model._tolerance, model._slim = EXACT, True


def _count_features(
    lines: NumberedLines, header: LibsvmHeader, rows: SupportRows, n_features: int | None
) -> int:
    """Features of a sample, or columns of a kernel matrix."""
    precomputed = isinstance(header.kernel, Precomputed)
    largest = int((rows.values if precomputed else rows.indices).max(initial=1))
    if n_features is None:
        return largest
    if not largest <= n_features <= LARGEST_INT:
        raise ModelFileError(
            "invariant",
            f"{lines.path}: found indices up to {largest}, expected none above n_features={n_features}; "
            f"give one from {largest} to {LARGEST_INT}, or none",
        )
    return int(n_features)


def _make_vectors(rows: SupportRows, d: int) -> Any:
    """The vectors, (s, d): dense, or CSR if few values are stored."""
    s = len(rows.indptr) - 1
    kind = np.int32 if len(rows.values) <= LARGEST_INT else np.int64
    positions = (rows.indices - 1).astype(kind), rows.indptr.astype(kind)
    sparse = csr_array((rows.values, *positions), shape=(s, d))
    return sparse if len(rows.values) < SPARSE_BELOW * s * d else sparse.toarray()
