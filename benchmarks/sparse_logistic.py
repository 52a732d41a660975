"""LogisticRegression with an l1 penalty compared with scikit-learn's saga and liblinear at equal excess."""

import warnings

import numpy as np
from scipy.special import logsumexp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression as Peer

from benchmarks.measure import Row, seconds
from separatrix.data.catalogue import load
from separatrix.estimators.logistic_regression import LogisticRegression

EXCESS = 1e-4  # of the objective over the certified minimum, relative
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)
LONGEST = 20.0  # seconds of one fit of a peer


def _objective(model, X, codes, C):
    S = X @ model.coef_.T + model.intercept_
    if S.shape[1] == 1:
        S = np.column_stack([np.zeros(len(codes)), S])
    loss = (logsumexp(S, axis=1) - S[np.arange(len(codes)), codes]).sum()
    return loss + np.abs(model.coef_).sum() / C


def _first_good(make, X, codes, C, most):
    """Seconds, tolerance and excess of the first fit that is good enough, or of the last."""
    for tol in TOLERANCES:
        took, model = seconds(lambda tol=tol: make(tol).fit(X, codes))
        value = _objective(model, X, codes, C)
        if value <= most or took > LONGEST:
            break
    return took, tol, value


def _compare(name, X, codes, C, solvers):
    """Without a bias, which liblinear would penalise."""
    options = {"C": C, "l1_ratio": 1.0, "fit_intercept": False}
    exact = LogisticRegression(**options, tol=1e-8, max_iter=1000).fit(X, codes)
    most = exact.objective_ * (1.0 + EXCESS)
    ours = _first_good(lambda tol: LogisticRegression(**options, tol=tol), X, codes, C, most)
    rows = []
    for solver in solvers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = _first_good(
                lambda tol, solver=solver: Peer(**options, tol=tol, solver=solver, max_iter=5000),
                X, codes, C, most,
            )  # fmt: skip
        excess = theirs[2] / exact.objective_ - 1.0
        rows.append(
            Row(
                f"LogisticRegression, l1, {name}, C={C:g}, excess {EXCESS:g} "
                f"({ours[2] / exact.objective_ - 1.0:.0e} reached, {excess:.0e} by the peer; certified "
                f"gap {exact.dual_gap_:.0e}; {np.count_nonzero(exact.coef_)} weights not 0)",
                f"{ours[0]:.3f} s",
                f"scikit-learn {solver} {theirs[0]:.3f} s",
                f"{theirs[0] / ours[0]:.1f}x faster",
                "3x",
            )
        )
    return rows


def sparse_logistic():
    """a9a, R8 tf-idf with two and eight classes, dense 10,000 x 2,000."""
    adult, news = load("a9a"), load("r8")
    words = TfidfVectorizer().fit_transform(news.X)
    topics = np.unique(news.y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 2_000))
    w = np.where(np.arange(2_000) < 50, rng.normal(size=2_000), 0.0)
    y = (0.5 * X @ w + rng.logistic(size=10_000) > 0).astype(int)
    both = ("liblinear", "saga")
    labels = np.unique(adult.y, return_inverse=True)[1]
    return [
        *_compare("a9a", adult.X, labels, 1.0, both),
        *_compare("R8 tf-idf, acq or not", words, (topics == 0).astype(int), 10.0, both),
        *_compare("R8 tf-idf, 8 classes", words, topics, 1.0, ("saga",)),
        *_compare("dense 10,000 x 2,000", X, y, 0.01, both),
    ], []


SUITES = [sparse_logistic]
