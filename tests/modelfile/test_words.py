"""Texts, letters and missing values before a model: kept as they were, and nothing that does harm."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from tests.modelfile.cases import BY_NAME, HOLES, SEQUENCES, TEXTS, WORDS, X, Y
from tests.modelfile.test_reviewed import parts, refused

from separatrix import (
    SVC,
    SVCCV,
    LeastSquaresClassifier,
    LinearSVC,
    MultinomialNB,
    describe,
    load,
    save,
)
from separatrix.errors import DataError, ModelFileError
from separatrix.estimators.base.tuned import KNeighborsCV, best_model
from separatrix.estimators.positions import PositionIndicator
from separatrix.modelfile.fields import MOST_WORDS
from separatrix.modelfile.kinds.preprocessing import TOKEN_PATTERN
from separatrix.modelfile.model_card import data_hash

NEW_TEXTS = ["a petal and a root", "", "WIDE Wide wide", "日本 aé aé", "thin\nthin"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.model"


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.startswith(("count", "tfidf"))])
def test_new_texts_give_the_same_counts_bit_for_bit(name, path):
    model = BY_NAME[name].fitted()
    again = load(save(model, path))
    found, expected = again.transform(NEW_TEXTS), model.transform(NEW_TEXTS)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part), strict=True)
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_new_sequences_give_the_same_indicators(path):
    sequences = ["acgt", "nnnn", "", "acgtacgt", "ac"]
    model = PositionIndicator().fit([*SEQUENCES, "\n\ud800", "日"])
    again = load(save(model, path))
    np.testing.assert_array_equal(again.transform(sequences), model.transform(sequences))
    assert (again.letters_, again.length_) == (model.letters_, model.length_)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.int64])
@pytest.mark.parametrize("how", ["most_frequent", "constant"])
def test_missing_values_are_filled_with_numbers_of_the_same_type(kind, how, path):
    rows = (10 * X).astype(kind)
    missing = rows[0, 0].item()
    model = SimpleImputer(missing_values=missing, strategy=how, fill_value=5).fit(rows)
    again = load(save(model, path))
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows), strict=True)


def test_a_column_without_values_is_left_out_again(path):
    rows = np.column_stack([HOLES, np.full(30, np.nan)])
    for how in ("mean", "constant"):
        model = SimpleImputer(strategy=how).fit(rows)
        again = load(save(model, path))
        with pytest.warns(UserWarning, match="Skipping features"):
            found = again.transform(rows)
        assert found.shape == (30, 4)


def test_features_of_a_model_may_be_filled(path):
    model = LeastSquaresClassifier(1.0, features=SimpleImputer()).fit(X, Y)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "samples"),
    [
        (make_pipeline(TfidfVectorizer(), GridSearchCV(LinearSVC(), {"C": [0.1, 1]}, cv=2)), TEXTS),
        (make_pipeline(CountVectorizer(), GridSearchCV(MultinomialNB(), {}, cv=2)), TEXTS),
        (make_pipeline(PositionIndicator(), MaxAbsScaler(), KNeighborsCV(5)), SEQUENCES),
        (make_pipeline(PositionIndicator(), MaxAbsScaler(), SVCCV([1.0], cv=2)), SEQUENCES),
        (make_pipeline(SimpleImputer(), StandardScaler(), KNeighborsCV(5)), HOLES),
    ],
    ids=["tfidf-grid", "count-grid", "positions-neighbours", "positions-svm", "fill-neighbours"],
)
def test_what_a_search_settled_is_kept(model, samples, path):
    best = best_model(model.fit(samples, WORDS))
    again = load(save(best, path, data=(samples, WORDS)))
    np.testing.assert_array_equal(again.predict(samples), model.predict(samples), strict=True)


@pytest.mark.parametrize(
    "search", [KNeighborsCV(5), GridSearchCV(SVC(), {"C": [1.0]}, cv=2)], ids=["ours", "peer"]
)
def test_a_search_that_has_no_place_is_told_how_to_get_one(search, path):
    with pytest.raises(ModelFileError, match=r"no place in a file.*best_model\(search\)") as raised:
        save(search.fit(X, Y), path)
    assert raised.value.reason == "unsupported"


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
        save(model, path)
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
        save(model.fit(rows), path)
    assert raised.value.reason == "unsupported"


def test_the_pattern_of_words_that_is_kept_is_the_default():
    assert CountVectorizer().token_pattern == TOKEN_PATTERN == TfidfVectorizer().token_pattern


def test_files_are_not_opened_for_a_model_from_a_file(path, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("long petal")
    with pytest.raises(ModelFileError, match="input` must be 'content', for no model"):
        save(CountVectorizer(input="filename").fit([str(text)]), path)


@pytest.mark.parametrize("name", ["count", "tfidf", "pipeline-texts"])
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("token_pattern", r"(a+)+$"),
        ("token_pattern", None),
        ("ngram_range", [1, 10**9]),
        ("ngram_range", [0, 1]),
        ("ngram_range", [2, 1]),
        ("ngram_range", {"tuple": [1, 1]}),
        ("ngram_range", [1, 1, 1]),
        ("ngram_range", [True, 1]),
        ("input", "filename"),
        ("encoding", "zlib"),
        ("analyzer", "eval"),
        ("stop_words", ["a"]),
        ("tokenizer", "str.split"),
        ("dtype", {"type": "int8"}),
        ("dtype", "float64"),
        ("vocabulary", ["long"]),
        ("vocabulary", [["long"]]),
        ("vocabulary", {"dict": [["long", 0]]}),
        ("lowercase", "yes"),
        ("max_features", 0),
    ],
)
def test_hostile_parameters_are_refused(name, parameter, value, path):
    document, tensors = parts(BY_NAME[name].fitted(), path)
    model = document["model"]
    first = model if model["kind"] != "Pipeline" else model["params"]["steps"][0][1]
    first["params"][parameter] = value
    assert refused(document, tensors, path) in ("unsupported", "schema", "invariant")


def changed_words(tensors, words):
    """The arrays with other words in them."""
    letters = [word.encode() for word in words]
    return {
        **tensors,
        "model.vocabulary_": np.frombuffer(b"".join(letters), dtype=np.uint8),
        "model.vocabulary_.ends": np.cumsum([len(word) for word in letters], dtype=np.int64),
    }


@pytest.mark.parametrize("name", ["count", "tfidf"])
@pytest.mark.parametrize(
    "words", [[], ["long"] * 6, ["wide", "long", "thin", "petal", "aé", "wide"]]
)
def test_words_that_come_twice_or_not_at_all_are_refused(name, words, path):
    document, tensors = parts(BY_NAME[name].fitted(), path)
    assert refused(document, changed_words(tensors, words), path) == "invariant"


def test_a_vocabulary_of_numbers_is_refused(path):
    document, tensors = parts(BY_NAME["count"].fitted(), path)
    document["model"]["state"]["vocabulary_"] = "numbers"
    tensors["model.vocabulary_"] = np.arange(6)
    assert refused(document, tensors, path) == "schema"


def test_more_words_than_a_file_may_hold_are_refused_both_ways(path):
    words = [f"w{number}" for number in range(MOST_WORDS + 1)]
    document, tensors = parts(BY_NAME["count"].fitted(), path)
    assert refused(document, changed_words(tensors, words), path) == "limit"
    with pytest.raises(ModelFileError, match="at most 200000 words") as raised:
        save(CountVectorizer().fit([" ".join(words)]), path)
    assert raised.value.reason == "limit"


@pytest.mark.parametrize("length", [0, 5, 7])
def test_weights_of_another_number_of_words_are_refused(length, path):
    document, tensors = parts(BY_NAME["tfidf"].fitted(), path)
    tensors["model._tfidf.idf_"] = np.ones(length)
    assert refused(document, tensors, path) == "invariant"
    document["model"]["state"]["_tfidf"]["state"]["n_features_in_"] = length
    assert refused(document, tensors, path) in ("invariant", "schema")


@pytest.mark.parametrize(("name", "value"), [("norm", "l1"), ("use_idf", False), ("norm", None)])
def test_a_vectorizer_weighs_as_its_parameters_say(name, value, path):
    document, tensors = parts(BY_NAME["tfidf"].fitted(), path)
    document["model"]["state"]["_tfidf"]["params"][name] = value
    assert refused(document, tensors, path) == "invariant"


def test_weights_are_numbers_and_there_if_they_are_used(path):
    document, _ = parts(TfidfTransformer().fit(np.eye(3)), path)
    assert refused(document, {"model.idf_": np.array([1.0, np.nan, 1.0])}, path) == "invariant"
    del document["model"]["state"]["idf_"]
    assert refused(document, {}, path) == "invariant"


@pytest.mark.parametrize(
    ("letters", "length"),
    [
        ([97, 97], 3),
        ([99, 97], 3),
        ([], 3),
        ([0x110000], 3),
        ([97, 99], 0),
        ([97, 99], 2**40),
        ([97, 99], MOST_WORDS // 2 + 1),
        (list(range(1000)), 1000),
    ],
)
def test_letters_come_once_and_in_order_and_not_at_too_many_positions(letters, length, path):
    document, tensors = parts(BY_NAME["positions"].fitted(), path)
    tensors["model.letters_"] = np.array(letters, dtype=np.uint32)
    document["model"]["state"]["length_"] = length
    refused(document, tensors, path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("fill-constant", {"fill_value": 1}),
        ("fill-constant", {"fill_value": "x"}),
        ("fill-bytes", {"fill_value": 4}),
        ("fill-bytes", {"fill_value": 2**60}),
        ("fill-constant", {"strategy": "mean"}),
        ("fill-mean", {"strategy": "os.system"}),
        ("fill-mean", {"add_indicator": True}),
        ("fill-mean", {"add_indicator": 0}),
        ("fill-mean", {"missing_values": "x"}),
        ("fill-mean", {"missing_values": None}),
    ],
)
def test_hostile_fillings_are_refused(name, change, path):
    document, tensors = parts(BY_NAME[name].fitted(), path)
    document["model"]["params"].update(change)
    refused(document, tensors, path)


@pytest.mark.parametrize("kind", ["O", "b1", "f16", "S8", "x", 8, None, "f8,f8"])
def test_samples_are_of_a_type_of_numbers(kind, path):
    document, tensors = parts(BY_NAME["fill-mean"].fitted(), path)
    document["model"]["state"]["_fit_dtype"] = kind
    assert refused(document, tensors, path) == "schema"


def test_numbers_to_fill_with_fit_their_type(path):
    document, tensors = parts(BY_NAME["fill-bytes"].fitted(), path)
    document["model"]["params"]["fill_value"] = 300
    tensors["model.statistics_"] = np.full(4, 300.0)
    assert refused(document, tensors, path) == "invariant"


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, lambda t: np.array(t, object)])
def test_the_card_of_a_model_of_texts_has_their_number_and_hash(form, path):
    model = BY_NAME["pipeline-texts"].fitted()
    found = describe(save(model, path, data=(form(TEXTS), WORDS)))
    assert (found.card.data.samples, found.card.data.features) == (30, None)
    assert found.card.data.sha256 == data_hash(TEXTS, WORDS)
    assert "| trained on | 30 texts |" in str(found)
    assert [part.kind for part in found.parts][:2] == ["Pipeline", "TfidfVectorizer"]
    assert load(path).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_the_data_of_a_model_of_texts_is_texts(path):
    model = BY_NAME["decision-texts"].fitted()
    for samples in (X, [["a"], ["b"]] * 15, Y):
        with pytest.raises(DataError, match="trained on: texts; X has shape"):
            save(model, path, data=(samples, Y))
    with pytest.raises(DataError, match="a label for each sample"):
        save(model, path, data=(TEXTS[:3], Y))
    with pytest.raises(DataError, match=r"4 features; X has shape \(30,\)"):
        save(SVC().fit(X, Y), path, data=(TEXTS, Y))
    assert not path.exists()


def test_a_long_text_does_not_widen_the_others():
    """NumPy's words all have room for the longest: these would take 400 GB."""
    texts = ["a"] * 100_000
    texts[0] = "b" * 1_000_000
    assert data_hash(texts) != data_hash(["a"] * 100_000)


def test_a_card_of_texts_is_checked_too(path):
    document, tensors = parts(BY_NAME["pipeline-texts"].fitted(), path)
    document["card"]["data"] = {"sha256": "0", "samples": None, "features": None}
    assert refused(document, tensors, path) == "schema"
    document["card"]["data"] = {"sha256": "0", "samples": 3, "features": "x"}
    assert refused(document, tensors, path) == "schema"
