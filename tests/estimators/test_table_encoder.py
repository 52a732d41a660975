"""`TableEncoder` against scikit-learn's transformers, and against leaks of the test part."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import SVC, LogisticRegression, TableEncoder
from separatrix.data.data_table import Category
from separatrix.data.read_table import table_of
from separatrix.errors import DataError
from separatrix.estimators.table_blocks import MOST_COMPARED, TextBlock

N = 240


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    size = rng.normal(50, 9, N)
    size[::11] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "rooms": rng.integers(1, 7, N),
            "heating": rng.choice(["gas", "oil", "wood"], N),
            "agent": [f"a{i % 60}" for i in range(N)],
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, N), "D"),
            "note": [
                f"house number {i} with {w} garden"
                for i, w in enumerate(rng.choice(["no", "a"], N))
            ],
        }
    )


@pytest.fixture
def y(frame):
    return np.where((frame["rooms"] > 3) ^ (frame["heating"] == "oil"), "high", "low")


def columns(encoder, features, prefix):
    names = encoder.get_feature_names_out()
    chosen = [j for j, name in enumerate(names) if name.startswith(prefix)]
    found = features[:, chosen]
    return found.toarray() if hasattr(found, "toarray") else found


def test_numbers_are_imputed_scaled_and_marked_as_scikit_learn_does(frame, y):
    part = frame[["size", "rooms"]]
    encoder = TableEncoder()
    expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(part)
    expected[:, :2] = StandardScaler().fit_transform(expected[:, :2])
    np.testing.assert_allclose(encoder.fit_transform(part, y), expected, atol=1e-12)
    assert encoder.get_feature_names_out().tolist() == ["size", "rooms", "size missing"]


def test_categories_are_one_hot_with_rare_and_unseen_ones_pooled(frame, y):
    part = frame[["heating"]].copy()
    part.iloc[0] = "nuclear"  # once
    part.iloc[1] = None
    encoder = TableEncoder().fit(part, y)
    names = ["heating=gas", "heating=oil", "heating=wood", "heating other", "heating missing"]
    assert encoder.get_feature_names_out().tolist() == names
    expected = OneHotEncoder(min_frequency=2, sparse_output=False).fit_transform(part.iloc[2:])
    np.testing.assert_array_equal(encoder.transform(part)[2:, :3], expected)
    np.testing.assert_array_equal(encoder.transform(part)[:2, 3:], [[1, 0], [0, 1]])
    new = pd.DataFrame({"heating": ["solar", None, "gas"]})
    np.testing.assert_array_equal(
        encoder.transform(new), [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    )


def test_texts_are_the_tf_idf_of_scikit_learn(frame, y):
    encoder = TableEncoder()
    features = encoder.fit_transform(frame[["note"]], y)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(frame["note"])
    scale = encoder.texts_[0].scale
    np.testing.assert_allclose(columns(encoder, features, "note word"), scale * words.toarray())


def test_texts_spread_along_a_typical_direction_as_a_standardised_number_does(frame, y):
    features = TableEncoder().fit_transform(frame[["note"]], y).toarray()
    variances = np.linalg.eigvalsh(np.cov(features.T, ddof=0))
    assert len(features) <= MOST_COMPARED
    np.testing.assert_allclose((variances**2).sum() / variances.sum(), 1.0)


def test_class_shares_of_training_rows_come_from_other_rows(frame):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)  # nothing to learn
    part = pd.DataFrame({"owner": [f"o{i}" for i in rng.permutation(N) % 120]})
    encoder = TableEncoder(category=["owner"])
    crossed = encoder.fit_transform(part, y)[:, 0]
    plain = encoder.transform(part)[:, 0]
    assert abs(np.corrcoef(crossed, y)[0, 1]) < 0.25
    assert np.corrcoef(plain, y)[0, 1] > 0.5  # what a model would have been misled by
    model = make_pipeline(TableEncoder(category=["owner"]), LogisticRegression())
    assert 0.35 < cross_val_score(model, part, y, cv=5).mean() < 0.65


def test_class_shares_are_the_smoothed_means(frame):
    y = np.arange(N) % 3
    part = pd.DataFrame({"agent": [f"a{i % 60}" for i in range(N)]})
    encoder = TableEncoder().fit(part, y)
    block = encoder.targets_[0]
    rows = part["agent"] == "a7"
    shares = np.bincount(y[rows], minlength=3)
    expected = (shares + 10 / 3) / (rows.sum() + 10)
    np.testing.assert_allclose(block.shares[block.values.tolist().index("a7")], expected)
    unknown = encoder.transform(pd.DataFrame({"agent": ["new", None]}))
    np.testing.assert_allclose(unknown * block.scale + block.mean, [[1 / 3] * 3] * 2)


def test_dates_become_parts_on_circles(y):
    days = pd.date_range("2019-11-01", periods=N, freq="37h")
    encoder = TableEncoder()
    features = encoder.fit_transform(pd.DataFrame({"day": days}), y)
    raw = features * encoder.dates_[0].scale + encoder.dates_[0].mean
    month = 2 * np.pi * (days.month - 1) / 12
    hour = 2 * np.pi * days.hour / 24
    weekday = 2 * np.pi * days.day_of_week / 7
    epoch = (days.normalize() - pd.Timestamp("1970-01-01")).days
    expected = [days.year, epoch, np.sin(month), np.cos(month), np.sin(weekday), np.cos(weekday)]
    expected += [np.sin(hour), np.cos(hour)]
    np.testing.assert_allclose(raw, np.column_stack(expected), atol=1e-9)


@pytest.mark.slow
def test_nothing_of_the_test_part_is_learned(frame, y):
    train, other = frame[:160], frame[160:].copy()
    encoder = TableEncoder().fit(train, y[:160])
    table = table_of(frame).table
    by_rows = TableEncoder().fit(table[:160], y[:160])
    other["size"] = 1e9
    other["heating"] = "new"
    changed = pd.concat([train, other])
    again = TableEncoder().fit(table_of(changed).table[:160], y[:160])
    for one in (by_rows, again):
        np.testing.assert_array_equal(
            encoder.transform(train).toarray(), one.transform(train).toarray()
        )


def test_frames_of_all_kinds_and_rows_in_any_order_give_the_same(frame, y):
    encoder = TableEncoder().fit(frame, y)
    expected = encoder.transform(frame).toarray()
    polars = pl.DataFrame(frame.to_dict("list"))
    np.testing.assert_array_equal(
        TableEncoder().fit(polars, y).transform(polars).toarray(), expected
    )
    rows = np.random.default_rng(0).permutation(N)
    shuffled = frame.iloc[rows][frame.columns[::-1]]
    np.testing.assert_array_equal(encoder.transform(shuffled).toarray(), expected[rows])
    np.testing.assert_array_equal(encoder.transform(frame.iloc[:1]).toarray(), expected[:1])


def test_it_works_in_searches_and_clones(frame):
    y = frame["rooms"] > 3
    model = make_pipeline(TableEncoder(drop=["note"]), LogisticRegression())
    search = GridSearchCV(clone(model), {"logisticregression__C": [0.1, 1.0]}, cv=3).fit(frame, y)
    assert search.best_score_ > 0.7


def test_what_cannot_be_encoded_is_refused(frame, y):
    encoder = TableEncoder().fit(frame, y)
    with pytest.raises(DataError, match="no column named 'rooms'"):
        encoder.transform(frame.drop(columns="rooms"))
    with pytest.raises(DataError, match="the table has 240 rows, but y has 3 labels"):
        TableEncoder().fit(frame, y[:3])
    with pytest.raises(DataError, match="needs a table with columns with a role"):
        TableEncoder(drop=list(frame.columns)).fit(frame, y)
    with pytest.raises(DataError, match="other columns than the one it was fitted to: rooms"):
        encoder.transform(table_of(frame.drop(columns="rooms")).table)
    with pytest.raises(DataError, match="expected a table of pandas, polars or pyarrow"):
        TableEncoder().fit([[1.0]], [1])


def test_parts_of_numbers_in_texts_are_no_features():
    """Order numbers, another one in each row, made 3 points of error."""
    texts = [f"it came {word} , order {i}" for i, word in enumerate(["late", "early"] * 300)]
    table = pd.DataFrame({"note": texts})
    y = np.arange(600) % 2
    encoder = TableEncoder(text=["note"]).fit(table, y)
    runs = [name for name in encoder.get_feature_names_out() if " letters " in name]
    assert any("late" in name for name in runs)
    assert any("000" in name for name in runs)  # how long a number is
    assert not any(digit in name for name in runs for digit in "123456789")


def test_a_model_with_digits_in_its_vocabulary_reads_digits():
    """As those that were saved before digits were masked."""
    category = Category(np.arange(2), ["room 12", "room 34"])
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4)).fit(category.values)
    found = TextBlock(None, letters, 1.0).encode(category).toarray()
    np.testing.assert_allclose(found, letters.transform(category.values).toarray())


@pytest.mark.slow
def test_names_do_not_outweigh_a_column_that_gives_the_class():
    rng = np.random.default_rng(0)
    rows = rng.permutation(480)
    name, kind = rows // 6, rows % 6  # every name once with every kind
    letters = rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=(80, 4, 7))
    texts = [" ".join(map("".join, words)) for words in letters.tolist()]
    frame = pd.DataFrame({"kind": [f"k{i}" for i in kind], "name": np.array(texts)[name]})
    model = make_pipeline(TableEncoder(text=["name"]), SVC())
    assert cross_val_score(model, frame, kind, cv=5).mean() > 0.9


def test_class_shares_of_a_column_have_the_variance_of_one_number():
    rng = np.random.default_rng(0)
    names, y = [f"n{i}" for i in rng.integers(0, 150, 600)], rng.integers(0, 12, 600)
    F = TableEncoder(category=["name"]).fit_transform(pd.DataFrame({"name": names}), y)
    assert F.shape[1] == 12
    assert np.isclose(F.var(axis=0).sum(), 1.0)
