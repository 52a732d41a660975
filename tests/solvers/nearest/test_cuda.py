"""The search on a card, run on torch's CPU: the same tensors, the same sums, no card."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed")

from separatrix import NeighborIndex  # noqa: E402
from separatrix.errors import DeviceError, MemoryBudgetError  # noqa: E402
from separatrix.runtime.monitor import FitMonitor  # noqa: E402
from separatrix.solvers.nearest import cuda as module  # noqa: E402
from separatrix.solvers.nearest import low_precision  # noqa: E402
from separatrix.solvers.nearest.cuda import GpuIndex, lowest_scores, ordered_sums  # noqa: E402
from separatrix.solvers.nearest.low_precision import LowPrecisionFilter, whole_scale  # noqa: E402
from separatrix.solvers.nearest.metrics import EUCLIDEAN, raw_distance  # noqa: E402
from separatrix.solvers.nearest.ranking import NOBODY  # noqa: E402

HERE = torch.device("cpu")
RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(300, 21))
PIXELS = RNG.integers(0, 256, size=(300, 150)).astype(np.uint8)
FEW_VALUES = RNG.integers(0, 3, size=(300, 3)).astype(np.float64)
WIDE = REAL * np.where(np.arange(21) == 4, 1e6, 1.0)
OUTLIER = np.vstack([REAL, 1e9 * np.ones((1, 21))])

ROWS = {
    "normal": REAL,
    "float32": REAL.astype(np.float32),
    "far from 0": 1e6 + REAL,
    "tiny": 1e-90 * REAL,
    "one wide column": WIDE,
    "one outlier": OUTLIER,
    "a constant column": REAL * (np.arange(21) != 3),
    "pixels": PIXELS,
    "pixels / 255": (PIXELS / 255).astype(np.float32),
    "pixels / 255 in float64": PIXELS / 255,
    "pixels and an offset": PIXELS + 1e6,
    "many duplicates": FEW_VALUES,
    "yes and no": (PIXELS > 200).astype(np.uint8),
    "all equal": np.full((100, 4), 0.1),
    "one feature": REAL[:, :1],
    "one row": REAL[:1],
}


def assert_same(X, Q, k, own=False):
    index = NeighborIndex(X, "sqeuclidean")
    skip = np.arange(len(X)) if own else np.full(len(Q), -1)
    wanted = index.search_self(k) if own else index.search(Q, k)
    found = GpuIndex(index.rows, HERE).nearest(np.ascontiguousarray(Q), k, skip, threads=1)
    np.testing.assert_array_equal(found.rows, wanted.rows)
    np.testing.assert_array_equal(found.distances, wanted.distances)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_neighbours_and_distances_are_those_of_the_other_search_to_the_last_bit(name):
    X = ROWS[name]
    some = X[:40]
    between = ((some.astype(np.float64) + X[-len(some) :]) / 2).astype(X.dtype)
    assert_same(X, between, min(5, len(X)))
    if len(X) > 5:
        assert_same(X, X, 5, own=True)


def test_queries_may_be_of_another_kind_than_the_rows():
    assert_same(PIXELS, PIXELS[:30] + 0.3, 4)
    assert_same(PIXELS, PIXELS[:30] * 1e3, 4)  # whole, but too large
    assert_same(REAL, np.round(10 * REAL[:30]), 4)
    assert_same(REAL, 1e30 * REAL[:3], 4)  # beyond float32 once scaled
    assert_same(REAL, np.empty((0, 21)), 4)


def test_all_rows_may_be_queries_for():
    assert_same(REAL[:130], REAL[:9] + 0.1, 130)
    assert_same(FEW_VALUES[:70], FEW_VALUES[:70], 69, own=True)
    assert_same(np.zeros((1, 1)), np.ones((3, 1)), 1)


@pytest.mark.slow
@pytest.mark.parametrize("X", [REAL, PIXELS, FEW_VALUES, OUTLIER], ids=len)
def test_small_tiles_and_no_spare_candidates_change_nothing(X, monkeypatch):
    for name in ("EXTRA_INTEGER", "EXTRA"):
        monkeypatch.setattr(module, name, 0)
    monkeypatch.setattr(module, "SCORE_BYTES", 100_000)
    monkeypatch.setattr(module, "GAP_BYTES", 40_000)
    assert_same(X, X[:50], 3)
    assert_same(X[:200], X[:200], 3, own=True)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_small_table_has_the_same_neighbours(data):
    n, d = data.draw(st.integers(1, 140)), data.draw(st.integers(1, 20))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = np.round(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d), rng.integers(0, 4))
    X += 10.0 ** data.draw(st.integers(-3, 8))
    Q = X[rng.integers(0, n, 7)] + np.round(rng.normal(size=(7, d)))
    assert_same(X, Q, data.draw(st.integers(1, n)))


@pytest.mark.parametrize("d", [1, 15, 16, 17, 127, 128, 129, 145, 300])
def test_squares_are_added_in_the_order_of_the_compiled_loop(d):
    X, Q = np.exp(5 * RNG.normal(size=(2, 9, d)))
    summed = ordered_sums(torch.tensor(Q - X))
    wanted = [raw_distance(X, i, Q, i, EUCLIDEAN, 2.0, np.inf) for i in range(9)]
    assert summed.tolist() == wanted


@pytest.mark.parametrize("count", [1, 5, 70, 256])
def test_the_lowest_scores_are_found_through_groups(count):
    S = torch.tensor(RNG.integers(0, 40, size=(30, 256)).astype(np.float32))
    positions, beyond = lowest_scores(S, count)
    ordered = S.sort(dim=1).values
    assert torch.equal(S.gather(1, positions).sort(dim=1).values, ordered[:, :count])
    assert all(len(set(row)) == count for row in positions.tolist())
    assert torch.equal(beyond, ordered[:, count - 1]) or count == 256


@pytest.mark.parametrize("name", [name for name in ROWS if name not in ("all equal", "one row")])
def test_no_row_scores_above_the_limit_of_its_distance(name):
    X = torch.tensor(ROWS[name])
    Q = torch.cat([X[:20].double(), 0.5 * (X[20:40].double() + X[40:60].double())])
    screen = LowPrecisionFilter(X, whole_scale(X))
    if not screen.suits(Q):
        Q = Q[:20]
    queries = screen.prepare(Q)
    S = screen.scores(queries)[:, : len(X)]
    squares = ordered_sums(Q[:, None] - X)
    for row in range(len(X)):
        assert (S[:, row] <= screen.limits(queries, squares[:, row])).all()


def test_only_numbers_that_bfloat16_holds_are_screened_as_whole():
    wanted = {"pixels": 1.0, "pixels / 255": 255.0, "pixels and an offset": 1.0, "tiny": None}
    wanted |= {"normal": None, "yes and no": 1.0, "all equal": None, "many duplicates": 1.0}
    assert {name: whole_scale(torch.tensor(ROWS[name])) for name in wanted} == wanted


def test_sums_of_whole_numbers_are_exact_until_float32_ends():
    short = LowPrecisionFilter(torch.tensor(PIXELS[:, :50]), 1.0)
    wide = torch.tensor(np.tile(PIXELS, 30))
    assert not short.prepare(torch.tensor(PIXELS[:9, :50]).double()).error.any()
    assert LowPrecisionFilter(wide, 1.0).prepare(wide[:9].double()).error.all()


def cut_off(A, B, *, out_dtype):
    """A product as the worst of tensor cores adds it: 4 products to the sum so far, cut off."""
    A, B = A.double(), B.double()
    total = torch.zeros((len(A), B.shape[1]), dtype=torch.float64)
    for start in range(0, A.shape[1], 4):
        terms = torch.stack([total, *(A[:, j, None] * B[None, j] for j in range(start, start + 4))])
        unit = torch.exp2(terms.abs().amax(dim=0).clamp(min=1e-30).log2().floor() - 23)
        total = ((terms / unit).trunc().sum(dim=0) * unit).to(out_dtype).double()
    return total.to(out_dtype)


@pytest.fixture
def tensor_cores(monkeypatch):
    monkeypatch.setattr(low_precision, "multiplies_mixed", lambda device: True)
    monkeypatch.setattr(torch, "mm", cut_off)


@pytest.mark.parametrize("copies", [1, 16])
def test_whole_numbers_in_bfloat16_stay_below_their_limits(copies, tensor_cores):
    X = torch.tensor(np.tile(PIXELS[:20], copies))  # 16 times as long, sums leave float32
    screen = LowPrecisionFilter(X, 1.0)
    queries = screen.prepare(X[:5].double())
    S = screen.scores(queries)[:, :20]
    squares = ordered_sums(X[:5, None].double() - X)
    for row in range(20):
        assert (S[:, row] <= screen.limits(queries, squares[:, row])).all()
    assert queries.columns.dtype == torch.bfloat16
    assert bool(queries.error.any()) == (copies == 16)
    if copies == 1:
        assert torch.equal(S, (squares - queries.squares[:, None]).div(2).floor().float())


def test_products_of_bfloat16_find_the_same_neighbours(tensor_cores):
    assert_same(PIXELS[:, :40], PIXELS[:20, :40], 4)


SPLIT = ("normal", "float32", "far from 0", "tiny", "one wide column", "one outlier", "one feature")


@pytest.mark.parametrize("name", SPLIT)
def test_rows_split_into_two_bfloat16_stay_below_their_limits(name, tensor_cores):
    X = torch.tensor(ROWS[name])
    Q = torch.cat([X[:10].double(), 0.5 * (X[20:30].double() + X[40:50].double())])
    screen = LowPrecisionFilter(X, None)
    queries = screen.prepare(Q)
    S = screen.scores(queries)[:, : len(X)]
    limits = torch.stack(
        [screen.limits(queries, row) for row in ordered_sums(Q[:, None] - X).T], dim=1
    )
    assert queries.columns.dtype == torch.bfloat16
    assert (limits >= S).all()
    if name == "normal":  # and not far below, or every row would need an exact distance
        assert (limits - S).max() < 1e-3 * S.abs().max()


@pytest.mark.parametrize("name", SPLIT)
def test_split_rows_find_the_same_neighbours(name, tensor_cores):
    X = ROWS[name][:150]
    assert_same(X, (X[:20].astype(np.float64) + X[-20:]) / 2, 4)


def test_a_watch_stops_between_tiles(monkeypatch):
    monkeypatch.setattr(module, "SCORE_BYTES", 100_000)
    steps = []

    def on_step(number):
        steps.append(number)
        return number == 1

    found = GpuIndex(REAL, HERE).nearest(
        REAL, 3, np.full(300, -1), threads=1, monitor=FitMonitor(None, on_step)
    )
    done = (found.rows != NOBODY).all(axis=1)
    assert steps == [0, 1]
    assert 0 < done.sum() < 300


def test_rows_that_lie_there_already_take_no_more_room(monkeypatch):
    room = low_precision.filter_bytes(*REAL.shape)
    monkeypatch.setattr(module, "free_bytes", lambda device: room)

    assert GpuIndex(torch.as_tensor(REAL), HERE).nbytes <= room
    with pytest.raises(MemoryBudgetError):
        GpuIndex(REAL, HERE)


def test_rows_that_do_not_fit_are_refused_with_their_size(monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda device: 1000)
    with pytest.raises(
        MemoryBudgetError, match=r"300 x 21 rows takes .* which has 1000 bytes free"
    ):
        GpuIndex(REAL, HERE)


@pytest.mark.parametrize("factor", [1e150, 1e-150, 1e300])
def test_values_at_the_ends_of_float64_are_refused(factor):
    with pytest.raises(DeviceError, match="out of range on a GPU"):
        GpuIndex(REAL * factor, HERE)


def test_rows_that_may_not_be_written_to_are_copied():
    X = REAL.copy()
    X.flags.writeable = False
    GpuIndex(X, HERE).nearest(X[:3], 2, np.full(3, -1), threads=1)


def test_rows_that_are_queries_about_themselves_do_not_travel_again(monkeypatch):
    moved = []
    monkeypatch.setattr("separatrix.runtime.device.default_gpu", lambda: HERE)
    index = NeighborIndex(REAL, device="cuda")
    real = module.on_device
    monkeypatch.setattr(module, "on_device", lambda *a: moved.append(a[0].shape) or real(*a))
    index.search_self(2)
    assert moved == [(300,)]  # the numbers of the rows to skip
