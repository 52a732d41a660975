"""Orders, counts and sizes of scans, against plain loops."""

import numpy as np
import pytest
from tests.solvers.perceptron.test_kernel_perceptron import gram_in
from tests.solvers.perceptron.test_primal import meet

from separatrix.kernels import Linear
from separatrix.kernels.gram import HeldGram
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron import kernel_perceptron, primal, solve_kernel_perceptron
from separatrix.solvers.perceptron.kernel_perceptron import PassRule, Scan, TiledScores
from separatrix.solvers.perceptron.orders import shuffled, some_of_all
from separatrix.solvers.perceptron.primal import OnlineState
from separatrix.solvers.perceptron.projectron import ProjectronFit, solve_projectron

WRAP = 2**64 - 1


def plain_shuffle(n, state):
    """Fisher and Yates with xorshift64*, in whole numbers."""
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        state ^= state >> 12
        state ^= (state << 25) & WRAP
        state ^= state >> 27
        draw = ((state * 0x2545F4914F6CDD1D) & WRAP) >> 32
        chosen = (draw * (last + 1)) >> 32
        order[last], order[chosen] = order[chosen], order[last]
    return order


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_an_order_is_that_of_the_published_generator(n):
    state = int(np.random.default_rng(n).integers(1, 2**64, dtype=np.uint64))
    assert shuffled(np.arange(n), np.random.default_rng(n)).tolist() == plain_shuffle(n, state)


@pytest.mark.parametrize("seed", [None, 3])
def test_some_examples_are_met_where_all_would_be(seed):
    numbers, n = np.array([0, 2, 3, 8]), 9
    everyone = np.arange(n) if seed is None else shuffled(np.arange(n), np.random.default_rng(seed))
    order, positions = some_of_all(
        numbers, n, None if seed is None else np.random.default_rng(seed)
    )
    assert positions.tolist() == [at for at in range(n) if everyone[at] in numbers]
    assert numbers[order].tolist() == everyone[positions].tolist()


@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_chunks_add_up_to_one_pass(rule, whole_numbers, monkeypatch):
    X, y = whole_numbers
    states = [OnlineState.zero(3, 4) for _ in range(2)]
    one = meet(states[0], X, y, rule, met=7, average=True)
    monkeypatch.setattr(primal, "CHUNK", 10 * 3 * 4)
    several = meet(states[1], X, y, rule, met=7, average=True)
    for first, second in zip(states[0], states[1], strict=True):
        np.testing.assert_array_equal(first, second)
    assert (one.wrong, one.misclassified, one.met) == several[2:]
    assert one.wrong == len(set(one.mistakes.steps.tolist())) > 0
    assert one.misclassified > 0
    assert one.met == 60
    first = OnlineState(np.ones((1, 2)), np.ones(1), np.full((1, 2), 0.5), np.full(1, 0.25))
    for steps, W, b in ((0, 0.5, 0.75), (1, 0.5, 0.75), (2, 0.75, 0.875)):
        weights, biases = first.average(steps)
        assert (weights.tolist(), biases.tolist()) == ([[W, W]], [b])


def scan_of(rule="signs", combine=None, n_classes=3, n=12):
    y = np.arange(n) % n_classes
    problems = problems_of(y, np.arange(n), coding(n_classes, "ovr"))
    return Scan(problems, PassRule(rule, 1, combine=combine, square=2.0), np.ones((2, n)))


