"""Descriptions and cards, piece by piece: every word of them, and what a hash depends on."""

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import X, Y

import separatrix as sx
from separatrix import Graph
from separatrix.errors import DataError
from separatrix.modelfile import describe as cards
from separatrix.modelfile.describe import (
    SHOWN,
    Description,
    Part,
    as_code,
    escape_markdown,
    format_value,
)
from separatrix.modelfile.model_card import (
    ModelCard,
    TrainingData,
    _find_inside,
    _read_certificate,
    data_hash,
    describe_data,
    make_model_card,
    read_model_card,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ("a", "'a'"),
        ([1, ["b"]], "[1, ['b']]"),
        ({"dict": [["a", [1, 2]], [2, None]]}, "{'a': [1, 2], 2: None}"),
        ({"dict": []}, "{}"),
        ({"tuple": [1, 2]}, "[1, 2]"),
        ({"float": "inf"}, "inf"),
        ({"array": "C"}, "an array"),
        ({"kernel": "Gaussian", "params": {"gamma": 0.5}}, "Gaussian(gamma=0.5)"),
        ({"splitter": "KFold", "params": {"n_splits": 3}}, "KFold(n_splits=3)"),
        ({"kind": "SVC", "params": {}}, "SVC()"),
        ({"params": {"a": 1}}, "(a=1)"),
        ({"type": "int64"}, "int64"),
    ],
)
def test_values_are_printed_as_python_prints_them(value, text):
    assert format_value(value) == text


@pytest.mark.parametrize("count", [0, 1, SHOWN - 1, SHOWN, SHOWN + 1])
def test_the_first_of_many_values_are_shown(count):
    text = cards._format_first([f"v{i}" for i in range(count)])
    shown = ", ".join(f"v{i}" for i in range(min(count, SHOWN)))
    assert text == f"{count}: {shown}" + (", ..." if count > SHOWN else "")


def test_texts_are_escaped():
    assert escape_markdown("a*b_c`d|[e]\\<f>&") == "a\\*b_c\\`d\\|\\[e\\]\\\\&lt;f&gt;&amp;"
    assert escape_markdown("\u200d\n\x1b") == "\u200d\\\\n\\\\x1b"
    assert as_code("a|b`c\n") == "`a\\|b'c\\n`"
    assert cards._table([("a", "b"), ("", "c")]) == "| | |\n|---|---|\n| a | b |\n| | c |"
    assert cards._table([("a",)], "name") == "| name |\n|---|\n| a |"


def described(arrays=1, **changes):
    part = Part("model", "SVC", {"C": "1.0"}, False, 4, "Gaussian(gamma=0.5)")
    card = ModelCard({"numpy": "2.0"}, {"violation": 0.25})
    every = [{"name": f"a{i}", "dtype": "F64", "shape": [2], "nbytes": 16} for i in range(arrays)]
    given = {
        **{"path": "x.model", "nbytes": 2048, "format": 1, "parts": (part,), "classes": [0, 1]},
        **{"feature_names": None, "arrays": every, "card": card, "functions": []},
    }
    return Description(**{**given, **changes})


def test_a_description_is_a_page_of_markdown():
    assert described().markdown() == (
        "# SVC\n\n| | |\n|---|---|\n| file | `x.model`, 2.0 KiB, format 1 |\n| classes | 2: 0, 1 |\n"
        "| features | 4 |\n| kernel | `Gaussian(gamma=0.5)` |\n"
        "| trained on | unknown: `save(..., data=(X, y))` keeps the hash and the size |\n"
        "| seed | none |\n| versions | numpy 2.0 |\n\n"
        "## Certificate\n\n| | |\n|---|---|\n| violation | 0.25 |\n\n"
        "## Parameters\n\n| | |\n|---|---|\n| C | `1.0` |\n\n"
        "## Arrays\n\n| name | type | shape |\n|---|---|---|\n| `a0` | F64 | [2] |\n"
    )


@pytest.mark.parametrize("arrays", [SHOWN, SHOWN + 1, SHOWN + 5])
def test_arrays_beyond_the_first_are_counted(arrays):
    text = described(arrays).markdown()
    assert text.count("| F64 |") == SHOWN
    more = f"| and {arrays - SHOWN} more | | |"
    assert (more in text) == (arrays > SHOWN)
    assert len(described(arrays).as_dict()["arrays"]) == arrays


def test_parts_without_parameters_certificates_and_classes_have_no_lines():
    inner = Part("model.steps[0]", "Scaler|", {"copy": "True"}, False, None, None)
    top = Part("model", "Pipeline", {}, True, None, None)
    data = TrainingData("0f", 30, 4)
    card = ModelCard({}, {}, data, 7, "a note")
    found = described(parts=(top, inner), classes=None, card=card, functions=["f|g"])
    text = found.markdown()
    assert "## Parameters of Scaler\\| (`model.steps[0]`)" in text
    assert "## Parameters\n" not in text
    assert "## Certificate" not in text
    for line in (
        "| note | a note |",
        "| file | `x.model`, 2.0 KiB, format 1, slim: it predicts, and cannot be trained further |",
        "| trained on | 30 samples of 4 features |",
        "| SHA-256 of the data | `0f` |",
        "| function | `f\\|g`: give it to `load(path, kernel=...)` |",
        "| seed | 7 |",
    ):
        assert line in text.splitlines()
    for word in ("| classes |", "| features |", "| kernel |", "| samples |"):
        assert word not in text
    assert found.kind == "Pipeline"
    assert found.objects is None
    texts = described(card=ModelCard({}, {}, TrainingData("0f", 30, None)))
    assert "| trained on | 30 texts |" in texts.markdown()
    graphs = described(parts=(top, Part("x", "SVC", {}, False, None, None, "graphs")))
    assert graphs.objects == "graphs"
    assert "| samples | graphs |" in graphs.markdown()


