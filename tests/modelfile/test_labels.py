"""Labels, names and flags."""

from separatrix.modelfile.fields import Archive
from separatrix.modelfile.labels import WordList


def test_words_that_repeat_are_written_once():
    file, words = Archive(), ["tol", "max_iter"] * 100_000
    document = WordList("p").put(words, "stop_", file)
    assert document == ["max_iter", "tol"]
    assert WordList("p").get(document, "stop_", file) == words
