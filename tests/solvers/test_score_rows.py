"""Scores of dense rows by the compiled loop."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix import LogisticRegression
from separatrix.solvers.rows import rows_of, score_rows


@pytest.mark.parametrize("boundaries", [1, 3, 4, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_product_in_float64(boundaries, dtype):
    rng = np.random.default_rng(boundaries)
    X = rng.normal(size=(17, 6)).astype(dtype)
    W, b, S = (
        rng.normal(size=(boundaries, 6)),
        rng.normal(size=boundaries),
        np.empty((17, boundaries)),
    )

    score_rows(X, W, b, S)

    np.testing.assert_allclose(S, X.astype(np.float64) @ W.T + b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_scores_do_not_depend_on_the_way_they_are_computed(classes):
    rng = np.random.default_rng(0)
    y = np.arange(3000) % classes
    X = (rng.normal(size=(3000, 30)) + np.eye(30)[y]).astype(np.float32)
    model = LogisticRegression(max_iter=3, tol=0.5).fit(X, y)

    whole = model.decision_function(X)

    for samples in (X[:40], np.asfortranarray(X), X.astype(np.float64)):
        np.testing.assert_allclose(
            model.decision_function(samples), whole[: len(samples)], rtol=1e-12, atol=1e-12
        )


def test_rows_know_their_stored_values_and_the_narrowest_column_numbers():
    assert rows_of(np.ones((3, 5))).values_per_row == 5
    X = csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]]))
    assert rows_of(X).values_per_row == 2
    assert rows_of(csr_array((0, 3))).values_per_row == 0
    assert rows_of(X).data.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert rows_of((X > 0).astype(np.float64)).data == 1.0
    for columns, kind in (
        (256, np.uint8),
        (257, np.uint16),
        (65_536, np.uint16),
        (65_537, np.uint32),
    ):
        assert rows_of(csr_array((2, columns))).indices.dtype == kind
