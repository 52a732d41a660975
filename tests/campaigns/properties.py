"""R2: what must not change an answer does not: order, names, weights, memory layout, files, threads."""

import os
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter
from tests.campaigns.campaign import Campaign
from tests.campaigns.problems import (
    CLASSES,
    EVERY,
    EXACT,
    OBJECTS,
    UNWEIGHTED,
    assert_close,
    draw,
    draw_for,
    outputs,
    seeded,
    taken,
    with_feasible_nu,
)
from tests.contracts.calls import make
from tests.contracts.test_properties import INCREMENTAL
from threadpoolctl import threadpool_limits

from separatrix import CategoricalNB, KernelFeatures, SubgradientSVC, load, save
from separatrix.errors import ModelFileError

LOOSE = 2e-3  # at default tolerances, or in float32


def _drawn(calls, number, **more):
    call = calls[number % len(calls)]
    X, y, rng = draw_for(call, number // len(calls), **more)
    return with_feasible_nu(seeded(call), np.bincount(y)), X, y, rng


def _signless(model, found):
    """The axes of a transformer have no natural sign, and counted features no natural order."""
    if isinstance(model, KernelFeatures):
        return found @ found.T
    return np.abs(found) if not hasattr(model, "predict_proba") and _only_maps(model) else found


def _only_maps(model):
    return hasattr(model, "transform") and not hasattr(model, "decision_function")


def _unsure(*models):
    """Whether a fit says that its scores mean little: nu leaves no margin, or steps never settle."""
    stops = [str(getattr(model, "stop_", "")) for model in models]
    settled = not isinstance(models[0], SubgradientSVC) or "max_iter" not in "".join(stops)
    return not settled or any("no margin" in stop or "stalled" in stop for stop in stops)


def _choice(model):
    """The cell that a search has chosen."""
    names = ("C_", "l1_ratio_", "best_params_", "best_kernel_")
    return [str(getattr(model, name, None)) for name in names]


def rows(number):
    """The order of the samples does not matter."""
    model, X, y, rng = _drawn(EXACT, number)
    order = rng.permutation(len(y))
    first, second = clone(model).fit(X, y), clone(model).fit(taken(X, order), y[order])
    if _unsure(first, second):
        return
    assert_close(_signless(model, outputs(second, X)), _signless(model, outputs(first, X)))


def columns(number):
    """The order of the features does not matter."""
    model, X, y, rng = _drawn(COLUMNS, number)
    order = rng.permutation(X.shape[1])
    rtol = 1e-5 if COLUMNS[number % len(COLUMNS)] in EXACT else LOOSE
    first, second = clone(model).fit(X, y), clone(model).fit(X[:, order], y)
    if _unsure(first, second):
        return
    found = _signless(model, outputs(second, X[:, order]))
    assert_close(found, _signless(model, outputs(first, X)), rtol)


def labels(number):
    """Names of classes permute the answers, nothing else."""
    model, X, y, rng = _drawn(LABELLED, number)
    names = np.array(CLASSES)[rng.permutation(4)[: int(y.max()) + 1]]
    first, second = clone(model).fit(X, y), clone(model).fit(X, names[y])
    if _unsure(first, second):
        return
    loose = LABELLED[number % len(LABELLED)] not in EXACT
    sure = _certain(first, X, LOOSE if loose else 1e-6)
    np.testing.assert_array_equal(second.predict(X)[sure], names[first.predict(X)][sure])


def _certain(model, X, margin):
    """Samples whose best two scores differ by more than a margin."""
    found = outputs(model, X)
    if _only_maps(model) or not hasattr(model, "predict_proba"):
        found = model.decision_function(X) if hasattr(model, "decision_function") else found
    if found.ndim == 1 or found.shape[1] == 1:
        return np.abs(found.ravel()) > margin * max(1.0, np.abs(found).max())
    if len(model.classes_) == 2:
        return np.abs(found[:, 0] - found[:, 1]) > margin
    best = np.sort(found, axis=1)
    return best[:, -1] - best[:, -2] > margin * np.maximum(1.0, np.abs(best[:, -1]))


WEIGHTED = tuple(
    call
    for call in EXACT
    if not call.startswith(UNWEIGHTED) and has_fit_parameter(make(call), "sample_weight")
)
# Every model but: LIBSVM's kind at a loose tolerance, which rounding leads along another path (tight ones
# are in EXACT); maps whose columns are those of the features; square matrices; texts.
COLUMNS = (
    *(call for call in EXACT if not call.startswith(OBJECTS)),
    *(
        call
        for call in EVERY
        if not call.startswith(
            ("SVC", "NuSVC", "OneClass", "PolynomialMap", "RandomFourier", *OBJECTS)
        )
        and "precomputed" not in call
    ),
)
# Of those: what has classes. Perceptrons of all classes at once begin with a tie, for the first name.
LABELLED = tuple(
    call
    for call in COLUMNS
    if hasattr(make(call), "predict")
    and not call.startswith(("OneClass", "KernelPerceptron()", "KernelPerceptronCV"))
    and not any(said in call for said in ("argmax", "multi_class='auto'", "budget"))
)


def weights(number):
    """A weight is a repetition, and weight 0 a removal."""
    model, X, y, rng = _drawn(WEIGHTED, number)
    times = rng.integers(0, 4, size=len(y))
    for code in range(int(y.max()) + 1):
        times[np.flatnonzero(y == code)[:3]] += 1
    with_feasible_nu(model, np.bincount(y, weights=times))
    weighted = clone(model).fit(X, y, sample_weight=times.astype(float))
    repeated = clone(model).fit(X.repeat(times, axis=0), y.repeat(times))
    if _unsure(weighted, repeated):
        return
    assert_close(_signless(model, outputs(weighted, X)), _signless(model, outputs(repeated, X)))


def files(number):
    """A saved model answers bit for bit as the model does."""
    model, X, y, _ = _drawn(EVERY, number)
    model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = save(model, Path(folder) / "x.model", slim=bool(number % 2))
        except ModelFileError as error:
            assert error.reason == "unsupported"
            return
        np.testing.assert_array_equal(outputs(load(path), X), outputs(model, X))


def parts(number):
    """Batches of `partial_fit` give the model of one fit."""
    model = clone(INCREMENTAL[number % len(INCREMENTAL)])
    if getattr(model, "shrinkage", None) == "auto" or getattr(model, "priors", None) is not None:
        return  # the first needs all rows twice, the second three classes
    X, y, rng = draw(number // len(INCREMENTAL), positive=True)
    whole = clone(model).fit(X, y)
    for part in np.array_split(rng.permutation(len(y)), 3):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    assert_close(outputs(model, X), outputs(whole, X))


def threads(number):
    """One thread and several give the same numbers."""
    model, X, y, _ = _drawn(EVERY, number)
    answers = []
    for cores in (sorted(os.sched_getaffinity(0))[:1], os.sched_getaffinity(0)):
        with _on_cores(cores):
            answers.append(outputs(clone(model).fit(X, y), X))
    assert_close(*answers, rtol=1e-9)


@contextmanager
def _on_cores(cores):
    before, workers = os.sched_getaffinity(0), numba.get_num_threads()
    os.sched_setaffinity(0, cores)
    numba.set_num_threads(min(len(cores), workers))
    try:
        with threadpool_limits(len(cores)):
            yield
    finally:
        os.sched_setaffinity(0, before)
        numba.set_num_threads(workers)


FORMED = tuple(call for call in EVERY if not call.startswith(OBJECTS))


def forms(number):
    """The layout of the same numbers in memory does not matter."""
    name = list(FORMS)[number // len(FORMED) % len(FORMS)]
    model, X, y, _ = _drawn(FORMED, number, positive=True, whole=True)
    if name == "sparse" and ("precomputed" in str(model) or isinstance(model, CategoricalNB)):
        return  # they take no sparse matrix, or take it for a graph of neighbours
    minimises = type(model).__name__ in MINIMISING and name != "float32"
    if minimises:  # rounding decides where a loose tolerance is met
        limit = model.max_iter if model.max_iter < 0 else 100_000
        model.set_params(tol=min(model.tol, 1e-9), max_iter=limit)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        plain, with_form = clone(model).fit(X, y), clone(model).fit(FORMS[name](X), y)
    warned = any(issubclass(one.category, ConvergenceWarning) for one in said)
    if warned and (minimises or name in ("sparse", "Fortran")):
        return  # where a fit ends that does not converge depends on rounding
    if _unsure(plain, with_form):
        return
    expected = _signless(model, outputs(plain, X))
    rtol = LOOSE if name == "float32" or (name == "sparse" and not minimises) else 1e-5
    if name in ("float32", "sparse") and _choice(plain) != _choice(with_form):
        return  # scores of two cells of a search tie up to the tolerance
    if minimises and np.abs(expected).max(initial=0.0) < 1e-6:
        return  # scores of 0 but for rounding: margins are 1
    if "calibration" in str(model):
        rtol *= 10  # a curve fitted to scores of a loose tolerance
    if "vote" in str(model):
        rtol = 10 * LOOSE  # on whole numbers some of many votes are of a score of 0
    assert_close(_signless(model, outputs(with_form, FORMS[name](X))), expected, rtol)


def _strided(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _mapped(X):
    handle, path = tempfile.mkstemp(suffix=".npy")
    os.close(handle)
    np.save(path, X)
    found = np.load(path, mmap_mode="r")
    os.unlink(path)
    return found


FORMS = {
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": _read_only,
    "mapped": _mapped,
    "big-endian": lambda X: X.astype(">f8"),
    "long": lambda X: X.astype(np.longdouble),
    "float32": lambda X: X.astype(np.float32),
    "list": lambda X: X.tolist(),
    "sparse": lambda X: csr_array(X),
}
MINIMISING = ("SVC", "NuSVC", "OneClassSVM", "LinearSVC", "KernelLogisticRegression")
MINIMISING += ("LogisticRegression", "LogisticRegressionCV")
CAMPAIGN = Campaign(
    "R2 properties of every estimator: rows, columns, labels, weights, files, batches, threads, layouts",
    lambda: {
        **{"rows": rows, "columns": columns, "labels": labels, "weights": weights},
        **{"files": files, "parts": parts, "threads": threads, "forms": forms},
    },
    short=3,
    middle=5,
    full=10_000,
)
