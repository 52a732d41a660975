import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from separatrix import load, save
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.tuned import (
    KNeighborsCV,
    best_model,
    chosen_params,
    edge_params,
)
from separatrix.estimators.positions import PositionIndicator
from separatrix.estimators.registry import SUITE
from separatrix.evaluation.profile import profile
from separatrix.evaluation.samples import check_samples
from separatrix.evaluation.suite import suite

IRIS = load_iris(return_X_y=True)
TEXTS = ["win cash now", "see you at noon", "cash prize win", "call me at home"] * 10
SPAM = ["spam", "ham"] * 20
RNG = np.random.default_rng(0)
SITES = ["".join(RNG.choice(list("acgt"), 12)) for _ in range(40)]
ORDER = np.random.default_rng(0).permutation(150)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "y", "kind"),
    [
        (*IRIS, None),
        (csr_array(IRIS[0].round()), IRIS[1], None),
        (np.where(RNG.random((150, 4)) < 0.1, np.nan, IRIS[0]), IRIS[1], None),
        (TEXTS, SPAM, "text"),
        (SITES, SPAM, "sequences"),
        ([site[: 6 + i % 6] for i, site in enumerate(SITES)], SPAM, "sequences"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_classifier_of_a_suite_learns_the_data_it_is_for(X, y, kind):
    found = suite(X, y, kind=kind, folds=2)
    assert len(found) >= 7
    assert len(found) + len(found.left_out) == sum(
        model.by_default and not model.instead_of and profile(X, y, kind).kind in model.data_kinds
        for model, _ in SUITE.values()
    )
    X, y = check_samples(X, y, missing=True)
    for name, model in found.items():
        guess = clone(model).fit(X, y).predict(X)
        assert np.mean(guess == y) > 0.6, name


@pytest.mark.parametrize("key", ["kernel-logistic", "kernel-fisher"])
def test_a_classifier_that_is_asked_for_learns(key):
    X, y = IRIS
    (model,) = suite(X, y, models=[key], folds=2).values()
    assert clone(model).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_scaler_knows_the_rows_it_was_trained_on_and_no_others():
    X, y = IRIS
    train, test = ORDER[:100], ORDER[100:]
    far = X.copy()
    far[test] += 1000.0
    for name, model in suite(X, y).items():
        fitted = clone(model).fit(far[train], y[train])
        if "scale" in fitted.named_steps:
            scale = fitted.named_steps["scale"]
            assert isinstance(scale, StandardScaler)
            np.testing.assert_allclose(scale.mean_, X[train].mean(axis=0), err_msg=name)
            np.testing.assert_allclose(scale.scale_, X[train].std(axis=0), err_msg=name)


def test_medians_and_words_are_learned_with_the_model():
    X = IRIS[0].copy()
    X[::7, 0] = np.nan
    model = suite(X, IRIS[1], models=["lda"])["linear discriminant"]
    fitted = model.fit(X[:100], IRIS[1][:100])
    np.testing.assert_allclose(
        fitted.named_steps["fill"].statistics_, np.nanmedian(X[:100], axis=0)
    )
    texts = suite(TEXTS, SPAM, models=["multinomial-nb"])["naive Bayes, multinomial"]
    words = texts.fit(TEXTS[:2] * 4, SPAM[:2] * 4).named_steps["words"].vocabulary_
    assert "prize" not in words
    assert "cash" in words


def test_features_of_one_unit_keep_their_proportions():
    digits = load_digits(return_X_y=True)
    assert profile(*digits).one_unit
    assert not profile(*load_breast_cancer(return_X_y=True)).one_unit
    assert not profile(*IRIS).one_unit
    apart = IRIS[0][:, :2] * [1, 1000]  # one of two features spans the range
    assert not profile(apart, IRIS[1]).one_unit
    steps = suite(*digits, models=["knn"])["nearest neighbours"].named_steps
    assert isinstance(steps["scale"], MaxAbsScaler)


def test_counts_stay_counts():
    steps = suite(*load_digits(return_X_y=True))["naive Bayes, multinomial"].named_steps
    assert list(steps) == ["model"]
    left_out = suite(*IRIS).left_out
    assert left_out["naive Bayes, multinomial"] == "needs counts: integers of at least 0"


def test_what_does_not_suit_is_left_out_with_a_reason():
    X, y = IRIS
    wide = np.hstack([X] * 13)
    assert (
        suite(wide, y)
        .left_out["quadratic discriminant"]
        .startswith("needs more rows of each class than features; the rarest class has 50 rows")
    )
    big = np.zeros((10_001, 2))
    big[:, 0] = np.arange(10_001)
    labels = np.arange(10_001) % 2
    left_out = suite(big, labels).left_out
    assert left_out["SVM, Gaussian"] == "slow above 10,000 rows; got 10,001"
    assert "nearest neighbours" not in left_out


def test_a_slow_classifier_that_is_asked_for_is_there_and_an_impossible_one_is_not():
    big = np.arange(20_002.0).reshape(10_001, 2)
    found = suite(big, np.arange(10_001) % 2, models=["svm", "perceptron"])
    assert list(found) == ["SVM, Gaussian", "perceptron, averaged"]
    with pytest.raises(DataError, match="no classifier suits these samples: naive Bayes, multin"):
        suite(*IRIS, models=["multinomial-nb"])


def test_unknown_keys_and_kinds_are_refused_with_those_that_are_known():
    with pytest.raises(
        ParameterError, match=r"`models` of suite must be keys among svm, .*; got 'forest'"
    ):
        suite(*IRIS, models=["forest"])
    with pytest.raises(ParameterError, match="`kind` of suite"):
        suite(*IRIS, kind="images")
    with pytest.raises(DataError, match="X must be a list of strings for kind='text'"):
        suite(*IRIS, kind="text")


def test_frames_are_numbers_and_words_are_columns():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", "x"], "c": [True, False, True]})
    expected = np.array([[1, 1, 0, 1], [np.nan, 0, 1, 0], [3, 1, 0, 1]], dtype=float)
    for X in (frame, pl.from_pandas(frame)):
        found, _ = check_samples(X, [0, 1, 0], missing=True)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="NaN"):
        check_samples(frame, [0, 1, 0])
    ids = pd.DataFrame({"id": [f"row {i}" for i in range(1001)]})
    with pytest.raises(DataError, match="column 'id' has 1001 categories"):
        check_samples(ids, np.arange(1001) % 2)


def test_a_missing_word_is_none_of_the_words():
    frame = pd.DataFrame({"b": ["x", None, "y"]})
    found, _ = check_samples(frame, [0, 1, 0])
    np.testing.assert_array_equal(found, [[1, 0], [0, 0], [0, 1]])


def test_texts_and_labels_must_be_as_many():
    with pytest.raises(DataError, match="X has 40 samples, but y has 39 labels"):
        check_samples(TEXTS, SPAM[:-1])


def test_the_number_of_neighbours_is_the_best_when_samples_are_left_out():
    X, y = IRIS
    model = KNeighborsCV(k_max=25).fit(X, y)
    errors = np.mean(model.estimator_.predict_by_k(None, 25) != y[:, None], axis=0)
    assert model.best_k_ == 1 + int(errors.argmin())
    assert model.best_score_ == pytest.approx(1 - errors.min())
    few = KNeighborsCV().fit(X[::30], y[::30])
    assert few.best_k_ <= 4
    with pytest.raises(ParameterError, match="`estimator` of KNeighborsCV"):
        KNeighborsCV(estimator=StandardScaler()).fit(X, y)


def test_the_largest_number_of_neighbours_doubles_while_it_is_the_best():
    X, y = IRIS
    plain = KNeighborsCV(k_max=19).fit(X, y)
    assert edge_params(plain) == {"n_neighbors": "largest"}
    wide = KNeighborsCV(k_max=19, widen=2).fit(X, y)
    assert (wide.best_k_, wide.k_max_, edge_params(wide)) == (19, 38, {})
    assert KNeighborsCV(k_max=5, widen=3).fit(X[::2], y[::2]).k_max_ <= 40
    all_others = KNeighborsCV(k_max=8, widen=3).fit(np.zeros((9, 1)), [0] * 8 + [1])
    assert all_others.k_max_ == 8


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_best_model_predicts_the_same_and_can_be_saved(tmp_path):
    X, y = IRIS
    for name, model in suite(X, y, folds=2).items():
        fitted = model.fit(X, y)
        plain = best_model(fitted)
        np.testing.assert_array_equal(plain.predict(X), fitted.predict(X), err_msg=name)
        again = load(save(plain, tmp_path / "file.model"))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X), err_msg=name)
        assert chosen_params(plain) == {} or not isinstance(model[-1], KNeighborsCV)