def test_a_card_comes_back_from_its_document():
    card = ModelCard({"a": "1"}, {"gap": 0.5}, TrainingData("0f", 3, None), -7, "note")
    assert read_model_card(card.as_document()) == card


def test_graphs_of_networkx_have_the_hash_of_graphs():
    graph = networkx.Graph([(0, 1), (1, 2)])
    own = [Graph(3, np.array([[0, 1], [1, 2]]))]
    assert data_hash([graph]) == data_hash(own)
    other = [Graph(3, np.array([[0, 1], [0, 2]]))]
    assert data_hash(other) != data_hash(own)


def test_the_hash_of_samples_is_of_their_types_and_borders():
    samples = [
        ["ab", "c"],
        ["a", "bc"],
        [b"ab", b"c"],
        [("a", "b"), ("c",)],
        [("a",), ("b", "c")],
        [["a", 1], ["b"]],
        [1.0, 2.0],
        np.array(1.0),
        np.array([[1.0, 2.0]]),
        np.array([[1.0], [2.0]]),
        np.array([[1, 2]]),
        csr_array([[1.0, 2.0]]),
        csr_array([[1.0, 2.0, 0.0]]),
    ]
    assert len({data_hash(one) for one in samples}) == len(samples)
    assert data_hash([["a", 1], ["b"]]) == data_hash([("a", 1), ("b",)])
    for bad in ([[1.5], [1.5, 2.0]], [["a"], [None, "b"]], [["a"], "b", [["c"]]]):
        with pytest.raises((ValueError, DataError)):
            data_hash(bad)


def test_the_model_inside_searches_and_pipelines():
    svc = sx.SVC().fit(X, Y)
    frozen, scale = FrozenEstimator(svc), StandardScaler()
    decision = sx.BayesDecision(sx.GaussianNB()).fit(X, Y)
    assert _find_inside(frozen, -1) is svc
    assert _find_inside(make_pipeline(scale, svc), -1) is svc
    assert _find_inside(make_pipeline(scale, svc), 0) is scale
    assert _find_inside(decision, -1) is decision.estimator_
    assert _find_inside(Pipeline([("idle", "passthrough")]), -1) is None


def test_a_certificate_is_the_worst_of_all_boundaries():
    class Model:
        violation_ = np.array([0.5, 2.0, 1.0])
        dual_gap_ = np.array([])
        n_iter_ = 7
        gradient_ = None
        mistakes_ = np.array([9, 4, 3])
        tol = 1e-3

    expected = {"violation": 2.0, "n_iter": 7.0, "mistakes in the last pass": 3.0, "tol": 1e-3}
    assert _read_certificate(Model()) == expected
    Model.mistakes_, Model.tol = np.array([]), None
    assert _read_certificate(Model()) == {"violation": 2.0, "n_iter": 7.0}


@pytest.mark.parametrize(
    ("seed", "kept"), [(None, None), (0, 0), (np.int64(5), 5), (np.random.RandomState(0), None)]
)
def test_a_seed_is_a_whole_number(seed, kept):
    model = sx.GaussianNB().fit(X, Y)
    model.random_state = seed
    assert make_model_card(model).seed == kept


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([X, Y], r"must be a tuple \(X, y\); got list"),
        ((X, Y, Y), r"must be a tuple \(X, y\); got tuple"),
        ((X, Y[:-1]), r"a label for each sample; got \(30, 4\) and \(29,\)"),
        ((X, 5), r"a label for each sample; got \(30, 4\) and \(\)"),
        ((X[:, :3], Y), r"4 features; X has shape \(30, 3\)"),
        ((X[:, 0], Y), r"4 features; X has shape \(30,\)"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "X or y is ragged"),
    ],
)
def test_data_that_no_fit_had_are_refused(data, said):
    model = sx.GaussianNB().fit(X, Y)
    with pytest.raises(DataError, match=said):
        describe_data(model, data)
    assert describe_data(model, (X, Y)) == TrainingData(data_hash(X, Y), 30, 4)
    assert describe_data(model, (X.tolist(), Y.tolist())).features == 4


def test_labels_of_a_description_are_those_of_the_first_model(path):
    found = sx.describe(sx.save(sx.KNeighborsClassifier(3).fit(X, np.array(list("abc"))[Y]), path))
    assert found.classes == ["a", "b", "c"]
    two = np.column_stack([Y, Y % 2 + 7])
    assert sx.describe(sx.save(sx.KNeighborsClassifier(3).fit(X, two), path)).classes == [0, 1, 2]
    scaler = sx.describe(sx.save(StandardScaler().fit(X), path))
    assert scaler.classes is None
    assert scaler.parts[0].features == 4
    assert scaler.nbytes == path.stat().st_size
    names = {
        array["name"]: (array["dtype"], array["shape"], array["nbytes"]) for array in scaler.arrays
    }
    assert names["model.mean_"] == ("F64", [4], 32)
