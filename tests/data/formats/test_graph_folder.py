import numpy as np
import pytest
from tests.conftest import _real
from tests.data.formats.samples import tu

from separatrix.data.formats.graph_folder import read_tu
from separatrix.data.graph import Graph
from separatrix.data.limits import Limits
from separatrix.errors import DataError, DataFileError, MissingDataError, ParameterError


def test_a_folder_is_a_list_of_graphs(tmp_path):
    found = read_tu(tu(tmp_path))
    triangle, path = found.X
    assert (found.name, found.kind, found.y.tolist()) == ("SMALL", "graphs", [1, -1])
    assert (triangle.n_nodes, path.n_nodes) == (3, 3)
    assert triangle.edges.tolist() == [[0, 1], [1, 2], [0, 2]]
    assert triangle.edge_labels.tolist() == [0, 1, 2]
    assert triangle.node_labels.tolist() == [6, 6, 8]
    assert path.edges.tolist() == [[0, 1]]
    assert (path.node_labels.tolist(), path.edge_labels.tolist()) == ([7, 6, 0], [3])


def test_nodes_of_a_graph_need_not_stand_together(tmp_path):
    found = read_tu(
        tu(
            tmp_path,
            graph_indicator=b"2\n1\n2\n1\n",
            node_labels=b"10\n20\n30\n40\n",
            A=b"1, 3\n3, 1\n4, 2\n2, 4\n",
            edge_labels=b"5\n5\n6\n6\n",
        )
    )
    first, second = found.X
    assert (first.node_labels.tolist(), first.edge_labels.tolist()) == ([20, 40], [6])
    assert (second.node_labels.tolist(), second.edge_labels.tolist()) == ([10, 30], [5])


def test_labels_of_nodes_and_edges_may_be_missing(tmp_path):
    found = read_tu(tu(tmp_path, node_labels=None, edge_labels=None))
    assert found.X[0].node_labels is None
    assert found.X[0].edge_labels is None


def test_what_is_not_read_is_said(tmp_path):
    found = read_tu(tu(tmp_path, node_attributes=b"0.5\n"))
    assert found.notes == ("SMALL_node_attributes.txt is not read",)


@pytest.mark.parametrize(
    ("changes", "where", "sentence"),
    [
        ({"A": b""}, (0, 0), "_A.txt: found no numbers"),
        ({"A": b"1, 2\n2, 1, 3\n"}, (2, 0), "_A.txt:2: found 3 numbers, expected 2"),
        ({"A": b"1, 2\n2 1\n"}, (2, 0), "found 0 commas around 2 numbers"),
        ({"A": b"1, 2\n\n2, 99\n"}, (3, 4), "found '99', expected a node, 1 to 6"),
        ({"A": b"1, 0\n"}, (1, 4), "found '0', expected a node"),
        ({"A": b"1, 1.5\n"}, (1, 4), "found '1.5', expected a node"),
        ({"A": b"1, 1\n", "edge_labels": None}, (1, 1), "an edge from a node to itself"),
        ({"A": b"1, 4\n4, 1\n", "edge_labels": None}, (1, 1), "an edge between two graphs"),
        ({"A": b"1, 2\n1, 2\n", "edge_labels": None}, (2, 1), "an edge a second time"),
        ({"A": b"1, 2\n", "edge_labels": None}, (1, 1), "an edge 1, 2 without 2, 1"),
        ({"edge_labels": b"1\n"}, (0, 0), "found 1 labels, expected 8"),
        ({"edge_labels": b"0\n9\n1\n1\n2\n2\n3\n3\n"}, (1, 1), "found 0 one way and 9 the other"),
        ({"node_labels": b"1\n2\n"}, (0, 0), "found 2 labels, expected 6"),
        ({"node_labels": b"a\n"}, (1, 1), "found 'a', expected a finite number"),
        ({"graph_indicator": b"1\n3\n"}, (2, 1), "found '3', expected a graph, 1 to 2"),
        ({"graph_indicator": b"1\n1\n"}, (0, 0), "found no node of graph 2"),
        ({"graph_labels": b"0.5\n1\n"}, (1, 1), "found '0.5', expected an integer"),
        ({"graph_labels": b"1e300\n1\n"}, (1, 1), "found '1e300', expected an integer"),
    ],
)
def test_an_error_says_where(tmp_path, changes, where, sentence):
    with pytest.raises(DataFileError, match=sentence) as refusal:
        read_tu(tu(tmp_path, **changes))
    assert (refusal.value.line, refusal.value.column) == where


def test_a_folder_without_graphs_is_refused(tmp_path):
    with pytest.raises(DataFileError, match=r"found 0 files whose name ends with _A\.txt"):
        read_tu(tmp_path)
    with pytest.raises(MissingDataError, match="there is no folder"):
        read_tu(tmp_path / "nowhere")
    with pytest.raises(MissingDataError, match=r"there is no file .*SMALL_graph_labels\.txt"):
        read_tu(tu(tmp_path, graph_labels=None))


def test_limits_hold(tmp_path):
    with pytest.raises(DataFileError, match="more than 3 rows"):
        read_tu(tu(tmp_path), Limits(rows=3))


def test_mutag_is_whole():
    found = _real("mutag")
    assert len(found.X) == 188
    assert sum(graph.n_nodes for graph in found.X) == 3371
    assert sum(len(graph.edges) for graph in found.X) == 7442 // 2
    assert len(np.unique(np.concatenate([graph.node_labels for graph in found.X]))) == 7
    assert len(np.unique(np.concatenate([graph.edge_labels for graph in found.X]))) == 4


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"n_nodes": -1}, "`n_nodes` of Graph must be an integer of at least 0; got -1"),
        ({"edges": np.zeros((1, 3), int)}, "must have two columns; got shape"),
        ({"edges": np.array([[0.0, 1.0]])}, "`edges` of Graph must be whole numbers; got float64"),
        ({"edges": np.array([[0, 3]])}, "must join nodes 0 to 2; got node 3"),
        ({"edges": np.array([[-1, 2]])}, "must join nodes 0 to 2; got node -1"),
        ({"edges": np.array([[1, 1]])}, "must join different nodes; node 1 has a loop"),
        ({"edges": np.array([[0, 1], [1, 0]])}, "must name each edge once"),
        ({"node_labels": np.array([1, 2])}, "`node_labels` of Graph must be 3 whole numbers"),
        (
            {"edge_labels": np.array([0.5])},
            "`edge_labels` of Graph must be whole numbers or strings",
        ),
    ],
)
def test_a_graph_that_is_none_is_refused(parts, sentence):
    whole = {"n_nodes": 3, "edges": np.array([[0, 1]])}
    with pytest.raises((DataError, ParameterError), match=sentence):
        Graph(**{**whole, **parts})


def test_a_graph_may_have_no_edges():
    alone = Graph(2, np.empty((0, 2)), edge_labels=np.empty(0))
    assert (alone.edges.shape, alone.edges.dtype) == ((0, 2), np.intp)
    assert repr(alone) == "Graph(2 nodes, 0 edges)"
