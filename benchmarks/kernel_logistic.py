"""Kernel logistic regression and the kernel discriminant compared with what scikit-learn offers."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.measure import Row, seconds
from separatrix import (
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
)

GAMMA, C = 0.2, 100.0


def digits():
    """Digits, pixels over 16: 1,000 rows to train, 797 to test."""
    X, y = load_digits(return_X_y=True)
    return X[:1000] / 16, y[:1000], X[1000:] / 16, y[1000:]


def gaussian_process():
    """The posterior mode for the same kernel: k times C; its scale is given, as the kernel's width is."""
    kernel = ConstantKernel(C, "fixed") * RBF(np.sqrt(0.5 / GAMMA), "fixed")
    return GaussianProcessClassifier(kernel, optimizer=None)


def on_a_map(n_components):
    """scikit-learn's way: logistic regression on Nystroem's features."""
    features = Nystroem(gamma=GAMMA, n_components=n_components, random_state=0)
    return make_pipeline(features, Peer(C=C, max_iter=10_000))


def objective(model, X, y):
    """Penalised log loss of scikit-learn's pipeline: that of a function in the kernel's space."""
    losses = log_loss(y, model.predict_proba(X), normalize=False)
    return losses + (model[-1].coef_ ** 2).sum() / (2 * C)


def kernel_logistic():
    """Digits, Gaussian gamma=.2, C=100; the peer's penalty is the same, all rows are its landmarks."""
    X, y, X_test, y_test = digits()
    KernelLogisticRegression().fit(X[:100], y[:100])  # compile
    rows = []
    fit, ours = seconds(lambda: KernelLogisticRegression(C=C, gamma=GAMMA).fit(X, y), repeat=3)
    for name, peer in {
        "Nystroem(1000) + LogisticRegression": on_a_map(len(X)),
        "Nystroem(200) + LogisticRegression, an approximation": on_a_map(200),
    }.items():
        other, theirs = seconds(lambda peer=peer: peer.fit(X, y))
        above = objective(theirs, X, y) / ours.objective_ - 1
        loss = log_loss(y_test, theirs.predict_proba(X_test))
        rows += [
            Row(f"ten classes, against {name}", f"{fit:.2f} s", f"{other:.2f} s", f"{other / fit:.1f}x faster", "-" if "approx" in name else "2x"),
            Row("objective on the training rows", f"{ours.objective_:.3f}", f"{above:+.1e}", "-", "not above"),
            Row("log loss of test rows", f"{log_loss(y_test, ours.predict_proba(X_test)):.4f}", f"{loss:.4f}", "-", "-"),
        ]  # fmt: skip
    even = y % 2
    fit, ours = seconds(lambda: KernelLogisticRegression(C=C, gamma=GAMMA).fit(X, even), repeat=3)
    other, theirs = seconds(lambda: gaussian_process().fit(X, even))
    off = np.abs(
        expected_latent(theirs, X_test) - ours.decision_function(X_test) + ours.intercept_
    ).max()
    rows.append(
        Row(f"two classes, against GaussianProcessClassifier (no bias there: scores differ by {off:.2f})", f"{fit:.2f} s", f"{other:.2f} s", f"{other / fit:.1f}x faster", "2x")
    )  # fmt: skip
    return rows, [f"relative duality gap: {ours.dual_gap_:.1e}"]


def expected_latent(process, X):
    """Posterior mean of the scores of a Gaussian process."""
    inside = process.base_estimator_
    return inside.kernel_(inside.X_train_, X).T @ (inside.y_train_ - inside.pi_)


def kernel_logistic_cv():
    """Digits, 4 values of C, 3 of gamma, 5 folds."""
    X, y, *_ = digits()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    Cs, gammas = [1.0, 10.0, 100.0, 1000.0], [0.05, 0.1, 0.2]
    KernelLogisticRegressionCV([1.0], cv=2).fit(X[:100], y[:100])  # compile
    shared, search = seconds(lambda: KernelLogisticRegressionCV(Cs, gammas, cv=folds).fit(X, y))
    model = KernelLogisticRegression()
    grid = {"C": Cs, "gamma": gammas}
    alone, peer = seconds(
        lambda: GridSearchCV(model, grid, cv=folds, scoring="neg_log_loss").fit(X, y)
    )
    names = [{"nystroem__gamma": [g], "logisticregression__C": Cs} for g in gammas]
    theirs, other = seconds(
        lambda: GridSearchCV(on_a_map(800), names, cv=folds, scoring="neg_log_loss").fit(X, y)
    )
    best = f"{-search.best_score_:.4f}"
    return [
        Row("one Gram matrix for all folds and C, against GridSearchCV of the same", f"{shared:.1f} s", f"{alone:.1f} s", f"{alone / shared:.1f}x faster", "1.5x"),
        Row("log loss of the best cell", best, f"{-peer.best_score_:.4f}", "-", "the same"),
        Row("against scikit-learn's GridSearchCV of Nystroem(800) + LogisticRegression", f"{shared:.1f} s", f"{theirs:.1f} s", f"{theirs / shared:.1f}x faster", "2x"),
        Row("log loss of the best cell", best, f"{-other.best_score_:.4f}", "-", "not above"),
    ], []  # fmt: skip


def kernel_fisher():
    """Digits, Gaussian gamma=.1, ridge=.1, against the same by generalised eigenvectors, in NumPy."""
    from scipy.linalg import eigh

    X, y, X_test, y_test = digits()

    def by_eigenvectors():
        squares = (X**2).sum(axis=1)
        K = np.exp(-0.1 * (squares[:, None] + squares - 2 * X @ X.T))
        of_class = np.eye(10)[y] / np.bincount(y)
        means = K @ of_class
        within = K @ K - (means * np.bincount(y)) @ means.T + 0.1 * K
        apart = means - K.mean(axis=1, keepdims=True)
        return eigh((apart * np.bincount(y)) @ apart.T, within + 1e-10 * np.eye(len(K)))

    fit, ours = seconds(lambda: KernelFisherDiscriminant(gamma=0.1, ridge=0.1).fit(X, y), repeat=3)
    other, _ = seconds(by_eigenvectors)
    return [
        Row("Digits, 1,000 rows", f"{fit:.3f} s", f"{other:.3f} s", f"{other / fit:.1f}x faster", "5x"),
        Row("accuracy of 797 test rows", f"{ours.score(X_test, y_test):.4f}", "-", "-", "-"),
    ], []  # fmt: skip


SUITES = [kernel_logistic, kernel_logistic_cv, kernel_fisher]
