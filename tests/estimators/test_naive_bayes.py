import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from separatrix.data.catalogue import VARIABLE
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

MODELS = [
    MultinomialNB(),
    MultinomialNB(alpha=0),
    BernoulliNB(),
    BernoulliNB(alpha=0, fit_prior=False),
    BernoulliNB(binarize=1.0),
    GaussianNB(),
]
LEARNED = {
    "counts": ("class_count_", "feature_count_", "feature_log_prob_", "class_log_prior_"),
    "numbers": ("class_count_", "theta_", "var_", "epsilon_", "class_prior_"),
}
SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


def made_up(seed=0, n=60, d=8, k=3):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), np.arange(k), rng.integers(0, k, size=n - 2 * k)]
    return rng.poisson(1.0 + (y[:, None] + np.arange(d)) % k * 0.5, size=(n, d)).astype(float), y


X, Y = made_up()


@pytest.fixture(params=MODELS, ids=repr)
def model(request):
    return clone(request.param)


def assert_same_model(a, b, rtol=1e-10):
    np.testing.assert_array_equal(a.classes_, b.classes_)
    for name in LEARNED["numbers" if hasattr(a, "theta_") else "counts"]:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, err_msg=name)


def test_sparse_samples_in_many_blocks_give_the_same_model(monkeypatch):
    monkeypatch.setattr("separatrix.estimators.naive_bayes.FEWEST_ENTRIES", 1)
    wide = csr_array((np.ones(900), np.tile([0, 1, 2], 300), np.arange(0, 901, 3)), shape=(300, 4))
    y = np.arange(300) % 2
    assert_same_model(MultinomialNB().fit(wide, y), MultinomialNB().fit(wide.toarray(), y))


@pytest.mark.parametrize(
    "ours",
    [
        MultinomialNB(),
        MultinomialNB(alpha=0.01, fit_prior=False),
        MultinomialNB(alpha=np.linspace(0.1, 2, 8), class_prior=[0.2, 0.3, 0.5]),
        BernoulliNB(),
        BernoulliNB(alpha=0.3, binarize=1.5, class_prior=[0.2, 0.3, 0.5]),
        GaussianNB(),
        GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_everything_learned_and_predicted_is_scikit_learns(ours, weighted):
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=len(X)) if weighted else None
    name = type(ours).__name__
    shared = {key: value for key, value in ours.get_params().items() if key != "device"}
    theirs = getattr(peers, name)(**shared).fit(X, Y, sample_weight=weights)
    ours = clone(ours).fit(X, Y, sample_weight=weights)
    if name == "GaussianNB" and weighted:  # theirs does not see weights; here they are repetitions
        theirs.var_ += ours.epsilon_ - theirs.epsilon_
        theirs.epsilon_ = ours.epsilon_
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(
            getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-10, atol=1e-12
        )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for learned in LEARNED["numbers" if name == "GaussianNB" else "counts"]:
        np.testing.assert_allclose(getattr(ours, learned), getattr(theirs, learned), rtol=1e-10)


def test_epsilon_is_of_all_samples_however_they_came():
    samples, y = load_iris(return_X_y=True)
    model = GaussianNB(var_smoothing=0.1)
    for start in range(0, 150, 30):  # classes come one after the other
        model.partial_fit(samples[start : start + 30], y[start : start + 30], classes=[0, 1, 2])
    assert model.epsilon_ == pytest.approx(0.1 * samples.var(axis=0).max(), rel=1e-12)


def test_plain_shares_when_alpha_is_zero():
    counts = [[2, 1, 0, 0], [1, 0, 0, 0], [0, 1, 3, 0]]
    model = MultinomialNB(alpha=0).fit(counts, ["ham", "ham", "spam"])
    np.testing.assert_allclose(
        np.exp(model.feature_log_prob_), [[3 / 4, 1 / 4, 0, 0], [0, 1 / 4, 3 / 4, 0]]
    )
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [2 / 3, 1 / 3])


