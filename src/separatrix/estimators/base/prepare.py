"""Input of `fit` and `predict`, checked once: samples, labels, weights, seeds.

scikit-learn's checks do most of it; their messages of several lines become one line.
"""

from __future__ import annotations

import reprlib
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.base.labels import as_labels, encode_labels, require_one_type
from separatrix.estimators.base.sample_types import (
    as_native,
    canonical_rows,
    is_valid_csr,
    writable,
)
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import is_plain_object, kernel_for_samples
from separatrix.kernels.graphs.graph_union import is_graph
from separatrix.kernels.object_kernels import first_base
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import (
    as_numpy,
    choose_device,
    device_name,
    is_tensor,
    require_same_device,
)
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Matrix, Vector

LARGE_BYTES = 8 * MEBIBYTE  # of samples, above which several threads check them: 1 ms of one
EXACT = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8")  # dtypes of tensors


class Training(NamedTuple):
    """A checked training set."""

    X: Any  # shape: (n, d); dense or CSR, or a tensor if the estimator runs on a GPU
    y: Codes  # shape: (n,); class codes
    classes: Any  # shape: (k,)
    weights: Vector  # shape: (n,); sample weights
    class_weights: Vector  # shape: (n,); weight of each sample's class

    def rates(self, eta0: float, scheme: str = "ovr") -> Matrix:
        """Learning rate times weight of each sample, (2, n): when added and when subtracted.

        As in scikit-learn, in one-vs-rest a class weight counts for its own class only.
        """
        added = eta0 * self.weights * self.class_weights
        against_rest = scheme == "ovr" and len(self.classes) > 2
        return np.stack([added, eta0 * self.weights if against_rest else added])


def prepare(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    class_weight: Any = None,
    dtype: Any = "numeric",
    classes: Any = None,
    reset: bool = True,
    balance: str = "rows",
) -> Training:
    """The checked training set of a classifier; `classes` if y need not contain all of them.

    "balanced" class weights count "rows" or their "weights": scikit-learn's models do either.
    """
    require_same_device(X, sample_weight)
    X, y = check_samples(estimator, X, y=y, dtype=dtype, reset=reset)
    y = as_labels(y)
    found, codes = encode_labels(y)
    given = classes is not None
    if not given:
        classes = found
    else:
        classes = np.unique(classes)
        unknown = np.setdiff1d(found, classes)
        if len(unknown):
            raise DataError(
                f"y holds labels {unknown.tolist()} that are not in classes {classes.tolist()}"
            )
        codes = np.searchsorted(classes, y)
    if len(classes) < getattr(estimator, "_least_classes", 2):
        raise DataError(
            f"{_name(estimator)} needs samples of at least 2 classes; "
            f"got one class, {classes.tolist()[0]!r}"
        )
    weights = check_weights(sample_weight, X.shape[0])
    by_class = class_weights(estimator, class_weight, y, classes)
    if class_weight == "balanced" and balance == "weights":
        by_code = np.bincount(codes, weights, minlength=len(classes))
        by_class = (weights.sum() / (len(classes) * np.maximum(by_code, 1e-300)))[codes]
    if not weights.any():
        raise DataError("`sample_weight` must have a weight above zero; all weights are zero")
    weighted = np.count_nonzero(np.bincount(codes, weights))
    if not given and weighted < getattr(estimator, "_least_weighted", 2):
        raise DataError(
            f"{_name(estimator)} needs samples of at least 2 classes; all but one class have weight 0"
        )
    return Training(X, codes.astype(np.intp), classes, weights, by_class)


def require_whole(estimator: Any, what: str) -> None:
    """Raise an error if a model from a slim file lacks what this needs."""
    if getattr(estimator, "_slim", False):
        raise UnsupportedError(
            f"{what} needs what a slim model file leaves out; save the model with slim=False, or fit "
            f"this {_name(estimator)} again"
        )


