"""Graphs, plain objects and vocabularies: what is written is read, the rest is refused."""

import numpy as np
import pytest
from tests.modelfile.field_tools import ends, letters, said, written
from tests.modelfile.test_fields import round_trip

from separatrix.data.graph import Graph
from separatrix.errors import ModelFileError
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.modelfile import fields as f
from separatrix.modelfile import objects
from separatrix.modelfile.given_code import GivenCode
from separatrix.modelfile.objects import SamplesField, VocabularyField


def graphs(*edges, nodes=4, **labels):
    found = np.empty(len(edges), dtype=object)
    for row, own in enumerate(edges):
        found[row] = Graph(nodes, np.array(own, dtype=int).reshape(-1, 2), **labels)
    return found


def changed_graphs(**changes):
    document, tensors = written(SamplesField("n d"), graphs([[0, 1], [1, 3]], [[2, 3]]))
    return document, {**tensors, **{f".{name}": np.array(new) for name, new in changes.items()}}


def pairs(*both):
    return np.array(both, dtype=np.int32)


GRAPHS = [
    ({"sizes": [2, 2]}, "invariant: `at.sizes` must be 3 together, as there are edges"),
    ({"sizes": [4, 0]}, "invariant: `at.sizes` must be 3 together, as there are edges"),
    ({"edges": pairs([0, 1], [1, 4], [2, 3])}, "between nodes of their graph; found others"),
    ({"edges": pairs([0, 1], [-1, 3], [2, 3])}, "between nodes of their graph; found others"),
    ({"edges": pairs([0, 1], [1, 1], [2, 3])}, "between different nodes; found a loop"),
    ({"edges": pairs([0, 1], [1, 0], [2, 3])}, "each of them once; found one of them twice"),
    ({"nodes": [4, 2**31 - 4]}, "limit: `at`: a file holds at most 2147483647 nodes"),
    ({"nodes": [4, 2**31]}, "limit: `at`: a file holds at most 2147483647 nodes"),
    ({"nodes": [4, 2**62]}, "limit: `at`: a file holds at most 2147483647 nodes"),
    ({"nodes": [4, 2**20 + 3]}, "1048576 nodes without labels and edges"),
]


@pytest.mark.parametrize(("changes", "sentence"), GRAPHS, ids=range(len(GRAPHS)))
def test_graphs_that_cannot_be_are_refused(changes, sentence):
    assert sentence in said(SamplesField("n d"), *changed_graphs(**changes))


def test_graphs_at_their_limits_come_back():
    field = SamplesField("n d")
    document, tensors = changed_graphs(
        nodes=[4, 2**20 + 2], edges=pairs([1, 0], [3, 1], [2**20 + 1, 0])
    )
    archive = f.Archive({f"at{name}": array for name, array in tensors.items()})
    first, second = field.get(document, "at", archive)
    assert first.edges.tolist() == [[1, 0], [3, 1]]
    assert second.n_nodes == 2**20 + 2
    same = round_trip(field, graphs([[0, 1], [1, 2]], [[1, 0], [2, 1]]))  # equal ones of two graphs
    assert [one.edges.tolist() for one in same] == [[[0, 1], [1, 2]], [[1, 0], [2, 1]]]
    with_labels = graphs([[0, 1]], node_labels=np.array(["C", "N", "long", "C"]))
    assert round_trip(field, with_labels)[0].node_labels.dtype == "<U4"


def test_labels_of_graphs_are_strings_that_numpy_can_hold():
    made = graphs([[0, 1]], node_labels=np.array(["a", "b", "a", "a"]))
    document, tensors = written(SamplesField("n d"), made)
    field = SamplesField("n d")
    numbers = {**tensors, ".node_labels.kinds": np.array([0, 1], np.uint8)}
    numbers |= {".node_labels.numbers": np.array([7]), ".node_labels.letters": letters("a")}
    numbers[".node_labels.ends"] = ends(1)
    assert "schema: `at.node_labels` must be strings; found other tokens" in said(
        field, document, numbers
    )
    nul = {**tensors, ".node_labels.letters": letters("a\0")}
    assert "strings that NumPy can hold; found others" in said(field, document, nul)
    mixed = np.concatenate([made, graphs([[0, 1]], node_labels=np.arange(4))])
    with pytest.raises(ModelFileError, match="labels of one type, in all graphs or none"):
        written(field, mixed)


def test_samples_of_nothing_have_no_type():
    nothing = np.empty(0, dtype=object)
    assert objects.sample_type(nothing) is None
    assert len(round_trip(SamplesField("n d"), nothing)) == 0
    assert objects.sample_type(np.ones((1, 1))) == "vectors"
    for item, kind in (("a", "sequences"), ({1}, "objects"), (("a", 1.5), "objects")):
        sample = np.empty(1, dtype=object)
        sample[0] = item
        assert objects.sample_type(sample) == kind
    assert objects.sample_type(graphs([[0, 1]])) == "graphs"


def test_plain_objects_are_as_many_as_the_file_says():
    samples = np.empty(2, dtype=object)
    samples[:] = [{1, 2}, [3.5]]
    document, tensors = written(SamplesField("n d"), samples, code=GivenCode())
    field = SamplesField("n d")
    for count, sentence in (
        (1, "`at` must be 1 samples; found more values"),
        (3, "one more value"),
        (6, "`at` must be at most 5 samples; found 6"),
    ):
        assert sentence in said(field, {**document, "count": count}, tensors)
    found = round_trip(field, samples)
    assert found.tolist() == [{1, 2}, [3.5]]


def vocabulary():
    made = Vocabulary()
    made.pairs("a", np.array([3, 4]), np.array([0, 1]))
    made.pairs("b", np.array([5]), 2)
    made.numbers(["x", 7])
    made.letter_bits = 7
    return made


def test_vocabularies_come_back_closed():
    found = round_trip(VocabularyField(), vocabulary())
    assert found.closed
    assert list(found.symbols.items()) == [("x", 0), (7, 1)]
    assert {name: table.keys.tolist() for name, table in found.tables.items()} == {
        "a": [[3, 0], [4, 1]],
        "b": [[5, 2]],
    }
    document, tensors = written(VocabularyField(), vocabulary())
    field = VocabularyField()
    assert "tables of different names" in said(field, {**document, "tables": ["a", "a"]}, tensors)
    for bits in (9, True, 7.0, None):
        assert "letters of" in said(field, {**document, "letter_bits": bits}, tensors)
    few = {**document, "tables": ["a"]}
    assert "`at.cuts` must be of 1 tables; found 2" in said(field, few, tensors)
    twice = {**tensors, ".keys": np.array([[3, 0], [3, 0], [5, 2]])}
    assert "all different; found one of them twice" in said(field, document, twice)


def test_crowded_pairs_are_counted():
    assert objects._count_steps(np.array([5, 0, 9])) == 0
    assert objects._count_steps(np.array([4, 4, 4])) == 0 + 1 + 2
    assert objects._count_steps(np.array([4, 5, 4, 9])) == 1 + 1
    assert objects._count_steps(np.array([], dtype=np.int64)) == 0
