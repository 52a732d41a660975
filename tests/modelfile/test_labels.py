"""Labels, names and flags."""

import numpy as np
from tests.modelfile.cases import TWO, X, Y
from tests.modelfile.hostile import refused, split_file

from separatrix import (
    LogisticRegression,
)
from separatrix.modelfile.fields import Archive
from separatrix.modelfile.labels import WordList


def test_many_names_are_refused_before_they_are_words(path):
    document, tensors = split_file(LogisticRegression().fit(X, Y), path)
    document["model"]["state"]["feature_names_in_"] = "objects"
    tensors["model.feature_names_in_"] = np.full(7 * 10**6, ord("x"), dtype=np.uint8)
    tensors["model.feature_names_in_.ends"] = np.arange(7, 7 * 10**6 + 1, 7, dtype=np.int64)
    assert refused(document, tensors, path) == "limit"


def test_flags_are_0_or_1(path):
    document, tensors = split_file(LogisticRegression().fit(X[TWO], Y[TWO] == 1), path)
    tensors["model.classes_"] = np.array([0, 7], dtype=np.uint8).view(bool)
    assert refused(document, tensors, path) == "schema"


def test_words_that_repeat_are_written_once():
    file, words = Archive(), ["tol", "max_iter"] * 100_000
    document = WordList("p").put(words, "stop_", file)
    assert document == ["max_iter", "tol"]
    assert WordList("p").get(document, "stop_", file) == words


def test_an_array_without_a_name_is_refused(path):
    document, tensors = split_file(LogisticRegression().fit(X, Y), path)
    assert refused(document, {**tensors, "": np.zeros(1000)}, path) == "schema"
