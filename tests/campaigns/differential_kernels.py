"""Kernel machines against scikit-learn's, or against their definitions in float64."""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from scipy.special import logsumexp, softmax
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from tests.campaigns.campaign import chosen
from tests.campaigns.certificates import require_explained
from tests.campaigns.drawn import Drawn
from tests.gpu.certificates import boundaries, kernel_values
from tests.reference_loops import kernel_perceptron

import separatrix as ours
from separatrix.kernels import Gaussian, Linear, Polynomial

FLOAT32 = float(np.finfo(np.float32).eps)


def drawn_kernel(drawn):
    """A kernel whose values on the samples are of about 1."""
    rng, gamma = drawn.rng, float(chosen(drawn.rng, (0.01, 0.1, 1.0))) / drawn.spread**2
    return chosen(
        rng, (Gaussian(gamma), Gaussian(gamma), Linear(), Polynomial(2, gamma=gamma, coef0=1.0))
    )


def explicit(K):
    """Vectors whose inner products are K."""
    values, vectors = eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _has_free_vectors(fit):
    """Whether both sides have a coefficient between its bounds: then margin and intercept are unique."""
    free = (fit.alpha > 1e-9 * fit.box) & (fit.alpha < (1.0 - 1e-9) * fit.box)
    return all((free & (fit.y == side)).any() for side in np.unique(fit.y))


def _same_scores(a, b, drawn, what, unique, factor=False):
    """Scores; up to a constant where no vector is free: an intercept may be any of an interval there.

    Of a machine with nu the margin, which scales its scores, too.
    """
    found, expected = a.decision_function(drawn.given), b.decision_function(drawn.given)
    # LIBSVM holds kernel rows in float32: what that does to a score is no disagreement
    largest = np.abs(a.kernel_.diagonal(np.asarray(drawn.X, dtype=float))).max()
    noise = 1e3 * FLOAT32 * float(np.abs(a.dual_coef_).sum(axis=1).max()) * float(largest)
    size = max(1.0, float(np.abs(expected).max()), noise)
    plain = np.atleast_1d(np.abs(found - expected).max(axis=0) / size)
    found, expected = found - np.median(found, axis=0), expected - np.median(expected, axis=0)
    apart = np.abs(found - expected).max(axis=0) / size
    if factor:
        found, expected = (S / np.maximum(np.abs(S).max(axis=0), 1e-300) for S in (found, expected))
        apart = np.minimum(apart, np.abs(found - expected).max(axis=0))
    worst = np.where(unique, plain, apart).max()
    if factor and worst >= 1e-3:
        _require_lower(a, b, drawn)
        return
    assert worst < 1e-3, f"{what}: scores differ by {worst:.2g}; {drawn}"


def _require_lower(a, b, drawn):
    """Coefficients of a machine with nu are feasible, and |w| for their sum is no larger than LIBSVM's.

    That is what it minimises. LIBSVM's kernel rows are float32, so where |w| is small it stops early.
    """
    met = drawn.total() > 0  # LIBSVM's support vectors are numbered without the others
    X, y, weights = drawn.X[met].astype(np.float64), drawn.labels[met], drawn.total()[met]
    a, b = (clone(model).fit(X, y, sample_weight=weights) for model in (a, b))
    for model in (a, b):  # what `boundaries` reads
        model.C, model.class_weight_, model.multi_class = 1.0, np.ones(drawn.k), "ovo"
    for mine, other in zip(boundaries(a, y, weights), boundaries(b, y, weights), strict=True):
        K = kernel_values(a, X, mine.rows, mine.rows)
        q, r = (one.coef / np.abs(one.coef).sum() for one in (mine, other))
        over = (np.abs(q) * a.nu * mine.box.sum() - mine.box).max()
        assert over <= 1e-9 * mine.box.max(), f"a coefficient is {over:g} above its bound; {drawn}"
        assert abs(q.sum()) <= 1e-9, f"coefficients add up to {q.sum():g}; {drawn}"
        assert q @ K @ q <= (1 + 1e-9) * (r @ K @ r), f"{q @ K @ q:g}, {r @ K @ r:g}; {drawn}"


def nu_svc(number):
    """Scores of `NuSVC` at a tight tolerance against LIBSVM's; both refuse the same nu."""
    drawn = Drawn(number)
    gamma = float(chosen(drawn.rng, (0.01, 0.1, 1.0))) / drawn.spread**2
    nu = float(chosen(drawn.rng, (0.05, 0.2, 0.5, 0.8)))
    params = {"nu": nu, "gamma": gamma, "tol": 1e-8, "decision_function_shape": "ovo"}
    b, refused = svm.NuSVC(**params, max_iter=100_000), False
    try:
        drawn.fit(b)
    except ValueError as error:
        if "not finite" in str(error):
            return  # LIBSVM divided by a margin of 0
        assert "infeasible" in str(error), error
        refused = True
    try:
        a = drawn.fit(ours.NuSVC(**params, max_iter=100_000))
    except ValueError as error:
        assert refused, f"refused here only: {error}; {drawn}"
        return
    assert not refused, f"refused by LIBSVM only, {params}; {drawn}"
    if a.sure and b.sure and "no margin" not in str(a.stop_):
        unique = [_has_free_vectors(fit) for fit in a._fits]
        _same_scores(a, b, drawn, params, unique, factor=True)


