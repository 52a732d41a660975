import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from separatrix import SVC
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.decision import BayesDecision, cost_curve, optimal_threshold

X, Y = load_iris(return_X_y=True)
TUMOURS, KINDS = load_breast_cancer(return_X_y=True)
UNEVEN = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.5]]


class Given(ClassifierMixin, BaseEstimator):
    """Hands through probabilities of the classes that y has: row i of X is p(. | x_i)."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


def probabilities(rng, n, k):
    return rng.dirichlet(np.full(k, 0.7), size=n)


@pytest.mark.parametrize(
    "inner", [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
)
@pytest.mark.parametrize("rows", [slice(None), slice(50, None)])
def test_without_a_loss_matrix_it_is_the_classifier_itself(inner, rows):
    alone = clone(inner).fit(X[rows], Y[rows])
    model = BayesDecision(inner).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.score(X, Y) == pytest.approx(alone.score(X, Y))


def test_equal_probabilities_go_to_the_first_class():
    P = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert BayesDecision(Given()).fit(P, [3, 7]).predict(P).tolist() == [3, 7]
    neighbours = KNeighborsClassifier(4)  # votes are often equal
    expected = clone(neighbours).fit(X, Y).predict(X)
    np.testing.assert_array_equal(BayesDecision(neighbours).fit(X, Y).predict(X), expected)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 5), rejects=st.booleans())
def test_no_other_action_has_a_lower_expected_loss(seed, k, rejects):
    rng = np.random.default_rng(seed)
    L = rng.integers(0, 6, size=(k, k)) * (1.0 - np.eye(k)) + 0.25
    P = probabilities(rng, 40, k)
    model = BayesDecision(Given(), L, reject_cost=1.1 if rejects else None, reject_label=99)
    model.fit(P, np.arange(40) % k)

    E = model.expected_loss(P)
    by_hand = [[sum(p[y] * L[y, d] for y in range(k)) for d in range(k)] for p in P]
    decided = np.where(model.predict(P) == 99, k, model.predict(P))

    assert E.shape == (40, k + rejects)
    np.testing.assert_allclose(E[:, :k], by_hand)
    np.testing.assert_allclose(E[np.arange(40), decided], E.min(axis=1))
    true = rng.integers(0, k, size=40)
    paid = [1.1 if d == k else L[y, d] for y, d in zip(true, decided, strict=True)]
    assert model.mean_cost(P, true) == pytest.approx(np.mean(paid))


def test_a_row_is_rejected_only_where_that_is_strictly_cheaper():
    P = np.array([[0.75, 0.25], [0.74, 0.26], [0.25, 0.75], [0.5, 0.5]])
    model = BayesDecision(Given(), reject_cost=0.25).fit(P, [0, 1, 0, 1])
    assert model.predict(P).tolist() == [0, -1, 1, -1]
    assert model.expected_loss(P)[:, 2].tolist() == [0.25] * 4
    assert model.score(P, [0, 0, 1, 1]) == 0.5  # rejected rows are wrong
    assert model.mean_cost(P, [0, 0, 0, 1]) == (0 + 0.25 + 1 + 0.25) / 4


@pytest.mark.parametrize(
    ("labels", "reject_label", "expected", "kind"),
    [
        (["a", "b"], None, "reject", "U"),
        (["a", "b"], "ask a person", "ask a person", "U"),
        (["a", "b"], 0, 0, "O"),
        ([0, 1], None, -1, "i"),
        ([0, 1], "ask", "ask", "O"),
        ([0.0, 1.0], None, -1.0, "f"),
        ([0, 1], 0.5, 0.5, "f"),
        (np.array([3, 200], dtype=np.uint8), None, -1, "i"),
        ([False, True], None, -1, "i"),
        (np.array(["a", "b"], dtype=object), None, "reject", "O"),
    ],
)
def test_predictions_are_labels_or_the_reject_label(labels, reject_label, expected, kind):
    P = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    y = np.concatenate([np.asarray(labels), np.asarray(labels)[:1]])
    model = BayesDecision(Given(), reject_cost=0.2, reject_label=reject_label).fit(P, y)
    answer = model.predict(P)
    assert answer.dtype.kind == kind
    assert answer.tolist() == [*np.asarray(labels).tolist(), expected]
    assert model.score(P, y) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("L", "threshold"),
    [
        ([[0, 1], [1, 0]], 0.5),
        ([[0, 1], [9, 0]], 0.1),
        ([[0, 10], [1, 0]], 10 / 11),
        ([[-2, 4], [3, 1]], 0.75),
        ([[0, 0], [1, 0]], 0.0),  # an alarm costs nothing
        ([[1, 0], [2, 0]], 0.0),  # and here it is even cheaper
        ([[1, 0], [1, 1]], 0.0),
        ([[0, 1], [0, 0]], np.inf),  # a miss costs nothing
        ([[0, 1], [0, 2]], np.inf),
        ([[1, 1], [1, 1]], np.inf),
    ],
)
def test_the_threshold_is_where_the_expected_losses_cross(L, threshold):
    p = np.linspace(0.001, 0.999, 500)
    P = np.column_stack([1 - p, p])
    model = BayesDecision(Given(), L).fit(P, np.arange(500) % 2)
    assert model.threshold_ == pytest.approx(threshold)
    away = np.abs(p - threshold) > 1e-9
    np.testing.assert_array_equal(model.predict(P)[away], (p >= threshold)[away])


def test_a_given_threshold_decides_and_losses_set_the_costs():
    P = np.array([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    model = BayesDecision(Given(), [[0, 5], [1, 0]], threshold=0.3).fit(P, [0, 1, 1])
    assert model.threshold_ == 0.3
    assert model.predict(P).tolist() == [0, 1, 1]
    assert model.mean_cost(P, [0, 0, 1]) == 5 / 3


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 40),
    grid=st.integers(1, 30),
    weighted=st.booleans(),
)
def test_the_cost_curve_has_the_cost_of_every_threshold(seed, n, grid, weighted):
    rng = np.random.default_rng(seed)
    p, second = rng.integers(0, grid + 1, size=n) / grid, rng.random(n) < 0.4
    L = rng.integers(-1, 6, size=(2, 2)).astype(float)
    weights = rng.integers(0, 4, size=n) + (np.arange(n) == 0.0) if weighted else np.ones(n)

    def paid(threshold):
        return weights @ L[second.astype(int), (p >= threshold).astype(int)] / weights.sum()

    curve = cost_curve(p, second, L, weights)
    assert curve.thresholds.tolist() == [*sorted(set(p.tolist())), np.inf]
    np.testing.assert_array_equal(curve.mean_cost, [paid(t) for t in curve.thresholds])
    assert curve.best_cost == curve.mean_cost.min() == paid(curve.best_threshold)
    assert curve.rows()[-1] == {"threshold": np.inf, "mean_cost": curve.mean_cost[-1]}


def test_a_threshold_separates_adjacent_floats():
    p = np.array([0.3, np.nextafter(0.3, 1)])
    curve = cost_curve(p, np.array([False, True]), 1.0 - np.eye(2))
    assert curve.best_cost == 0
    assert ((p >= curve.best_threshold) == [False, True]).all()


@pytest.mark.parametrize(
    ("p", "best"), [([0.1, 0.2, 0.7, 0.8], 0.75), ([0.25, 0.375, 0.8, 0.9], 0.3125)]
)
def test_among_equal_costs_the_best_is_nearest_to_the_threshold_of_the_losses(p, best):
    second = np.array([False, True, False, True])
    curve = cost_curve(np.array(p), second, 1.0 - np.eye(2))
    assert curve.mean_cost.tolist() == [0.5, 0.25, 0.5, 0.25, 0.5]
    assert curve.best_threshold == best


def test_a_tuned_threshold_is_the_best_on_held_out_rows():
    L = np.array([[0.0, 10.0], [1.0, 0.0]])
    model = BayesDecision(GaussianNB(), L, threshold="tune", cv=4).fit(TUMOURS, KINDS)
    held_out = cross_val_predict(
        GaussianNB(), TUMOURS, KINDS, cv=StratifiedKFold(4), method="predict_proba"
    )[:, 1]

    def paid(threshold):
        return L[KINDS, (held_out >= threshold).astype(int)].mean()

    assert model.held_out_curve_.best_cost == pytest.approx(paid(model.threshold_))
    assert paid(model.threshold_) <= min(paid(t) for t in np.unique(held_out)) + 1e-12
    assert paid(model.threshold_) < paid(optimal_threshold(L))  # naive Bayes is too sure of itself
    alone = GaussianNB().fit(TUMOURS, KINDS)
    np.testing.assert_array_equal(
        model.predict(TUMOURS), alone.predict_proba(TUMOURS)[:, 1] >= model.threshold_
    )
    assert not hasattr(model.set_params(threshold=None).fit(TUMOURS, KINDS), "held_out_curve_")


def test_the_cost_curve_of_a_model_holds_its_own_cost():
    L = [[0, 3], [1, 0]]
    for threshold in (None, 0.3):
        model = BayesDecision(GaussianNB(), L, threshold=threshold).fit(TUMOURS, KINDS)
        curve = model.cost_curve(TUMOURS, KINDS)
        at = np.searchsorted(curve.thresholds, model.threshold_)
        assert curve.mean_cost[at] == pytest.approx(model.mean_cost(TUMOURS, KINDS))
    weights = np.arange(569) % 3
    repeated = np.repeat(np.arange(569), weights)
    assert model.mean_cost(TUMOURS, KINDS, weights) == pytest.approx(
        model.mean_cost(TUMOURS[repeated], KINDS[repeated])
    )
    weighted = model.cost_curve(TUMOURS, KINDS, weights)
    assert weighted.best_cost == pytest.approx(
        model.cost_curve(TUMOURS[repeated], KINDS[repeated]).best_cost
    )


def test_a_frozen_classifier_is_not_fitted_again():
    fitted = GaussianNB().fit(TUMOURS[::2], KINDS[::2])
    model = BayesDecision(FrozenEstimator(fitted), [[0, 10], [1, 0]], threshold="tune")
    model.fit(TUMOURS[1::2], KINDS[1::2])
    np.testing.assert_array_equal(model.predict_proba(TUMOURS), fitted.predict_proba(TUMOURS))
    p = fitted.predict_proba(TUMOURS[1::2])[:, 1]
    expected = cost_curve(p, KINDS[1::2] == 1, model.loss_matrix_)
    assert model.threshold_ == expected.best_threshold
    assert model.n_features_in_ == 30
    weights = np.ones(284)
    again = clone(model).fit(TUMOURS[1::2], KINDS[1::2], sample_weight=weights)
    assert again.threshold_ == model.threshold_


def test_weights_are_passed_on_and_count_in_the_tuning():
    weights = 1.0 + np.arange(569) % 3
    inner = GaussianNB()
    model = BayesDecision(inner, threshold="tune", cv=3).fit(TUMOURS, KINDS, sample_weight=weights)
    alone = GaussianNB().fit(TUMOURS, KINDS, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(TUMOURS), alone.predict_proba(TUMOURS))
    P = cross_val_predict(
        inner,
        TUMOURS,
        KINDS,
        cv=StratifiedKFold(3),
        method="predict_proba",
        params={"sample_weight": weights},
    )
    expected = cost_curve(P[:, 1], KINDS == 1, 1.0 - np.eye(2), weights)
    assert model.threshold_ == expected.best_threshold
    with pytest.raises(ParameterError, match="whose fit accepts sample_weight if weights are"):
        BayesDecision(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(150))


def test_sparse_samples_frames_and_kernel_matrices_pass_through():
    words = np.where(np.median(X, axis=0) < X, 1.0, 0.0)
    dense = BayesDecision(BernoulliNB(), UNEVEN).fit(words, Y)
    sparse = BayesDecision(BernoulliNB(), UNEVEN).fit(csr_array(words), Y)
    np.testing.assert_array_equal(dense.predict(words), sparse.predict(csr_array(words)))
    assert dense.__sklearn_tags__().input_tags.sparse
    assert not BayesDecision(GaussianNB()).__sklearn_tags__().input_tags.sparse
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = BayesDecision(GaussianNB(), UNEVEN).fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4
    machine = SVC(kernel="precomputed", calibration="sigmoid", random_state=0)
    K = TUMOURS / TUMOURS.std(axis=0)
    K = K @ K.T
    tuned = BayesDecision(machine, threshold="tune", cv=3).fit(K, KINDS)
    assert tuned.score(K, KINDS) > 0.9


def test_it_can_be_searched_saved_and_put_in_a_pipeline():
    inner = make_pipeline(StandardScaler(), GaussianNB())
    grid = {"estimator__gaussiannb__var_smoothing": [1e-9, 1e-2], "reject_cost": [None, 0.1]}
    search = GridSearchCV(BayesDecision(inner), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    model = BayesDecision(inner, UNEVEN, reject_cost=0.2).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X))
    assert "BayesDecision" in model._repr_html_()


def test_tuning_needs_samples_of_each_class_in_every_fold():
    y = (np.arange(150) < 3).astype(int)
    with pytest.raises(DataError, match="in 5 folds needs 5 samples of each class; got 3"):
        BayesDecision(GaussianNB(), threshold="tune").fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for cv in (folds, list(folds.split(X, y))):
        fitted = BayesDecision(GaussianNB(), threshold="tune", cv=cv).fit(X, y)
        assert fitted.held_out_curve_.best_cost <= 3 / 150


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"estimator": LinearSVC()}, "`estimator` .* a classifier with predict_proba; got Linear"),
        ({"estimator": GaussianNB}, "`estimator` .* a classifier with predict_proba; got <class"),
        ({"loss_matrix": np.eye(2)}, r"`loss_matrix` .* of shape \(3, 3\), a row .*got \(2, 2\)"),
        ({"loss_matrix": np.ones(3)}, r"`loss_matrix` .* of shape \(3, 3\), .*; got \(3,\)"),
        ({"loss_matrix": np.full((3, 3), np.nan)}, "`loss_matrix` .* finite; got"),
        ({"loss_matrix": np.diag([0, np.inf, 0])}, "`loss_matrix` .* finite; got"),
        ({"loss_matrix": "0-1"}, "`loss_matrix` .* numbers; got '0-1'"),
        ({"loss_matrix": np.eye(3)}, "`loss_matrix` .* of losses, not of gains"),
        ({"threshold": 1.0}, "`threshold` .* above 0 and below 1; got 1.0"),
        ({"threshold": "best"}, "`threshold` .* a probability, 'tune' or None; got 'best'"),
        ({"threshold": 0.4, "reject_cost": 0.1}, "`threshold` .* None with reject_cost"),
        ({"threshold": "tune", "cv": 1}, "`cv` .* an integer of at least 2; got 1"),
        ({"reject_cost": -0.1}, "`reject_cost` .* at least 0; got -0.1"),
        ({"reject_cost": np.nan}, "`reject_cost` .* at least 0; got nan"),
        ({"reject_cost": 0.1, "reject_label": 2}, r"`reject_label` .* \[0, 1, 2\]; got 2"),
    ],
)
def test_bad_parameters_are_named_with_what_they_must_be(parameters, sentence):
    model = BayesDecision(GaussianNB()).set_params(**parameters)
    with pytest.raises(ParameterError, match=sentence) as raised:
        model.fit(X, Y)
    assert str(raised.value).split(" must be ")[0].endswith("of BayesDecision")
    assert "\n" not in str(raised.value)


def test_minus_one_rejects_only_where_it_is_no_class():
    signs = np.where(Y == 0, -1, 1)
    with pytest.raises(ParameterError, match=r"none of the classes \[-1, 1\]; got -1"):
        BayesDecision(GaussianNB(), reject_cost=0.1).fit(X, signs)
    model = BayesDecision(GaussianNB(), reject_cost=0.1, reject_label=0).fit(X, signs)
    assert model.actions_.tolist() == [-1, 1, 0]


def test_costs_need_known_labels_and_a_curve_two_classes():
    model = BayesDecision(GaussianNB()).fit(X, Y)
    with pytest.raises(DataError, match=r"y has labels \[7\] that are not in classes_ \[0, 1, 2\]"):
        model.mean_cost(X, np.where(Y == 0, 7, Y))
    with pytest.raises(DataError, match="cost_curve supports 2 classes only; got 3"):
        model.cost_curve(X, Y)
    assert not hasattr(model, "threshold_")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.mean_cost(X, Y[:10])
    with pytest.raises(DataError, match="must have a weight above zero"):
        model.mean_cost(X, Y, np.zeros(150))


@pytest.mark.parametrize("threshold", [0.4, "tune"])
def test_a_threshold_is_for_two_classes(threshold):
    with pytest.raises(
        DataError, match=f"threshold={threshold!r} there must be 2 classes; got 3 classes"
    ):
        BayesDecision(GaussianNB(), threshold=threshold).fit(X, Y)
