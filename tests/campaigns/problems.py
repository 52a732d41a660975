"""Random problems and the models that are tried on them, shared by the campaigns on estimators."""

import numpy as np
import pandas as pd
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
    "OneClassSVM(nu=0.3, gamma=0.5, tol=1e-9)",
    *("KernelLogisticRegression(gamma=0.5, tol=1e-10)",),
    *("KernelFisherDiscriminant(gamma=0.1)", "LeastSquaresClassifier(0.5)"),
    *("LinearSVC(tol=1e-10, max_iter=100_000)", "LogisticRegression(tol=1e-11, max_iter=10_000)"),
    "LinearSVC(loss='hinge', dual=True, tol=1e-10, max_iter=1_000_000)",
    "LogisticRegression(l1_ratio=1.0, C=0.5, solver='saga', tol=1e-11, max_iter=10_000)",
    "LogisticRegression(posterior='laplace', tol=1e-11, max_iter=10_000)",
    *("LinearDiscriminantAnalysis()", "LinearDiscriminantAnalysis('lsqr', shrinkage=0.3)"),
    *("QuadraticDiscriminantAnalysis(reg_param=0.3)", "GaussianNB(var_smoothing=0.1)"),
    *("MultinomialNB()", "BernoulliNB(binarize=1.0)", "ComplementNB(norm=True)"),
    *("CategoricalNB(min_categories=40)", "NearestCentroid()", "NearestCentroid('manhattan')"),
    *("FisherDiscriminant(ridge=0.1)", "BayesDecision(GaussianNB(var_smoothing=0.1))"),
    *("KNeighborsClassifier(3, weights='distance')", "RadiusNeighborsClassifier(50.0)"),
    *("NearestNeighbors(n_neighbors=4)", "KernelFeatures(Spectrum(2))", "TableEncoder()"),
)
VOTING = ("KNeighbors", "RadiusNeighbors")
UNWEIGHTED = ("NearestCentroid", *VOTING)
OBJECTS = ("KernelFeatures", "TableEncoder")  # samples are texts, or rows of a table
EVERY = (
    *(call for record in REGISTRY for call, _ in record.checked_calls()),
    *("CalibratedClassifier(GaussianNB(), cv=2)", "CalibratedClassifier(LinearSVC(), cv=2)"),
    "CalibratedClassifier(NearestCentroid(), method='isotonic', cv=2)",
    *("NearestNeighbors()", "NearestNeighbors(n_neighbors=3, metric='manhattan')"),
    *("KernelFeatures(Spectrum(2))", "KernelFeatures(Normalized(Spectrum(3)))", "TableEncoder()"),
)


def seeded(call):
    """The model of a call, with a seed where it takes one and few folds where it searches."""
    model = make(call)
    params = model.get_params()
    given = {"random_state": 0, "cv": 2}
    return model.set_params(**{key: value for key, value in given.items() if key in params})


def draw(number, least=12, positive=False, most=4):
    """Samples of two to four classes, none empty and no two samples equal."""
    rng = np.random.default_rng([3, number])
    k = min(int(rng.integers(2, 5)), most)
    n, d = int(rng.integers(max(least, 6 * k), 60)), int(rng.integers(1, 7))
    y = rng.permutation(np.r_[np.repeat(np.arange(k), 4), rng.integers(0, k, size=n - 4 * k)])
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y] * chosen(rng, (0.3, 1.0, 3.0))
    return (np.abs(X) if positive else X), y, rng


def draw_for(call, number, least=12, positive=False, whole=False):
    """Samples that the model of a call takes: plain ones, counts, categories, texts, a matrix, a table."""
    counts = "NB" in call and "Gaussian" not in call
    most = 2 if _of_two_classes(call) else len(CLASSES)
    X, y, rng = draw(number, least, positive or counts, most)
    if whole:
        X = np.round(4 * X)  # exact in every type
    if call.startswith("Categorical"):
        X = np.floor(X)
    elif "precomputed" in call:
        X = np.abs(X @ X.T)
    elif call.startswith("KernelFeatures"):
        X = np.array(["".join("abcd"[int(v) % 4] for v in np.floor(row)) + "ab" for row in X])
    elif call.startswith("TableEncoder"):
        X = _table(X)
    return X, y, rng


CLASSES = ("pear", "apple", "quince", "fig")


def _of_two_classes(call):
    return "threshold=" in call and "shrink" not in call


def _table(X):
    """Numbers with gaps, and names."""
    columns = {f"number {j}": np.where(X[:, j] > 2.5, np.nan, X[:, j]) for j in range(X.shape[1])}
    return pd.DataFrame({**columns, "name": np.where(X[:, 0] > 0, "red", "blue")})


def taken(X, rows):
    """Some rows of samples."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


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


def outputs(model, X):
    """What a model says of samples, as numbers."""
    for method in ("predict_proba", "score_samples", "decision_function", "transform"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    if hasattr(model, "kneighbors"):
        return model.kneighbors(X)[0]
    return np.asarray(model.predict(X))


def assert_close(found, expected, rtol=1e-5):
    """Equal numbers, relative to the largest."""
    scale = max(1e-300, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
