"""Every estimator against scikit-learn's, or a plain transcription, on random problems of all scales.

Answers must be equal up to rounding. Where the answer is the minimum of an objective, ours may differ if
its objective is no higher; where the best two classes tie, either may be predicted.
"""

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn import discriminant_analysis as da
from sklearn import linear_model, naive_bayes, neighbors, svm
from sklearn.base import clone
from sklearn.metrics import DistanceMetric
from tests.campaigns import differential_kernels, differential_maps
from tests.campaigns.campaign import Campaign, chosen
from tests.campaigns.certificates import require_explained
from tests.campaigns.drawn import Drawn

import separatrix as ours


def naive(name, **params):
    """A naive Bayes: log joint probabilities, where finite, and predictions."""

    def trial(number):
        drawn = Drawn(
            number, positive=True, scales=name == "GaussianNB", sparse=name != "GaussianNB"
        )
        options = {key: chosen(drawn.rng, values) for key, values in params.items()}
        if name == "CategoricalNB":
            drawn.X = drawn.given = np.floor(drawn.X).astype(np.int64)
            if (
                drawn.weights is not None
            ):  # a category of rows without weight is one of training there
                drawn.weights = drawn.weights + 0.5
        a = drawn.fit(getattr(ours, name)(**options))
        if name == "GaussianNB":  # weighted rows widen its variances by their weighted variance
            widest = drawn.X.astype(np.float64).var(axis=0).max()
            options = {"var_smoothing": float(a.epsilon_ / widest) if widest > 0 else 1e-9}
        b = drawn.fit(getattr(naive_bayes, name)(**options))
        joint = b.predict_joint_log_proba(drawn.given)
        if name == "GaussianNB" and not _well_scaled(drawn.X):
            return  # variances of rounding errors
        found = a.predict_joint_log_proba(drawn.given)
        if np.isnan(joint).any():  # `ComplementNB` of one feature: 0 / 0 there
            assert options.get("norm"), f"{joint}; {drawn}"
            assert not found.any(), f"{found}; {drawn}"
            return
        drawn.close(found, joint, "joint log probabilities")
        drawn.same_predictions(a.predict(drawn.given), b.predict(drawn.given), joint)

    return trial


def _well_scaled(X):
    spread = X.astype(np.float64).std(axis=0)
    return bool((spread > 1e-3 * spread.max()).all()) and bool(
        (spread > 1e-5 * np.abs(X).max(axis=0)).all()
    )


def discriminant(number):
    drawn = Drawn(number, sparse=False)
    drawn.weights = None
    solver, shrinkage = chosen(
        drawn.rng, (("svd", None), ("lsqr", None), ("lsqr", 0.3), ("eigen", 0.5), ("lsqr", "auto"))
    )
    if not _well_scaled(drawn.X) or _rank(drawn) < drawn.X.shape[1]:
        return
    a = drawn.fit(ours.LinearDiscriminantAnalysis(solver, shrinkage))
    b = drawn.fit(da.LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage))
    if shrinkage == "auto" and np.linalg.cond(b.covariance_) > 1e8:
        # a feature that is constant in a class has a variance near 1 there, others one of scale**2: what is
        # small beside it is cut off by scikit-learn
        drawn.close(a.covariance_, b.covariance_, "covariances", 1e-5)
        return
    found, expected = a.predict_proba(drawn.X), b.predict_proba(drawn.X)
    drawn.close(found, expected, f"{solver} {shrinkage}: probabilities", 1e-5)
    drawn.same_predictions(a.predict(drawn.X), b.predict(drawn.X), expected, 1e-4)


def _rank(drawn):
    X = drawn.X.astype(np.float64)
    means = np.stack([X[drawn.y == c].mean(axis=0) for c in range(drawn.k)])
    return np.linalg.matrix_rank(X - means[drawn.y], tol=1e-6 * np.abs(X).max())


