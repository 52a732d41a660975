"""Compiled passes of coordinate descent against plain loops: the same state after every variable met."""

import itertools

import numpy as np
import pytest

from separatrix.solvers.linear_svm import crammer_singer, dual_descent, l1_penalty
from separatrix.solvers.linear_svm.shrinking import DescentState, draw_next, leave_out
from separatrix.solvers.rows import rows_of

BUDGETS = (1, 2, 1, 4, 3, 7, 50)


def rows_of_ones(rng, n, d=4):
    """Rows of 1, 2 or 4 values of -1 or 1: divided by |x|^2, short sums stay exact."""
    X = np.zeros((n, d))
    for row in X:
        row[rng.permutation(d)[: rng.choice([1, 2, 4])]] = 1.0
    return X * rng.choice([-1.0, 1.0], size=X.shape)


def visit(n, seed, meet, end_pass):
    """Meet variables pass after pass; yields what was met, the active ones and `end_pass`'s answer.

    meet(i) says whether variable i is left out; end_pass(size) whether it is over, and the next size.
    """
    active, size, passes = np.arange(n), n, 0
    random = np.uint64(seed)
    while True:
        met = 0
        while met < size:
            random, i = draw_next(active, met, size, np.uint64(random))
            if meet(i):
                size = leave_out(active, met, size)
            else:
                met += 1
            if met < size:
                yield (met, size, passes), active, random, False
        passes += 1
        over, size = end_pass(size)
        yield (0, size, passes), active, random, over


class PlainDual:
    """Dual coordinate descent (Hsieh et al. 2008, algorithm 3), one row at a time."""

    def __init__(self, X, facts, bias_step, tol, w, b, a):
        self.X, self.facts, self.bias_step, self.tol = X, facts, bias_step, tol
        self.w, self.b, self.a = w.copy(), float(b[0]), a.copy()
        self.high, self.low, self.seen = np.inf, -np.inf, []

    def meet(self, i):
        side, cap, ridge, curvature = self.facts[i]
        old = self.a[i]
        gradient = side * (self.X[i] @ self.w + self.b) - 1.0 + ridge * old
        projected = gradient
        if old == 0.0:
            if gradient > self.high:
                return True
            projected = min(gradient, 0.0)
        elif old == cap:
            if gradient < self.low:
                return True
            projected = max(gradient, 0.0)
        self.seen.append(projected)
        if abs(projected) > dual_descent.TINY:
            self.a[i] = np.clip(old - gradient / curvature, 0.0, cap)
            self.w += (self.a[i] - old) * side * self.X[i]
            self.b += (self.a[i] - old) * side * self.bias_step
        return False

    def end_pass(self, size):
        n, top, bottom = len(self.a), max(self.seen, default=0.0), min(self.seen, default=0.0)
        self.seen = []
        if top - bottom <= self.tol:
            self.high, self.low = np.inf, -np.inf
            return size == n, n
        self.high, self.low = (top if top > 0 else np.inf), (bottom if bottom < 0 else -np.inf)
        return False, size

    def state(self):
        bounds = (
            self.high,
            self.low,
            max(self.seen, default=-np.inf),
            min(self.seen, default=np.inf),
        )
        return bounds, self.w, [self.b], self.a


