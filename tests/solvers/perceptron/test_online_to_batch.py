import numpy as np
import pytest

from separatrix.kernels import Gaussian
from separatrix.kernels.gram import HeldGram
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron import solve_kernel_perceptron
from separatrix.solvers.perceptron.online_to_batch import Mistakes, at_steps, averaged, last, votes


@pytest.fixture(params=["signs", "argmax"])
def trained(request, whole_numbers):
    """A short training, and every hypothesis it held, one after each example, (T, n, p)."""
    X, y = whole_numbers
    K = Gaussian(0.1).block(X, X)
    found = solve_kernel_perceptron(
        HeldGram(K),
        problems_of(y, np.arange(60), coding(3, "ovr")),
        rule=request.param,
        rates=np.ones((2, 60)),
        max_iter=2,
        shuffle=True,
        rng=np.random.default_rng(0),
    )
    held = np.zeros((found.n_steps, 60, 3))
    for row, column, delta, step in zip(*found.mistakes, strict=True):
        held[step:, row, column] += delta
    return request.param, K[:20], found, held


def test_the_last_and_the_average_are_those_of_the_hypotheses(trained):
    _, _, found, held = trained
    np.testing.assert_array_equal(last(found.mistakes, 60, 3), held[-1])
    np.testing.assert_allclose(averaged(found.mistakes, 60, 3, found.n_steps), held.mean(axis=0))


def test_the_vote_counts_every_hypothesis(trained):
    rule, K, found, held = trained
    scores = np.einsum("mn,tnp->tmp", K, held)
    if rule == "argmax":
        expected = np.eye(3)[scores.argmax(axis=2)].mean(axis=0)
    else:
        expected = np.where(scores > 0, 1.0, -1.0).mean(axis=0)
    tally = votes(K, found.mistakes, 3, found.n_steps, by_argmax=rule == "argmax")
    np.testing.assert_allclose(tally, expected, atol=1e-12)


def test_a_hypothesis_drawn_is_the_one_held_after_that_step(trained):
    _, K, found, held = trained
    steps = np.random.default_rng(1).integers(found.n_steps, size=20)
    expected = np.stack([K[i] @ held[step] for i, step in enumerate(steps)])
    np.testing.assert_allclose(at_steps(K, found.mistakes, 3, steps), expected, atol=1e-12)


def test_no_mistakes_at_all_are_coefficients_of_zero():
    nothing = Mistakes.concatenate([])
    assert not last(nothing, 4, 2).any()
    assert not votes(np.ones((1, 4)), nothing, 2, 5, by_argmax=True)[0, 1]
