"""Models over sequences and graphs: the same answers from a file, and nothing in one that does harm."""

import numpy as np
import pytest
from tests.modelfile.cases import (
    BARE,
    BY_NAME,
    BYTES,
    MOLECULES,
    NUMBERED,
    OBJECT_KERNELS,
    SEQUENCES,
    STRANGE,
    TOKENS,
    WORDS,
    answers,
)
from tests.modelfile.hostile import refused, refused_after, signed, split_file
from tests.modelfile.test_files import assert_like, same

import separatrix as sx
from separatrix import kernels as kn
from separatrix.data.graph import Graph
from separatrix.errors import ModelFileError
from separatrix.kernels.vocabulary import hash_slot
from separatrix.modelfile import objects as fields_of_objects
from separatrix.modelfile.fields import Archive
from separatrix.modelfile.objects import SamplesField

LONE = "\ud800\udfff é\0"


NEW_SEQUENCES = {
    "strings": ["", "a", "acgtacgt", LONE, "XYZ xyz"],
    "bytes": [b"", b"acgt\0\0", bytes(range(256))],
    "tokens": [(), ("long", 99), ("long", "long", 3)],
}


NEW_GRAPHS = {
    "strings": [Graph(0, []), Graph(2, [[0, 1]], np.array(["C", "Xe"]), np.array([1]))],
    "numbers": [Graph(1, [], np.array([-9])), Graph(2, [[1, 0]], [1, 7], np.array(["é"]))],
    "none": [Graph(0, []), Graph(4, [[0, 1]])],
}


NEW = {
    id(SEQUENCES): NEW_SEQUENCES["strings"],
    id(STRANGE): NEW_SEQUENCES["strings"],
    id(BYTES): NEW_SEQUENCES["bytes"],
    id(TOKENS): NEW_SEQUENCES["tokens"],
    id(MOLECULES): NEW_GRAPHS["strings"],
    id(NUMBERED): NEW_GRAPHS["numbers"],
    id(BARE): NEW_GRAPHS["none"],
}


ESTIMATORS = {
    "svc": lambda kernel: sx.SVC(kernel=kernel, calibration="sigmoid", random_state=0),
    "kernel-perceptron": lambda kernel: sx.KernelPerceptron(kernel, max_iter=3, predictor="vote"),
    "knn": lambda kernel: sx.KNeighborsClassifier(3, kernel=kernel),
    "nystroem": lambda kernel: sx.Nystroem(kernel, n_components=4, random_state=0),
    "svc-cv": lambda kernel: sx.SVCCV([1.0], kernels=[kernel], cv=2),
    "perceptron-cv": lambda kernel: sx.KernelPerceptronCV([kernel], cv=2),
    "decision": lambda kernel: sx.BayesDecision(sx.SVC(kernel=kernel, calibration="sigmoid")),
}


def objects(*items):
    return np.fromiter(items, dtype=object)


def round_trip(samples):
    """Samples through a field and back."""
    file, field = Archive(), SamplesField("n d")
    document = field.put(samples, "at", file)
    found = field.get(document, "at", Archive(file.tensors))
    kinds = "iuf" if document["objects"] == "plain" else "iu"
    assert all(array.dtype.kind in kinds for array in file.tensors.values())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECT_KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_with_every_kernel_answers_the_same(estimator, name, path):
    kernel, samples = OBJECT_KERNELS[name]
    model = ESTIMATORS[estimator](kernel).fit(samples, WORDS)
    whole, slim = sx.load(sx.save(model, path)), sx.load(sx.save(model, path, slim=True))
    for queries in (samples, NEW.get(id(samples), NEW_SEQUENCES["strings"])):
        expected = answers(model, queries)
        for again in (whole, slim):
            same(answers(again, queries), expected)
    assert not hasattr(whole, "n_features_in_")


@pytest.mark.parametrize(
    "samples",
    [
        objects(),
        objects("", "a", LONE, "日本", "\x00", "a" * 1000),
        objects(b"", b"\0\0", bytes(range(256))),
        objects((), ("a",), (1, "1", -(2**63), 2**63 - 1, LONE), ("a", "a")),
        objects("a", b"a"),
        objects(1.0, None, True, -(2**63), float("inf"), "x", ("nested", ("x",), [])),
        objects({1, "a"}, frozenset(), {"k": {"deep": [{1.5}]}}, [1, [2]], {(1, "a"): None}),
        objects(Graph(0, [])),
        objects(Graph(3, []), Graph(0, [])),
        objects(*NEW_GRAPHS["none"]),
        objects(NEW_GRAPHS["numbers"][1]),
        objects(Graph(2, [[1, 0]], np.array(["a", ""])), Graph(1, [], np.array(["long label"]))),
        objects(Graph(3, [[2, 0], [0, 1]], edge_labels=np.array([2**62, -(2**62)]))),
    ],
)
def test_samples_come_back_as_they_were(samples):
    assert_like(round_trip(samples), samples)


