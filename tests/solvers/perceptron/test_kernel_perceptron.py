import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference_loops import kernel_perceptron
from tests.solvers.perceptron.test_primal import meet

import separatrix.solvers.perceptron.kernel_perceptron as module
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels.gram import CachedGram, HeldGram, LazyGram
from separatrix.kernels.gram.sources import make_source
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron import solve_kernel_perceptron
from separatrix.solvers.perceptron.online_to_batch import last
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.perceptron.primal import OnlineState

SCHEMES = {"argmax": ("argmax", "ovr"), "ovr": ("signs", "ovr"), "ovo": ("signs", "ovo")}


def solve(gram, y, rows, rule, *, n_classes=3, epochs=6, rates=None, **more):
    name, scheme = SCHEMES[rule]
    rates = np.ones(len(rows)) if rates is None else rates[rows]
    return solve_kernel_perceptron(
        gram,
        problems_of(y, rows, coding(n_classes, scheme)),
        rule=name if n_classes > 2 else "signs",
        rates=np.stack([rates, rates]),
        max_iter=epochs,
        rng=more.pop("rng", np.random.default_rng(3)),
        **more,
    )


def as_events(found, n_rows):
    """The solver's list in the form of the plain loop's."""
    events = []
    for row, column, delta, step in zip(*found.mistakes, strict=True):
        key = (int(step) // n_rows, int(row))
        if not events or events[-1][:2] != key or column in events[-1][2]:
            events.append((*key, {}))
        events[-1][2][int(column)] = float(delta)
    return events


def gram_in(form, kernel, X, batch):
    source = make_source(kernel, X, tolerance=1e-3, budget=2**30, threads=2)
    if form == "held":
        return HeldGram(kernel.block(X, X))
    if form == "lazy":
        return LazyGram(source, batch=batch)
    half = len(X) // 2
    segments = (slice(0, half), slice(half, len(X)))
    return CachedGram(source, budget=12 * len(X) * 8, batch=batch, segments=segments)


@pytest.mark.parametrize("rule", SCHEMES)
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    ("form", "batch", "blocks"),
    [
        ("held", 1, (5, 5)),
        ("lazy", 4, (3, 9)),
        ("cached", 12, (7, 50)),
        pytest.param("cached", 1, (1, 1), marks=pytest.mark.slow),
    ],
)
def test_every_mistake_is_that_of_the_plain_loop(
    rule, n_classes, form, batch, blocks, whole_numbers, monkeypatch
):
    monkeypatch.setattr(module, "BLOCKS", blocks)
    monkeypatch.setattr(module, "PENDING", 5)
    monkeypatch.setattr(module, "STRIP", 13)
    X, y = whole_numbers
    y = y % n_classes
    rows = np.random.default_rng(1).permutation(60)[:45]
    rates = np.random.default_rng(2).integers(1, 4, 60).astype(float)
    K = Polynomial(2, coef0=1.0).block(X, X)
    gram = gram_in(form, Polynomial(2, coef0=1.0), X, batch)

    found = solve(gram, y, rows, rule, n_classes=n_classes, shuffle=True, rates=rates, threads=2)
    rng = np.random.default_rng(3)
    orders = [shuffled(np.arange(45), rng) for _ in range(6)]
    mistakes, coef = kernel_perceptron(K, y, rows, n_classes, rule, 6, orders, rates)

    assert as_events(found, 45) == mistakes
    np.testing.assert_array_equal(last(found.mistakes, 60, coef.shape[1]), coef)
    np.testing.assert_array_equal(found.scores, coef.T @ K)
    by_epoch = np.bincount([epoch for epoch, _, _ in mistakes], minlength=found.n_iter)
    np.testing.assert_array_equal(found.mistakes_by_epoch, by_epoch)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), rule=st.sampled_from(sorted(SCHEMES)))
