"""Single calls of scikit-learn's classes with and without the switch: where does it gain?

The constants `Worth` in `separatrix/accel/replacements.py` are read off these tables, of 2 cores and of many.
"""

import time
import warnings
from itertools import product

import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from separatrix import accel
from separatrix.accel import dispatch

MODELS = {
    "SVC.fit": SVC(),
    "SVC.fit, linear": SVC(kernel="linear"),
    "LinearSVC.fit": LinearSVC(),
    "LogisticRegression.fit": LogisticRegression(max_iter=1000),
    "LogisticRegression.fit, C=100": LogisticRegression(C=100, max_iter=1000),
    "LinearDiscriminantAnalysis.fit": LinearDiscriminantAnalysis(),
    "QuadraticDiscriminantAnalysis.fit": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "KNeighborsClassifier.predict": KNeighborsClassifier(),
}
SHAPES = [*product((150, 500, 1500, 5000), (5, 20, 64, 256), (2, 5, 10))]
EDGES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.2)  # seconds of scikit-learn
LONGEST = 4.0  # seconds of a call that is repeated


def accel_worth():
    """How many times faster a call is with the switch, by the time that scikit-learn takes for it.

    Samples of `make_classification`, 150 to 5,000 with 5 to 256 features in 2 to 10 classes; every call is
    served, whatever its size. A gain below 1 is a loss.
    """
    found = {name: [] for name in MODELS} | {"SVC.predict": []}
    chosen, loading = dispatch.is_worth_it, dispatch.LOADING
    dispatch.is_worth_it, dispatch.LOADING = (lambda _seconds, _worth: True), 0.0
    try:
        for shape in SHAPES:
            X, y = _samples(*shape)
            for name, model in MODELS.items():
                _compare(found, name, model, X, y)
    finally:
        dispatch.is_worth_it, dispatch.LOADING = chosen, loading
    return [row for name in sorted(found) for row in _rows(name, np.array(found[name]))], []


def _samples(n, d, k):
    informative = max(int(np.ceil(np.log2(2 * k))), min(10, d // 2))
    return make_classification(
        n, max(d, informative), n_informative=informative, n_redundant=0, n_classes=k,
        n_clusters_per_class=1, random_state=n + d + k,
    )  # fmt: skip


def _compare(found, name, model, X, y):
    def call():
        model.fit(X, y)
        return model.predict(X) if name.endswith("predict") else model

    theirs = _seconds(call)
    if theirs > LONGEST:
        return
    predicted = _seconds(lambda: model.predict(X))
    with accel.patched():
        found[name].append((theirs, _seconds(call)))
        if name == "SVC.fit":
            found["SVC.predict"].append((predicted, _seconds(lambda: model.predict(X))))


def _seconds(call, repeat=3):
    """The least of some calls; the first of all compiles."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeat):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return min(times)


def _rows(name, times):
    """Least and middle gain of the calls between two edges."""
    place = np.digitize(times[:, 0], EDGES)
    for p in np.unique(place):
        gains = times[place == p, 0] / times[place == p, 1]
        low, high = (0.0, *EDGES)[p], (*EDGES, np.inf)[p]
        yield {
            "call": name,
            "scikit-learn, ms": f"{1e3 * low:g} to {1e3 * high:g}",
            "calls": len(gains),
            "least gain": f"{gains.min():.2f}x",
            "median gain": f"{np.median(gains):.2f}x",
        }


SUITES = [accel_worth]