def one_class(number):
    """Scores of `OneClassSVM` against LIBSVM's."""
    drawn = Drawn(number)
    gamma = float(chosen(drawn.rng, (0.01, 0.1, 1.0))) / drawn.spread**2
    nu = float(chosen(drawn.rng, (0.05, 0.2, 0.5, 0.9)))
    params = {"nu": nu, "gamma": gamma, "tol": 1e-9}
    a = drawn.fit(ours.OneClassSVM(**params, max_iter=100_000))
    b = drawn.fit(svm.OneClassSVM(**params, max_iter=100_000))
    if a.sure and b.sure:
        bounds = drawn.total()[a.support_]
        free = (a.dual_coef_[0] > 1e-9 * bounds) & (a.dual_coef_[0] < (1.0 - 1e-9) * bounds)
        _same_scores(a, b, drawn, params, [free.any()])


def perceptron(number):
    """`KernelPerceptron` is the plain loop, in the order of the rows."""
    drawn = Drawn(number)
    kernel = drawn_kernel(drawn)
    rule = chosen(drawn.rng, ("argmax", "ovr", "ovo"))
    model = ours.KernelPerceptron(kernel, multi_class=rule, max_iter=3, shuffle=False)
    drawn.fit(model)
    K = kernel.block(drawn.X.astype(np.float64), drawn.X.astype(np.float64))
    codes = np.searchsorted(model.classes_, drawn.labels)
    everyone = np.flatnonzero(drawn.total())
    if drawn.k == 2 and rule == "argmax":
        return  # two scores there, one in the plain loop
    _, coef = kernel_perceptron(
        *(K, codes, everyone, drawn.k, rule, 3, [np.arange(len(everyone))] * 3), drawn.total()
    )
    if drawn.kind != "plain" or drawn.dtype != np.float64:
        return  # scores of exactly 0, whose side is a matter of rounding
    expected = K @ coef
    found = model.boundary_scores(drawn.X)
    drawn.close(found, expected.reshape(found.shape), f"{kernel}, {rule}: scores", 1e-5)


def logistic(number):
    """The objective of `KernelLogisticRegression` against scikit-learn's machine on explicit features."""
    drawn = Drawn(number)
    kernel, C = drawn_kernel(drawn), float(10.0 ** drawn.rng.integers(-2, 3))
    X = drawn.X.astype(np.float64)
    F, codes = explicit(kernel.block(X, X)), np.searchsorted(np.unique(drawn.labels), drawn.labels)
    a = drawn.fit(ours.KernelLogisticRegression(C=C, kernel=kernel))
    b = linear_model.LogisticRegression(C=C, tol=1e-6, max_iter=1000)
    b.fit(F, drawn.labels, sample_weight=drawn.weights)
    coef = a.dual_coef_.toarray() if issparse(a.dual_coef_) else a.dual_coef_
    whole = np.zeros((len(coef), len(X)))
    whole[:, a.support_] = coef

    def objective(W, intercept):
        scores = F @ W.T + intercept
        if len(W) == 1:
            loss = np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * scores[:, 0])
        else:
            loss = logsumexp(scores, axis=1) - scores[np.arange(len(X)), codes]
        return C * drawn.total() @ loss + 0.5 * (W**2).sum()

    mine, theirs = objective(whole @ F, a.intercept_), objective(b.coef_, b.intercept_)
    start = objective(0.0 * b.coef_, 0.0)
    higher = (mine - theirs) / max(theirs, 1e-2 * start)
    assert not a.sure or higher < 1e-3, f"{kernel}, C={C:g}: {mine:g}, {theirs:g}; {drawn}"


def fisher(number):
    """Probabilities of `KernelFisherDiscriminant` are those of Gaussians in the explicit space."""
    drawn = Drawn(number)
    kernel, ridge = drawn_kernel(drawn), float(10.0 ** drawn.rng.integers(-2, 2))
    X, w = drawn.X.astype(np.float64), drawn.total()
    F, y = explicit(kernel.block(X, X)), drawn.y
    ridge *= max(float((F**2).sum(axis=1).max()), 1e-300)
    model = ours.KernelFisherDiscriminant(kernel=kernel, ridge=ridge)
    if not np.ptp(X, axis=0).any():
        drawn.refuses(model, "all class means are the same")
        return
    drawn.fit(model)
    sums = np.bincount(y, w)
    means = np.stack([w[y == c] @ F[y == c] / sums[c] for c in range(drawn.k)])
    away = F - means[y]
    within = (away * w[:, None]).T @ away + ridge * np.eye(len(X))
    delta = F[:, None] - means
    inverse = np.linalg.inv(within / w.sum())
    logs = -0.5 * np.einsum("nkd,de,nke->nk", delta, inverse, delta) + np.log(sums / w.sum())
    order = np.argsort(np.unique(drawn.labels, return_index=False).searchsorted(_names(drawn)))
    found = model.predict_proba(drawn.given)
    drawn.close(found, softmax(logs, axis=1)[:, order], f"{kernel}, ridge {ridge:g}", 1e-5)