def require_fitted(estimator: Any) -> None:
    """Raise scikit-learn's error if a classifier has not been fitted; cheap if it has."""
    if "classes_" not in vars(estimator):
        check_is_fitted(estimator)


def check_unchanged(estimator: Any, begun: dict[str, Any]) -> None:
    """Raise an error if parameters changed since the fit that is to be resumed."""
    for name, value in begun.items():
        now = getattr(estimator, name)
        if now != value:
            raise ParameterError(
                _name(estimator),
                name,
                f"{value!r}, as at the start of this fit, to resume it",
                now,
            )


def classes_of_stream(estimator: Any, classes: Any) -> Any:
    """The classes of a `partial_fit`: named in the first call, the same in later ones."""
    known = getattr(estimator, "classes_", None)
    if known is None and classes is None:
        raise DataError("classes must be passed on the first call to partial_fit")
    if known is not None and classes is not None and not np.array_equal(np.unique(classes), known):
        raise DataError(
            f"`classes={np.asarray(classes).tolist()}` is not the same as on the first call to "
            f"partial_fit: {known.tolist()}"
        )
    return classes if known is None else known


def check_samples(estimator: Any, X: Any, *, dtype: Any = "numeric", **more: Any) -> Any:
    """Samples (and labels) through scikit-learn's checks, with one-line errors.

    Tensors become NumPy arrays, except samples on a GPU and those of an estimator with device="cuda".
    """
    if "y" in more:
        if more["y"] is None:
            raise DataError(f"{_name(estimator)} requires y to be passed, but the target y is None")
        require_same_device(X, more["y"])
        more["y"] = as_numpy(more["y"])
        require_one_type(more["y"])
    kernel = object_kernel(estimator, X, fitted=not more.get("reset", True))
    if kernel is not None:
        return _check_objects(estimator, kernel, X, **more)
    if _are_plain(estimator, X, dtype, more):
        if more.get("reset", True):
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("_slim", None)
        X = writable(X)
        return (X, more["y"]) if "y" in more else X
    _refuse_coarse(estimator, X)
    if is_tensor(X):
        if _keeps_tensor(estimator, X):
            return check_tensor(estimator, X, **more)
        X = as_numpy(X)
    _refuse_objects(estimator, X)
    X = as_native(X, _name(estimator))
    try:
        tags = get_tags(estimator).input_tags
        sparse = "csr" if tags.sparse else False
        if tags.allow_nan:
            more["ensure_all_finite"] = "allow-nan"
        checked = validate_data(estimator, X, accept_sparse=sparse, dtype=dtype, **more)
        samples = checked[0] if isinstance(checked, tuple) else checked
        samples = writable(canonical_rows(samples) if issparse(samples) else samples)
        checked = (samples, *checked[1:]) if isinstance(checked, tuple) else samples
        if more.get("reset", True):  # a new fit
            estimator.__dict__.pop("_slim", None)
        return checked
    except ValueError as error:
        if "\n" not in str(error):
            raise
        raise DataError(_join_lines(str(error))) from error


def _are_plain(estimator: Any, X: Any, dtype: Any, more: dict[str, Any]) -> bool:
    """Whether finite floats and codes of classes, as arrays, need none of scikit-learn's checks.

    Those take longer than many a prediction. Whatever is wrong or unusual is left to them.
    """
    sparse = isinstance(X, csr_array | csr_matrix)
    if not sparse and type(X) is not np.ndarray:
        return False
    if X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    if not isinstance(dtype, str) and X.dtype not in (
        dtype if isinstance(dtype, list) else [dtype]
    ):
        return False
    if not more.keys() <= {"reset", "y"} or not X.size or hasattr(estimator, "feature_names_in_"):
        return False
    if not more.get("reset", True) and X.shape[1] != getattr(estimator, "n_features_in_", None):
        return False
    if "y" in more:
        y = more["y"]
        if type(y) is not np.ndarray or y.dtype.kind not in "biu" or y.shape != X.shape[:1]:
            return False
    if sparse:
        accepted = get_tags(estimator).input_tags.sparse
        return bool(accepted and is_valid_csr(X) and _has_finite_sum(X.data))
    return _has_finite_sum(X)


