"""Random problems and the models that are tried on them, shared by the campaigns on estimators."""

import numpy as np
from tests.campaigns.campaign import chosen
from tests.contracts.calls import make

from separatrix.estimators.registry import REGISTRY

# Models whose answer is the solution of a problem, to a tight tolerance: no order of rows, no seed.
# `break_ties`: a tie of votes is otherwise won by the class whose name comes first.
EXACT = (
    *(
        "SVC(gamma=0.5, tol=1e-9, break_ties=True)",
        "SVC(kernel='linear', C=0.5, tol=1e-9, break_ties=True)",
    ),
    "NuSVC(nu=0.2, gamma=0.5, tol=1e-9, break_ties=True)",
    *("SVC(kernel=Polynomial(2, coef0=1.0), tol=1e-9, multi_class='ovr')",),
    *("KernelLogisticRegression(gamma=0.5, tol=1e-10)",),
    *("KernelFisherDiscriminant(gamma=0.1)", "LeastSquaresClassifier(0.5)"),
    *("LinearSVC(tol=1e-10, max_iter=100_000)", "LogisticRegression(tol=1e-11, max_iter=10_000)"),
    "LinearSVC(loss='hinge', dual=True, tol=1e-10, max_iter=1_000_000)",
    "LogisticRegression(l1_ratio=1.0, C=0.5, solver='saga', tol=1e-11, max_iter=10_000)",
    *("LinearDiscriminantAnalysis()", "LinearDiscriminantAnalysis('lsqr', shrinkage=0.3)"),
    *("QuadraticDiscriminantAnalysis(reg_param=0.3)", "GaussianNB(var_smoothing=0.1)"),
    *("MultinomialNB()", "BernoulliNB(binarize=1.0)", "ComplementNB(norm=True)"),
    *("NearestCentroid()", "FisherDiscriminant(ridge=0.1)"),
    *("KNeighborsClassifier(3, weights='distance')", "RadiusNeighborsClassifier(50.0)"),
)
VOTING = ("KNeighbors", "RadiusNeighbors")
UNWEIGHTED = ("NearestCentroid", *VOTING)
EVERY = tuple(
    call
    for record in REGISTRY
    for call, _ in record.checked_calls()
    if record.kind != "wrapper"
    and record.name != "CategoricalNB"
    and "precomputed" not in call
    and "threshold" not in call  # of two classes only
)


def seeded(call):
    """The model of a call, with a seed where it takes one and few folds where it searches."""
    model = make(call)
    params = model.get_params()
    given = {"random_state": 0, "cv": 2}
    return model.set_params(**{key: value for key, value in given.items() if key in params})


def draw(number, least=12, positive=False):
    """Samples of two to four classes, none empty and no two samples equal."""
    rng = np.random.default_rng([3, number])
    k = int(rng.integers(2, 5))
    n, d = int(rng.integers(max(least, 6 * k), 60)), int(rng.integers(1, 7))
    y = rng.permutation(np.r_[np.repeat(np.arange(k), 4), rng.integers(0, k, size=n - 4 * k)])
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y] * chosen(rng, (0.3, 1.0, 3.0))
    return (np.abs(X) if positive else X), y, rng


def with_feasible_nu(model, counts):
    """The model with nu lowered to what classes of such sizes, and of folds of them, allow."""
    params = model.get_params()
    if {"nu", "multi_class"} <= params.keys():
        sides = [(a, np.sum(counts) - a) for a in counts]  # of one class against the rest
        if params["multi_class"] != "ovr":
            sides = [(a, b) for i, a in enumerate(counts) for b in counts[:i]]
        most = min(2.0 * min(pair) / sum(pair) for pair in sides)
        model.set_params(nu=float(min(params["nu"], 0.7 * most)))
    return model


def takes_counts(model):
    return "NB" in type(model).__name__ and "Gaussian" not in type(model).__name__


def outputs(model, X):
    """What a model says of samples, as numbers."""
    for method in ("predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    return np.asarray(model.predict(X))


def assert_close(found, expected, rtol=1e-5):
    """Equal numbers, relative to the largest."""
    scale = max(1e-300, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
