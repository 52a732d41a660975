import numpy as np
import pytest

from separatrix.kernels import Gaussian
from separatrix.kernels.gram import HeldGram
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron import projectron, solve_kernel_perceptron
from separatrix.solvers.perceptron.online_to_batch import averaged, last
from separatrix.solvers.perceptron.projectron import solve_projectron


def arguments(y, rule, n=60, scheme="ovr", epochs=4, seed=0):
    return {
        "problems": problems_of(y, np.arange(n), coding(3, scheme)),
        "rule": rule,
        "rates": np.ones((2, n)),
        "max_iter": epochs,
        "shuffle": True,
        "rng": np.random.default_rng(seed),
    }


@pytest.fixture
def separate():
    """Samples far apart: no row is nearly a combination of others, so nothing is projected away."""
    X = np.random.default_rng(0).normal(size=(60, 8)) * 3
    return Gaussian(0.5).block(X, X), np.random.default_rng(1).integers(0, 3, size=60)


@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_with_room_for_all_rows_it_is_the_kernel_perceptron(rule, separate):
    K, y = separate
    bounded = solve_projectron(HeldGram(K), budget=60, **arguments(y, rule))
    plain = solve_kernel_perceptron(HeldGram(K), **arguments(y, rule))

    coef = np.zeros((60, 3))
    coef[bounded.support] = bounded.coef
    np.testing.assert_allclose(coef, last(plain.mistakes, 60, 3), atol=1e-6)
    coef[bounded.support] = bounded.average()
    np.testing.assert_allclose(coef, averaged(plain.mistakes, 60, 3, plain.n_steps), atol=1e-6)
    np.testing.assert_array_equal(bounded.mistakes_by_epoch, plain.mistakes_by_epoch)


def test_a_correction_beyond_the_budget_is_the_projection_of_the_row(separate):
    K, y = separate
    given = arguments(y, "signs", epochs=1) | {"shuffle": False}
    found = solve_projectron(HeldGram(K), budget=3, **given)
    # the plain loop, in the feature space of the whole kernel matrix
    support, coef, targets = [], np.zeros((60, 3)), given["problems"].targets
    for t in range(60):
        scores = coef.T @ K[t]
        wrong = targets[t] * scores <= 0
        if not wrong.any():
            continue
        delta = np.where(wrong, targets[t], 0.0)
        if len(support) < 3:
            support.append(t)
            coef[t] += delta
        else:
            share = np.linalg.solve(K[np.ix_(support, support)], K[support, t])
            coef[support] += np.outer(share, delta)
    assert found.support.tolist() == support
    np.testing.assert_allclose(found.coef, coef[support], atol=1e-8)


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_the_budget_is_never_exceeded(budget, separate):
    K, y = separate
    found = solve_projectron(HeldGram(K), budget=budget, **arguments(y, "argmax"))
    assert len(found.support) <= budget
    assert found.coef.shape == (len(found.support), 3)


def test_a_row_met_again_is_not_added_again():
    K = Gaussian(0.1).block(np.ones((60, 2)), np.ones((60, 2)))  # all rows are the same point
    y = np.random.default_rng(0).integers(0, 3, 60)
    found = solve_projectron(HeldGram(K), budget=10, **arguments(y, "signs"))
    assert len(found.support) == 1


def test_blocks_change_nothing(separate, monkeypatch):
    K, y = separate
    whole = solve_projectron(HeldGram(K), budget=9, **arguments(y, "argmax"))
    monkeypatch.setattr(projectron, "BLOCK", 7)
    parts = solve_projectron(HeldGram(K), budget=9, **arguments(y, "argmax"))
    np.testing.assert_array_equal(whole.support, parts.support)
    np.testing.assert_allclose(whole.coef, parts.coef, atol=1e-9)


def test_going_on_is_the_same_as_not_having_stopped(separate):
    K, y = separate
    both = dict(arguments(y, "argmax"), shuffle=False)
    whole = solve_projectron(HeldGram(K), budget=9, **dict(both, max_iter=2))
    first = solve_projectron(HeldGram(K), budget=9, **dict(both, max_iter=1))
    second = solve_projectron(HeldGram(K), budget=9, start=first, **dict(both, max_iter=1))
    np.testing.assert_array_equal(whole.support, second.support)
    np.testing.assert_allclose(whole.coef, second.coef, atol=1e-8)
    np.testing.assert_allclose(whole.average(), second.average(), atol=1e-8)


def test_a_cancelled_fit_stops(separate, cancelled):
    K, y = separate
    found = solve_projectron(HeldGram(K), budget=9, monitor=cancelled, **arguments(y, "signs"))
    assert found.stop == "stopped"