class PlainClasses:
    """Crammer and Singer's descent over all classes of a row, `_solve_one` taken for granted."""

    def __init__(self, X, y, price, curvature, bias_step, tol, W, b, A):
        self.given = X, y, price, curvature, bias_step
        self.tol, self.W, self.b, self.A = tol, W.copy(), b.copy(), A.copy()
        self.lead, self.largest = np.inf, 0.0

    def meet(self, i):
        X, y, price, curvature, bias_step = self.given
        own = np.arange(len(self.b)) == y[i]
        G = self.b + ~own
        for j, x in enumerate(X[i]):
            G = G + x * self.W[j]
        rising = self.A[i] < own * price[i]
        if rising.sum() == 1 and G[rising][0] - G[~rising].max() > self.lead:
            return True
        spread = G.max() - G[rising].min(initial=np.inf)
        self.largest = max(self.largest, spread)
        if spread > dual_descent.TINY:
            new = np.empty(len(G))
            crammer_singer._solve_one(
                G, self.A[i], y[i], price[i], curvature[i], new, np.empty_like(new)
            )
            change = new - self.A[i]
            self.A[i], self.b = new, self.b + bias_step * change
            self.W += X[i][:, None] * change
        return False

    def end_pass(self, size):
        n, largest, self.largest = len(self.A), self.largest, 0.0
        self.lead = max(largest, self.tol)
        if largest <= self.tol:
            self.lead = np.inf
            return size == n, n
        return False, size

    def state(self):
        return (self.lead, self.largest), self.W, self.b, self.A


class PlainWeights:
    """Newton steps on one weight at a time (Yuan et al. 2010, appendix), `_shorten` taken for granted."""

    def __init__(self, X, problem, share, w, slack):
        self.X, self.problem, self.share = X, problem, share
        self.w, self.slack, self.before, self.first = w.copy(), slack.copy(), np.inf, np.inf
        self.seen = self.last = ()

    def meet(self, j):
        problem, n, w = self.problem, len(self.slack), self.w[j]
        slope, bend = l1_penalty._derivatives(problem, j, self.slack)
        up, down = slope + problem.penalty[j], slope - problem.penalty[j]
        violation = abs(up) if w > 0 else abs(down) if w < 0 else max(-up, down, 0.0)
        if w == 0.0 and max(-up, down) <= 0.0 and min(up, -down) > self.before / n:
            self.last = self.seen
            return True
        self.seen = self.last = (*self.seen, violation)
        step = -up / bend if up < bend * w else -down / bend if down > bend * w else -w
        if abs(step) >= l1_penalty.FLAT:
            step = l1_penalty._shorten(problem, j, w, slope, step, self.slack)
            self.w[j] += step
            self.slack -= step * problem.y * self.X[:, j]
        return False

    def end_pass(self, size):
        self.last, self.seen = self.seen, ()
        total = self.total()
        if self.first == np.inf:
            self.first = total
        self.before = max(self.last, default=0.0)
        if total <= self.share * self.first:
            if size == len(self.w):
                return True, size
            self.before = np.inf
            return False, len(self.w)
        return False, size

    def total(self):
        return np.cumsum([0.0, *self.last])[-1]  # in order; Python's own sum is more exact

    def state(self):
        bounds = self.before, self.total(), max(self.last, default=0.0), self.first
        return bounds, self.w, self.slack


def compare(plain, call, state, arrays, n, seed, max_iter):
    """Spend budgets one after another; whether all variables met so far are those of the plain loop."""
    steps = visit(n, seed, plain.meet, plain.end_pass)
    made = ((0, n, 0), np.arange(n), seed, False)
    for budget in itertools.cycle(BUDGETS):
        over = call(max_iter, budget)
        for _ in range(budget):
            if not made[3] and made[0][2] < max_iter:
                made = next(steps)
        progress, active, random, ended = made
        assert over == ended
        assert tuple(state.progress) == progress
        np.testing.assert_array_equal(state.active, active)
        assert over or int(state.random[0]) == int(random)
        bounds, *mine = plain.state()
        np.testing.assert_allclose(state.bounds, bounds, rtol=1e-12, atol=1e-14)
        for array, own in zip(arrays, mine, strict=True):
            np.testing.assert_allclose(array, own, rtol=1e-12, atol=1e-14)
        if over or progress[2] == max_iter:
            return over, progress[2]


