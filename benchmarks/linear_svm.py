"""LinearSVC compared with scikit-learn (LIBLINEAR), each at the loosest tolerance that reaches a given gap."""

import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.svm import LinearSVC as Peer

from benchmarks.measure import Row, seconds
from separatrix.data.catalogue import VARIABLE, load
from separatrix.errors import MissingDataError
from separatrix.estimators.linear_svc import LinearSVC

GAP = 1e-4
TOLERANCES = [3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6]
MAX_PASSES = 50_000  # passes


def r8(vectorizer):
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise MissingDataError(f"R8 is not available; set {VARIABLE} to its folder")
    with gzip.open(Path(folder) / "r8-train.txt.gz", "rt") as lines:
        labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in lines), strict=True)
    return vectorizer(token_pattern=r"\S+").fit_transform(texts), np.array(labels)


def _objectives(model, X, y):
    """Objective of each boundary at C = 1, with the penalised bias."""
    S = np.asarray(X @ model.coef_.T) + model.intercept_
    found = []
    for c in range(S.shape[1]):
        side = np.where(y == model.classes_[1 if S.shape[1] == 1 else c], 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - side * S[:, c])
        square = model.coef_[c] @ model.coef_[c] + model.intercept_[c] ** 2
        found.append(square / 2 + np.sum(slack if model.loss == "hinge" else slack**2))
    return np.array(found)


def _find_tolerance(make, loss, X, y, least):
    """The first tolerance whose objectives are within the gap of the lower bounds, and its model."""
    for tol in TOLERANCES:
        model = make(loss=loss, tol=tol, max_iter=MAX_PASSES, random_state=0).fit(X, y)
        objectives = _objectives(model, X, y)
        if ((objectives - least) / np.maximum(objectives, 1.0)).max() <= GAP:
            return tol, model
    raise RuntimeError(f"{make} does not reach a gap of {GAP}")


def _compare(name, X, y, *, repeat):
    rows = []
    for loss in ("squared_hinge", "hinge"):
        exact = LinearSVC(loss=loss, tol=1e-5, max_iter=MAX_PASSES, random_state=0).fit(X, y)
        least = exact.objective_ - exact.dual_gap_ * np.maximum(exact.objective_, 1.0)
        tols, models = zip(
            *(_find_tolerance(make, loss, X, y, least) for make in (LinearSVC, Peer)), strict=True
        )
        times = np.array(
            [
                [
                    seconds(
                        lambda make=make, tol=tol: make(
                            loss=loss, tol=tol, max_iter=MAX_PASSES, random_state=0
                        ).fit(X, y)
                    )[0]
                    for make, tol in zip((LinearSVC, Peer), tols, strict=True)
                ]
                for _ in range(repeat)
            ]
        ).min(axis=0)
        rows.append(
            Row(
                f"LinearSVC, {name}, {loss}, relative gap {GAP:g} ({models[0].solver_}; certified {models[0].dual_gap_.max():.1g})",
                f"{times[0]:.3f} s (tol={tols[0]:g})",
                f"scikit-learn {times[1]:.3f} s (tol={tols[1]:g})",
                f"{times[1] / times[0]:.1f}x faster",
                "2x",
            )
        )
    return rows


def linear_dense():
    """MNIST, even against odd, 60,000 x 784, pixels / 255; and the test accuracy."""
    mnist = load("mnist")
    X, y = mnist.X / 255.0, mnist.y % 2
    rows = _compare("MNIST parity", X, y, repeat=2)
    for loss in ("squared_hinge", "hinge"):
        score = LinearSVC(loss=loss, tol=0.1, random_state=0).fit(X, y)
        accuracy = score.score(mnist.X_test / 255.0, mnist.y_test % 2)
        rows.append(
            Row(
                f"LinearSVC, MNIST parity, {loss}, test accuracy",
                f"{accuracy:.4f}",
                "published about 0.904",
                "-",
                "at least 0.900",
            )
        )
    return rows, []


def linear_sparse():
    """a9a, two classes; R8, eight classes, tf-idf and counts."""
    adult = load("a9a")
    rows = _compare("a9a", adult.X, adult.y, repeat=10)
    rows += _compare("R8 tf-idf", *r8(TfidfVectorizer), repeat=10)
    rows += _compare("R8 counts", *r8(CountVectorizer), repeat=10)
    return rows, []


SUITES = [linear_dense, linear_sparse]