def _has_finite_sum(X: Any) -> bool:
    """Whether the sum of all values is finite: then all are. Large arrays are read by several threads."""

    def part_sum(rows: slice) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return X[rows].sum()

    threads = thread_count() if X.nbytes > LARGE_BYTES else 1
    size = len(X) if threads == 1 else rows_that_fit(X.nbytes // len(X), LARGE_BYTES)
    rows = row_blocks(len(X), size)
    return bool(np.isfinite(in_threads(part_sum, rows, threads=threads)).all())


def check_tensor(
    estimator: Any, X: Any, *, reset: bool = True, multi_output: bool = False, **more: Any
) -> Any:
    """Samples that are a tensor (and labels, which are not) through the same checks, on its device."""
    X, name = X.detach(), _name(estimator)
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead: X has shape {tuple(X.shape)}"
        )
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if not count:
            raise DataError(
                f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required "
                f"by {name}."
            )
    # a finite sum shows that all are finite, without a copy
    finite = bool(X.sum().isfinite()) or bool(X.isfinite().all())
    if not finite and not get_tags(estimator).input_tags.allow_nan:
        what = "NaN" if bool(X.isnan().any()) else "infinity"
        raise DataError(f"Input X contains {what}. Drop or impute such values")
    validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of features
    if reset:
        estimator.__dict__.pop("_slim", None)
    return (X, _check_labels(more["y"], len(X), multi_output)) if "y" in more else X


def _keeps_tensor(estimator: Any, X: Any) -> bool:
    """Whether a tensor is not converted to NumPy."""
    if device_name(X) == "cpu":
        return getattr(estimator, "device", "cpu") == "cuda"
    if not hasattr(estimator, "device"):
        raise DataError(
            f"X is on {device_name(X)}, but {_name(estimator)} works on arrays in memory; pass X.cpu()"
        )
    choose_device(_name(estimator), estimator.device, X)  # raises an error on a mismatch
    return True


def _refuse_coarse(estimator: Any, X: Any) -> None:
    """Raise an error for dtypes too coarse for the GPU, or unknown to NumPy."""
    how = "X.float()"
    if is_tensor(X):
        if str(X.layout) != "torch.strided":
            raise DataError("X is a sparse tensor; pass X.to_dense()")
        found = str(X.dtype).removeprefix("torch.")
        coarse = (
            found not in EXACT
            if _keeps_tensor(estimator, X)
            else found.startswith(("bfl", "float8"))
        )
    else:
        found, how = str(getattr(X, "dtype", "")), "X.astype('float32')"
        coarse = found == "float16" and getattr(estimator, "device", "cpu") == "cuda"
    if coarse:
        raise DataError(
            f"X holds {found}, but {_name(estimator)} takes float32, float64 or integers; pass {how}"
        )


def object_kernel(estimator: Any, X: Any = None, *, fitted: bool = True) -> Any:
    """The kernel on objects inside the estimator's kernel; None if it takes vectors.

    That of a fitted estimator is `kernel_`; otherwise samples X decide what a function takes.
    """
    kernel = getattr(estimator, "_fitted_kernel", None) if fitted else None
    if kernel is None:
        kernel = kernel_for_samples(getattr(estimator, "_own_kernel", None), X)
    return first_base(kernel) if isinstance(kernel, Kernel) else None