@pytest.mark.parametrize("bias_step", [0.0, 2.0])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_passes_over_dual_variables(ridge, bias_step):
    ends = []
    for seed in range(1, 31):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        X, y = rows_of_ones(rng, n), rng.choice([-1.0, 1.0], n)
        cap = rng.choice([0.5, 1.0, 2.0], n) if ridge == 0 else np.full(n, np.inf)
        curvature = 2.0 ** np.ceil(np.log2((X**2).sum(axis=1) + bias_step + ridge))  # exact steps
        facts = np.stack([y, cap, np.full(n, ridge), curvature], axis=1)
        a = np.minimum(rng.choice([0.0, 0.25, 4.0], n), np.where(np.isinf(cap), 0.5, cap))
        w, b = rng.choice([-1.0, -0.5, 0.0, 0.5], 4), rng.choice([-0.5, 0.0, 0.5, 1 + 2.0**-42], 1)
        tol = rng.choice([0.0, 0.125, 0.5, 1.0])
        plain = PlainDual(X, facts, bias_step, tol, w, b, a)
        state = DescentState.start(np.arange(n), [np.inf, -np.inf, -np.inf, np.inf], seed)
        given = rows_of(X), facts, bias_step, tol, w, b, a, state
        ends.append(
            compare(plain, lambda *limits, given=given: dual_descent._passes(*given, *limits),
                    state, (w, b, a), n, seed, max_iter=int(rng.integers(1, 9)))
        )  # fmt: skip
    assert {over for over, _ in ends} == {True, False}


@pytest.mark.parametrize("bias_step", [0.0, 2.0])
@pytest.mark.parametrize("k", [2, 3])
def test_passes_over_rows_of_several_classes(k, bias_step):
    ends = []
    for seed in range(1, 26):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        X, y = rows_of_ones(rng, n), rng.integers(0, k, n)
        price, curvature = rng.choice([0.5, 1.0, 2.0], n), (X**2).sum(axis=1) + bias_step
        A = np.zeros((n, k))
        capped = rng.random(n) < 0.3
        A[capped, y[capped]], A[capped, (y[capped] + 1) % k] = price[capped], -price[capped]
        W, b = rng.choice([-0.5, 0.0, 0.5, 2.0], (4, k)), rng.choice([-0.5, 0.0, 2.0**-42], k)
        tol = rng.choice([0.0, 0.25, 0.5, 1.0])
        plain = PlainClasses(X, y, price, curvature, bias_step, tol, W, b, A)
        state = DescentState.start(np.arange(n), [np.inf, 0.0], seed)
        given = rows_of(X), y, price, curvature, bias_step, tol, W, b, A, state
        ends.append(
            compare(plain, lambda *limits, given=given: crammer_singer._passes(*given, *limits),
                    state, (W, b, A), n, seed, max_iter=int(rng.integers(1, 9)))
        )  # fmt: skip
    assert {over for over, _ in ends} == {True, False}


def test_a_pass_that_left_out_all_rows_brings_them_back():
    X, facts = np.eye(2), np.array([[1.0, 1.0, 0.0, 1.0], [-1.0, 1.0, 0.0, 1.0]])
    w, b, a = np.zeros(2), np.zeros(1), np.zeros(2)
    state = DescentState.start(np.arange(2), [-5.0, -np.inf, -np.inf, np.inf], 1)
    assert not dual_descent._passes(rows_of(X), facts, 0.0, 1.0, w, b, a, state, 9, 2)
    assert state.progress.tolist() == [0, 2, 1]
    assert state.bounds.tolist() == [np.inf, -np.inf, -np.inf, np.inf]
    assert not a.any()


def columns_problem(rng, n, d):
    """A problem of small whole numbers, its dense samples among it."""
    X = rng.integers(-2, 3, (n, d)).astype(float)
    columns = l1_penalty.columns_of(X[:, :-1], 1.0)
    X[:, -1] = 1.0
    y, price = rng.choice([-1.0, 1.0], n), rng.choice([0.5, 1.0, 2.0], n)
    penalty = np.append(rng.choice([0.5, 1.0, 4.0], d - 1), rng.choice([0.0, 1.0]))
    parts = columns.data, columns.indices, columns.indptr
    return X, l1_penalty.ColumnProblem(*parts, y, price, penalty, (X**2).T @ price)


