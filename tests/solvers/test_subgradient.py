import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers import subgradient
from separatrix.solvers.subgradient import LOSSES, Objective, solve_subgradient
from separatrix.types import Block

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, size=(101, 13)).astype(np.uint8)  # odd: no tile is even
CODES = RNG.integers(0, 3, size=101)
WEIGHTS = RNG.integers(0, 4, size=101).astype(float)


def sigma(t):
    return 1 / (1 + np.exp(-t))


SMOOTH = {
    "squared_hinge": (lambda t: np.maximum(0, 1 - t) ** 2, lambda t: -2 * np.maximum(0, 1 - t)),
    "logistic": (lambda t: -np.log(sigma(t)), lambda t: sigma(t) - 1),
    "sigmoid": (lambda t: -sigma(t), lambda t: -sigma(t) * (1 - sigma(t))),
}
TEXT = {"hinge": (lambda t: np.maximum(0, 1 - t), lambda t: -1.0 * (1 - t >= 0)), **SMOOTH}


def descend_as_the_text_says(X, y, *, loss, alpha, eps, mu, max_iter, weights=None):
    """z_1 = 0; while k <= 1 or |f_k - f_(k-1)| > eps: one step. One boundary, y in {-1, +1}."""
    X = np.column_stack([np.ones(len(X)), X.astype(float)])
    weights = np.ones(len(X)) if weights is None else weights
    value, slope = TEXT[loss]

    def f(z):
        return mu * z[1:] @ z[1:] + weights @ value(y * (X @ z)) / weights.sum()

    def g(z):
        penalty = 2 * mu * np.r_[0.0, z[1:]]
        return penalty + X.T @ (weights * y * slope(y * (X @ z))) / weights.sum()

    iterates = [np.zeros(X.shape[1])]
    k = 1
    while (k <= 1 or abs(f(iterates[-1]) - f(iterates[-2])) > eps) and k <= max_iter:
        iterates.append(iterates[-1] - alpha * g(iterates[-1]))
        k += 1
    return np.array(iterates), np.array([f(z) for z in iterates])


def objective(X=PIXELS, codes=CODES, weights=None, loss="hinge", mu=0.1, threads=1):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return Objective(X, codes, weights, weights.sum(), loss, mu, threads)


def solve(X=PIXELS, own=(1,), *, alpha=1e-5, eps=1e-2, max_iter=200, keep_every=1, **more):
    limits = {"eps": eps, "max_iter": max_iter, "keep_every": keep_every}
    return solve_subgradient(objective(X, **more), np.array(own), alpha=alpha, **limits)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_every_iterate_is_that_of_the_text(loss, weights):
    alpha = 1e-7 if loss == "squared_hinge" else 1e-5
    for own in range(3):
        y = np.where(own == CODES, 1.0, -1.0)
        iterates, losses = descend_as_the_text_says(
            PIXELS, y, loss=loss, alpha=alpha, eps=1e-3, mu=0.1, max_iter=60, weights=weights
        )
        found = solve(
            own=(own,), loss=loss, alpha=alpha, eps=1e-3, max_iter=60, weights=weights, mu=0.1
        )
        assert len(iterates) > 2
        assert found.iterates.shape == (len(iterates), 1, 14)
        np.testing.assert_allclose(found.iterates[:, 0], iterates, rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(found.losses[:, 0], losses, rtol=1e-12)
        np.testing.assert_allclose(found.average[0], iterates.mean(axis=0), rtol=1e-11, atol=1e-15)
        np.testing.assert_array_equal(found.last, found.iterates[-1])


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("own", [(1,), (0, 1, 2)], ids=["one boundary", "three"])
def test_pixels_floats_and_sparse_rows_give_the_same_descent(loss, own):
    alpha = 1e-7 if loss == "squared_hinge" else 1e-5
    bytes_, *others = (
        solve(X, own, loss=loss, alpha=alpha, weights=WEIGHTS, max_iter=30)
        for X in (
            *(PIXELS.astype(dtype) for dtype in (np.uint8, np.float32, np.float64)),
            *(csr_array(PIXELS.astype(dtype)) for dtype in (np.uint8, np.float64)),
        )
    )
    for other in others:
        np.testing.assert_allclose(other.iterates, bytes_.iterates, rtol=1e-10, atol=1e-15)
        np.testing.assert_allclose(other.losses, bytes_.losses, rtol=1e-12)
        assert other.stops.tolist() == bytes_.stops.tolist()


@pytest.mark.parametrize("own", [(1,), (0, 1, 2)])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_the_number_of_threads_changes_no_bit(own, make, monkeypatch):
    monkeypatch.setattr(subgradient, "PART_VALUES", 100)
    X = make(PIXELS.astype(float))
    assert len(objective(X)._parts(len(own))) > 10
    one, two, three = (solve(X, own, loss="logistic", threads=t) for t in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(other.iterates, one.iterates)
        np.testing.assert_array_equal(other.losses, one.losses)


def test_the_parts_cover_every_row_once_and_stay_within_memory(monkeypatch):
    monkeypatch.setattr(subgradient, "PART_VALUES", 100)
    parts = objective()._parts(1)
    assert np.concatenate([np.arange(101)[part] for part in parts]).tolist() == list(range(101))
    monkeypatch.setattr(subgradient, "PART_BYTES", 2 * 8 * 13)
    assert len(objective()._parts(1)) == 2
    assert len(objective()._parts(3)) == 1


@pytest.mark.parametrize("loss", sorted(SMOOTH))
def test_the_gradient_is_what_finite_differences_say(loss):
    made = objective(PIXELS / 255.0, loss=loss, weights=WEIGHTS)
    own = np.array([0, 2])
    Z = RNG.normal(size=(2, 14))
    found = made.at(Z, own)
    for j in range(14):
        ahead, behind = Z.copy(), Z.copy()
        ahead[:, j] += 1e-6
        behind[:, j] -= 1e-6
        slope = (made.at(ahead, own).f - made.at(behind, own).f) / 2e-6
        np.testing.assert_allclose(found.G[:, j], slope, rtol=1e-6, atol=1e-8)


def test_the_hinge_pulls_at_equality_and_not_beyond():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [2.0], [1.0], [0.5]])
    made = objective(X, codes=np.array([1, 1, 1, 0, 1]), mu=0.0)
    # margins at w0 = 0, w = 1: exactly 1, just above 1, 2, -1, 0.5
    found = made.at(np.array([[0.0, 1.0]]), np.array([1]))
    np.testing.assert_array_equal(found.G, [[(-1 + 1 - 1) / 5, (-1.0 + 1.0 - 0.5) / 5]])
    np.testing.assert_allclose(found.f, [(0 + 0 + 0 + 2 + 0.5) / 5])


