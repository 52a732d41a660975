import numpy as np

from separatrix.kernels.gram import HeldGram
from separatrix.solvers.svm.problem import RowLayout


def test_a_layout_has_the_rows_of_the_segments_that_take_part():
    diagonal = np.array([5.0, 1.0, 2.0, 9.0, 3.0, 4.0])
    gram = HeldGram(
        np.diag(diagonal), segments=(slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 6))
    )
    found = RowLayout.of(gram, np.array([0, -1, 0, 1], np.int8), diagonal)
    assert found.segments == [1, 3]
    assert found.rows.tolist() == [1, 2, 4, 5]
    assert found.cuts.tolist() == [0, 2, 4]
    assert found.shifts.tolist() == [1, 2]
    assert found.y.tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert found.diagonal.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.largest == 4.0