def _check_objects(
    estimator: Any,
    kernel: Any,  # an ObjectKernel, or a FromCallable on objects
    X: Any,
    *,
    reset: bool = True,
    multi_output: bool = False,
    **more: Any,
) -> Any:
    """Objects (and labels) as the kernel takes them; a new fit warns of oddities."""
    X = kernel.checked(X)
    if not len(X):
        raise DataError(f"Found array with 0 sample(s) while {_name(estimator)} needs at least 1")
    if reset:
        for name in ("_slim", "n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
        for note in kernel.notes(X):
            warn_user(note)
    return (X, _check_labels(more["y"], len(X), multi_output)) if "y" in more else X


def _check_labels(y: Any, n: int, multi_output: bool) -> Any:
    """One finite label, or row of them, for each of n samples."""
    if multi_output:
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    else:
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
    if len(y) != n:
        raise DataError(f"X has {n} samples, but y has {len(y)} labels")
    return y


def _refuse_objects(estimator: Any, X: Any) -> None:
    """Raise an error that names a kernel for a list of strings or graphs."""
    flat = isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1
    first = next(iter(X), None) if flat else None
    if isinstance(first, str | bytes):
        kind, kernel = "sequences", "Spectrum(3)"
    elif is_graph(first):
        kind, kernel = "graphs", "WeisfeilerLehman(3)"
    elif is_plain_object(first):
        raise DataError(
            f"Expected 2D array of numbers, but X is a list of {type(first).__name__}: pass a function k "
            "of two of them, as kernel=FromCallable(k), to SVC, KernelPerceptron or KNeighborsClassifier"
        )
    else:
        return
    raise DataError(
        f"Expected 2D array of numbers, but X is a list of {type(first).__name__}: pass {_name(estimator)} "
        f"a kernel on {kind}, as kernel={kernel}, if it has one, or put KernelFeatures({kernel}) before "
        "it; a function k of two of them is a kernel as well, as kernel=FromCallable(k)"
    )


def _join_lines(message: str) -> str:
    lines = message.split("\n")
    if "NaN" in lines[0] or "infinity" in lines[0]:
        return f"{lines[0]} Drop or impute such values"
    return " ".join(lines) if len(message) < 400 else f"{lines[0]} ... {lines[-1]}"


def check_weights(sample_weight: Any, n: int) -> Vector:
    """One finite weight of at least 0 for each sample, (n,)."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weights = np.asarray(as_numpy(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"`sample_weight` must hold numbers; got {sample_weight!r:.60}") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise DataError(f"`sample_weight` must have shape ({n},); got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise DataError(f"`sample_weight` must be finite and at least 0; got {bad}")
    if (most := float(weights.max(initial=0.0))) > 1e100:  # squares of their sums would overflow
        raise DataError(f"`sample_weight` must be at most 1e100; got {most}: divide all weights")
    checked: Vector = writable(weights)
    return checked


def generator(estimator: Any) -> np.random.Generator:
    """A NumPy generator from an estimator's random_state: seed, `RandomState`, `Generator` or None."""
    random_state = estimator.random_state
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    integer = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if random_state is None or (integer and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ParameterError(
        _name(estimator), "random_state", "a seed of at least 0, a generator or None", random_state
    )


def class_weights(estimator: Any, class_weight: Any, y: Any, classes: Any) -> Vector:
    """Weight of each sample's class, (n,), from "balanced", a dict, or None for 1."""
    if class_weight is None:
        return np.ones(len(y))
    if class_weight != "balanced" and not isinstance(class_weight, dict):
        raise ParameterError(
            type(estimator).__name__, "class_weight", "a dict, 'balanced' or None", class_weight
        )
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
                raise ParameterError(
                    _name(estimator), "class_weight", "finite and at least 0", {label: weight}
                )
        # labels without an entry weigh 1; entries without a label are of classes that are not here
        known = classes.tolist()
        if set(class_weight) - set(known) and set(known) - set(class_weight):
            must_be = f"a dict with labels of {reprlib.repr(known)} as keys"
            raise ParameterError(_name(estimator), "class_weight", must_be, class_weight)
        class_weight = {label: class_weight.get(label, 1.0) for label in known}
    return np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)


def _name(estimator: Any) -> str:
    return type(estimator).__name__
