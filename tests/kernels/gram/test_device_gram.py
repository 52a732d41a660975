"""The kernel matrix on a torch device: the same values as here, whole or by rows."""

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

from separatrix.errors import DataError, MemoryBudgetError
from separatrix.kernels import Gaussian, Linear, Normalized, Polynomial, Precomputed, Sigmoid
from separatrix.kernels.gram import SharedProducts, make_gram
from separatrix.kernels.gram.operations import scores_of_rows
from separatrix.runtime.monitor import FitMonitor

torch = pytest.importorskip("torch", reason="torch is not installed")
device_gram = pytest.importorskip("separatrix.kernels.gram.device_gram")
prepare_on = pytest.importorskip("separatrix.kernels.gram.device_prepared").prepare_on
HERE = torch.device("cpu")
KERNELS = [
    Linear(),
    Polynomial(4, gamma=0.3, coef0=1.0),
    Gaussian(0.1),
    Sigmoid(0.1, 0.2),
    0.5 * Polynomial(3) + Gaussian(0.2),
    Normalized(Polynomial(2, coef0=1.0)) * Gaussian(0.3),
]


@pytest.fixture
def samples():
    return np.random.default_rng(0).normal(size=(90, 7))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_matrix_on_a_device_is_that_of_numpy_in_any_order_of_rows(kernel, samples):
    order = np.random.default_rng(1).permutation(len(samples))

    here = make_gram(kernel, samples, order=order)
    there = make_gram(kernel, samples, order=order, device=HERE)

    assert there.complete
    np.testing.assert_allclose(there.storage.numpy(), here.matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.diagonal().numpy(), here.diagonal(), rtol=1e-12)