def test_the_hinge_is_a_subgradient_everywhere():
    """f(u) >= f(z) + <g(z), u - z>, also where margins are exactly 1."""
    X = RNG.integers(-2, 3, size=(40, 3)).astype(float)
    made, own = objective(X, codes=CODES[:40]), np.array([1])
    points = RNG.integers(-1, 2, size=(30, 1, 4)).astype(float)
    for Z in points:
        at = made.at(Z, own)
        for U in points:
            assert made.at(U, own).f[0] >= at.f[0] + np.vdot(at.G, U - Z) - 1e-12


def test_the_sigmoid_loss_bends_both_ways_and_the_logistic_does_not():
    made = {
        loss: objective(np.array([[1.0]]), np.array([1]), loss=loss, mu=0.0)
        for loss in ("sigmoid", "logistic")
    }

    def convex(loss, left, right):
        values = [
            made[loss].at(np.array([[0.0, w]]), np.array([1])).f[0]
            for w in (left, (left + right) / 2, right)
        ]
        return values[1] <= (values[0] + values[2]) / 2

    assert convex("sigmoid", 0.0, 6.0)
    assert not convex("sigmoid", -6.0, 0.0)
    assert convex("logistic", 0.0, 6.0)
    assert convex("logistic", -6.0, 0.0)


@pytest.mark.slow
def test_the_sigmoid_loss_can_rest_where_it_is_not_least():
    """One far sample draws the weight below zero; a weight above zero would be right about the rest."""
    X, codes = np.array([[-1.0], [-1.0], [1.0], [1.0], [-40.0]]), np.array([0, 0, 1, 1, 1])
    found = solve(X, codes=codes, loss="sigmoid", alpha=0.5, mu=0.0, eps=1e-7, max_iter=20_000)
    better = objective(X, codes, loss="sigmoid", mu=0.0).at(np.array([[0.0, 5.0]]), np.array([1]))
    assert found.stops.tolist() == ["eps"]
    assert found.last[0, 1] < 0
    assert better.f[0] < -0.79 < -0.61 < found.losses[-1, 0]


@pytest.mark.parametrize("loss", LOSSES)
def test_many_boundaries_at_once_are_each_by_itself(loss):
    alpha = 1e-7 if loss == "squared_hinge" else 1e-5
    together = solve(own=(0, 1, 2), loss=loss, alpha=alpha)
    assert len(set(together.steps)) > 1 or loss != "hinge"
    for c in range(3):
        alone = solve(own=(c,), loss=loss, alpha=alpha)
        k = alone.steps[0]
        assert together.steps[c] == k
        assert together.stops[c] == alone.stops[0]
        np.testing.assert_allclose(
            together.iterates[: k + 1, c], alone.iterates[:, 0], rtol=1e-10, atol=1e-15
        )
        assert (together.iterates[k:, c] == together.iterates[k, c]).all()
        np.testing.assert_allclose(together.average[c], alone.average[0], rtol=1e-10, atol=1e-15)
        np.testing.assert_allclose(together.losses[: k + 1, c], alone.losses[:, 0], rtol=1e-12)
        assert (together.losses[k:, c] == together.losses[k, c]).all()


def test_weights_are_rows_repeated_and_weight_zero_is_no_row():
    weighted = solve(weights=WEIGHTS, loss="logistic")
    repeated = np.repeat(np.arange(101), WEIGHTS.astype(int))
    plain = solve(PIXELS[repeated], codes=CODES[repeated], loss="logistic")
    np.testing.assert_allclose(weighted.iterates, plain.iterates, rtol=1e-10, atol=1e-15)
    assert WEIGHTS.min() == 0


