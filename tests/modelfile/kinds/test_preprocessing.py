"""Transformers of vectors, texts and objects: bit-identical from a file, hostile ones refused."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from tests.modelfile.cases import BY_NAME, HOLES, WORDS, X, Y
from tests.modelfile.hostile import load_within_limits, refused, signed, split_file

import separatrix as sx
from separatrix.errors import ModelFileError
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


def test_a_column_without_values_is_left_out_again(path):
    rows = np.column_stack([HOLES, np.full(30, np.nan)])
    for how in ("mean", "constant"):
        model = SimpleImputer(strategy=how).fit(rows)
        again = sx.load(sx.save(model, path))
        with pytest.warns(UserWarning, match="Skipping features"):
            found = again.transform(rows)
        assert found.shape == (30, 4)


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