def quadratic(number):
    drawn = Drawn(number, sparse=False)
    drawn.weights = None
    if not _well_scaled(drawn.X) or np.bincount(drawn.y).min() <= drawn.X.shape[1] + 1:
        return
    reg = float(chosen(drawn.rng, (0.0, 0.1, 0.5)))
    X = drawn.X.astype(np.float64)
    within = [np.atleast_2d(np.cov(X[drawn.y == c].T)) for c in range(drawn.k)]
    if max(np.linalg.cond(one) for one in within) > 1e8:
        return
    try:
        b = drawn.fit(da.QuadraticDiscriminantAnalysis(reg_param=reg))
    except np.linalg.LinAlgError:
        return
    a = drawn.fit(ours.QuadraticDiscriminantAnalysis(reg_param=reg))
    expected = b.predict_proba(drawn.X)
    drawn.close(a.predict_proba(drawn.X), expected, "probabilities", 1e-5)
    drawn.same_predictions(a.predict(drawn.X), b.predict(drawn.X), expected, 1e-4)


METRICS = ("euclidean", "cityblock", "chebyshev", "cosine", "canberra", "braycurtis", "sqeuclidean")
SPARSE_METRICS = METRICS[:2] + METRICS[3:4]


def _distances(Q, X, metric):
    if (
        metric == "braycurtis"
    ):  # scikit-learn divides by the sum of sizes, SciPy by the size of the sum
        return DistanceMetric.get_metric(metric).pairwise(Q, X)
    return cdist(Q, X, metric)


def nearest(number):
    """Distances to the nearest rows against SciPy's, and votes where no distance ties."""
    drawn = Drawn(number)
    metric = chosen(drawn.rng, SPARSE_METRICS if issparse(drawn.given) else METRICS)
    if metric == "cosine" and (np.abs(drawn.X).max(axis=1) == 0).any():
        return
    k = int(drawn.rng.integers(1, min(6, len(drawn.y))))
    weights = chosen(drawn.rng, ("uniform", "distance"))
    X, Q = (
        drawn.X.astype(np.float64),
        (drawn.X + drawn.dtype(0.25 * drawn.scale)).astype(np.float64),
    )
    Q = np.concatenate([X[:5], Q[:5]]).astype(drawn.dtype).astype(np.float64)
    with np.errstate(all="ignore"):
        all_distances = np.nan_to_num(_distances(Q, X, metric))
    model = ours.KNeighborsClassifier(k, weights=weights, metric=metric).fit(
        drawn.given, drawn.labels
    )
    distances, rows = model.kneighbors(Q.astype(drawn.dtype))
    ranked = np.sort(all_distances, axis=1)
    tolerance = (1e-5 if metric == "cosine" else 1e-9) * max(ranked[:, : k + 1].max(), 1e-300)
    if metric == "cosine":
        tolerance = 1e-6
    worst = np.abs(distances - ranked[:, :k]).max()
    assert worst <= tolerance, f"{metric}: distances differ by {worst:g}; {drawn}"
    own = np.take_along_axis(all_distances, rows, axis=1)
    assert np.abs(own - distances).max() <= tolerance, f"{metric}: rows of other distances; {drawn}"
    clear = (
        ranked[:, k] - ranked[:, k - 1] > 10 * tolerance if k < len(X) else np.full(len(Q), True)
    )
    votes = np.zeros((len(Q), drawn.k))
    with np.errstate(divide="ignore", invalid="ignore"):
        given = np.ones_like(distances) if weights == "uniform" else 1.0 / distances
    infinite = np.isinf(given).any(axis=1)
    given[infinite] = np.isinf(given[infinite])
    np.add.at(
        votes,
        (np.arange(len(Q))[:, None], np.searchsorted(np.unique(drawn.labels), drawn.labels)[rows]),
        given,
    )
    best = np.sort(votes, axis=1)
    clear &= best[:, -1] - best[:, -2] > 1e-6 * best[:, -1]
    expected = np.unique(drawn.labels)[votes.argmax(axis=1)]
    found = model.predict(Q.astype(drawn.dtype))
    assert (found[clear] == expected[clear]).all(), f"{metric}: votes; {drawn}"