def test_at_least_one_step_is_made_and_the_guard_ends_the_rest():
    still = solve(alpha=1e-12)
    assert (still.steps.tolist(), still.stops.tolist()) == ([1], ["eps"])
    guarded = solve(eps=0.0, max_iter=7)
    assert (guarded.steps.tolist(), guarded.stops.tolist()) == ([7], ["max_iter"])
    assert len(guarded.losses) == len(guarded.iterates) == 8
    assert (np.abs(np.diff(guarded.losses[:, 0])) > 0).all()


@pytest.mark.parametrize("every", [0, 1, 2, 3, 7, 50])
def test_thinned_iterates_are_every_mth_and_the_last(every):
    full, thin = (solve(eps=0.0, max_iter=21, keep_every=m) for m in (1, every))
    expected = sorted({*range(0, 22, every), 21}) if every else [21]
    assert thin.kept.tolist() == expected
    np.testing.assert_array_equal(thin.iterates, full.iterates[expected])
    np.testing.assert_array_equal(thin.losses, full.losses)
    np.testing.assert_array_equal(thin.average, full.average)


def test_iterates_that_fill_memory_are_thinned(monkeypatch):
    monkeypatch.setattr(subgradient, "default_budget", lambda: 2 * 10 * 14 * 8)
    full = solve(eps=0.0, max_iter=100, keep_every=1)
    assert full.keep_every == 16
    assert full.kept.tolist() == [*range(0, 97, 16), 100]
    again = solve(eps=0.0, max_iter=96, keep_every=16)
    np.testing.assert_array_equal(full.iterates[:-1], again.iterates)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_a_step_too_large_keeps_the_last_finite_iterate(make):
    X = make(PIXELS.astype(float))
    found = solve(X, loss="squared_hinge", alpha=1.0, max_iter=1000)
    assert found.stops.tolist() == ["diverged"]
    assert 0 < found.steps[0] < 100
    assert np.isfinite(found.last).all()
    assert np.isfinite(found.losses).all()
    assert np.isfinite(found.average).all()
    assert found.losses[-1] > 1e100


def test_samples_too_large_for_any_number_leave_zero():
    found = solve(PIXELS * 1e300, max_iter=10)
    assert (found.stops.tolist(), found.steps.tolist()) == (["diverged"], [0])
    assert not found.last.any()
    np.testing.assert_array_equal(found.losses, [[1.0]])


def test_one_boundary_that_diverges_leaves_the_others_alone():
    X = np.array([[1e155, 0.0], [-1e155, 0.0], [0.0, 1.0], [0.0, -1.0]])
    codes = np.array([1, 1, 0, 2])
    found = solve(X, (0, 1, 2), codes=codes, alpha=1.0, max_iter=50, loss="squared_hinge", eps=1e-9)
    assert "diverged" in found.stops
    assert np.isfinite(found.last).all()


def test_a_cancelled_descent_keeps_what_was_measured():
    class After(FitMonitor):
        def __init__(self, looks):
            super().__init__()
            self.looks = looks

        def should_stop(self):
            self.looks -= 1
            return self.looks < 0

    lengths = []
    for looks in range(7):
        found = solve_subgradient(
            objective(), np.array([1]), alpha=1e-5, eps=0.0, max_iter=50, monitor=After(looks)
        )
        assert found.stops.tolist() == ["stopped"]
        assert len(found.iterates) == len(found.losses) == found.steps[0] + 1
        lengths.append(len(found.losses))
    assert lengths == [1, 1, 2, 2, 3, 3, 4]


def test_a_long_pass_is_cut_into_chunks(monkeypatch):
    monkeypatch.setattr(subgradient, "CHUNK", 2 * 13 * 10)
    calls = []

    class Counting(FitMonitor):
        def should_stop(self):
            calls.append(1)
            return False

    found = objective().at(np.zeros((1, 14)), np.array([1]), Counting())
    assert len(calls) == 11
    monkeypatch.undo()
    np.testing.assert_allclose(
        found.G, objective().at(np.zeros((1, 14)), np.array([1])).G, rtol=1e-14
    )


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_sums_over_blocks_are_those_of_all_rows(loss):
    X, own, Z = PIXELS / 255.0, np.array([0, 2]), RNG.normal(size=(2, 14))
    whole = objective(X, loss=loss, weights=WEIGHTS, mu=0.3).at(Z, own)
    cuts = (slice(0, 40), slice(40, 101))
    blocks = _Blocks([Block(X[cut], CODES[cut], WEIGHTS[cut]) for cut in cuts])
    sums = subgradient.BlockObjective(blocks, WEIGHTS.sum(), total=WEIGHTS.sum(), loss=loss, mu=0.3)
    found = sums.at(Z, own)
    np.testing.assert_allclose(found.f, whole.f, rtol=1e-12)
    np.testing.assert_allclose(found.G, whole.G, rtol=1e-10, atol=1e-12)


class _Blocks(list):
    n_features = 13
