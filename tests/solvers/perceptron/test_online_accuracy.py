"""Online accuracy: the share of rows whose combined prediction was right before they were learned from."""

from functools import partial

import numpy as np
import pytest
from tests.reference_loops import predictions_when_met
from tests.solvers.perceptron.test_kernel_perceptron import SCHEMES, gram_in, solve

import separatrix.solvers.perceptron.kernel_perceptron as module
from separatrix.estimators.base.multiclass import combine_scores
from separatrix.kernels import Polynomial
from separatrix.kernels.gram import HeldGram
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron.projectron import solve_projectron

KERNEL = Polynomial(2, coef0=1.0)


def combine_for(rule, n_classes, ties="lowest"):
    return partial(combine_scores, n_classes=n_classes, scheme=SCHEMES[rule][1], ties=ties)


@pytest.mark.parametrize("ties", ["lowest", "margin"])
@pytest.mark.parametrize(("rule", "n_classes"), [("ovr", 3), ("ovo", 3), ("ovo", 5), ("ovr", 2)])
@pytest.mark.parametrize("form", ["held", "lazy", "cached"])
def test_misclassified_rows_are_those_of_the_plain_loop(
    rule, n_classes, form, ties, whole_numbers, monkeypatch
):
    monkeypatch.setattr(module, "BLOCKS", (7, 20))
    monkeypatch.setattr(module, "PENDING", 5)
    X, y = whole_numbers
    y = (y + np.arange(60) // 7) % n_classes
    rows = np.random.default_rng(1).permutation(60)[:45]

    found = solve(
        gram_in(form, KERNEL, X, 6), y, rows, rule, n_classes=n_classes, epochs=4,
        combine=combine_for(rule, n_classes, ties),
    )  # fmt: skip
    met = predictions_when_met(
        KERNEL.block(X, X), y, rows, n_classes, rule, [np.arange(45)] * 4, ties
    )

    np.testing.assert_array_equal(found.misclassified_by_epoch, (met != y[rows]).sum(axis=1))
    assert (found.misclassified_by_epoch <= found.mistakes_by_epoch).all()


def test_a_log_of_one_row_counts_the_same(whole_numbers, monkeypatch):
    X, y = whole_numbers
    gram, rows = HeldGram(KERNEL.block(X, X)), np.arange(60)
    terms = {"epochs": 3, "combine": combine_for("ovo", 3)}
    expected = solve(gram, y, rows, "ovo", **terms)
    monkeypatch.setattr(module, "CHUNK", 1)
    found = solve(gram, y, rows, "ovo", **terms)
    np.testing.assert_array_equal(found.misclassified_by_epoch, expected.misclassified_by_epoch)
    np.testing.assert_array_equal(found.mistakes.rows, expected.mistakes.rows)


@pytest.mark.parametrize("rule", ["ovr", "ovo"])
def test_a_budget_that_is_not_reached_has_the_same_curve(rule):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 60)), np.arange(50) % 3  # independent rows: nothing is projected
    gram, rows = HeldGram(X @ X.T), np.arange(50)
    combine = combine_for(rule, 3)
    plain = solve(gram, y, rows, rule, epochs=3, combine=combine)
    bounded = solve_projectron(
        gram, problems_of(y, rows, coding(3, SCHEMES[rule][1])), rule="signs", rates=np.ones((2, 50)),
        budget=50, max_iter=3, combine=combine, rng=np.random.default_rng(3),
    )  # fmt: skip
    np.testing.assert_array_equal(bounded.misclassified_by_epoch, plain.misclassified_by_epoch)
    assert (plain.misclassified_by_epoch < plain.mistakes_by_epoch).any()


@pytest.mark.parametrize("rule", ["ovr", "ovo"])
def test_min_gain_decides_by_the_combined_prediction(rule, whole_numbers):
    X, y = whole_numbers
    gram, rows = HeldGram(KERNEL.block(X, X)), np.arange(60)
    passes = set()
    for seed in range(10):
        terms = {"epochs": 40, "min_gain": 0.01, "shuffle": True}
        found, by_boundary = (
            solve(gram, y, rows, rule, rng=np.random.default_rng(seed), combine=combine, **terms)
            for combine in (combine_for(rule, 3), None)
        )
        gains = -np.diff(found.misclassified_by_epoch) / 60
        assert found.stop == "min_gain"
        assert gains[-1] < 0.01
        assert (gains[:-1] >= 0.01).all()
        passes.add((found.n_iter, by_boundary.n_iter))
    assert any(
        ours != theirs for ours, theirs in passes
    )  # one count stops where the other does not


def test_the_bias_of_the_dual_makes_the_mistakes_of_the_primal_row_by_row(whole_numbers):
    from separatrix.solvers.perceptron.dual import solve_primal

    X, y = whole_numbers
    primal = solve_primal(X, (2 * (y > 0) - 1).astype(np.int8), max_iter=9)
    square = float((X * X).sum(axis=1).max())
    for form in ("held", "lazy", "cached"):
        gram = gram_in(form, Polynomial(1), X, 6)
        dual = solve(
            gram, (y > 0).astype(int), np.arange(60), "ovr", n_classes=2, epochs=9, square=square
        )
        np.testing.assert_array_equal(dual.mistakes.rows, primal.mistakes)
        assert square * dual.mistakes.deltas.sum() == primal.b
        np.testing.assert_array_equal(dual.scores[0], X @ primal.w + primal.b)


@pytest.mark.parametrize("rule", SCHEMES)
def test_a_bias_is_the_kernel_plus_the_square_of_the_radius(rule, whole_numbers):
    X, y = whole_numbers
    square, terms = float((X * X).sum(axis=1).max()), {"epochs": 5, "shuffle": True}
    added = solve(HeldGram(X @ X.T + square), y, np.arange(60), rule, **terms)
    for form in ("held", "lazy"):
        gram = gram_in(form, Polynomial(1), X, 6)
        found = solve(gram, y, np.arange(60), rule, square=square, **terms)
        for field, expected in zip(found.mistakes, added.mistakes, strict=True):
            np.testing.assert_array_equal(field, expected)
        np.testing.assert_array_equal(found.scores, added.scores)