def centroid(number):
    drawn = Drawn(number)
    drawn.weights = None
    if not np.ptp(drawn.X, axis=0).any():  # refused by both
        for model in (ours.NearestCentroid(), neighbors.NearestCentroid()):
            drawn.refuses(model, "zero variance")
        return
    a = drawn.fit(ours.NearestCentroid())
    b = drawn.fit(neighbors.NearestCentroid())
    drawn.close(a.centroids_, b.centroids_, "centroids")
    distance = cdist(drawn.X.astype(np.float64), b.centroids_.astype(np.float64))
    drawn.same_predictions(
        a.predict(drawn.given),
        b.predict(drawn.given),
        -distance / max(distance.max(), 1e-300),
        1e-4,
    )


def _logistic_objective(model, drawn, C):
    X, y, w = drawn.X.astype(np.float64), drawn.y, drawn.total()
    coef, intercept = (
        np.asarray(model.coef_, dtype=np.float64),
        np.asarray(model.intercept_, np.float64),
    )
    scores = X @ coef.T + intercept
    codes = np.searchsorted(model.classes_, drawn.labels)
    if len(coef) == 1:
        loss = np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * scores[:, 0])
    else:
        loss = logsumexp(scores, axis=1) - scores[np.arange(len(y)), codes]
    return C * (w @ loss) + 0.5 * (coef**2).sum()


def _no_higher(a, b, drawn, objective, what, slack=1e-3):
    """Our objective is no higher than scikit-learn's; a fit that did not converge says so."""
    mine, theirs = objective(a), objective(b)
    a.coef_, a.intercept_ = np.zeros_like(a.coef_), np.zeros_like(a.intercept_)
    start = objective(a)
    assert np.isfinite(mine), f"{what}: objective {mine}; {drawn}"
    if not a.sure:
        return  # it says that it has not converged, and what to change
    higher = (mine - theirs) / max(abs(theirs), 1e-2 * start)
    assert higher < slack, f"{what}: objective {mine:g}, scikit-learn's {theirs:g}; {drawn}"


def logistic(number):
    drawn = Drawn(number, widest=chosen(np.random.default_rng(number), (8, 8, 200)))
    C = float(10.0 ** drawn.rng.integers(-2, 4))
    a = drawn.fit(ours.LogisticRegression(C=C, max_iter=1000))
    b = drawn.fit(linear_model.LogisticRegression(C=C, max_iter=1000))
    _no_higher(a, b, drawn, lambda m: _logistic_objective(m, drawn, C), f"C={C:g}")


def linear_svc(number):
    drawn = Drawn(number)
    C, loss = (
        float(10.0 ** drawn.rng.integers(-2, 3)),
        chosen(drawn.rng, ("hinge", "squared_hinge")),
    )
    a = drawn.fit(ours.LinearSVC(C=C, loss=loss, max_iter=5000, random_state=0))
    b = drawn.fit(svm.LinearSVC(C=C, loss=loss, max_iter=5000, random_state=0))

    def objective(model):
        X, total = drawn.X.astype(np.float64), 0.0
        codes = np.searchsorted(model.classes_, drawn.labels)
        for p, (w, b0) in enumerate(zip(model.coef_, np.ravel(model.intercept_), strict=True)):
            side = np.where(codes == (1 if len(model.coef_) == 1 else p), 1.0, -1.0)
            slack = np.maximum(0.0, 1.0 - side * (X @ w + b0))
            slack = slack if loss == "hinge" else slack**2
            total += 0.5 * (w @ w + b0 * b0) + C * (drawn.total() @ slack)
        return total

    _no_higher(a, b, drawn, objective, f"{loss} C={C:g}")