@pytest.mark.parametrize("container", [np.array, csr_array])
def test_words_that_were_never_met_and_alpha_zero(container):
    counts = [[2, 1, 0, 0], [1, 0, 0, 0], [0, 1, 3, 0]]
    model = MultinomialNB(alpha=0).fit(counts, ["ham", "ham", "spam"])
    new = container(
        [
            [0, 1, 0, 0],  # in both: 2/3 * 1/4 against 1/3 * 1/4
            [1, 0, 0, 0],  # impossible as spam
            [2, 0, 1, 0],  # impossible as both: once as ham, twice as spam
            [0, 0, 0, 5],  # in no class, so that only priors and totals speak
            [0, 0, 0, 0],
        ]
    )
    P = model.predict_proba(new)
    np.testing.assert_allclose(P[:3], [[2 / 3, 1 / 3], [1, 0], [1, 0]])
    np.testing.assert_allclose(P[3:], [[2 / 3, 1 / 3], [2 / 3, 1 / 3]])  # both classes have 4 words
    joint = model.predict_joint_log_proba(new)
    assert np.isneginf(joint[2:4]).all()
    np.testing.assert_allclose(np.exp(joint[:2]), [[2 / 12, 1 / 12], [2 / 3 * 3 / 4, 0]])
    assert model.predict(new).tolist() == ["ham"] * 5


def test_certainties_of_flags_and_alpha_zero():
    flags = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    model = BernoulliNB(alpha=0).fit(flags, [0, 0, 1, 1])
    np.testing.assert_allclose(
        model.predict_proba([[1, 1, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]]),
        [[1, 0], [0, 1], [1, 0], [1, 0], [1 / 3, 2 / 3]],  # the last contradicts each class twice
    )


def test_a_class_not_met_yet_has_probability_zero(model):
    fitted = model.partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])
    P = fitted.predict_proba(X)
    if getattr(model, "fit_prior", True):
        np.testing.assert_array_equal(P[:, 2], 0.0)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_of_a_class_not_met_a_given_prior_says_nothing():
    model = GaussianNB(priors=[0.3, 0.3, 0.4])
    fitted = model.partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])
    np.testing.assert_array_equal(fitted.predict_proba(np.zeros((1, 8)))[:, 2], 0.0)


def test_samples_of_any_number_type_are_taken(model):
    whole = clone(model).fit(X > 1, Y)
    for dtype in (np.uint8, np.int64, np.float32):
        again = clone(model).fit((X > 1).astype(dtype), Y)
        assert_same_model(again, whole)
        assert_same_model(clone(model).fit(csr_array(X > 1), Y), whole)
        np.testing.assert_allclose(again.predict_proba((X > 1).astype(dtype)).sum(axis=1), 1.0)


def test_alpha_below_its_least_is_raised_only_where_it_is_not_forced():
    with pytest.warns(UserWarning, match=r"setting alpha = 1\.0e-10"):
        raised = MultinomialNB(alpha=0, force_alpha=False).fit(X, Y)
    assert_same_model(raised, MultinomialNB(alpha=1e-10).fit(X, Y))


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB()])
def test_signed_distance_is_the_log_odds_over_their_slope(model):
    two = clone(model).fit(X, Y > 0)
    joint = two.predict_joint_log_proba(X)
    if isinstance(model, MultinomialNB):
        w = two.feature_log_prob_[1] - two.feature_log_prob_[0]
    else:
        odds = two.feature_log_prob_ - np.log1p(-np.exp(two.feature_log_prob_))
        w = odds[1] - odds[0]
    distance = two.signed_distance(X)
    np.testing.assert_allclose(distance, (joint[:, 1] - joint[:, 0]) / np.linalg.norm(w))
    np.testing.assert_array_equal(two.predict(X), distance > 0)
    assert clone(model).fit(X, Y).signed_distance(X).shape == (60, 3)


def test_there_is_no_distance_where_probabilities_are_zero():
    with pytest.raises(DataError, match="there is no boundary; raise `alpha` above 0"):
        MultinomialNB(alpha=0).fit([[1, 0], [0, 1]], [0, 1]).signed_distance([[1, 0]])


