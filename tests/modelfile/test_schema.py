"""Files with the right checksum and something changed in them are refused, with the reason."""

import numpy as np
import pytest
from tests.modelfile.cases import BY_NAME
from tests.modelfile.hostile import DELETED, refused, refused_after, split_file

from separatrix.modelfile import schema
from separatrix.modelfile.fields import MOST_WORDS

LINEAR = {"kernel": "Linear", "params": {}}
PATHS = {"kernel": "ShortestPath", "params": {}}
VERTICES = {"kernel": "VertexHistogram", "params": {}}
PLAIN_WORDS = {"kernel": "BagOfWords", "params": {"lowercase": True}}
SUBSEQUENCE = {"kernel": "Subsequence", "params": {"k": 2, "decay": 0.5, "alphabet": None}}


def words(*texts):
    """The arrays of a vocabulary of these words."""
    letters = [text.encode() for text in texts]
    ends = np.cumsum([len(word) for word in letters], dtype=np.int64)
    return {"@.vocabulary_": np.frombuffer(b"".join(letters), np.uint8), "@.vocabulary_.ends": ends}


ATTRIBUTES = [
    *(
        ("standard", {"state._sklearn_output_config": config}, "schema")
        for config in (5, {"transform": 5}, {"transform": [1]}, {"x": "pandas"}, [])
    ),
    *(("knn", {"params.k_max": value}, "invariant") for value in (2.5, "x", {"dict": []}, 0)),
    ("svc-cv-on-sequences", {"params.kernels": [LINEAR]}, "invariant"),
    ("perceptron-cv-on-graphs", {"params.kernels": [LINEAR]}, "invariant"),
    *(
        (name, {"state.n_features_in_": 4}, "invariant")
        for name in (
            *("svc-on-spectrum", "knn-on-subtrees", "nystroem-on-subsequence", "svc-on-paths"),
            *("svc-cv-on-sequences", "perceptron-cv-on-graphs"),
        )
    ),
    *(
        (name, {"state.n_features_in_": DELETED}, "invariant")
        for name in ("svc", "knn", "nystroem", "kernel-perceptron", "svc-cv", "perceptron-cv")
    ),
    ("svc-on-spectrum", {"state.shape_fit_": [30, 4]}, "invariant"),
    ("svc", {"state.shape_fit_": [30]}, "invariant"),
    ("logistic-flags", {"@.classes_": np.array([0, 7], np.uint8).view(bool)}, "schema"),
    ("logistic", {"@": np.zeros(1000)}, "schema"),
    (
        "logistic",
        {
            "state.feature_names_in_": "objects",
            "@.feature_names_in_": np.full(7 * 10**6, ord("x"), np.uint8),
            "@.feature_names_in_.ends": np.arange(7, 7 * 10**6 + 1, 7),
        },
        "limit",
    ),
    *(
        ("knn-mahalanobis", {"@.index_metric_params[0][1]": VI}, "invariant")  # read past its end
        for VI in (np.eye(1), np.eye(3), np.full((4, 4), np.nan), np.ones(4))
    ),
    (
        "decision-around-search",  # the 145,329th hostile file
        {"state.estimator_.state.best_estimator_.params.calibration": None},
        "invariant",
    ),
    ("pipeline-texts", {"card.data": {"sha256": "0", "samples": None, "features": None}}, "schema"),
    ("pipeline-texts", {"card.data": {"sha256": "0", "samples": 3, "features": "x"}}, "schema"),
    ("features-words", {"params.kernel": PLAIN_WORDS}, "invariant"),
    ("features-words", {"params.kernel": SUBSEQUENCE, "state.kernel_": SUBSEQUENCE}, "schema"),
    ("features-words", {"params.kernel": "rbf", "state.kernel_": SUBSEQUENCE}, "schema"),
]
OTHER_SAMPLES = [
    (name, dict.fromkeys(positions, kernel), "invariant schema")
    for name, kernel in (
        *(("svc-on-spectrum", LINEAR), ("svc-on-spectrum", PATHS)),
        *(("knn-on-subtrees", PLAIN_WORDS), ("kernel-perceptron-on-subtrees", LINEAR)),
        ("nystroem-on-subtrees", {"kernel": "Precomputed", "params": {}}),
        *(("svc", VERTICES), ("knn-gaussian", VERTICES)),
    )
    for positions in (("params.kernel", "state.kernel_"), ("params.kernel",), ("state.kernel_",))
]
TRANSFORMERS = [
    ("polynomial-map", {"params.memory_limit": 1e12}, "schema"),
    ("one-hot", {"params.min_frequency": 1}, "unsupported"),
    ("one-hot", {"params.max_categories": 2}, "unsupported"),
    ("one-hot", {"params.drop": [7.0] * 4}, "invariant"),
    *(
        (name, words(*texts), "invariant")
        for name in ("count", "tfidf")
        for texts in ([], ["long"] * 6, ["wide", "long", "thin", "petal", "aé", "wide"])
    ),
    ("count", {"state.vocabulary_": "numbers", "@.vocabulary_": np.arange(6)}, "schema"),
    ("count", words(*map(str, range(MOST_WORDS + 1))), "limit"),
    *(
        ("tfidf", {"@._tfidf.idf_": np.ones(length), **more}, "invariant schema")
        for length in (0, 5, 7)
        for more in ({}, {"state._tfidf.state.n_features_in_": length})
    ),
    *(
        ("tfidf", {f"state._tfidf.params.{name}": value}, "invariant")
        for name, value in (("norm", "l1"), ("use_idf", False), ("norm", None))
    ),
    ("weights", {"@.idf_": lambda a: a * np.nan}, "invariant"),
    ("weights", {"state.idf_": DELETED, "@.idf_": DELETED}, "invariant"),
    *(
        ("positions", {"@.letters_": np.array(letters, np.uint32), "state.length_": n}, reason)
        for letters, n, reason in (
            *(([97, 97], 3, "invariant"), ([99, 97], 3, "invariant"), ([], 3, "invariant")),
            *(([0x110000], 3, "invariant"), ([97, 99], 0, "schema"), ([97, 99], 2**40, "limit")),
            *(([97, 99], MOST_WORDS // 2 + 1, "limit"), (list(range(1000)), 1000, "limit")),
        )
    ),
    *(
        (f"fill-{name}", {f"params.{parameter}": value}, "unsupported schema invariant")
        for name, parameter, value in (
            *(("constant", "fill_value", 1), ("constant", "fill_value", "x")),
            *(("bytes", "fill_value", 4), ("bytes", "fill_value", 2**60)),
            *(("constant", "strategy", "mean"), ("mean", "strategy", "os.system")),
            *(("mean", "add_indicator", True), ("mean", "add_indicator", 0)),
            *(("mean", "missing_values", "x"), ("mean", "missing_values", None)),
        )
    ),
    *(
        ("fill-mean", {"state._fit_dtype": kind}, "schema")
        for kind in ("O", "b1", "f16", "S8", "x", 8, None, "f8,f8")
    ),
    ("fill-bytes", {"params.fill_value": 300, "@.statistics_": np.full(4, 300.0)}, "invariant"),
]
TEXT_PARAMETERS = [
    (name, {f"{position}.{parameter}": value}, "unsupported schema invariant")
    for name, position in (
        *(("count", "params"), ("tfidf", "params")),
        ("pipeline-texts", "params.steps.0.1.params"),
    )
    for parameter, value in (
        *(("token_pattern", r"(a+)+$"), ("token_pattern", None), ("ngram_range", [1, 10**9])),
        *(("ngram_range", [0, 1]), ("ngram_range", [2, 1]), ("ngram_range", {"tuple": [1, 1]})),
        *(("ngram_range", [1, 1, 1]), ("ngram_range", [True, 1]), ("input", "filename")),
        *(("encoding", "zlib"), ("analyzer", "eval"), ("stop_words", ["a"])),
        *(("tokenizer", "str.split"), ("dtype", {"type": "int8"}), ("dtype", "float64")),
        *(("vocabulary", ["long"]), ("vocabulary", [["long"]]), ("lowercase", "yes")),
        *(("vocabulary", {"dict": [["long", 0]]}), ("max_features", 0)),
    )
]
KERNEL_PARAMETERS = [
    (
        f"svc-on-{name}",
        {f"{position}.params.{key}": value for position in ("params.kernel", "state.kernel_")},
        reason,
    )
    for name, key, value, reason in (
        ("spectrum", "k", 2**40, "limit"),
        ("spectrum", "k", 0, "invariant"),
        *(("spectrum", "k", value, "schema") for value in (2.0, True, None)),
        ("spectrum", "shortest", 3, "invariant"),
        ("spectrum", "shortest", "1", "schema"),
        ("spectrum", "weights", {"tuple": [1.0, 2.0]}, "invariant"),
        ("spectrum", "weights", {"tuple": [-1.0]}, "invariant"),
        *(("spectrum", "weights", {"tuple": [value]}, "schema") for value in ("x", True)),
        *(("spectrum", "weights", value, "schema") for value in ([1.0], {"array": "C"})),
        ("spectrum", "alphabet", "", "invariant"),
        ("spectrum", "alphabet", 7, "schema"),
        ("spectrum", "alphabet", "a" * 10_001, "limit"),
        ("spectrum", "decay", 0.5, "schema"),
        ("subsequence", "decay", 1.5, "invariant"),
        ("subsequence", "decay", None, "schema"),
        ("words", "lowercase", 1, "schema"),
        ("subtrees", "iterations", 10**9, "limit"),
        ("subtrees", "iterations", -1, "invariant"),
        ("subtrees", "edge_labels", "yes", "schema"),
        ("paths", "k", 1, "schema"),
    )
]
CHANGES = [
    *(*ATTRIBUTES, *OTHER_SAMPLES, *TRANSFORMERS),
    *(pytest.param(*row, marks=pytest.mark.slow) for row in (*TEXT_PARAMETERS, *KERNEL_PARAMETERS)),
]


@pytest.mark.parametrize(
    ("name", "changes", "reasons"), CHANGES, ids=lambda v: v if isinstance(v, str) else "+".join(v)
)
def test_a_changed_file_is_refused(name, changes, reasons, path):
    assert refused_after(BY_NAME[name].fitted(), changes, path) in reasons.split()


def test_paths_that_no_memory_holds_are_refused(path, monkeypatch):
    document, tensors = split_file(BY_NAME["svc-on-normalized-graphs"].fitted(), path)
    monkeypatch.setattr(schema, "memory_of_this_machine", lambda: 10_000)
    assert refused(document, tensors, path) == "limit"