def support_vectors(number):
    """Scores of `SVC`, at a tight tolerance, against LIBSVM's; and predictions."""
    drawn = Drawn(number)
    gamma = float(chosen(drawn.rng, (0.01, 0.1, 1.0))) / drawn.scale**2
    kernel = chosen(drawn.rng, ("rbf", "linear", "poly"))
    C = float(10.0 ** drawn.rng.integers(-2, 4))
    C = C if kernel == "rbf" else C / drawn.scale**2
    params = {"C": C, "kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 1.0, "tol": 1e-8}
    a = drawn.fit(ours.SVC(**params, decision_function_shape="ovo", max_iter=200_000))
    b = drawn.fit(svm.SVC(**params, decision_function_shape="ovo", max_iter=100_000))
    if not (a.sure and b.sure):
        return
    found, expected = a.decision_function(drawn.given), b.decision_function(drawn.given)
    size = max(1.0, np.abs(expected).max())  # of a margin
    # LIBSVM holds kernel rows in float32: what that does to a score is no disagreement
    largest = np.abs(a.kernel_.diagonal(np.asarray(drawn.X, dtype=float))).max()
    coef = np.abs(a.dual_coef_).sum(axis=1).max()
    size = max(size, 1e3 * FLOAT32 * float(coef) * float(largest))
    # an intercept may be any of an interval where no support vector is free
    found, expected = found - np.median(found, axis=0), expected - np.median(expected, axis=0)
    if np.abs(found - expected).max() >= 1e-3 * size:
        met = drawn.total() > 0  # LIBSVM's support vectors are numbered without the others
        X, y, weights = drawn.X[met], drawn.labels[met], drawn.total()[met]
        a, b = (clone(model).fit(X, y, sample_weight=weights) for model in (a, b))
        require_explained(a, b, X.astype(np.float64), y, weights)


def perceptron(number):
    """Five passes in the order of the rows: the same updates as scikit-learn's."""
    drawn = Drawn(number, sparse=False)  # for sparse rows, scikit-learn slows the intercept down
    params = {"shuffle": False, "tol": None, "max_iter": 5}
    a, b = drawn.fit(ours.Perceptron(**params)), drawn.fit(linear_model.Perceptron(**params))
    if drawn.kind == "plain" and drawn.dtype == np.float64:  # others meet scores of exactly 0
        drawn.close(a.coef_, b.coef_, "weights", 1e-6)


def least_squares(number):
    """The ridge solution, against the normal equations in float64."""
    drawn = Drawn(number, sparse=False)
    ridge = float(10.0 ** drawn.rng.integers(-3, 3)) * drawn.scale**2
    model = drawn.fit(ours.LeastSquaresClassifier(ridge))
    X, w = drawn.X.astype(np.float64), drawn.total()
    mean = w @ X / w.sum()
    T = 1.0 * (model.classes_[:, None] == drawn.labels).T
    T = 2.0 * T[:, 1:] - 1.0 if drawn.k == 2 else T
    centred = X - mean
    A = (centred * w[:, None]).T @ centred + ridge * np.eye(X.shape[1])
    coef = np.linalg.solve(A, (centred * w[:, None]).T @ (T - w @ T / w.sum())).T
    found = np.asarray(model.coef_)
    if found.shape == coef.shape:
        worst = np.abs(X @ (found - coef).T).max() / max(1.0, np.abs(X @ coef.T).max())
        assert worst < (1e-3 if drawn.dtype == np.float32 else 1e-5), f"{worst:g}; {drawn}"


FLOAT32 = float(np.finfo(np.float32).eps)

PARTS = {
    "GaussianNB": naive("GaussianNB"),
    "MultinomialNB": naive("MultinomialNB", alpha=(1.0, 0.5), fit_prior=(True, False)),
    "BernoulliNB": naive("BernoulliNB", alpha=(1.0, 0.5), binarize=(0.0, 1.0)),
    "ComplementNB": naive("ComplementNB", alpha=(1.0, 0.5), norm=(True, False)),
    "CategoricalNB": naive("CategoricalNB", alpha=(1.0, 0.5)),
    "LinearDiscriminantAnalysis": discriminant,
    "QuadraticDiscriminantAnalysis": quadratic,
    "KNeighborsClassifier": nearest,
    "NearestCentroid": centroid,
    "LogisticRegression": logistic,
    "LinearSVC": linear_svc,
    "SVC": support_vectors,
    "Perceptron": perceptron,
    "LeastSquaresClassifier": least_squares,
    **differential_kernels.PARTS,
    **differential_maps.PARTS,
}
CAMPAIGN = Campaign(
    "differential: estimators against scikit-learn, SciPy or normal equations; scales 1e-8 to 1e8",
    lambda: PARTS,
    short=8,
    middle=15,
    full=5000,
)
