"""A table compared: `compare` beside the same candidates by scikit-learn's `GridSearchCV` over pipelines."""

import time
import warnings

import numpy as np
import sklearn.discriminant_analysis as discriminants
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.measure import Row, seconds
from separatrix import compare
from separatrix.evaluation.suite import suite

KEYS = ["svm", "svm-poly", "knn", "linear-svm", "logistic", "lda", "qda", "gaussian-nb"]
PEERS = {
    "SVM, Gaussian": SVC(),
    "SVM, polynomial": SVC(kernel="poly", coef0=1.0),
    "nearest neighbours": KNeighborsClassifier(),
    "linear SVM": LinearSVC(max_iter=5000),
    "logistic regression": LogisticRegression(max_iter=1000),
    "linear discriminant": discriminants.LinearDiscriminantAnalysis("lsqr", shrinkage="auto"),
    "quadratic discriminant": discriminants.QuadraticDiscriminantAnalysis(),
    "naive Bayes, Gaussian": GaussianNB(),
}


def compared_table(n=4435, d=36, k=6, splits=5):
    """`compare` of eight classifiers on 4,435 x 36 samples of six classes, five folds, all tuned.

    The peer is `GridSearchCV` over pipelines of a scaler and scikit-learn's class, with the cells that our
    widened grids visit and the same folds, timed on the first split and multiplied by their number.
    """
    X, y = make_classification(
        n, d, n_informative=12, n_redundant=8, n_classes=k, n_clusters_per_class=2, class_sep=1.2,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    compare(KEYS, X[::8], y[::8], cv=2, repeats=1, progress=False)  # compile
    ours, found = seconds(lambda: compare(KEYS, X, y, cv=splits, repeats=1, progress=False))
    train, test = next(iter(found.evaluations.values())).splits[0]
    theirs, rows = 0.0, []
    for name, model in suite(X, y, models=KEYS).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search = model.fit(X[train], y[train])[-1]
            spent, peer = seconds(lambda s=search, m=name: _peer(m, s).fit(X[train], y[train]))
        theirs += splits * spent
        one = found.evaluations[name]
        error = float(np.mean(peer.predict(X[test]) != y[test]))
        faster = splits * spent / one.seconds
        rows.append(
            Row(
                name,
                f"{one.seconds:.1f} s, {100 * one.test_error[0, 0]:.1f} %",
                f"{splits * spent:.1f} s, {100 * error:.1f} %",
                f"{faster:.1f}x faster",
                "-",
            )
        )
    total = Row(
        "all eight", f"{ours:.1f} s", f"{theirs:.1f} s", f"{theirs / ours:.1f}x faster", "15x"
    )
    return [total, *rows], []


def first_answer(n=5000, d=40):
    """Time until `compare` with a budget shows its first error, on 5,000 x 40 samples, after compilation."""
    X, y = make_classification(n, d, n_informative=10, n_classes=3, random_state=0)
    compare(KEYS, X[::8], y[::8], cv=2, repeats=1, progress=False)  # compile
    begun, moments = time.perf_counter(), []

    def note(evaluations, _words):
        best = min(float(one.test_error.mean()) for one in evaluations.values())
        moments.append((time.perf_counter() - begun, best))

    found = compare("all", X, y, cv=5, budget=60, on_progress=note)
    final = found.rows()[0]["test_error"]
    near = next((t for t, error in moments if 100 * error <= 1.5 * final), float("nan"))
    rows = [
        Row("first error", f"{moments[0][0]:.1f} s", "-", "-", "3 s"),
        Row("within half of the final error", f"{near:.1f} s", "-", "-", "3 s"),
        Row(
            "all within the budget of 60 s",
            f"{time.perf_counter() - begun:.1f} s",
            "-",
            "-",
            "60 s",
        ),
    ]
    return rows, []


def _peer(name, search):
    """scikit-learn's search over the same cells."""
    cells = [_cell(cell) for cell in getattr(search, "cv_results_", {}).get("params", [{}])]
    if name == "nearest neighbours":
        cells = [{"model__n_neighbors": [k]} for k in range(1, 31)]
    model = Pipeline([("scale", StandardScaler()), ("model", PEERS[name])])
    return GridSearchCV(model, cells, cv=3) if len(cells) > 1 else model


def _cell(cell):
    kernel = cell.get("kernel")
    if kernel is not None:
        cell = {"C": cell["C"], "degree": kernel.degree, "gamma": kernel.gamma}
    return {f"model__{key}": [value] for key, value in cell.items()}


SUITES = [compared_table, first_answer]