def test_passes_over_weights_with_an_l1_penalty():
    ends = []
    for seed in range(1, 41):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 6)), int(rng.integers(2, 6))
        X, problem = columns_problem(rng, n, d)
        w = rng.choice([-0.5, 0.0, 0.0, 0.5, 1e-13], d)
        slack = rng.choice([-1.0, 0.0, 0.5, 1.0], n)
        share = rng.choice([0.0, 0.1, 0.5, 1.0])
        plain = PlainWeights(X, problem, share, w, slack)
        state = DescentState.start(np.arange(d), [np.inf, 0.0, 0.0, np.inf], seed)
        given = problem, share, w, slack, state
        ends.append(
            compare(plain, lambda *limits, given=given: l1_penalty._passes(*given, *limits),
                    state, (w, slack), d, seed, max_iter=int(rng.integers(1, 9)))
        )  # fmt: skip
    assert {over for over, _ in ends} == {True, False}


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(("before", "left_out"), [(0.5, False), (0.49, True)])
def test_a_weight_at_zero_is_left_out_if_its_slope_is_far_within_the_penalty(
    side, before, left_out
):
    """A slope of 0.5 or -0.5 under a penalty of 1: the nearer bound is 0.5 away."""
    one = np.ones(1)
    parts = one, np.zeros(1, np.int64), np.array([0, 1])
    problem = l1_penalty.ColumnProblem(*parts, side * one, 0.25 * one, one, 0.25 * one)
    state = DescentState.start(np.arange(1), [before, 0.0, 0.0, np.inf], 1)
    met_tol = l1_penalty._passes(problem, 0.5, np.zeros(1), np.ones(1), state, 9, 1)
    assert met_tol != left_out  # only a pass over all weights ends the descent
    assert state.progress.tolist() == [0, 1, 1]


def test_derivatives_are_those_of_the_squared_hinge():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, problem = columns_problem(rng, 5, 3)
        slack = rng.choice([-1.0, 0.0, 0.25, 1.5], 5)
        bent = slack > 0
        for j in range(3):
            pulls = problem.price * problem.y * X[:, j] * slack
            bend = 2.0 * (problem.price * X[:, j] ** 2)[bent].sum()
            assert l1_penalty._derivatives(problem, j, slack) == pytest.approx(
                (-2.0 * pulls[bent].sum(), max(bend, l1_penalty.FLAT)), rel=1e-14, abs=0.0
            )


def first_step_that_pays(X, problem, j, weight, slope, step, slack):
    """The first of step, step / 2, ... with a decrease of at least a hundredth of what it promised."""
    price, y, penalty = problem.price, problem.y, problem.penalty[j]
    before = price @ np.maximum(slack, 0.0) ** 2
    promised = slope * step + penalty * (abs(weight + step) - abs(weight))
    for halvings in range(20):
        tried = step / 2**halvings
        losses = price @ np.maximum(slack - tried * y * X[:, j], 0.0) ** 2 - before
        change = losses + penalty * (abs(weight + tried) - abs(weight))
        if change <= 0.01 * promised / 2**halvings:
            return tried
    return 0.0


@pytest.mark.parametrize("squares", ["of the problem", "none"])
def test_a_step_is_halved_until_the_objective_falls_by_enough(squares):
    """Also far too long steps, and with a bound, sparing a pass, that is of no use."""
    rng = np.random.default_rng(1)
    halvings = set()
    for _ in range(12):
        X, problem = columns_problem(rng, 4, 3)
        if squares == "none":  # a bound that never holds
            problem = problem._replace(squares=np.full(3, 1e30))
        slack, j = rng.uniform(-1.0, 1.5, 4), int(rng.integers(3))
        slope, bend = l1_penalty._derivatives(problem, j, slack)
        newton = -slope / bend if bend > l1_penalty.FLAT else 0.5
        for weight in (0.0, 0.3):
            for scale in (1.0, 1.5, *np.geomspace(1.9, 2.1, 9), 3.0, 40.0, 1e4, -1.0):
                step = scale * newton
                given = problem, j, weight, slope, step, slack
                wanted = first_step_that_pays(X, *given)
                assert l1_penalty._shorten(*given) == wanted
                halvings.add(round(np.log2(step / wanted)) if wanted else None)
    assert {0, 1, None} <= halvings