def _names(drawn):
    """The label of each code."""
    return np.array([drawn.labels[drawn.y == c][0] for c in range(drawn.k)])


def _search(number, search, cell, score):
    """Scores of a search over C, one of each fold, are those of a machine fitted to the rest."""
    drawn = Drawn(number, scales=False, sparse=False)
    drawn.weights, Cs = None, (0.1, 10.0)
    kernel = Gaussian(float(chosen(drawn.rng, (0.05, 0.5))))
    table = drawn.fit(search(kernel, Cs)).cv_results_
    for f, (train, test) in enumerate(StratifiedKFold(2).split(drawn.X, drawn.labels)):
        i = int(drawn.rng.integers(len(Cs)))
        one = cell(kernel, Cs[i]).fit(drawn.X[train], drawn.labels[train])
        expected = score(one, drawn.X[test], drawn.labels[test])
        rows = [(drawn.X[part], drawn.labels[part]) for part in (train, test)]
        yield table[f"split{f}_test_score"][i], expected, one, rows, f"C={Cs[i]}, {drawn}"


def svc_search(number):
    """Accuracies of `SVCCV`; a sample on a boundary may fall on either side."""

    def search(kernel, Cs):
        one = ours.SVC(kernel=kernel, tol=1e-8)
        return ours.SVCCV(Cs, estimator=one, cv=2, search_tol=None)

    def cell(kernel, C):
        params = {"gamma": kernel.gamma, "tol": 1e-8, "decision_function_shape": "ovo"}
        return svm.SVC(C=C, kernel="rbf", **params)

    def differs(found, model, X, y):
        scores = model.decision_function(X).reshape(len(X), -1)
        unsure = (np.abs(scores).min(axis=1) < 1e-6).sum()
        return abs(found - model.score(X, y)) * len(X) > unsure + 0.01

    def accuracy(model, X, y):
        return model.score(X, y)

    for found, _, theirs, (train, test), where in _search(number, search, cell, accuracy):
        if differs(found, theirs, *test):  # an intercept may be any of an interval
            mine = ours.SVC(**theirs.get_params()).fit(*train)
            require_explained(mine, theirs, *train)
            assert not differs(found, mine, *test), f"{found}, a fit to the fold differs; {where}"


def logistic_search(number):
    """Log losses of `KernelLogisticRegressionCV`."""

    def search(kernel, Cs):
        one = ours.KernelLogisticRegression(kernel=kernel, tol=1e-10)
        return ours.KernelLogisticRegressionCV(Cs, estimator=one, cv=2)

    def cell(kernel, C):
        return ours.KernelLogisticRegression(C=C, kernel=kernel, tol=1e-10)

    def score(model, X, y):
        P = model.predict_proba(X)
        return np.log(P[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean()

    for found, expected, *_, where in _search(number, search, cell, score):
        assert abs(found - expected) <= 1e-4 * max(1.0, abs(expected)), (
            f"{found} instead of {expected}; {where}"
        )


def perceptron_search(number):
    """Accuracies of `KernelPerceptronCV` are those of machines fitted to the folds."""
    drawn = Drawn(number, scales=False, sparse=False)
    drawn.weights = None
    kernels = [Gaussian(0.05), Gaussian(0.5), Polynomial(2, coef0=1.0)]
    one = ours.KernelPerceptron(max_iter=5, shuffle=False)
    model = drawn.fit(ours.KernelPerceptronCV(kernels, estimator=one, cv=2))
    for f, (train, test) in enumerate(StratifiedKFold(2).split(drawn.X, drawn.labels)):
        i = int(drawn.rng.integers(len(kernels)))
        cell = clone(one).set_params(kernel=kernels[i]).fit(drawn.X[train], drawn.labels[train])
        expected = cell.score(drawn.X[test], drawn.labels[test])
        found = model.cv_results_[f"split{f}_test_score"][i]
        if drawn.kind == "plain":  # others meet scores of exactly 0
            assert abs(found - expected) <= 1e-9, f"{found}, {expected}, {kernels[i]}; {drawn}"


PARTS = {
    "NuSVC": nu_svc,
    "OneClassSVM": one_class,
    "KernelPerceptron": perceptron,
    "KernelLogisticRegression": logistic,
    "KernelFisherDiscriminant": fisher,
    "SVCCV": svc_search,
    "KernelLogisticRegressionCV": logistic_search,
    "KernelPerceptronCV": perceptron_search,
}
