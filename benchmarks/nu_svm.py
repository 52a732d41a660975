"""nu-SVM and one-class SVM compared with scikit-learn (LIBSVM)."""

from functools import partial

import numpy as np
import sklearn.svm

from benchmarks.measure import Row, best_of_each
from benchmarks.svm import mnist
from separatrix import NuSVC, OneClassSVM


def _compare(name, ours, theirs, train, X_test, agree):
    """Time of fit and prediction, and agreement of predictions."""
    makers, made, guesses = {"ours": ours, "theirs": theirs}, {}, {}

    def fit_one(key):
        made[key] = makers[key]().fit(*train)

    def predict_one(key):
        guesses[key] = made[key].predict(X_test)

    ours().fit(*(part[:600] for part in train)).predict(X_test)  # compile
    fit, predict = (
        best_of_each({key: partial(one, key) for key in makers}, repeat=2)
        for one in (fit_one, predict_one)
    )
    same = np.mean(guesses["ours"] == guesses["theirs"])
    support = [len(made[key].support_) for key in ("ours", "theirs")]
    gap = np.max(made["ours"].dual_gap_)
    return [
        Row(f"{name}, fit", f"{fit['ours']:.2f} s", f"scikit-learn {fit['theirs']:.2f} s", f"{fit['theirs'] / fit['ours']:.1f}x faster", "-"),
        Row(f"{name}, predict {len(X_test)} rows", f"{predict['ours']:.2f} s", f"scikit-learn {predict['theirs']:.2f} s", f"{predict['theirs'] / predict['ours']:.1f}x faster", "-"),
        Row(f"{name}, equal predictions", f"{same:.4f}", "-", "-", agree),
        Row(f"{name}, support vectors, relative gap", f"{support[0]}, {gap:.1e}", f"{support[1]}", "-", "1e-3"),
    ]  # fmt: skip


def nu_svm():
    """MNIST, x/255, Gaussian gamma=.02: NuSVC(nu=.02) on 3,000 rows of ten digits, OneClassSVM(nu=.1) on
    all threes of 20,000 rows; tol=1e-3, cache_size=4000."""
    options = {"gamma": 0.02, "cache_size": 4000}
    X, y, X_test, _ = mnist(3000)
    rows = _compare(
        "NuSVC",
        lambda: NuSVC(nu=0.02, **options),
        lambda: sklearn.svm.NuSVC(nu=0.02, **options),
        (X, y),
        X_test,
        "at least 0.998",
    )
    X, y, X_test, _ = mnist(20_000)
    rows += _compare(
        "OneClassSVM",
        lambda: OneClassSVM(nu=0.1, **options),
        lambda: sklearn.svm.OneClassSVM(nu=0.1, **options),
        (X[y == 3],),
        X_test,
        "at least 0.998",
    )
    return rows, []


SUITES = [nu_svm]
