"""Neighbours on a GPU, for which torch's CPU device stands in."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", reason="torch is not installed")

import separatrix.estimators.neighbor_index as module  # noqa: E402
from separatrix import KNeighborsClassifier, NeighborIndex, load, save  # noqa: E402
from separatrix.errors import DataError, DeviceError, MemoryBudgetError, ParameterError  # noqa: E402
from separatrix.kernels import Gaussian, Laplacian, Linear, Polynomial  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
X[[7, 9]] = 0.0  # without a direction
Q = RNG.normal(size=(30, 6))
Q[3] = 0.0
Y = RNG.integers(0, 3, size=200)

SEARCHED = {
    "euclidean": {},
    "sqeuclidean": {"metric": "sqeuclidean"},
    "cosine": {"metric": "cosine"},
    "seuclidean": {"metric": "seuclidean", "metric_params": {"V": np.arange(1.0, 7.0)}},
    "weights": {"metric": "minkowski", "metric_params": {"w": np.arange(6.0)}},
    "linear": {"kernel": Linear()},
    "gaussian": {"kernel": Gaussian(0.1)},
}
REFUSED = {
    "metric='manhattan'": {"metric": "manhattan"},
    "metric='minkowski' and p=3": {"metric": "minkowski", "p": 3},
    "metric='canberra'": {"metric": "canberra"},
    "the kernel Polynomial for neighbours": {"kernel": Polynomial(2)},
    "the kernel Laplacian for neighbours": {"kernel": Laplacian(1.0)},
}


@pytest.fixture
def full_gpu(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.solvers.nearest.cuda.free_bytes", lambda device: 1000)
    monkeypatch.setattr(module, "GPU_VALUES", 1)


def assert_equal(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", SEARCHED.values(), ids=SEARCHED)
def test_a_gpu_finds_what_the_processor_finds(options, gpu):
    on_cpu = NeighborIndex(X, device="cpu", **options)
    on_gpu = NeighborIndex(X, device="cuda", **options)
    assert on_gpu.method == "gpu"
    assert_equal(on_gpu.search(Q, 5), on_cpu.search(Q, 5))
    assert_equal(on_gpu.search_self(5), on_cpu.search_self(5))
    assert_equal(on_gpu.search(csr_array(Q), 5), on_cpu.search(Q, 5))


@pytest.mark.parametrize("options", SEARCHED.values(), ids=SEARCHED)
def test_tensors_are_answered_with_tensors(options, gpu):
    wanted = NeighborIndex(X, device="cpu", **options)
    index = NeighborIndex(torch.tensor(X), device="cuda", **options)
    for found in (index.search(torch.tensor(Q), 5), index.search_self(5)):
        assert all(isinstance(part, torch.Tensor) for part in found)
    assert_equal([part.numpy() for part in index.search(torch.tensor(Q), 5)], wanted.search(Q, 5))
    assert_equal(index.search(Q, 5), wanted.search(Q, 5))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.int64])
def test_tensors_of_whole_numbers_are_taken(dtype, gpu):
    rows, queries = (torch.tensor(part > 0).to(dtype) for part in (X, Q))
    found = NeighborIndex(rows, device="cuda").search(queries, 3)
    wanted = NeighborIndex(X > 0, device="cpu").search(Q > 0, 3)
    assert_equal([part.numpy() for part in found], wanted)


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_classifier_gives_tensors_of_numeric_labels(device, gpu):
    plain = KNeighborsClassifier(device="cpu").fit(X, Y)
    model = KNeighborsClassifier(device=device, k_max=9).fit(torch.tensor(X), torch.tensor(Y))
    asked = torch.tensor(Q)
    assert torch.equal(model.predict(asked), torch.tensor(plain.predict(Q)))
    assert torch.equal(model.predict_proba(asked), torch.tensor(plain.predict_proba(Q)))
    assert torch.equal(model.predict_by_k(asked, 4), torch.tensor(plain.predict_by_k(Q, 4)))
    for found, wanted in zip(model.kneighbors(asked), plain.kneighbors(Q), strict=True):
        assert torch.equal(found, torch.tensor(wanted))
    assert model.score(asked, torch.tensor(Y[:30])) == plain.score(Q, Y[:30])
    assert model.kneighbors_graph(asked).shape == (30, 200)
    assert isinstance(model.predict(Q), np.ndarray)
    assert_equal(model.set_params(device="cpu").kneighbors(Q), plain.kneighbors(Q))
    assert isinstance(model.index_.rows, np.ndarray)


@pytest.mark.parametrize(("reason", "options"), REFUSED.items(), ids=REFUSED)
def test_what_a_gpu_cannot_do_is_refused_or_done_on_the_cpu(reason, options, gpu, monkeypatch):
    monkeypatch.setattr(module, "GPU_VALUES", 1)
    with pytest.raises(DeviceError, match=f"cannot run on a GPU with {reason}; use device='cpu'"):
        KNeighborsClassifier(device="cuda", **options).fit(X, Y)
    assert KNeighborsClassifier(**options).fit(X, Y).index_.method != "gpu"


def test_sparse_rows_are_refused_or_searched_on_the_cpu(gpu):
    with pytest.raises(DeviceError, match="on a GPU with sparse samples; use device='cpu'"):
        KNeighborsClassifier(device="cuda").fit(csr_array(X), Y)
    with pytest.raises(DeviceError, match="with method='exhaustive'"):
        NeighborIndex(X, method="exhaustive", device="cuda")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_coarse_tensors_are_refused_with_what_to_do(dtype, gpu):
    model = KNeighborsClassifier(device="cuda").fit(X, Y)
    index = NeighborIndex(X, device="cuda")
    for call in (model.predict, lambda coarse: index.search(coarse, 1)):
        with pytest.raises(DataError, match=r"float16, .* or integers; pass X\.float\(\)"):
            call(torch.tensor(Q).to(dtype))


def test_bad_tensors_are_refused(gpu):
    index = NeighborIndex(X, device="cuda")
    bad = torch.tensor(Q)
    bad[0, 0] = torch.nan
    for queries, sentence in ((bad, "NaN or infinity"), (bad[0], r"shape \(6,\)")):
        with pytest.raises(DataError, match=sentence):
            index.search(queries, 2)
    with pytest.raises(ParameterError, match="`device` of NeighborIndex must be one of 'auto'"):
        NeighborIndex(X, device="gpu")


def test_auto_takes_a_gpu_only_for_rows_that_are_worth_it(gpu, monkeypatch):
    assert NeighborIndex(X).method != "gpu"
    monkeypatch.setattr(module, "GPU_VALUES", X.size)
    assert NeighborIndex(X).method == "gpu"


def test_a_full_gpu_is_an_error_or_with_auto_a_search_on_the_cpu(full_gpu):
    with pytest.raises(MemoryBudgetError, match="which has 1000 bytes free"):
        KNeighborsClassifier(device="cuda").fit(X, Y)
    with pytest.warns(RuntimeWarning, match="NeighborIndex continues on the CPU"):
        model = KNeighborsClassifier().fit(X, Y)
    assert model.index_.method != "gpu"
    assert_equal(model.kneighbors(Q), KNeighborsClassifier(device="cpu").fit(X, Y).kneighbors(Q))


def test_copies_and_files_have_nothing_of_the_gpu(gpu, tmp_path):
    plain = KNeighborsClassifier(device="cpu").fit(X, Y)
    model = KNeighborsClassifier(device="cuda").fit(torch.tensor(X), Y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert not other.index_._rows.gpu_indexes
        assert_equal(other.kneighbors(Q), plain.kneighbors(Q))
    for name, one in (("plain", plain), ("gpu", model)):
        save(one, tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "gpu").read_bytes()
    read = load(tmp_path / "gpu").set_params(device="cuda")
    assert_equal(read.kneighbors(Q), plain.kneighbors(Q))
    assert read.index_.method == "gpu"
