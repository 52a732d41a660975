import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.primal import OnlineState, pass_over
from separatrix.solvers.rows import rows_of


def run(X, y, rule, *, passes=3, average=False, order=None, bias_step=1.0, n_classes=3):
    sides = coding(n_classes, "ovr")
    state = OnlineState.zero(sides.shape[1], X.shape[1])
    met, seen = 0, []
    for _ in range(passes):
        found = pass_over(
            state,
            rows_of(X),
            sides[y],
            np.arange(X.shape[0]) if order is None else order,
            rule=rule,
            rates=np.ones((2, X.shape[0])),
            bias_step=bias_step,
            active=np.ones(sides.shape[1], dtype=bool),
            met=met,
            average=average,
        )
        met += found.met
        seen.append(found)
    return state, seen, met


@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_sparse_rows_make_the_same_mistakes_as_dense_ones(rule, whole_numbers):
    X, y = whole_numbers
    dense, sparse = run(X, y, rule), run(csr_array(X), y, rule)
    np.testing.assert_array_equal(dense[0].W, sparse[0].W)
    np.testing.assert_array_equal(dense[0].b, sparse[0].b)
    assert [found.wrong for found in dense[1]] == [found.wrong for found in sparse[1]]


@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_the_average_is_the_mean_of_all_hypotheses(rule, whole_numbers):
    X, y = whole_numbers
    state, _, met = run(X, y, rule, passes=2, average=True)
    weights, biases = [], []
    step = OnlineState.zero(3, 4)
    for _ in range(2):
        for i in range(60):
            pass_over(
                step,
                rows_of(X),
                coding(3, "ovr")[y],
                np.array([i]),
                rule=rule,
                rates=np.ones((2, 60)),
                bias_step=1.0,
                active=np.ones(3, dtype=bool),
            )
            weights.append(step.W.copy())
            biases.append(step.b.copy())
    W, b = state.average(met)
    np.testing.assert_allclose(W, np.mean(weights, axis=0), atol=1e-12)
    np.testing.assert_allclose(b, np.mean(biases, axis=0), atol=1e-12)


def test_weights_are_the_sum_of_the_corrections(whole_numbers):
    X, y = whole_numbers
    state, seen, _ = run(X, y, "argmax")
    W = sum(found.mistakes.coefficients(60, 3).T @ X for found in seen)
    np.testing.assert_array_equal(state.W, W)


def test_all_negative_activations_still_have_a_largest():
    state = OnlineState(
        np.array([[-1.0], [-2.0], [-3.0]]), np.zeros(3), np.zeros((3, 1)), np.zeros(3)
    )
    found = pass_over(
        state,
        rows_of(np.array([[1.0]])),
        coding(3, "ovr")[np.array([0])],
        np.array([0]),
        rule="argmax",
        rates=np.ones((2, 1)),
        bias_step=1.0,
        active=np.ones(1, dtype=bool),
    )
    assert found.wrong == 0


def test_a_boundary_that_is_not_active_is_left_alone(whole_numbers):
    X, y = whole_numbers
    state = OnlineState.zero(3, 4)
    pass_over(
        state,
        rows_of(X),
        coding(3, "ovr")[y],
        np.arange(60),
        rule="signs",
        rates=np.ones((2, 60)),
        bias_step=1.0,
        active=np.array([True, False, True]),
    )
    assert not state.W[1].any()
    assert state.W[0].any()


def test_the_loss_is_how_far_scores_are_on_the_wrong_side(whole_numbers):
    X, y = whole_numbers
    W = np.random.default_rng(0).normal(size=(3, 4))
    state = OnlineState(W.copy(), np.zeros(3), np.zeros((3, 4)), np.zeros(3))
    sides = coding(3, "ovr")[y]
    found = pass_over(
        state,
        rows_of(X),
        sides,
        np.arange(60),
        rule="signs",
        rates=np.zeros((2, 60)),  # nothing learned: all examples see the same weights
        bias_step=1.0,
        active=np.ones(3, dtype=bool),
    )
    np.testing.assert_allclose(found.losses, np.maximum(0, -sides * (X @ W.T)).sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("d", [255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("ones", [True, False])
def test_the_last_feature_is_reached_however_wide_the_samples(d, ones):
    X = np.zeros((4, d))
    X[0, 0] = X[1, d - 1] = X[2, d // 2] = X[3, d - 1] = 1.0 if ones else 2.5
    y = np.array([0, 1, 0, 1])
    dense, sparse = (run(samples, y, "signs", n_classes=2)[0] for samples in (X, csr_array(X)))
    np.testing.assert_array_equal(dense.W, sparse.W)
    assert dense.W[0, d - 1] != 0
    assert rows_of(csr_array(X)).indices.max() == d - 1


@pytest.mark.slow
def test_a_sparse_matrix_without_any_stored_value_is_all_zeros():
    empty = csr_array((5, 3))
    state, seen, _ = run(empty, np.array([0, 1, 2, 0, 1]), "argmax")
    assert not state.W.any()
    assert seen[0].wrong > 0