@pytest.mark.parametrize("squares", [3.0, 1e30], ids=["tight", "useless"])
@pytest.mark.parametrize("penalty", [0.0, 0.25])
def test_the_line_search_asks_for_a_hundredth_of_the_promise(penalty, squares):
    """Two samples, one weight: steps a little to either side of the longest one that pays."""
    X, y, price, slack = np.ones((2, 1)), np.array([1.0, -1.0]), np.array([2.0, 1.0]), np.ones(2)
    parts = np.ones(2), np.arange(2), np.array([0, 2])
    costs = np.array([penalty]), np.array([squares])
    problem = l1_penalty.ColumnProblem(*parts, y, price, *costs)
    # with slacks of 1 and a weight of 1 it is 3 s^2 - 2 s + penalty s = 0.01 (penalty - 2) s
    longest = 0.99 * (2.0 - penalty) / 3.0
    for near in (0.99, 1 - 1e-9, 1 + 1e-9, 1.01):
        given = problem, 0, 1.0, -2.0, longest * near, slack
        kept = l1_penalty._shorten(*given)
        assert kept == (longest * near if near < 1 else longest * near / 2)
        assert kept == first_step_that_pays(X, *given)


def cut_by_bisection(G, a, own, price, square):
    """min(cap, (beta - G) / square + a) with the beta at which it sums to 0."""
    cap = np.where(np.arange(len(G)) == own, price, 0.0)
    low, high = (
        G.min() - square * (a.max() + price) - 1.0,
        G.max() + square * (price - a.min()) + 1.0,
    )
    for _ in range(200):
        beta = 0.5 * (low + high)
        if np.minimum(cap, (beta - G) / square + a).sum() < 0:
            low = beta
        else:
            high = beta
    return np.minimum(cap, (beta - G) / square + a)


@pytest.mark.parametrize("k", [2, 3, 5, 16, 17, 19])
def test_the_dual_variables_of_a_row_are_cut_at_one_level(k):
    rng = np.random.default_rng(k)
    for trial in range(10):
        G = rng.integers(-2, 3, k) / 2.0 if trial % 2 else 3.0 * rng.normal(size=k)
        own, price, square = (
            int(rng.integers(k)),
            rng.choice([0.5, 1.0, 3.0]),
            rng.choice([0.5, 2.0]),
        )
        a = -rng.random(k) * (rng.random(k) < 0.5)
        a[own] = 0.0
        a *= price / max(1.0, -a.sum())
        a[own] = -a.sum()
        new, ranked = np.full(k, np.nan), np.full(k, 1e9)
        crammer_singer._solve_one(G, a, own, price, square, new, ranked)
        np.testing.assert_allclose(new, cut_by_bisection(G, a, own, price, square), atol=1e-12)
        cap = np.where(np.arange(k) == own, price, 0.0)
        assert ((new == cap) | (new < cap - crammer_singer.ROUNDING * price)).all()


@pytest.mark.parametrize("price", [0.25, 1.0, 8.0])
def test_a_dual_variable_within_rounding_of_its_cap_is_at_it(price):
    """Class 1 takes all of the price but a little, which is for class 2."""
    new = np.empty(3)
    for share, at_cap in ((4e-15, True), (2e-14, False)):
        G = price * np.array([-2.0, 1.0 - share, share])
        crammer_singer._solve_one(G, np.zeros(3), 0, price, 1.0, new, np.empty(3))
        np.testing.assert_allclose(new, [price, -price, 0.0], atol=3e-14 * price)
        assert new[0] == price
        assert (new[2] == 0.0) == at_cap
