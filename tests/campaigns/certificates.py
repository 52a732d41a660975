"""R3: certificates of fitted machines once more, from coefficients alone, by dense float64 routines."""

import numpy as np
from sklearn import svm
from tests.campaigns.campaign import Campaign, chosen
from tests.campaigns.problems import draw
from tests.gpu.certificates import boundaries, certificate, distance

from separatrix import SVC, KernelLogisticRegression, LinearSVC, LogisticRegression
from separatrix.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = (Gaussian(0.1), Gaussian(2.0), Linear(), Polynomial(3, coef0=1.0), Laplacian(0.5))


def support_vectors(number):
    """Violation and gap that `SVC` reports are those of its coefficients, C up to 1e6."""
    X, y, rng = draw(number)
    kernel, scheme = chosen(rng, KERNELS), chosen(rng, ("ovo", "ovr"))
    C = float(10.0 ** rng.integers(-3, 7))
    weights = rng.uniform(0.1, 2.0, size=len(y)) if rng.random() < 0.3 else None
    model = SVC(C=C, kernel=kernel, multi_class=scheme, tol=1e-6, max_iter=2_000_000)
    model.fit(X, y, sample_weight=weights)
    for p, boundary in enumerate(boundaries(model, y, weights)):
        found = certificate(model, X, boundary)
        if model.stop_[p] != "tol":
            continue
        scale = 1e-9 * C * np.abs(kernel.diagonal(X)).max() * len(y)
        assert found.violation <= 1e-6 + scale, f"violation {found.violation:g}, {kernel}, C={C:g}"
        assert found.gap <= model.dual_gap_[p] + 1e-6 + scale, (
            f"gap {found.gap:g}, {kernel}, C={C:g}"
        )
        assert abs(found.balance) <= 1e-9 * C * len(y), f"balance {found.balance:g}"


def libsvm_scores(number):
    """Scores at a tight tolerance are LIBSVM's within 1e-6 of their size, or LIBSVM is further off.

    Its kernel rows are float32, so it may stop away from the optimum. Then the duality gaps of both
    machines, in float64, must explain how far they are apart, and ours is the smaller one.
    """
    X, y, rng = draw(number)
    C, gamma = float(10.0 ** rng.integers(-2, 4)), float(chosen(rng, (0.05, 0.5, 2.0)))
    params = {"C": C, "gamma": gamma, "tol": 1e-10, "decision_function_shape": "ovo"}
    ours = SVC(**params, max_iter=500_000).fit(X, y)
    theirs = svm.SVC(**params, max_iter=5_000_000).fit(X, y)
    if set(ours.stop_) != {"tol"} or theirs.fit_status_:
        return
    found, expected = (
        m.decision_function(X) - np.ravel(m.intercept_)[: _width(m)] for m in (ours, theirs)
    )
    if np.abs(found - expected).max() > 1e-6 * max(1.0, np.abs(expected).max()):
        require_explained(ours, theirs, X, y)


def require_explained(ours, theirs, X, y, weights=None):
    """Duality gaps in float64 explain how far two machines are apart; ours is the smaller, or meets tol."""
    theirs.multi_class, theirs.kernel_ = ours.multi_class, ours.kernel_  # what `boundaries` reads
    for mine, other in zip(
        boundaries(ours, y, weights), boundaries(theirs, y, weights), strict=True
    ):
        gaps = [certificate(ours, X, boundary).slack for boundary in (mine, other)]
        noise = 1e-12 * max(1.0, np.abs(mine.coef).sum())
        allowed = max(gaps[1], ours.tol * mine.box.sum())  # the second by a violation of tol
        assert gaps[0] <= allowed + noise, f"gap {gaps[0]:g}, LIBSVM's {gaps[1]:g}"
        promised = sum(np.sqrt(2.0 * (max(gap, 0.0) + noise)) for gap in gaps)
        apart = distance(ours, X, mine, other)
        assert apart <= promised, f"{apart:g} apart, {promised:g} explained"


def _width(model):
    return max(1, len(model.classes_) * (len(model.classes_) - 1) // 2)


def logistic(number):
    """The gradient of a converged logistic regression is as small as it says."""
    X, y, rng = draw(number)
    C = float(10.0 ** rng.integers(-3, 4))
    model = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y)
    P = model.predict_proba(X)
    T = (y[:, None] == model.classes_).astype(float)
    residual = (P - T)[:, -len(model.coef_) :]
    gradient = model.coef_ + C * residual.T @ X
    assert np.abs(gradient).max() < 1e-5 * max(1.0, C * np.abs(X).sum()), np.abs(gradient).max()
    assert np.abs(residual.sum(axis=0)).max() < 1e-5 * len(y), "intercept"


def kernel_logistic(number):
    """The same in the feature space of a kernel: the dual coefficients are C times the residuals."""
    X, y, rng = draw(number)
    C = float(10.0 ** rng.integers(-2, 3))
    model = KernelLogisticRegression(C=C, gamma=0.5, tol=1e-12).fit(X, y)
    P = model.predict_proba(X)
    T = (y[:, None] == model.classes_).astype(float)
    residual = C * (T - P)[:, -len(model.dual_coef_) :].T
    whole = np.zeros((len(model.dual_coef_), len(y)))
    whole[:, model.support_] = model.dual_coef_
    assert np.abs(whole - residual).max() < 1e-4 * max(1.0, C), np.abs(whole - residual).max()


def linear_svm(number):
    """The subgradient of a squared hinge loss at the minimum is 0."""
    X, y, rng = draw(number)
    C = float(10.0 ** rng.integers(-3, 4))
    model = LinearSVC(C=C, tol=1e-9, max_iter=100_000).fit(X, y)
    for p, (w, b) in enumerate(zip(model.coef_, np.ravel(model.intercept_), strict=True)):
        side = np.where(y == model.classes_[1 if len(model.coef_) == 1 else p], 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - side * (X @ w + b))
        gradient = np.append(w, b) - 2.0 * C * (side * slack) @ np.c_[X, np.ones(len(X))]
        size = max(1.0, 2.0 * C * np.abs(X).sum())
        assert np.abs(gradient).max() < 1e-6 * size, f"{np.abs(gradient).max():g} at C={C:g}"


CAMPAIGN = Campaign(
    "R3 certificates recomputed by dense float64 routines; scores against LIBSVM",
    lambda: {
        "SVC": support_vectors,
        "LIBSVM's scores": libsvm_scores,
        "LogisticRegression": logistic,
        "KernelLogisticRegression": kernel_logistic,
        "LinearSVC": linear_svm,
    },
    short=4,
    middle=10,
)
