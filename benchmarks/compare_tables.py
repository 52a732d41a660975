"""A table compared: `compare` beside the same candidates by scikit-learn's `GridSearchCV` over pipelines."""

import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import sklearn.discriminant_analysis as discriminants
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.measure import Row, processor, seconds
from benchmarks.tables import made_up
from separatrix import TableEncoder, compare
from separatrix.app.read_data import read_labelled
from separatrix.data.data_table import DataTable
from separatrix.evaluation.suite import suite
from separatrix.evaluation.table_models import suite_for

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


SHAPES = {  # samples, features, of these informative, classes, classes' distance
    "tall, 4,000 x 10, 2 classes": (4000, 10, 6, 2, 0.9),
    "wide, 600 x 300, 3 classes": (600, 300, 30, 3, 1.0),
    "many classes, 2,000 x 16, 20 classes": (2000, 16, 14, 20, 1.5),
    "small, 1,500 x 20, 3 classes": (1500, 20, 8, 3, 1.0),
}


def compared_table(n=4435, d=36, k=6, splits=5):
    """`compare` of eight classifiers on 4,435 x 36 samples of six classes, five folds, all tuned.

    The peer is `GridSearchCV` over pipelines of a scaler and scikit-learn's class, with the cells that our
    widened grids visit and the same folds, on one core as it is by default, timed on the first split and
    multiplied by their number. Seconds of the clock, and of all processors together.
    """
    X, y = make_classification(
        n, d, n_informative=12, n_redundant=8, n_classes=k, n_clusters_per_class=2, class_sep=1.2,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    totals, rows = _beside_peer(X, y, suite(X, y, models=KEYS), splits)
    return [*totals, *rows], []


def compared_shapes(splits=5):
    """The same comparison on tables of other shapes, and on mixed columns: numbers, categories and dates, with the encoder of such tables in the pipelines of both. Processor seconds."""
    rows = []
    for name, (n, d, informative, k, distance) in SHAPES.items():
        X, y = make_classification(
            n, d, n_informative=informative, n_redundant=0, n_classes=k, n_clusters_per_class=1,
            class_sep=distance, flip_y=0.03, random_state=1,
        )  # fmt: skip
        totals, _ = _beside_peer(X, y, suite(X, y, models=KEYS), splits)
        rows.append(replace(totals[1], what=name))
    frame, y = made_up(0)
    frame = frame.drop(
        columns="review"
    )  # texts give sparse features, which not all of the peers take
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.assign(label=y).to_csv(path, index=False)
        data = read_labelled(str(path), target="label", progress=False)
    totals, _ = _beside_peer(data.X, np.asarray(data.y), suite_for(data, models=KEYS), splits)
    rows.append(replace(totals[1], what="mixed columns, 1,500 x 6, 2 classes"))
    return rows, []


def _beside_peer(X, y, models, splits):
    """Rows of all models together, by the clock and by processors, and of each model."""
    few = np.random.default_rng(0).permutation(len(y))[: max(300, len(y) // 8)]
    compare(models, X[few], y[few], cv=2, repeats=1, progress=False)  # compile
    used, (ours, found) = processor(
        lambda: seconds(lambda: compare(models, X, y, cv=splits, repeats=1, progress=False))
    )
    train, test = next(iter(found.evaluations.values())).splits[0]
    clock = busy = own_error = peer_error = 0.0
    rows = []
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search = clone(model).fit(X[train], y[train])[-1]
            peer = _peer(name, search, X)
            work, (spent, peer) = processor(lambda p=peer: seconds(lambda: p.fit(train, y[train])))
        clock, busy = clock + splits * spent, busy + splits * work
        one = found.evaluations[name]
        error = 100 * float(np.mean(peer.predict(test) != y[test]))
        own = 100 * float(one.test_error[0, 0])
        own_error, peer_error = own_error + own / len(models), peer_error + error / len(models)
        rows.append(
            Row(
                name,
                f"{one.seconds:.1f} s, {own:.1f} %",
                f"{splits * spent:.1f} s, {error:.1f} %",
                f"{splits * spent / one.seconds:.1f}x faster",
                "-",
            )
        )
    what, errors = f"all {len(models)}", (f"mean {own_error:.1f} %", f"mean {peer_error:.1f} %")
    totals = [
        Row(
            f"{what}, {words}",
            f"{a:.1f} s, {errors[0]}",
            f"{b:.1f} s, {errors[1]}",
            f"{b / a:.1f}x faster",
            "15x",
        )
        for words, a, b in (("by the clock", ours, clock), ("processor seconds", used, busy))
    ]
    return totals, rows


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


def _peer(name, search, X):
    """scikit-learn's search over the same cells, of the numbers of rows of X."""
    cells = [_cell(cell) for cell in getattr(search, "cv_results_", {}).get("params", [{}])]
    if name == "nearest neighbours":
        cells = [{"model__n_neighbors": [k]} for k in range(1, 31)]
    steps = [("rows", FunctionTransformer(lambda rows: X[rows]))]
    steps.append(("scale", TableEncoder() if isinstance(X, DataTable) else StandardScaler()))
    model = Pipeline([*steps, ("model", PEERS[name])])
    return GridSearchCV(model, cells, cv=3) if len(cells) > 1 else model


def _cell(cell):
    kernel = cell.get("kernel")
    if kernel is not None:
        cell = {"C": cell["C"], "degree": kernel.degree, "gamma": kernel.gamma}
    return {f"model__{key}": [value] for key, value in cell.items()}


SUITES = [compared_table, compared_shapes, first_answer]