def test_a_matrix_that_does_not_fit_gives_the_rows_that_are_asked_for(samples):
    n = 400
    X = np.random.default_rng(2).normal(size=(n, 3))
    here = make_gram(Gaussian(0.4), X).matrix
    gram = make_gram(Gaussian(0.4), X, device=HERE, memory=8 * n * 300)
    rng = np.random.default_rng(3)

    assert not gram.complete
    assert gram.capacity < n
    for _ in range(20):  # rows come and go
        rows = torch.as_tensor(np.sort(rng.choice(n, gram.capacity // 2, replace=False)))
        storage, slots = gram.load_rows(rows)
        np.testing.assert_allclose(storage[slots[rows].long()].numpy(), here[rows], rtol=1e-12)


def test_more_rows_than_fit_are_refused():
    X = np.random.default_rng(2).normal(size=(400, 3))
    gram = make_gram(Gaussian(0.4), X, device=HERE, memory=8 * 400 * 300)

    with pytest.raises(MemoryBudgetError, match=r"400 rows .* are needed together, and \d+ fit"):
        gram.load_rows(torch.arange(400))


def test_too_little_memory_for_a_few_rows_is_said_with_numbers(samples):
    with pytest.raises(MemoryBudgetError, match="one row of the kernel matrix of 90 samples takes"):
        make_gram(Gaussian(0.4), samples, device=HERE, memory=8 * 90 * 10)


@pytest.mark.parametrize("memory", [None, 8 * 400 * 300])
def test_tiles_rows_and_scores_are_those_of_the_matrix(memory):
    X = np.random.default_rng(2).normal(size=(400, 3))
    K = make_gram(Gaussian(0.4), X).matrix
    gram = make_gram(Gaussian(0.4), X, device=HERE, memory=memory)
    rows, columns = np.array([5, 3, 399]), np.array([0, 7])
    coef = np.random.default_rng(4).normal(size=(3, 2))

    np.testing.assert_allclose(gram.tile(rows, columns).numpy(), K[np.ix_(rows, columns)])
    np.testing.assert_allclose(gram.tile(rows, slice(0, 400)).numpy(), K[rows], rtol=1e-12)
    np.testing.assert_allclose(
        scores_of_rows(gram, rows, coef).numpy(), K[:, rows] @ coef, rtol=1e-11
    )


def test_kernels_over_shared_products_are_those_computed_alone(samples):
    shared = SharedProducts(samples, device=HERE)

    for kernel, gram in zip(KERNELS, shared.grams(KERNELS), strict=True):
        alone = make_gram(kernel, samples).matrix
        np.testing.assert_allclose(gram.storage.numpy(), alone, rtol=1e-12, atol=1e-12)


def test_the_memory_of_one_kernel_is_there_for_the_next(samples):
    one_matrix = 8 * len(samples) ** 2
    grams = SharedProducts(samples, device=HERE, memory=one_matrix).grams([Gaussian(0.1), Linear()])
    first = next(grams)
    values = weakref.ref(first.storage)

    second = next(grams)

    assert first.complete
    assert second.complete
    assert values() is None


def test_rows_that_are_computed_and_those_that_are_kept_stay_within_the_memory(monkeypatch):
    n, memory, computed = 400, 8 * 400 * 300, []
    X = np.random.default_rng(2).normal(size=(n, 3))
    gram = make_gram(Gaussian(0.4), X, device=HERE, memory=memory)
    compute = type(gram)._compute_rows
    monkeypatch.setattr(
        type(gram),
        "_compute_rows",
        lambda self, rows: computed.append(len(rows)) or compute(self, rows),
    )

    gram.load_rows(torch.arange(gram.capacity))

    assert 8 * n * (gram.capacity + max(computed)) <= memory


def test_features_that_are_the_same_throughout_and_far_offsets_change_nothing(samples):
    padded = np.hstack([samples + 1e6, np.full((90, 20), 3.0)])

    there = make_gram(Gaussian(0.1), padded, device=HERE)

    alone = make_gram(Gaussian(0.1), samples).matrix
    np.testing.assert_allclose(there.storage.numpy(), alone, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
def test_samples_of_other_number_types_give_the_values_of_numpy(dtype):
    X = np.random.default_rng(5).integers(0, 9, size=(50, 4)).astype(dtype)

    there = make_gram(Polynomial(3, coef0=1.0), X, device=HERE)

    np.testing.assert_allclose(
        there.storage.numpy(), make_gram(Polynomial(3, coef0=1.0), X).matrix, rtol=1e-12
    )


def test_large_matrices_are_float32_where_that_is_enough_and_float64_where_not():
    X = np.random.default_rng(6).normal(size=(2100, 2))

    assert make_gram(Gaussian(0.1), X, device=HERE).dtype == np.float32
    assert make_gram(Gaussian(0.1), 1e4 * X, device=HERE).dtype == np.float64
    assert "float32" in repr(make_gram(Gaussian(0.1), X, device=HERE))


@pytest.mark.parametrize("device", [None, HERE])
def test_samples_below_the_range_of_float32_have_the_values_of_larger_ones(device):
    X = np.random.default_rng(6).normal(size=(2100, 2))
    tiny = 2.0**-70  # squares are below 1e-40

    gram = make_gram(Gaussian(0.1 / tiny**2), tiny * X, device=device)

    rows = np.array([0, 7, 2099])
    values = np.asarray(gram.tile(rows, slice(None)))
    np.testing.assert_allclose(values, Gaussian(0.1).block(X[rows], X), atol=1e-5)


def test_a_kernel_matrix_that_is_none_is_refused_as_a_tensor_too():
    K = torch.tensor([[1.0, 0.5], [0.1, 1.0]])

    with pytest.raises(DataError, match="must be symmetric"):
        make_gram(Precomputed(), K, device=HERE)
    with pytest.raises(DataError, match="must be square"):
        make_gram(Precomputed(), K[:1], device=HERE)
    with pytest.raises(DataError, match="must be finite"):
        make_gram(Precomputed(), K * float("nan"), device=HERE)


def test_a_large_kernel_matrix_is_checked_in_parts(monkeypatch):
    monkeypatch.setattr("separatrix.kernels.gram.device_gram.CHECKED_ROWS", 3)
    K = np.random.default_rng(7).normal(size=(8, 8))
    K = torch.as_tensor(K + K.T)
    order = np.random.default_rng(8).permutation(8)

    there = make_gram(Precomputed(), K, device=HERE, order=order)

    np.testing.assert_array_equal(there.storage.numpy(), K.numpy()[np.ix_(order, order)])
    K[7, 2] += 1.0
    with pytest.raises(DataError, match="must be symmetric"):
        make_gram(Precomputed(), K, device=HERE)


BY_TRITON = """
import numpy as np, torch
from separatrix.kernels import Gaussian, Polynomial
from separatrix.kernels.gram import device_epilogues as epilogues
from separatrix.kernels.gram import make_gram

assert epilogues.runs_triton(torch.device("cpu"))
X = np.random.default_rng(0).normal(size=(70, 5))
for kernel in (Gaussian(0.2), Polynomial(5, gamma=0.5, coef0=1.0), Polynomial(1), 0.5 * Polynomial(2)):
    there = make_gram(kernel, X, device=torch.device("cpu")).storage.numpy()
    np.testing.assert_allclose(there, make_gram(kernel, X).matrix, rtol=1e-11)

K = torch.as_tensor(np.random.default_rng(1).normal(size=(150, 150)))
upper = np.triu(K.numpy())
epilogues.mirror(K, 64)  # blocks of 64 on the diagonal are whole already, and stay
for start in range(0, 150, 64):
    part = slice(start, start + 64)
    upper[part, part] = K.numpy()[part, part]
below = np.tril(upper.T, -1)
for start in range(0, 150, 64):
    part = slice(start, start + 64)
    below[part, part] = 0.0
np.testing.assert_array_equal(K.numpy(), upper + below)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Triton is Linux's")
def test_the_programs_of_a_card_give_the_values_of_numpy():
    pytest.importorskip("triton", reason="Triton is not installed")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}

    ran = subprocess.run(
        [sys.executable, "-c", BY_TRITON], env=environment, capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stderr


def test_products_of_fewer_rows_at_a_time_give_the_same_matrix(samples, monkeypatch):
    whole = make_gram(Gaussian(0.1), samples, device=HERE)
    terms = samples.size * device_gram.ROWS_TOGETHER
    monkeypatch.setattr(device_gram, "PRODUCT_TERMS", terms)
    parts = make_gram(Gaussian(0.1), samples, device=HERE)
    assert device_gram._product_rows(whole_vectors(samples)) == device_gram.ROWS_TOGETHER < 90
    np.testing.assert_allclose(parts.storage, whole.storage, rtol=1e-14)


def whole_vectors(samples):
    return prepare_on(HERE, Gaussian(0.1), samples)


class Stops(FitMonitor):
    """A monitor that stops after so many questions."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def should_stop(self):
        self.after -= 1
        return self.after < 0


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_matrix_that_is_stopped_is_not_completed_and_gives_the_same_rows(
    after, samples, monkeypatch
):
    monkeypatch.setattr(device_gram, "PRODUCT_ROWS", 10)
    gram = make_gram(Gaussian(0.1), samples, device=HERE, monitor=Stops(after))
    assert not gram.complete
    rows = torch.tensor([3, 80])
    storage, slots = gram.load_rows(rows)
    expected = make_gram(Gaussian(0.1), samples).matrix[[3, 80]]
    np.testing.assert_allclose(storage[slots[rows].long()], expected, rtol=1e-12)


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_search_that_is_stopped_completes_no_further_matrix(after, samples, monkeypatch):
    monkeypatch.setattr(device_gram, "PRODUCT_ROWS", 30)
    shared = SharedProducts(samples, device=HERE)
    kernels = [Gaussian(0.1), Gaussian(0.2), Gaussian(0.3)]
    complete = [gram.complete for gram in shared.grams(kernels, Stops(after))]
    assert complete == sorted(complete, reverse=True)
    assert not complete[-1]