def test_blocked_and_sequential_agree_on_any_data(seed, rule):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 80)), int(rng.integers(3, 6))
    X = rng.integers(-4, 5, size=(n, 3)).astype(float)
    y = rng.integers(0, k, size=n)
    rows = rng.permutation(n)[: max(2, n // 2)]
    results = [
        solve(gram_in(form, Linear(), X, batch), y, rows, rule, n_classes=k, shuffle=True)
        for form, batch in (("held", 1), ("lazy", 3), ("cached", 5))
    ]
    for other in results[1:]:
        for field, expected in zip(other.mistakes, results[0].mistakes, strict=True):
            np.testing.assert_array_equal(field, expected)
        np.testing.assert_array_equal(other.scores, results[0].scores)


def test_a_linear_kernel_gives_the_linear_perceptron(whole_numbers):
    X, y = whole_numbers
    dual = solve(HeldGram(X @ X.T + 1.0), y, np.arange(60), "argmax", epochs=4)
    state = OnlineState.zero(3, 4)
    for _ in range(4):
        meet(state, X, y, "argmax")
    coef = last(dual.mistakes, 60, 3)
    np.testing.assert_array_equal(coef.T @ X, state.W)
    np.testing.assert_array_equal(coef.sum(axis=0), state.b)


@pytest.mark.slow
def test_on_real_digits_blocks_make_the_mistakes_of_the_held_matrix(usps):
    X, y = usps.X[:2500], usps.y[:2500]
    rows = np.arange(2500)
    held, lazy = (
        solve(gram_in(form, Polynomial(3), X, 200), y, rows, "argmax", n_classes=10, epochs=3)
        for form in ("held", "lazy")
    )
    np.testing.assert_array_equal(lazy.mistakes.rows, held.mistakes.rows)
    np.testing.assert_array_equal(lazy.mistakes.columns, held.mistakes.columns)
    largest = np.abs(held.scores).max()  # the lazy one computes in float32, the held one in float64
    np.testing.assert_allclose(lazy.scores, held.scores, atol=1e-5 * largest)


@pytest.mark.parametrize(
    ("x", "by_epoch", "stop"),
    [([-1.0, 1.0, -2.0, 2.0], [1, 0], "clean pass"), ([0.0, 0.0], [2, 2, 2], "max_iter")],
    ids=["separable", "all scores are 0, which is a mistake"],
)
def test_a_clean_pass_stops_and_a_score_of_zero_is_a_mistake(x, by_epoch, stop):
    gram, y = HeldGram(np.outer(x, x)), np.arange(len(x)) % 2
    found = solve(gram, y, np.arange(len(x)), "ovr", n_classes=2, epochs=3)
    assert (found.mistakes_by_epoch.tolist(), found.stop) == (by_epoch, stop)
    assert found.n_steps == len(x) * len(by_epoch)


def test_min_gain_stops_when_online_accuracy_hardly_rises(whole_numbers):
    X, y = whole_numbers
    gram = HeldGram(X @ X.T)
    found = solve(gram, y, np.arange(60), "argmax", epochs=50, min_gain=0.05, min_iter=4)
    accuracy = 1 - found.mistakes_by_epoch / 60
    gains = np.diff(accuracy)
    assert found.stop == "min_gain"
    assert found.n_iter >= 4
    assert gains[-1] < 0.05
    assert (gains[2:-1] >= 0.05).all()


@pytest.mark.slow
def test_starting_scores_count_as_if_their_rows_had_been_met(whole_numbers):
    X, y = whole_numbers
    K = Gaussian(0.1).block(X, X)
    first = solve(HeldGram(K), y, np.arange(30), "ovo", epochs=1)
    rest = solve(
        HeldGram(K[30:, 30:]), y[30:], np.arange(30), "ovo", epochs=1, start=first.scores[:, 30:]
    )
    whole = solve(HeldGram(K), y, np.arange(60), "ovo", epochs=1)
    np.testing.assert_array_equal(
        np.concatenate([first.mistakes.rows, rest.mistakes.rows + 30]), whole.mistakes.rows
    )
    np.testing.assert_allclose(rest.scores, whole.scores[:, 30:], atol=1e-12)


@pytest.mark.parametrize("form", ["held", "lazy"])
def test_a_cancelled_fit_stops_where_it_is(form, whole_numbers, cancelled, monkeypatch):
    monkeypatch.setattr(module, "BLOCKS", (10, 10))
    X, y = whole_numbers
    gram = gram_in(form, Linear(), X, 10)
    found = solve(gram, y, np.arange(60), "argmax", epochs=50, monitor=cancelled)
    assert found.stop == "stopped"
    assert found.n_iter == 1
    assert found.n_steps == 60 if form == "held" else found.n_steps <= 10


def test_two_classes_are_one_problem_under_every_scheme(whole_numbers):
    X, y = whole_numbers
    results = [
        solve(HeldGram(X @ X.T), y % 2, np.arange(60), rule, n_classes=2) for rule in SCHEMES
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.scores, results[0].scores)
