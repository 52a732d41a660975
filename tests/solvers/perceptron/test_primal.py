import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron import primal
from separatrix.solvers.perceptron.primal import OnlineState, pass_over
from separatrix.solvers.rows import rows_of


def meet(state, X, y, rule, order=None, *, rate=1.0, active=None, **more):
    """One pass over the rows of X, or over some of them."""
    p = len(state.b)
    return pass_over(
        state,
        rows_of(X),
        coding(max(2, p), "ovr")[y],
        np.arange(X.shape[0]) if order is None else order,
        rule=rule,
        rates=np.full((2, X.shape[0]), rate),
        bias_step=1.0,
        active=np.ones(p, dtype=bool) if active is None else active,
        **more,
    )


def run(X, y, rule, *, passes=3, average=False, p=3):
    state = OnlineState.zero(p, X.shape[1])
    met, seen = 0, []
    for _ in range(passes):
        seen.append(meet(state, X, y, rule, met=met, average=average))
        met += seen[-1].met
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
            meet(step, X, y, rule, np.array([i]))
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
    assert meet(state, np.array([[1.0]]), np.array([0]), "argmax").wrong == 0


def test_a_boundary_that_is_not_active_is_left_alone(whole_numbers):
    X, y = whole_numbers
    state = OnlineState.zero(3, 4)
    meet(state, X, y, "signs", active=np.array([True, False, True]))
    assert not state.W[1].any()
    assert state.W[0].any()


def test_the_loss_is_how_far_scores_are_on_the_wrong_side(whole_numbers):
    X, y = whole_numbers
    W = np.random.default_rng(0).normal(size=(3, 4))
    state = OnlineState(W.copy(), np.zeros(3), np.zeros((3, 4)), np.zeros(3))
    found = meet(
        state, X, y, "signs", rate=0.0
    )  # nothing learned: all examples see the same weights
    sides = coding(3, "ovr")[y]
    np.testing.assert_allclose(found.losses, np.maximum(0, -sides * (X @ W.T)).sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("d", [255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("ones", [True, False])
def test_the_last_feature_is_reached_however_wide_the_samples(d, ones):
    X = np.zeros((4, d))
    X[0, 0] = X[1, d - 1] = X[2, d // 2] = X[3, d - 1] = 1.0 if ones else 2.5
    y = np.array([0, 1, 0, 1])
    dense, sparse = (run(samples, y, "signs", p=1)[0] for samples in (X, csr_array(X)))
    np.testing.assert_array_equal(dense.W, sparse.W)
    assert dense.W[0, d - 1] != 0
    assert rows_of(csr_array(X)).indices.max() == d - 1


@pytest.mark.slow
def test_a_sparse_matrix_without_any_stored_value_is_all_zeros():
    empty = csr_array((5, 3))
    state, seen, _ = run(empty, np.array([0, 1, 2, 0, 1]), "argmax")
    assert not state.W.any()
    assert seen[0].wrong > 0


@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_the_steps_of_mistakes_are_counted_over_chunks(rule, whole_numbers, monkeypatch):
    X, y = whole_numbers
    plain = meet(OnlineState.zero(3, 4), X, y, rule, met=7).mistakes
    monkeypatch.setattr(primal, "CHUNK", 10 * 3 * 4)
    in_chunks = meet(OnlineState.zero(3, 4), X, y, rule, met=7).mistakes
    assert plain.steps.max() > 7 + 10
    for one, other in zip(plain, in_chunks, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(plain.steps, plain.rows + 7)
