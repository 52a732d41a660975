import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris

from separatrix import PassiveAggressiveClassifier
from separatrix.errors import DataError, ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from sklearn.linear_model import PassiveAggressiveClassifier as Peer

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)
X, Y = X[ORDER], Y[ORDER]

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iter": 1, "tol": None},
        {"max_iter": 20, "tol": None, "C": 0.05},
        {},
        {"tol": 0.1, "n_iter_no_change": 2, "C": 0.01},
        {"fit_intercept": False, "C": 10.0, "max_iter": 5},
        {"average": True, "max_iter": 6, "tol": None},
        {"average": 40, "max_iter": 3, "tol": None},
        {"average": 10_000, "max_iter": 3, "tol": None},
        {"class_weight": {0: 2.0, 1: 0.5}, "max_iter": 4, "tol": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [Y, Y % 2], ids=["three classes", "two classes"])
@pytest.mark.parametrize("samples", [X, csr_array(X)], ids=["dense", "sparse"])
def test_weights_are_scikit_learns(parameters, labels, samples, loss):
    if samples is not X:  # on sparse samples scikit-learn slows the bias down a hundredfold
        parameters = {**parameters, "fit_intercept": False}
    rest = {"shuffle": False, "loss": loss, **parameters}
    peer = Peer(**rest).fit(samples, labels)
    ours = PassiveAggressiveClassifier(**rest).fit(samples, labels)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-7, atol=1e-9)
    assert ours.n_iter_ == peer.n_iter_
    np.testing.assert_array_equal(ours.predict(samples), peer.predict(samples))


@pytest.mark.parametrize(("loss", "C"), [("hinge", 0.1), ("squared_hinge", 0.1), ("hinge", 10.0)])
def test_a_step_is_the_closest_point_of_the_paper(loss, C):
    """PA-I, PA-II: min |w' - w|^2 / 2 + C xi or C xi^2 under y <w', x> >= 1 - xi, solved by SLSQP."""
    from scipy.optimize import minimize

    signs = np.where(Y == 0, -1, 1)
    model = PassiveAggressiveClassifier(C=C, loss=loss, fit_intercept=False, shuffle=False)
    w, power = np.zeros(4), 1 if loss == "hinge" else 2
    for x, sign in zip(X[:8], signs[:8], strict=True):
        found = minimize(
            lambda v, w=w: 0.5 * np.sum((v[:4] - w) ** 2) + C * v[4] ** power,
            np.r_[w, max(0.0, 1 - sign * w @ x)],
            constraints=[
                {"type": "ineq", "fun": lambda v, x=x, s=sign: s * v[:4] @ x - 1 + v[4]},
                {"type": "ineq", "fun": lambda v: v[4]},
            ],
            options={"ftol": 1e-14, "maxiter": 500},
            method="SLSQP",
        )
        w = found.x[:4]
        model.partial_fit(x[None], [sign], classes=[-1, 1])
        np.testing.assert_allclose(model.coef_[0], w, atol=2e-5)


def test_a_sample_without_length_changes_nothing_and_is_still_met():
    samples = np.vstack([np.zeros((1, 4)), X])
    labels = np.r_[1, Y % 2]
    rest = {"shuffle": False, "max_iter": 2, "tol": None, "average": True}
    model = PassiveAggressiveClassifier(**rest).fit(samples, labels)
    assert model.t_ == 303
    assert np.isfinite(model.coef_).all()


def test_streams_average_and_resume_as_one_pass():
    rest = {"shuffle": False, "average": True}
    whole = PassiveAggressiveClassifier(max_iter=2, tol=None, **rest).fit(X, Y)
    parts = PassiveAggressiveClassifier(**rest)
    for _ in range(2):
        parts.partial_fit(X[:70], Y[:70], classes=[0, 1, 2]).partial_fit(X[70:], Y[70:])
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-12)
    warm = PassiveAggressiveClassifier(max_iter=1, tol=None, warm_start=True, **rest)
    np.testing.assert_allclose(warm.fit(X, Y).fit(X, Y).coef_, whole.coef_, atol=1e-12)


def test_curves_count_predictions_and_corrections():
    model = PassiveAggressiveClassifier(shuffle=False, max_iter=1, tol=None).fit(X, Y)
    stream = PassiveAggressiveClassifier(shuffle=False)
    right = [float(Y[0] == 0)]  # all scores are 0: the lowest class
    stream.partial_fit(X[:1], Y[:1], classes=[0, 1, 2])
    for row in range(1, 150):
        right.append(float(stream.predict(X[[row]])[0] == Y[row]))
        stream.partial_fit(X[[row]], Y[[row]])
    assert model.learning_curve_[0] == pytest.approx(np.mean(right))
    assert model.boundary_curve_[0] == pytest.approx(1 - stream.mistakes_.mean())


def test_digits_are_learned_in_a_pass_and_early_stopping_stops():
    digits, labels = load_digits(return_X_y=True)
    model = PassiveAggressiveClassifier(C=0.01, average=True, random_state=0, early_stopping=True)
    model.fit(digits[:1200], labels[:1200])
    assert model.stop_ == "validation"
    assert model.score(digits[1200:], labels[1200:]) > 0.88


def test_bad_parameters_are_refused_in_one_sentence():
    for bad, sentence in (
        ({"C": 0.0}, "`C` of PassiveAggressiveClassifier must be above 0; got 0.0"),
        ({"average": -1}, "`average` .* must be an integer of at least 0; got -1"),
        ({"average": "all"}, "`average` .* must be an integer of at least 0; got 'all'"),
        ({"loss": "log"}, "`loss` .* must be one of 'hinge', 'squared_hinge'; got 'log'"),
        ({"tol": -1.0}, "`tol` .* at least 0; got -1"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            PassiveAggressiveClassifier(**bad).fit(X, Y)
    with pytest.raises(ParameterError, match="a dict or None for partial_fit"):
        PassiveAggressiveClassifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        PassiveAggressiveClassifier().partial_fit(X, Y)
    with pytest.raises(DataError, match=r"`coef_init` must have shape \(3, 4\)"):
        PassiveAggressiveClassifier().fit(X, Y, coef_init=np.ones((4, 3)))