@pytest.mark.parametrize("container", [np.array, csr_array])
def test_negative_counts_are_refused_with_the_value_found(container):
    with pytest.raises(DataError, match=r"Negative values .* got -3"):
        MultinomialNB().fit(container([[0, 1], [-3, 1]]), [0, 1])
    with pytest.raises(DataError, match=r"Negative values .* got -3"):
        MultinomialNB().fit(X[:, :2], Y).predict(container([[0, 1], [-3, 1]]))


def test_flags_that_are_none_are_refused():
    with pytest.raises(DataError, match="must lie between 0 and 1; got 2"):
        BernoulliNB(binarize=None).fit([[0, 1], [2, 1]], [0, 1])
    assert_same_model(BernoulliNB(binarize=None).fit(np.minimum(X, 1), Y), BernoulliNB().fit(X, Y))


def test_models_that_counted_otherwise_are_not_merged():
    one, other = BernoulliNB().fit(X, Y), BernoulliNB(binarize=1.0).fit(X, Y)
    with pytest.raises(ParameterError, match=r"must be 0\.0, as in the model it is merged into"):
        one.merge(other)


def test_a_feature_without_variance_is_named():
    flat = GaussianNB(var_smoothing=0).fit([[1.0, 1.0], [1.0, 2.0], [3.0, 1.0]], ["a", "a", "b"])
    with pytest.raises(DataError, match="feature 0 has no variance in class 'a'; raise"):
        flat.predict([[1.0, 1.0]])


def texts(name):
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set: no {name} here")
    with gzip.open(Path(folder) / name, "rt", encoding="utf-8") as lines:
        labels, found = zip(*(line.rstrip("\n").split("\t", 1) for line in lines), strict=True)
    return np.array(labels), found


@pytest.mark.slow
def test_spam_is_told_from_ham_as_often_as_reported():
    """Reported: about 98.5 % in 10 folds. Here: stratified, shuffled with seed 0, plain word counts."""
    labels, messages = texts("SMSSpamCollection.gz")
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    ours = cross_val_score(
        make_pipeline(CountVectorizer(), MultinomialNB()), messages, labels, cv=folds
    )
    theirs = cross_val_score(
        make_pipeline(CountVectorizer(), peers.MultinomialNB()), messages, labels, cv=folds
    )
    np.testing.assert_array_equal(ours, theirs)
    assert 0.985 < ours.mean() < 0.989  # 0.9869; seeds 1 and 2 give 0.9862 and 0.9865


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB"])
def test_news_are_sorted_as_by_scikit_learn(name):
    words = CountVectorizer(token_pattern=r"\S+")
    labels, train = texts("r8-train.txt.gz")
    held_out, test = texts("r8-test.txt.gz")
    train, test = words.fit_transform(train), words.transform(test)
    ours = globals()[name]().fit(train, labels)
    theirs = getattr(peers, name)().fit(train, labels)
    np.testing.assert_array_equal(ours.predict(test), theirs.predict(test))
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(test), theirs.predict_joint_log_proba(test), rtol=1e-10
    )
    if name == "MultinomialNB":
        assert ours.score(test, held_out) == pytest.approx(0.9539, abs=5e-5)


def test_partial_fit_refuses_weights_with_blocks_and_empty_streams():
    with pytest.raises(DataError, match=r"yield \(X, y, weights\)"):
        GaussianNB().partial_fit([(NOISY, SIDES)], classes=[0, 1], sample_weight=np.zeros(200))
    with pytest.raises(ValueError, match="held no sample at all"):
        GaussianNB().partial_fit(iter([]), classes=[0, 1])
    empty = [(NOISY[:0], SIDES[:0]), (NOISY, SIDES), (NOISY[:0], SIDES[:0])]
    np.testing.assert_array_equal(
        GaussianNB().fit(empty).theta_, GaussianNB().fit(NOISY, SIDES).theta_
    )