def test_a_graph_without_nodes_takes_after_the_others():
    found = round_trip(objects(Graph(0, []), Graph(1, [], np.array(["C"]))))
    assert found[0].node_labels.tolist() == []
    assert found[0].edge_labels is None
    kn.VertexHistogram().checked(found)


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        (objects((2**63,)), "at most 64 bits"),
        (objects("a", 1j), "objects of type complex: a file holds sets, dicts, lists, tuples"),
        (objects({object()}), "objects of type object"),
        (objects(Graph(1, []), Graph(1, [], np.array([1]))), "in all graphs or none"),
    ],
)
def test_samples_that_have_no_place_are_refused_with_a_sentence(samples, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        SamplesField("n d").put(samples, "at", Archive())


VECTORS = "model.support_vectors_"
HOSTILE_VECTORS = [
    ("spectrum", ".ends", "invariant", [lambda a: a[::-1].copy(), lambda a: a + 1, lambda a: a - 5]),
    ("spectrum", ".ends", "invariant", [lambda a: a[:-1], lambda a: np.r_[a[:-1], a[-1] // 2, a[-1]]]),
    ("spectrum", ".ends", "schema", [lambda a: a.astype(np.int32), lambda a: a[None]]),
    ("spectrum", ".letters", "schema", [lambda a: a | 0x80, lambda a: a[None]]),
    ("spectrum", ".letters", "schema", [lambda a: a.astype(np.int8)]),
    ("subsequence", "", "invariant", [lambda a: a + 1000, lambda a: a - 1000, lambda a: a[:-1]]),
    ("subsequence", ".cuts", "invariant", [lambda a: a + 1]),
    ("subsequence", ".kinds", "invariant", [lambda a: a + 1, lambda a: a * 0, lambda a: a[:-1]]),
    ("subsequence", ".numbers", "invariant", [lambda a: a * 0, lambda a: a[:-1]]),
    ("subtrees", ".nodes", "invariant", [lambda a: a * 0, lambda a: -a, lambda a: a + 1]),
    ("subtrees", ".nodes", "invariant", [lambda a: a[:-1]]),
    ("subtrees", ".nodes", "limit", [lambda a: a + 2**62]),
    ("subtrees", ".sizes", "invariant", [lambda a: a[::-1] - 1, lambda a: a + 2**61]),
    ("subtrees", ".edges", "invariant", [lambda a: a * 0, lambda a: a + 2**30, lambda a: a - 1]),
    ("subtrees", ".edges", "invariant", [lambda a: a * 0 + np.int32([1, 0])]),
    ("subtrees", ".edges", "invariant", [lambda a: a.reshape(-1, 1)]),
    ("subtrees", ".edges", "schema", [lambda a: a.astype(np.int64), lambda a: a.reshape(-1)]),
    ("subtrees", ".node_labels", "invariant", [lambda a: a[:-1], lambda a: a + 3, lambda a: a - 3]),
    ("subtrees", ".node_labels.kinds", "schema", [lambda a: a + 2]),
    ("subtrees", ".node_labels.letters", "schema", [lambda a: a * 0 + 0xFF]),
    ("subtrees", ".node_labels.letters", "schema", [lambda a: np.r_[a[:-2], np.uint8([97, 0])]]),
    ("subtrees", ".edge_labels", "invariant", [lambda a: a[1:]]),
    ("paths", ".nodes", "limit", [lambda a: a + 2**20, lambda a: a * 0 + 2**31]),
]  # fmt: skip
HOSTILE_VOCABULARIES = [
    (".keys", "invariant", [lambda a: -a - 1, lambda a: a * 0, lambda a: a[:-1]]),
    (".keys", "schema", [lambda a: a.astype(np.int32), lambda a: a[:, 0]]),
    (".cuts", "invariant", [lambda a: a[:-1], lambda a: a[::-1].copy()]),
    (".kinds", "invariant", [lambda a: np.r_[a, np.uint8(0)]]),
]
FORMS = [
    *(
        {"objects": form}
        for form in ("os.system", None, ["strings"], "nothing", "graphs", "tokens")
    ),
    {"objects": "bytes", "more": 1},
    {"objects": "graphs", "node_labels": None, "edge_labels": "x"},
    *({"strings": "objects"}, "C"),
]
VOCABULARIES = [
    *({"letter_bits": bits} for bits in (62, -1, True, "7")),
    *({"tables": tables} for tables in ([], None, ["level 1"] * 3, [1, 2, 3])),
    *({"tables": ["level 1", "level 2", "round 9"]}, {"closed": True}),
]
CHANGES = [
    *(
        (f"svc-on-{name}", {f"@.support_vectors_{part}": change}, reason)
        for name, part, reason, changes in HOSTILE_VECTORS
        for change in changes
    ),
    *(
        ("features-subtrees", {f"@.vocabulary_{part}": change}, reason)
        for part, reason, changes in HOSTILE_VOCABULARIES
        for change in changes
    ),
    *(
        (name, {"state.support_vectors_": form}, "schema invariant")
        for name in ("svc-on-spectrum", "svc-on-subtrees")
        for form in FORMS
    ),
    *(
        ("features-spectrum-weights", {f"state.vocabulary_.{key}": value}, "schema invariant")
        for change in VOCABULARIES
        for key, value in change.items()
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "changes", "reasons"), CHANGES)
def test_hostile_samples_and_vocabularies_are_refused(name, changes, reasons, path):
    assert refused_after(BY_NAME[name].fitted(), changes, path) in reasons.split()


def test_more_objects_than_a_file_may_hold_are_refused_both_ways(path, monkeypatch):
    for name, what in (("spectrum", "sequences"), ("subtrees", "graphs")):
        model = BY_NAME[f"svc-on-{name}"].fitted()
        document, tensors = split_file(model, path)
        with monkeypatch.context() as less:
            less.setattr(fields_of_objects, "MOST_GRAPHS", 3)
            less.setattr(fields_of_objects, "MOST_SEQUENCES", 3)
            assert refused(document, tensors, path) == "limit"
            with pytest.raises(ModelFileError, match=f"at most 3 {what}") as raised:
                sx.save(model, path)
            assert raised.value.reason == "limit"


def test_a_long_label_does_not_widen_those_of_very_many_nodes(path):
    """NumPy's words all have room for the longest: these would take 40 GB."""
    document, tensors = split_file(BY_NAME["svc-on-vertices"].fitted(), path)
    long, more, at = 10_000, 1_000_000, f"{VECTORS}.node_labels"
    tensors[f"{VECTORS}.nodes"][0] += more
    tensors[at] = np.r_[np.zeros(more, np.int32), tensors[at]]
    tensors[f"{at}.letters"] = np.r_[np.full(long, 97, np.uint8), tensors[f"{at}.letters"]]
    tensors[f"{at}.ends"] = tensors[f"{at}.ends"] + long
    assert refused(document, tensors, path) == "limit"


KEYS = "model.vocabulary_"


def test_pairs_that_crowd_at_one_place_are_refused_quickly(path):
    """Whoever knows how places are found can have all pairs meet at one: once this took minutes."""
    back = pow(0xD6E8FEB86659FD93, -1, 2**64)
    crowd = [half * (2**32 + 1) * back % 2**64 for half in range(200_000)]
    seconds = np.array([second for second in crowd if second < 2**63], dtype=np.int64)
    assert {hash_slot(0, second, 2**18 - 1) for second in seconds[:100].tolist()} == {0}
    document, tensors = split_file(BY_NAME["features-vertices"].fitted(), path)
    tensors[f"{KEYS}.keys"] = np.column_stack([np.zeros_like(seconds), seconds])
    tensors[f"{KEYS}.cuts"][:] = len(seconds)
    assert refused(document, tensors, path) == "invariant"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kernel",
    [kn.Spectrum(2), kn.WeightedDegree(2), kn.Subsequence(2), kn.BagOfWords(), kn.ShortestPath()],
)
def test_a_model_that_learned_nothing_is_kept(kernel, path):
    samples = BARE if kernel.takes == "graphs" else SEQUENCES
    model = sx.KernelPerceptron(kernel, max_iter=1).partial_fit(samples[:1], [0], classes=[0, 1])
    again = sx.load(sx.save(model, path))
    assert_like(again.support_vectors_, model.support_vectors_)
    np.testing.assert_array_equal(again.predict(samples), model.predict(samples))


@pytest.mark.parametrize("name", OBJECT_KERNELS)
def test_features_of_every_kernel_are_the_same(name, path):
    kernel, samples = OBJECT_KERNELS[name]
    if name == "subsequence" or "normalized" in name:
        kernel = kn.Normalized(
            kn.BagOfWords() if kernel.takes == "sequences" else kn.WeisfeilerLehman(1)
        )
    model = sx.KernelFeatures(0.5 * kernel).fit(samples)
    again = sx.load(sx.save(model, path))
    assert again.widths_ == model.widths_
    for queries in (samples, NEW.get(id(samples), NEW_SEQUENCES["strings"])):
        found, expected = again.transform(queries), model.transform(queries)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(
                getattr(found, part), getattr(expected, part), strict=True
            )


COUNTED = [
    ("svc-on-subsequence", "@.support_vectors_.numbers", "numbers and {words} words; found"),
    ("features-subtrees", "@.vocabulary_.cuts", "must be of {tables} tables; found {fewer}"),
]


@pytest.mark.parametrize(("name", "where", "said"), COUNTED, ids=["tokens", "tables"])
def test_a_refusal_says_how_many_there_must_be(name, where, said, path):
    document, tensors = split_file(BY_NAME[name].fitted(), path)
    array = f"model{where[1:]}"
    counts = {}
    if "numbers" in where:
        kinds = tensors[array.replace("numbers", "kinds")]
        counts["words"] = len(kinds) - len(tensors[array])
    else:
        counts["tables"] = len(document["model"]["state"]["vocabulary_"]["tables"])
        counts["fewer"] = counts["tables"] - 1
    tensors[array] = tensors[array][:-1] if "numbers" in where else np.delete(tensors[array], 1)
    path.write_bytes(signed(document, tensors))
    with pytest.raises(ModelFileError, match=said.format(**counts)):
        sx.load(path)