def test_positions_have_one_column_for_each_letter():
    model = PositionIndicator().fit(["acg", "ga"])
    assert model.get_feature_names_out()[:4].tolist() == ["1=a", "1=c", "1=g", "2=a"]
    np.testing.assert_array_equal(model.transform(["acg"]), [[1, 0, 0, 0, 1, 0, 0, 0, 1]])
    np.testing.assert_array_equal(model.transform(["gtac"]), [[0, 0, 1, 0, 0, 0, 1, 0, 0]])
    with pytest.raises(DataError, match="needs strings; got 3"):
        model.transform([3])
    with pytest.raises(DataError, match="all sequences are empty"):
        model.fit(["", ""])


@pytest.mark.parametrize("kind", [bool, np.int8])
def test_a_profile_of_small_integers_does_not_overflow(kind):
    wide = np.array([[-128, 1, 0], [127, 0, 1], [0, 1, 0], [1, 0, 1]]).astype(kind)
    assert profile(wide, [0, 1, 0, 1]).one_unit == (kind is bool)


def test_linear_discriminants_are_not_shrunk_where_that_hurts():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = 3 * rng.normal(size=(400, 6)) @ rng.normal(size=(6, 30)) + 0.3 * rng.normal(size=(400, 30))
    X[:, :5] += 0.5 * y[:, None]  # along directions of little variance, which shrinkage hides
    wide = rng.normal(size=(60, 50)) + 0.4 * (np.arange(60) % 2)[:, None]
    for samples, labels, wanted in ((X, y, 0.001), (wide, np.arange(60) % 2, "auto")):
        model = suite(samples, labels, models=["lda"])["linear discriminant"]
        assert model.fit(samples, labels)[-1].best_params_ == {"shrinkage": wanted}