def test_a_chunk_has_room_for_some_corrections(monkeypatch):
    scan = scan_of()
    assert [len(part) for part in scan.log(1)] == [4096] * 3 + [0]
    assert len(scan.log(kernel_perceptron.CHUNK // 100)[0]) == 100
    assert len(scan.log(kernel_perceptron.CHUNK)[0]) == 12  # four for each of three problems
    assert len(scan_of(n_classes=2).log(kernel_perceptron.CHUNK)[0]) == 8
    with_scores = scan_of(combine=lambda S: S.argmax(axis=1))
    assert with_scores.log(1)[3].shape == (4096, 3)
    monkeypatch.setattr(kernel_perceptron, "CHUNK", 300)
    assert with_scores.log(1)[3].shape == (100, 3)
    monkeypatch.setattr(kernel_perceptron, "CHUNK", 2)
    assert with_scores.log(1)[3].shape == (1, 3)
    assert scan_of("argmax", lambda S: S).combine is None


def test_examples_that_the_present_scores_misclassify():
    S = np.array([[1.0, 1.0, 0.0, -1.0], [-1.0, 0.5, -1.0, 2.0], [-2.0, -1.0, 3.0, -4.0]])
    examples = np.array([0, 1, 2, 4])  # of the classes 0, 1, 2, 1
    assert scan_of("argmax").wrong(S, examples).tolist() == [1]
    assert scan_of().wrong(S, examples).tolist() == [1, 2]  # a score of 0 is wrong
    pairs = problems_of(np.arange(12) % 3, np.arange(12), coding(3, "ovo"))
    between = Scan(pairs, PassRule("signs", 1), np.ones((2, 12)))
    sides = coding(3, "ovo")[[0, 1, 2, 1]].T
    assert (
        between.wrong(1.0 * sides, examples).tolist() == []
    )  # a pair of other classes is not asked
    assert between.wrong(-1.0 * sides, examples).tolist() == [0, 1, 2, 3]
    scan = scan_of("argmax")
    scan.b[:] = [0.0, 1.0, 0.0]
    assert scan.wrong(S, examples).tolist() == []


@pytest.mark.parametrize("form", ["held", "lazy"])
@pytest.mark.parametrize("rule", ["signs", "argmax"])
def test_counts_of_passes_are_those_of_a_plain_loop(form, rule, whole_numbers, monkeypatch):
    monkeypatch.setattr(kernel_perceptron, "BLOCKS", (8, 16))
    monkeypatch.setattr(kernel_perceptron, "PENDING", 6)
    X, y = whole_numbers
    K, square = X @ X.T, 3.0
    sides = coding(3, "ovr")[y].astype(float)
    S, b = np.zeros((60, 3)), np.zeros(3)
    corrected, missed = [], []
    for _ in range(3):
        corrected.append(0)
        missed.append(0)
        for i in range(60):
            now = S[i] + b
            change = np.where(sides[i] * now <= 0, sides[i], 0.0)
            if rule == "argmax":
                change = np.zeros(3)
                if now.argmax() != y[i]:
                    change[y[i]], change[now.argmax()] = 1.0, -1.0
            corrected[-1] += change.any()
            missed[-1] += change.any() and now.argmax() != y[i]
            S += np.outer(K[:, i], change)
            b += square * change

    found = solve_kernel_perceptron(
        gram_in(form, Linear(), X, 4),
        problems_of(y, np.arange(60), coding(3, "ovr")),
        rule=rule,
        rates=np.ones((2, 60)),
        max_iter=3,
        square=square,
        combine=lambda scores: scores.argmax(axis=1),
        rng=np.random.default_rng(0),
    )

    np.testing.assert_array_equal(found.scores, (S + b).T)
    assert found.mistakes_by_epoch.tolist() == corrected
    assert found.misclassified_by_epoch.tolist() == missed
    assert (found.n_iter, found.n_steps, found.stop) == (3, 180, "max_iter")


def test_rare_mistakes_make_longer_blocks_and_many_shorter_ones(monkeypatch):
    monkeypatch.setattr(kernel_perceptron, "BLOCKS", (32, 100))
    y = np.zeros(640, np.intp)
    gram = gram_in("lazy", Linear(), np.ones((640, 1)), 10)
    problems = problems_of(y, np.arange(640), coding(2, "ovr"))
    scan = Scan(problems, PassRule("signs", 1), np.ones((2, 640)))
    scores = TiledScores(gram, np.zeros((1, 640)), scan, 1)
    assert (scores.most, scores.block) == (80, 32)  # the root of ten rows of 640
    lengths = [scores.block for _ in scores.epoch(np.arange(640))]
    assert lengths[0] == 32  # its first example is a mistake: the next block is no longer
    assert scores.block == 80
    scores.S[:] = 0.0
    scan.b[:] = 1e9  # all are mistakes now
    for _ in scores.epoch(np.arange(70)):
        pass
    assert scores.block == 40


def test_a_projectron_goes_on_where_it_ended():
    rng = np.random.default_rng(
        7
    )  # real numbers: a score of 0 would be a mistake or not by rounding
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    gram, problems = HeldGram(X @ X.T + 1.0), problems_of(y, np.arange(60), coding(3, "ovr"))
    given = {"rule": "signs", "rates": np.ones((2, 60)), "rng": np.random.default_rng(0)}
    whole = solve_projectron(gram, problems, budget=4, max_iter=2, **given)
    first = solve_projectron(gram, problems, budget=4, max_iter=1, **given)
    second = solve_projectron(gram, problems, budget=4, max_iter=1, start=first, **given)
    assert whole.n_steps == second.n_steps == 120
    assert (first.n_iter, first.n_steps) == (1, 60)
    np.testing.assert_array_equal(second.support, whole.support)
    np.testing.assert_allclose(second.coef, whole.coef, atol=1e-9)
    np.testing.assert_allclose(second.average(), whole.average(), atol=1e-9)
    assert whole.mistakes_by_epoch.tolist() == [*first.mistakes_by_epoch, *second.mistakes_by_epoch]
    assert len(whole.support) <= 4
    none = ProjectronFit(np.arange(1), np.ones((1, 1)), np.full((1, 1), 0.5), 0, 0, np.empty(0), "")
    assert none.average().tolist() == [[0.5]]
