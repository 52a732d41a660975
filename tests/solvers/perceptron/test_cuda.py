import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from separatrix.estimators.base.multiclass import combine_scores
from separatrix.kernels import Polynomial
from separatrix.kernels.gram import make_gram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import Problems, coding, problems_of
from separatrix.solvers.perceptron import solve_kernel_perceptron
from separatrix.solvers.perceptron.kernel_perceptron import PassRule

torch = pytest.importorskip("torch")
blocks = pytest.importorskip("separatrix.solvers.perceptron.cuda_blocks")
cuda = pytest.importorskip("separatrix.solvers.perceptron.cuda")

KERNEL = Polynomial(2, coef0=1.0)
RULES = {"argmax": ("argmax", "ovr"), "ovr": ("signs", "ovr"), "ovo": ("signs", "ovo")}


@pytest.fixture
def digits():
    """Whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(0)
    return rng.integers(-3, 4, size=(60, 3)).astype(float), rng.integers(0, 4, size=60)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(blocks, "BLOCKS_OF_CLASSES", (8, 8))
    monkeypatch.setattr(blocks, "TILE", 8)


def combine_for(name, n_classes):
    return partial(combine_scores, n_classes=n_classes, scheme=RULES[name][1], ties="lowest")


def on_device(X, *, whole=True, monkeypatch=None):
    if whole:
        return make_gram(KERNEL, X, device=torch.device("cpu"))
    monkeypatch.setattr("separatrix.kernels.gram.device_gram.LEAST_ROWS", 4)
    gram = make_gram(KERNEL, X, device=torch.device("cpu"), memory=12 * len(X) * 8)
    assert not gram.complete
    return gram


def solve_both(X, problems, *, gram=None, seed=0, **terms):
    """The fits on the CPU and on a device."""
    grams = make_gram(KERNEL, X), gram or on_device(X)
    rngs = [np.random.default_rng(seed) for _ in grams]
    terms = {"rates": np.ones((2, len(problems.rows)))} | terms
    fits = [
        solve_kernel_perceptron(one, problems, rng=rng, **terms)
        for one, rng in zip(grams, rngs, strict=True)
    ]
    assert rngs[0].integers(2**40) == rngs[1].integers(2**40)
    return fits


def assert_same(found, expected):
    for ours, theirs in zip(found.mistakes, expected.mistakes, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found.mistakes_by_epoch, expected.mistakes_by_epoch)
    np.testing.assert_array_equal(found.misclassified_by_epoch, expected.misclassified_by_epoch)
    if found.scores is not None and expected.scores is not None:
        np.testing.assert_array_equal(found.scores, expected.scores)
    ended = (expected.n_iter, expected.n_steps, expected.stop)
    assert (found.n_iter, found.n_steps, found.stop) == ended


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", RULES)
def test_every_mistake_on_a_device_is_that_of_the_cpu_solver(
    name, n_classes, whole, digits, monkeypatch
):
    X, y = digits
    rule, scheme = RULES[name]
    rng = np.random.default_rng(1)
    rows = rng.permutation(60)[:45]

    cpu, device = solve_both(
        X,
        problems_of(y % n_classes, rows, coding(n_classes, scheme)),
        gram=on_device(X, whole=whole, monkeypatch=monkeypatch),
        seed=2,
        rule=rule if n_classes > 2 else "signs",
        rates=rng.integers(1, 4, size=(2, 45)).astype(float),
        max_iter=5,
        shuffle=True,
        combine=combine_for(name, n_classes),
    )

    assert_same(device, cpu)
    assert isinstance(device.scores, np.ndarray)


@pytest.mark.parametrize("at_once", [100, 2])
@pytest.mark.parametrize("name", RULES)
def test_runs_of_many_lengths_are_each_what_they_are_alone(name, at_once, digits, monkeypatch):
    X, y = digits
    rule, scheme = RULES[name]
    sides = coding(4, scheme)
    runs = [np.random.default_rng(seed).permutation(60)[: 20 + 7 * (seed % 4)] for seed in range(7)]
    terms = {"rule": rule, "max_iter": 30, "min_iter": 3, "min_gain": 0.02, "shuffle": True}
    terms["combine"] = combine_for(name, 4)
    monkeypatch.setattr(cuda, "_fits_at_once", lambda *_: at_once)

    examples = np.arange(60), y, np.ones((2, 60)), sides
    rng = np.random.default_rng(5)
    batches = cuda.solve_kernel_perceptrons(on_device(X), *examples, runs, PassRule(**terms), rng)
    found = [
        fit._replace(scores=scores.numpy())
        for batch in batches
        for fit, scores in zip(batch.fits(), batch.scores, strict=True)
    ]

    assert len(found) == 7
    assert len({fit.n_iter for fit in found}) > 1  # some left the others before the end
    for fit, rows in zip(found, runs, strict=True):
        alone = solve_kernel_perceptron(
            make_gram(KERNEL, X),
            problems_of(y, rows, sides),
            rates=np.ones((2, len(rows))),
            rng=np.random.default_rng(5),
            **terms,
        )
        assert_same(fit, alone)


def test_a_row_may_be_many_examples_and_targets_need_not_follow_classes(digits):
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.arange(30), np.arange(20)])
    targets = rng.integers(-1, 2, size=(50, 3)).astype(np.int8)
    problems = Problems(rows, targets, rng.integers(0, 2, size=50))
    rates = rng.integers(1, 3, (2, 50)).astype(float)

    cpu, device = solve_both(digits[0], problems, rule="signs", rates=rates, max_iter=4)

    assert_same(device, cpu)


def test_scores_to_start_with_are_taken_up(digits):
    X, y = digits
    problems = problems_of(y, np.arange(60), coding(4, "ovr"))
    start = np.random.default_rng(0).integers(-50, 50, size=(4, 60)).astype(float)

    cpu, device = solve_both(X, problems, rule="argmax", max_iter=2, start=start)

    assert_same(device, cpu)


def test_a_cancelled_pass_ends_after_the_block(digits, cancelled):
    X, y = digits
    problems = problems_of(y, np.arange(60), coding(4, "ovr"))
    terms = {"rule": "signs", "rates": np.ones((2, 60)), "rng": np.random.default_rng(0)}

    whole = solve_kernel_perceptron(make_gram(KERNEL, X), problems, max_iter=1, **terms)
    cut = solve_kernel_perceptron(on_device(X), problems, max_iter=9, monitor=cancelled, **terms)

    assert (cut.stop, cut.n_steps, cut.n_iter) == ("stopped", 16, 1)
    early = whole.mistakes.steps < 16
    np.testing.assert_array_equal(cut.mistakes.rows, whole.mistakes.rows[early])
    np.testing.assert_array_equal(cut.mistakes.columns, whole.mistakes.columns[early])


def test_a_monitor_counts_every_pass_and_may_stop_it(digits):
    X, y = digits
    problems = problems_of(y, np.arange(60), coding(4, "ovr"))
    seen = []
    monitor = FitMonitor(None, lambda number: bool(seen.append(number)) or number == 1)
    terms = {"rule": "signs", "rates": np.ones((2, 60)), "rng": np.random.default_rng(0)}

    found = solve_kernel_perceptron(on_device(X), problems, max_iter=9, monitor=monitor, **terms)

    assert seen == [0, 1]
    assert (found.n_iter, found.stop) == (2, "stopped")


@pytest.mark.slow
def test_programs_make_the_mistakes_of_the_cpu_solver():
    """In Triton's interpreter, which must be asked for before the programs are read."""
    pytest.importorskip("triton")
    code = """
import numpy as np
import pytest
from tests.solvers.perceptron import test_cuda as here
from separatrix.solvers.perceptron import cuda_blocks as blocks
blocks.BLOCK, blocks.BLOCKS_OF_CLASSES, blocks.TILE = 16, (16, 16), 16
blocks.ADDED = {"EVENTS": 8, "WIDTH": 32, "num_warps": 4}
assert here.cuda.runs_triton(here.torch.device("cpu"))
rng = np.random.default_rng(0)
X, y = rng.integers(-3, 4, size=(40, 3)).astype(float), rng.integers(0, 3, size=40)
rates = rng.integers(1, 4, size=(2, 40)).astype(float)
runs = [rng.permutation(40)[:20], np.arange(3, 5)]
for whole, names in ((True, here.RULES), (False, ("argmax", "ovr"))):
    for name in names:
        rule, scheme = here.RULES[name]
        terms = {"rule": rule, "max_iter": 1 + whole, "shuffle": True}
        terms["combine"] = here.combine_for(name, 3)
        gram = here.on_device(X, whole=whole, monkeypatch=pytest.MonkeyPatch())
        (batch,) = here.cuda.solve_kernel_perceptrons(
            gram, np.arange(40), y, rates, here.coding(3, scheme), runs, here.PassRule(**terms),
            np.random.default_rng(1))
        for fit, scores, rows in zip(batch.fits(), batch.scores, runs):
            wanted = here.solve_kernel_perceptron(
                here.make_gram(here.KERNEL, X), here.problems_of(y, rows, here.coding(3, scheme)),
                rates=rates[:, rows], rng=np.random.default_rng(1), **terms)
            here.assert_same(fit._replace(scores=scores.numpy()), wanted)
print("the same")
"""
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stdout.strip() == "the same", ended.stderr[-2000:]
