"""Transformers of vectors, texts and objects: bit-identical from a file, hostile ones refused."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.modelfile.cases import BY_NAME, HOLES, SEQUENCES, TEXTS, WORDS, X, Y
from tests.modelfile.hostile import load_within_limits, refused, signed, split_file

import separatrix as sx
from separatrix.errors import ModelFileError
from separatrix.estimators.base.tuned import KNeighborsCV, best_model
from separatrix.estimators.positions import PositionIndicator
from separatrix.modelfile.fields import MOST_WORDS
from separatrix.modelfile.kinds.preprocessing import TOKEN_PATTERN


def test_a_map_is_what_its_parameters_say(path):
    """Names of its features were counted one by one, and a degree could be anything."""
    model = sx.LeastSquaresClassifier(1.0, features=sx.PolynomialMap(2)).fit(X[:, :1], Y)
    document, tensors = split_file(model, path)
    inner = document["model"]["state"]["features_"]
    for degree in (12_000, 10**6, 2**44):
        inner["state"]["monomials_"]["degree"] = degree
        inner["state"]["n_output_features_"] = degree + 1
        assert refused(document, tensors, path) == "invariant"
        inner["params"]["degree"] = degree
        assert refused(document, tensors, path) == "invariant"


@pytest.mark.parametrize("kind", [int, bool, np.uint8, np.float32, "float32", float])
def test_encoders_of_every_type_are_kept(kind, path):
    model = make_pipeline(OneHotEncoder(dtype=kind), sx.LinearSVC()).fit(X, Y)
    again = sx.load(sx.save(model, path))
    assert again[0].transform(X).dtype == model[0].transform(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_missing_values_are_categories_too(encoder, path):
    table = np.empty((30, 3), dtype=object)
    table[:, 0], table[:, 1], table[:, 2] = WORDS, Y, X[:, 0].round()
    table[3, 0], table[5, 2] = None, np.nan
    numbers = X.round()
    numbers[4, 1] = np.nan
    for samples in (table, numbers):
        model = encoder.fit(samples)
        again = sx.load(sx.save(model, path))
        found, expected = (m.transform(samples) for m in (again, model))
        if hasattr(found, "toarray"):
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)
        assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.slow
def test_an_encoder_of_a_thousand_columns_is_kept(path):
    table = np.tile(WORDS.astype(object)[:, None], (1, 1200))
    table[:, ::3] = Y[:, None]
    model = OneHotEncoder().fit(table)
    again = sx.load(sx.save(model, path))
    assert (again.transform(table) != model.transform(table)).nnz == 0


def test_words_take_no_more_room_than_their_letters(path):
    document, tensors = split_file(OneHotEncoder().fit(np.array([["a"] * 30])), path)
    document["model"]["state"]["categories_"] = [["words", {"words": 2**23}, 1]] * 30
    assert refused(document, tensors, path) == "schema"
    document["model"]["state"]["categories_"] = [["words", {"words": 10_000}, 1]] * 30
    path.write_bytes(signed(document, tensors))
    assert load_within_limits(path, np.array([["a"] * 30])) is None
    document, tensors = split_file(sx.LogisticRegression().fit(X, WORDS), path)
    document["model"]["state"]["classes_"] = {"words": 2**21}
    assert refused(document, tensors, path) == "schema"


def test_an_encoder_of_very_many_columns_is_refused_quickly(path):
    document, _ = split_file(OneHotEncoder().fit(np.array([[1]], np.uint8)), path)
    columns = 60_000
    document["model"]["state"] |= {
        "categories_": [["u1", "numbers", 1]] * columns,
        "n_features_in_": columns,
    }
    tensors = {"model.categories_.u1": np.ones(columns, np.uint8)}
    assert refused(document, tensors, path) == "limit"
    document["model"]["state"] |= {"categories_": [["u1", 0, 1]], "n_features_in_": 1}
    assert refused(document, {"model.categories_.u1": np.ones(1, np.uint8)}, path) == "schema"


NEW_TEXTS = ["a petal and a root", "", "WIDE Wide wide", "日本 aé aé", "thin\nthin"]


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.startswith(("count", "tfidf"))])
def test_new_texts_give_the_same_counts_bit_for_bit(name, path):
    model = BY_NAME[name].fitted()
    again = sx.load(sx.save(model, path))
    found, expected = again.transform(NEW_TEXTS), model.transform(NEW_TEXTS)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part), strict=True)
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_new_sequences_give_the_same_indicators(path):
    sequences = ["acgt", "nnnn", "", "acgtacgt", "ac"]
    model = PositionIndicator().fit([*SEQUENCES, "\n\ud800", "日"])
    again = sx.load(sx.save(model, path))
    np.testing.assert_array_equal(again.transform(sequences), model.transform(sequences))
    assert (again.letters_, again.length_) == (model.letters_, model.length_)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.int64])
@pytest.mark.parametrize("how", ["most_frequent", "constant"])
def test_missing_values_are_filled_with_numbers_of_the_same_type(kind, how, path):
    rows = (10 * X).astype(kind)
    missing = rows[0, 0].item()
    model = SimpleImputer(missing_values=missing, strategy=how, fill_value=5).fit(rows)
    again = sx.load(sx.save(model, path))
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows), strict=True)


def test_a_column_without_values_is_left_out_again(path):
    rows = np.column_stack([HOLES, np.full(30, np.nan)])
    for how in ("mean", "constant"):
        model = SimpleImputer(strategy=how).fit(rows)
        again = sx.load(sx.save(model, path))
        with pytest.warns(UserWarning, match="Skipping features"):
            found = again.transform(rows)
        assert found.shape == (30, 4)


def test_features_of_a_model_may_be_filled(path):
    model = sx.LeastSquaresClassifier(1.0, features=SimpleImputer()).fit(X, Y)
    np.testing.assert_array_equal(sx.load(sx.save(model, path)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "samples"),
    [
        (
            make_pipeline(TfidfVectorizer(), GridSearchCV(sx.LinearSVC(), {"C": [0.1, 1]}, cv=2)),
            TEXTS,
        ),
        (make_pipeline(CountVectorizer(), GridSearchCV(sx.MultinomialNB(), {}, cv=2)), TEXTS),
        (make_pipeline(PositionIndicator(), MaxAbsScaler(), KNeighborsCV(5)), SEQUENCES),
        (make_pipeline(PositionIndicator(), MaxAbsScaler(), sx.SVCCV([1.0], cv=2)), SEQUENCES),
        (make_pipeline(SimpleImputer(), StandardScaler(), KNeighborsCV(5)), HOLES),
    ],
    ids=["tfidf-grid", "count-grid", "positions-neighbours", "positions-svm", "fill-neighbours"],
)
def test_what_a_search_settled_is_kept(model, samples, path):
    best = best_model(model.fit(samples, WORDS))
    again = sx.load(sx.save(best, path, data=(samples, WORDS)))
    np.testing.assert_array_equal(again.predict(samples), model.predict(samples), strict=True)


def lowered(text):
    return text.lower()


@pytest.mark.parametrize("make", [CountVectorizer, TfidfVectorizer])
@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"tokenizer": str.split}, "tokenizer` must be None, for a file"),
        ({"preprocessor": lowered}, "preprocessor` must be None, .*no code; found a function"),
        ({"analyzer": str.split}, "analyzer` must be 'word' or 'char' or 'char_wb'"),
        ({"strip_accents": lowered}, "strip_accents` must be None or 'ascii' or 'unicode'"),
        ({"stop_words": ["long"]}, "stop_words` must be None or 'english'"),
        ({"token_pattern": r"\w+"}, "token_pattern` must be .* take for ever to match"),
        ({"encoding": "idna"}, "encoding` must be 'utf-8' or"),
        ({"ngram_range": (1, 33)}, "ngram_range` must be from 1 to 32"),
        ({"dtype": np.int32}, "dtype` must be one of np.int64, np.float64, np.float32"),
        ({"dtype": "float32"}, "dtype` must be one of"),
        ({"vocabulary": {"long", "thin"}}, "vocabulary` is set, which has no place"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.filterwarnings("ignore")  # scikit-learn warns of some of them
def test_what_has_no_place_is_refused_with_a_sentence(make, params, sentence, path):
    model = make(**params).fit(TEXTS)
    with pytest.raises(ModelFileError, match=sentence) as raised:
        sx.save(model, path)
    assert raised.value.reason == "unsupported"
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "rows", "sentence"),
    [
        (SimpleImputer(add_indicator=True), HOLES, "add_indicator` must be False, for a file"),
        (SimpleImputer(strategy=np.mean), HOLES, "strategy` must be 'mean' or .*no code"),
        (SimpleImputer(strategy="most_frequent"), WORDS[:, None].astype(object), "to objects"),
    ],
    ids=["indicator", "function", "words"],
)
def test_what_fills_in_another_way_is_refused_with_a_sentence(model, rows, sentence, path):
    with pytest.raises(ModelFileError, match=sentence) as raised:
        sx.save(model.fit(rows), path)
    assert raised.value.reason == "unsupported"


def test_the_pattern_of_words_that_is_kept_is_the_default():
    assert CountVectorizer().token_pattern == TOKEN_PATTERN == TfidfVectorizer().token_pattern


def test_files_are_not_opened_for_a_model_from_a_file(path, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("long petal")
    with pytest.raises(ModelFileError, match="input` must be 'content', for no model"):
        sx.save(CountVectorizer(input="filename").fit([str(text)]), path)


@pytest.mark.slow
def test_more_words_than_a_file_may_hold_are_not_written(path):
    words = [f"w{number}" for number in range(MOST_WORDS + 1)]
    with pytest.raises(ModelFileError, match="at most 200000 words") as raised:
        sx.save(CountVectorizer().fit([" ".join(words)]), path)
    assert raised.value.reason == "limit"
