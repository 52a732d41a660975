"""Maps, neighbours, online machines and wrappers against scikit-learn's, or their definitions."""

import warnings
from collections import Counter

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn import discriminant_analysis as da
from sklearn import linear_model, naive_bayes
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tests.campaigns.campaign import chosen
from tests.campaigns.drawn import Drawn
from tests.kernels import definitions
from tests.kernels.definitions import LABELS, LETTERS, ON_GRAPHS, ON_SEQUENCES, some

import separatrix as ours
from separatrix.errors import DataError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from sklearn.linear_model import PassiveAggressiveClassifier


def _dense(F):
    return F.toarray() if issparse(F) else np.asarray(F)


def radius(number):
    """Shares of the classes within a radius, and what is outside of every radius."""
    drawn = Drawn(number)
    drawn.weights = None
    X = drawn.X.astype(np.float64)
    metric = chosen(drawn.rng, ("euclidean", "cityblock"))
    distances = cdist(X, X, metric)
    r = float(np.quantile(distances, chosen(drawn.rng, (0.05, 0.3, 0.8)))) * 1.0001
    weights = chosen(drawn.rng, ("uniform", "distance"))
    near = np.abs(distances - r) < 1e-5 * r
    model = drawn.fit(
        ours.RadiusNeighborsClassifier(r, weights=weights, metric=metric, outlier_label=7)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        given = (distances <= r) * (1.0 if weights == "uniform" else 1.0 / distances)
    given = np.where(distances <= r, given, 0.0)
    infinite = np.isinf(given).any(axis=1)
    given[infinite] = np.isinf(given[infinite])
    classes = np.unique(drawn.labels)
    votes = given @ (drawn.labels[:, None] == classes)
    clear = ~near.any(axis=1) & (votes.sum(axis=1) > 0)
    if weights == "distance":  # 1 / d of rows that differ by rounding
        clear &= np.where(distances > 0, distances, np.inf).min(axis=1) > 1e-4 * r
    with np.errstate(invalid="ignore"):
        expected = votes / votes.sum(axis=1, keepdims=True)
    found = model.predict_proba(drawn.given)
    if clear.any():
        drawn.close(found[clear], expected[clear], f"{metric}, {weights}: shares", 1e-5)


def nearest(number):
    """Distances of `NearestNeighbors` against SciPy's, by number and by radius."""
    drawn = Drawn(number)
    X = drawn.X.astype(np.float64)
    metric = chosen(drawn.rng, ("euclidean", "cityblock", "cosine"))
    if metric == "cosine" and (np.abs(X).max(axis=1) == 0).any():
        return
    k = int(drawn.rng.integers(1, min(8, len(X))))
    model = ours.NearestNeighbors(n_neighbors=k, metric=metric).fit(drawn.given)
    distances, rows = model.kneighbors(drawn.given)
    expected = cdist(X, X, metric)
    size = max(expected.max(), 1e-300)
    tolerance = 1e-6 if metric == "cosine" else 1e-6 * size
    ranked = np.sort(expected, axis=1)[:, :k]
    worst = np.abs(distances - ranked).max()
    assert worst <= tolerance, f"{metric}: distances differ by {worst:g}; {drawn}"
    own = np.take_along_axis(expected, rows, axis=1)
    assert np.abs(own - distances).max() <= tolerance, f"{metric}: other rows; {drawn}"
    r = float(np.quantile(expected, 0.3)) + 2 * tolerance
    if (np.abs(expected - r) <= tolerance).any():
        return
    _, around = model.radius_neighbors(drawn.given, r)
    for found, row in zip(around, expected, strict=True):
        assert sorted(found) == np.flatnonzero(row <= r).tolist(), f"{metric}: radius; {drawn}"


def passive_aggressive(number):
    """Five passes in the order of the rows: the same updates as scikit-learn's."""
    drawn = Drawn(number, sparse=False)  # for sparse rows, scikit-learn slows the intercept down
    drawn.weights = None
    C, loss = (
        float(10.0 ** drawn.rng.integers(-3, 2)),
        chosen(drawn.rng, ("hinge", "squared_hinge")),
    )
    params = {"C": C, "loss": loss, "shuffle": False, "tol": None, "max_iter": 5}
    a, b = ours.PassiveAggressiveClassifier(**params), PassiveAggressiveClassifier(**params)
    drawn.fit(a)
    try:
        drawn.fit(b)
    except ValueError as error:
        assert "overflow" in str(error), error
        return
    if drawn.kind == "plain" and drawn.dtype == np.float64:  # others meet margins of exactly 1
        # a step past the margin by the intercept's part, 1 / |x|^2, amplifies rounding from step to step
        X = np.nextafter(drawn.X, np.inf)
        moved = [clone(m).fit(X, drawn.labels).coef_ - m.coef_ for m in (a, b)]
        if np.abs(a.coef_ - b.coef_).max() > 10 * np.abs(moved).max():
            drawn.close(a.coef_, b.coef_, f"{params}: weights", 1e-6)
            drawn.close(a.intercept_, b.intercept_, f"{params}: intercepts", 1e-6)


def subgradient(number):
    """Steps of `SubgradientSVC` are those of the definition."""
    drawn = Drawn(number)
    loss = chosen(drawn.rng, ("hinge", "squared_hinge", "logistic"))
    mu, alpha = 0.1, float(chosen(drawn.rng, (0.001, 0.1))) / max(1.0, drawn.spread) ** 2
    model = ours.SubgradientSVC(loss, alpha=alpha, mu=mu, eps=0.0, max_iter=7)
    drawn.fit(model)
    X, w = drawn.X.astype(np.float64), drawn.total()
    w = w / w.sum()
    found = np.atleast_2d(model.coef_)
    for p, own in enumerate(model.classes_[1:] if drawn.k == 2 else model.classes_):
        t, z0, z = np.where(drawn.labels == own, 1.0, -1.0), 0.0, np.zeros(X.shape[1])
        margins = []
        for _ in range(7):
            margin = t * (z0 + X @ z)
            margins.append(margin)
            slope = {
                "hinge": np.where(margin <= 1.0, -1.0, 0.0),
                "squared_hinge": -2.0 * np.maximum(0.0, 1.0 - margin),
                "logistic": -expit(-margin),
            }[loss]
            pull = w * slope * t
            z0, z = z0 - alpha * pull.sum(), z - alpha * (pull @ X + 2.0 * mu * z)
        still = np.abs(np.diff(margins, axis=0)).max(axis=1).min() < 1e-7  # it ends there
        lost = 1e-14 * (np.abs(X).sum(axis=0)).max()  # of sums that cancel
        clear = np.abs(found[p] - z).max() > lost
        if clear and not still and (loss != "hinge" or drawn.kind == "plain"):  # margins of 1
            drawn.close(found[p], z, f"{loss}, alpha {alpha:g}: weights", 1e-6)


def fisher(number):
    """Axes and ratios of `FisherDiscriminant` against SciPy's generalised eigenvectors."""
    drawn = Drawn(number)
    X, w, y = drawn.X.astype(np.float64), drawn.total(), drawn.y
    mean, sums = w @ X / w.sum(), np.bincount(y, w)
    means = np.stack([w[y == c] @ X[y == c] / sums[c] for c in range(drawn.k)])
    away = X - means[y]
    ridge = 0.1 * float(w @ ((X - mean) ** 2).sum(axis=1)) + 1e-300
    within = (away * w[:, None]).T @ away + ridge * np.eye(X.shape[1])
    between = ((means - mean) * sums[:, None]).T @ (means - mean)
    count = min(drawn.k - 1, X.shape[1])
    axes = eigh(between, within)[1][:, ::-1][:, :count]
    inner = np.einsum("ja,jk,ka->a", axes, within - ridge * np.eye(X.shape[1]), axes)
    ratios = np.einsum("ja,jk,ka->a", axes, between, axes)
    ratios = ratios / np.maximum(inner, 1e-300)
    known = inner > 1e-6  # else the ridge is all that is within the classes
    axes = axes * np.sqrt(
        w.sum()
    )  # the variance within the classes is 1, the ridge's part included
    model = drawn.fit(ours.FisherDiscriminant(ridge=ridge))
    if not np.ptp(X, axis=0).any():
        assert not model.scatter_ratio_.any(), f"{model.scatter_ratio_}; {drawn}"
        assert not model.transform(drawn.given).any(), f"{drawn}"
        return
    if known.any():
        drawn.close(model.scatter_ratio_[known], ratios[known], "ratios", 1e-4)
    values = np.einsum("ja,jk,ka->a", axes, between, axes) / w.sum()
    apart = np.append(-np.diff(values), values[-1] if count < X.shape[1] else np.inf)
    sure = np.minimum(apart, np.append(np.inf, apart[:-1])) > 1e-2 * values[0]
    expected = np.abs((X - mean) @ axes)[:, sure]
    if sure.any():
        found = np.abs(model.transform(drawn.given))[:, :count][:, sure]
        drawn.close(found, expected, "coordinates", 1e-4)


def laplace(number):
    """Covariance and probabilities of a Bayesian logistic regression, from their definitions."""
    drawn = Drawn(number, counts=(2,))
    C = float(10.0 ** drawn.rng.integers(-2, 2)) / drawn.spread**2
    model = drawn.fit(ours.LogisticRegression(C=C, posterior="laplace", tol=1e-9, max_iter=1000))
    X = np.column_stack([drawn.X.astype(np.float64), np.ones(len(drawn.y))])
    m = X @ np.append(model.coef_[0], model.intercept_)
    p = expit(m)
    ridge = np.append(np.full(X.shape[1] - 1, 1.0 / C), 0.0)
    H = (X * (drawn.total() * p * (1.0 - p))[:, None]).T @ X + np.diag(ridge)
    scale = 1.0 / np.sqrt(np.diag(H))
    covariance = scale[:, None] * np.linalg.inv(H * scale[:, None] * scale) * scale
    ratio = model.covariance_ / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    expected = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    drawn.close(ratio, expected, f"C={C:g}: covariances", 1e-4)
    variance = np.einsum("ij,jk,ik->i", X, covariance, X)
    expected = expit(m / np.sqrt(1.0 + np.pi * variance / 8.0))
    drawn.close(model.predict_proba(drawn.given)[:, 1], expected, f"C={C:g}: probabilities", 1e-4)


def logistic_search(number):
    """Scores of `LogisticRegressionCV` on the folds are scikit-learn's."""
    drawn = Drawn(number, scales=False)
    drawn.weights = None
    params = {"Cs": [0.01, 1.0], "cv": 2, "tol": 1e-6, "max_iter": 500, "scoring": "neg_log_loss"}
    params |= {"use_legacy_attributes": False, "l1_ratios": (0.0,)}
    a, b = (
        drawn.fit(ours.LogisticRegressionCV(**params)),
        linear_model.LogisticRegressionCV(**params),
    )
    drawn.fit(b)
    drawn.close(a.scores_, b.scores_, "log losses", 1e-3)


def polynomials(number):
    """`PolynomialMap` against scikit-learn's, and the products of its features against the kernel."""
    drawn = Drawn(number, widest=6)
    degree = int(drawn.rng.integers(1, 4))
    options = {
        "include_bias": bool(drawn.rng.random() < 0.5),
        "interaction_only": bool(drawn.rng.random() < 0.3),
    }
    found = ours.PolynomialMap(degree, **options).fit_transform(drawn.given)
    expected = PolynomialFeatures(degree, **options).fit_transform(drawn.X.astype(np.float64))
    for a, b in zip(_dense(found).T, expected.T, strict=True):
        drawn.close(a, b, f"degree {degree}, {options}: monomials")
    gamma, X = 0.5 / drawn.spread**2, drawn.X.astype(np.float64)
    mapped = ours.PolynomialMap(degree, kernel=True, gamma=gamma, coef0=1.0)
    F = _dense(mapped.fit_transform(drawn.given)).astype(np.float64)
    drawn.close(F @ F.T, (gamma * X @ X.T + 1.0) ** degree, f"degree {degree}: kernel")


def nystroem(number):
    """Products of features are the kernel between the landmarks' projections of the samples."""
    drawn = Drawn(number)
    X, gamma = drawn.X.astype(np.float64), float(chosen(drawn.rng, (0.1, 1.0))) / drawn.spread**2
    m = int(drawn.rng.integers(1, min(10, len(X))))
    model = ours.Nystroem(gamma=gamma, n_components=m, random_state=number).fit(drawn.given)
    landmarks = X[model.component_indices_]
    K = np.exp(-gamma * cdist(landmarks, landmarks, "sqeuclidean"))
    values = np.linalg.eigvalsh(K)
    if values[0] < 1e-6 * values[-1]:
        return  # how many of its directions count is a matter of rounding
    cross = np.exp(-gamma * cdist(X, landmarks, "sqeuclidean"))
    F = np.asarray(model.transform(drawn.given), dtype=np.float64)
    drawn.close(F @ F.T, cross @ np.linalg.solve(K, cross.T), f"{m} landmarks", 1e-4)


def fourier(number):
    """Features of `RandomFourier` are the cosines of its weights, whose spread is the kernel's."""
    drawn = Drawn(number)
    gamma = float(chosen(drawn.rng, (0.1, 1.0))) / drawn.spread**2
    m = int(drawn.rng.integers(1, 200))
    model = ours.RandomFourier(gamma, n_components=m, random_state=number).fit(drawn.given)
    W, b = model.random_weights_.astype(np.float64), model.random_offset_
    expected = np.sqrt(2.0 / m) * np.cos(drawn.X.astype(np.float64) @ W + b)
    drawn.close(model.transform(drawn.given), expected, f"gamma {gamma:g}", 1e-5)
    apart = W.std() / np.sqrt(2.0 * gamma) - 1.0
    assert abs(apart) < 5.0 / np.sqrt(W.size), f"weights {apart:.2g} too wide; {drawn}"


def decision(number):
    """Decisions of `BayesDecision` have the least expected loss, or are rejected for less."""
    drawn = Drawn(number, scales=False, sparse=False)
    drawn.weights = None
    L = drawn.rng.uniform(0.0, 5.0, size=(drawn.k, drawn.k)) * (1.0 - np.eye(drawn.k))
    reject = float(drawn.rng.uniform(0.0, 2.0)) if drawn.rng.random() < 0.5 else None
    model = drawn.fit(ours.BayesDecision(naive_bayes.GaussianNB(), L, reject_cost=reject))
    P = drawn.fit(naive_bayes.GaussianNB()).predict_proba(drawn.X)
    risks = P @ L
    actions = np.unique(drawn.labels)
    if reject is not None:
        risks = np.column_stack([risks, np.full(len(P), reject)])
        actions = np.append(actions, model.actions_[-1])
    drawn.same_predictions(model.predict(drawn.X), actions[risks.argmin(axis=1)], -risks)


def calibrated(number):
    """Probabilities of `CalibratedClassifier` against scikit-learn's with one model for all folds."""
    drawn = Drawn(number, scales=False, sparse=False)
    drawn.weights = None
    method = chosen(drawn.rng, ("sigmoid", "isotonic"))
    inner = da.LinearDiscriminantAnalysis("lsqr", shrinkage=0.5)
    a = drawn.fit(ours.CalibratedClassifier(inner, method=method, cv=2))
    b = CalibratedClassifierCV(inner, method=method, cv=2, ensemble=False)
    found, expected = a.predict_proba(drawn.X), drawn.fit(b).predict_proba(drawn.X)
    scores = cross_val_predict(inner, drawn.X, drawn.labels, cv=2, method="decision_function")
    steps = np.diff(np.sort(scores.reshape(len(scores), -1), axis=0), axis=0)
    if (steps.max(axis=0) == 0).any() or ((steps > 0) & (steps < 1e-5 * steps.max())).any():
        return  # no slope, or ties but for rounding
    # scikit-learn's sigmoid stops at the tolerance of L-BFGS
    drawn.close(found, expected, method, 5e-3 if method == "sigmoid" else 1e-5)


def table(number):
    """Numbers and names of `TableEncoder` against scikit-learn's imputer and scaler, and a count."""
    import pandas as pd

    drawn = Drawn(number, sparse=False)
    X = drawn.X.astype(np.float64)
    X[drawn.rng.random(X.shape) < 0.1] = np.nan
    X[:3] = drawn.X[:3]
    names = np.array(["red", "green", "blue", "grey"])[drawn.rng.integers(0, 4, size=len(X))]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(name=names)
    model = ours.TableEncoder(number=[f"x{j}" for j in range(X.shape[1])], category=["name"])
    found = _dense(model.fit(frame, drawn.labels).transform(frame))
    titles = list(model.get_feature_names_out())
    filled = SimpleImputer(strategy="median").fit_transform(X)
    scaled = StandardScaler().fit_transform(filled)
    for j in range(X.shape[1]):
        if f"x{j}" in titles and np.ptp(filled[:, j]) > 1e-9 * np.abs(filled[:, j]).max():
            drawn.close(found[:, titles.index(f"x{j}")], scaled[:, j], f"column {j}", 1e-9)
        if f"x{j} missing" in titles:
            marked = found[:, titles.index(f"x{j} missing")] != 0
            assert (marked == np.isnan(X[:, j])).all(), f"missing numbers; {drawn}"
    for name, count in Counter(names.tolist()).items():
        if f"name={name}" in titles:
            marked = found[:, titles.index(f"name={name}")] != 0
            assert (marked == (names == name)).all(), f"{name}; {drawn}"
            assert count > 1, f"{name}, which is rare, has a column; {drawn}"


def defined(kernels, kinds):
    """A kernel on objects against its definition, one pair at a time, and its explicit features."""

    def trial(number):
        rng = np.random.default_rng([5, number])
        kernel, definition = kernels[number % len(kernels)]
        kind = chosen(rng, kinds)
        X, Z = (some(kind, int(rng.integers(1, 9)), [number, part]) for part in (0, 1))
        expected = definitions.block(definition, X, Z)
        np.testing.assert_allclose(kernel.block(X, Z), expected, rtol=1e-10, atol=1e-12)
        own = definitions.block(definition, X, X)
        np.testing.assert_allclose(kernel.diagonal(X), np.diag(own), rtol=1e-10, atol=1e-12)

    return trial


def features(number):
    """Products of `KernelFeatures` are the kernel."""
    rng = np.random.default_rng([6, number])
    known = [one for one in ON_SEQUENCES if "Subsequence" not in repr(one[0])]
    objects = ((known, LETTERS), (ON_GRAPHS, LABELS))
    kernels, kinds = objects[number % 2]
    kernel, definition = chosen(rng, kernels)
    kind = chosen(rng, list(kinds))
    X, Z = (some(kind, int(rng.integers(2, 9)), [number, part]) for part in (0, 1))
    try:
        model = ours.KernelFeatures(kernel).fit(X)
    except DataError:
        assert not definitions.block(definition, X, X).any(), f"{kernel} refuses {X}"
        return
    F, G = (_dense(model.transform(part)) for part in (X, Z))
    expected = definitions.block(definition, Z, X)
    np.testing.assert_allclose(G @ F.T, expected, rtol=1e-10, atol=1e-12)


PARTS = {
    "RadiusNeighborsClassifier": radius,
    "NearestNeighbors": nearest,
    "PassiveAggressiveClassifier": passive_aggressive,
    "SubgradientSVC": subgradient,
    "FisherDiscriminant": fisher,
    "LogisticRegression, Laplace": laplace,
    "LogisticRegressionCV": logistic_search,
    "PolynomialMap": polynomials,
    "Nystroem": nystroem,
    "RandomFourier": fourier,
    "BayesDecision": decision,
    "CalibratedClassifier": calibrated,
    "TableEncoder": table,
    "KernelFeatures": features,
    "kernels on sequences": defined(ON_SEQUENCES, list(LETTERS)),
    "kernels on graphs": defined(ON_GRAPHS, list(LABELS)),
}
