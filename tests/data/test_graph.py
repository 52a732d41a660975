import numpy as np
import pytest

from separatrix.data.graph import Graph
from separatrix.errors import DataError


def test_labels_with_a_trailing_nul_are_refused():
    edges = np.array([[0, 1]])

    with pytest.raises(DataError, match="must not end with the letter NUL"):
        Graph(2, edges, node_labels=["C\0", "C"])
    with pytest.raises(DataError, match="must not end with the letter NUL"):
        Graph(2, edges, edge_labels=np.array(["=\0"], dtype=object))


@pytest.mark.parametrize("n", [2**31 + 1, 2**62, 2**70])
def test_a_graph_of_too_many_nodes_is_refused(n):
    with pytest.raises(DataError, match="at most 2,147,483,648 nodes"):
        Graph(n, np.array([[0, 1]]))
