"""The choice of a device and the fallback to the CPU. No GPU is needed: torch is patched."""

import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from separatrix.errors import DataError, DeviceError, MemoryBudgetError, ParameterError
from separatrix.runtime import device as backends
from separatrix.runtime.device import (
    DevicePolicy,
    as_numpy,
    choose_device,
    device_name,
    gpu_context,
    like,
    require_same_device,
    run_on,
    run_with_fallback,
)

X = np.arange(6.0).reshape(3, 2)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def test_large_samples_are_copied_in_parts(torch, monkeypatch):
    monkeypatch.setattr(backends, "COPIED_BYTES", 100)
    rows, copied = torch.arange(60.0).reshape(20, 3), []
    put = torch.Tensor.__setitem__
    monkeypatch.setattr(torch.Tensor, "__setitem__", lambda *a: copied.append(a[1]) or put(*a))
    there = backends.copied(rows, "meta")
    assert (there.device.type, tuple(there.shape)) == ("meta", (20, 3))
    assert copied == [slice(0, 8), slice(8, 16), slice(16, 20)]
    assert backends.copied(rows, "cpu") is rows


@pytest.fixture
def gpu_tensors(torch, monkeypatch):
    """Two tensors on GPUs that this machine does not have."""
    kinds = (torch.Tensor, SimpleNamespace)
    monkeypatch.setattr(backends, "is_tensor", lambda array: isinstance(array, kinds))
    return [SimpleNamespace(device=torch.device("cuda", number)) for number in (0, 1)]


@pytest.fixture
def a_gpu(torch, monkeypatch):
    """torch's CPU stands in for a GPU."""
    device = torch.device("cpu")
    monkeypatch.setattr(backends, "default_gpu", lambda: device)
    monkeypatch.setattr(backends, "has_driver", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return device


@pytest.fixture
def broken_gpu(a_gpu, monkeypatch):
    """A driver, but no GPU that works."""

    def none():
        raise DeviceError("the GPU is on holiday")

    monkeypatch.setattr(backends, "default_gpu", none)


@pytest.fixture(autouse=True)
def no_warnings_yet(monkeypatch):
    monkeypatch.setattr(backends, "_warned", set())


@pytest.mark.slow
def test_neither_arrays_nor_estimators_on_arrays_import_torch():
    code = (
        "import sys; import numpy as np; from separatrix.runtime import device as backends\n"
        "x = np.zeros(2); assert not backends.is_tensor(x) and backends.like(x, x) is x\n"
        "assert 'torch' not in sys.modules; from separatrix import SVC, KNeighborsClassifier\n"
        "X = np.arange(20.0).reshape(10, 2); y = np.arange(10) % 2\n"
        "for model in (SVC(), KNeighborsClassifier()): model.fit(X, y).predict(X)\n"
        "sys.exit('torch' in sys.modules and not backends.has_driver())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_values_become_what_the_example_is(torch):
    answer = like(X, torch.zeros(1))
    assert isinstance(answer, torch.Tensor)
    np.testing.assert_array_equal(as_numpy(answer), X)
    words = np.array(["a", "b"])
    assert like(words, torch.zeros(1)) is words
    assert like(X, X) is X
    already = torch.ones(2)
    assert like(already, torch.zeros(1)) is already


def test_a_cpu_tensor_shares_its_memory_with_the_array(torch):
    tensor = torch.zeros(3)
    as_numpy(tensor)[1] = 5.0
    assert tensor[1] == 5.0
    assert as_numpy(torch.zeros(2, requires_grad=True)).tolist() == [0.0, 0.0]
    assert as_numpy(X) is X


def test_tensors_on_two_devices_are_refused_with_their_names(torch, gpu_tensors):
    assert device_name(X) == device_name(torch.zeros(1)) == "cpu"
    require_same_device(gpu_tensors[0], X, None)
    with pytest.raises(DataError, match=r"X is on cuda:0, but other input is on cuda:1; move all"):
        require_same_device(*gpu_tensors)
    with pytest.raises(DataError, match=r"on cuda:0, but other input is on cpu"):
        require_same_device(gpu_tensors[0], torch.zeros(1))


def test_a_device_is_one_of_three_words():
    with pytest.raises(
        ParameterError, match=r"`device` of SVC must be one of 'auto', 'cpu', 'cuda'; got 'gpu'"
    ):
        choose_device("SVC", "gpu", X)


def test_a_gpu_tensor_stays_on_its_device(gpu_tensors):
    there = gpu_tensors[1]
    with pytest.raises(
        DataError, match=r"X is on cuda:1, but `device` of SVC is 'cpu'; pass X.cpu\(\)"
    ):
        choose_device("SVC", "cpu", there)
    assert choose_device("SVC", "auto", there) == there.device
    assert choose_device("SVC", "cuda", there) == there.device
    assert choose_device("SVC", "auto", there, large=False) == there.device
    for device in ("auto", "cuda"):
        with pytest.raises(
            DeviceError, match="SVC cannot run on a GPU with strings; use device='cpu'"
        ):
            choose_device("SVC", device, there, obstacle="strings")


def test_auto_takes_a_gpu_for_large_problems_without_an_obstacle(a_gpu, monkeypatch):
    assert choose_device("SVC", "cpu", X) is None
    assert choose_device("SVC", "auto", X) == a_gpu
    assert choose_device("SVC", "auto", X, large=False) is None
    assert choose_device("SVC", "auto", X, obstacle="strings") is None
    monkeypatch.setattr(backends, "has_driver", lambda: False)
    assert choose_device("SVC", "auto", X) is None


@pytest.mark.parametrize("visible", ["", "-1"])
def test_a_hidden_gpu_is_left_alone_without_a_warning(visible, broken_gpu, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert choose_device("SVC", "auto", X) is None
    with pytest.raises(DeviceError):
        choose_device("SVC", "cuda", X)


def test_auto_without_torch_is_the_cpu_without_a_warning(monkeypatch):
    monkeypatch.setattr(backends, "has_driver", lambda: True)
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: None)
    assert choose_device("SVC", "auto", X) is None
    with pytest.raises(DeviceError, match=r"needs torch, .* pip install 'separatrix\[gpu\]'"):
        choose_device("SVC", "cuda", X)


def test_a_gpu_that_does_not_work_is_an_error_or_one_warning_at_the_callers_line(broken_gpu):
    with pytest.raises(DeviceError, match="holiday"):
        choose_device("SVC", "cuda", X, large=False)
    message = "the GPU is on holiday. SVC runs on the CPU"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        assert choose_device("SVC", "auto", X) is None
    assert caught[0].filename == __file__
    assert choose_device("SVC", "auto", X) is None  # a second warning would be an error


def test_no_gpu_and_one_that_is_too_old_are_different_errors(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="finds none; check `nvidia-smi`"):
        backends.default_gpu()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Old GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    with pytest.raises(
        DeviceError, match=r"Old GPU has compute capability 6\.1, and at least 7\.0"
    ):
        backends.default_gpu()


def test_a_gpu_without_triton_is_refused_with_what_to_install(torch, monkeypatch):
    found = backends.importlib.util.find_spec
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(
        backends.importlib.util, "find_spec", lambda name: None if name == "triton" else found(name)
    )
    with pytest.raises(DeviceError, match="needs Triton"):
        backends.default_gpu()
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: True)
    assert backends.default_gpu() == torch.device("cuda", 3)


@pytest.fixture
def out_of_memory(torch):
    """Work that a GPU has no memory for."""

    def work(device):
        if device is not None:
            raise torch.OutOfMemoryError("full")
        return "on the CPU"

    return work


def test_one_cause_is_one_warning_for_all_owners(broken_gpu, out_of_memory, torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for owner in ("SVCCV", "SVC"):
            choose_device(owner, "auto", X)
            run_with_fallback(owner, "auto", torch.device("cpu"), out_of_memory)
    assert [str(w.message).split(". ")[-1] for w in caught] == [
        "SVCCV runs on the CPU",
        "SVCCV continues on the CPU",
    ]
    assert all(w.category is RuntimeWarning for w in caught)


@pytest.mark.parametrize(
    ("made", "how"),
    [(lambda y: y.bfloat16(), "float"), (lambda y: y.to_sparse(), "to_dense")],
)
def test_tensors_that_numpy_does_not_know_are_refused_with_what_to_do(made, how, torch):
    with pytest.raises(DataError, match=rf"pass tensor\.{how}\(\)"):
        as_numpy(made(torch.ones(3)))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Failed to find C compiler. Please specify via CC environment variable"),
        subprocess.CalledProcessError(1, ["gcc", "main.c"]),
    ],
)
def test_a_launcher_that_cannot_be_built_is_a_readable_error(error, torch):
    with (
        pytest.raises(DeviceError, match="needs a C compiler and Python's headers; install gcc"),
        gpu_context("SVC", torch.device("cpu")),
    ):
        raise error


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), ZeroDivisionError("0")])
def test_other_errors_on_a_gpu_are_raised_unchanged(error, torch):
    def work(device):
        raise error

    with pytest.raises(type(error), match=str(error)):
        run_with_fallback("SVC", "auto", torch.device("cpu"), work)


@pytest.mark.parametrize("ends_badly", [False, True])
def test_products_are_exact_inside_and_the_callers_precision_is_restored(torch, ends_badly):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        try:
            with gpu_context("SVC", torch.device("cpu")):
                assert torch.get_float32_matmul_precision() == "highest"
                if ends_badly:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert ends_badly
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_with_auto_work_continues_on_the_cpu_when_the_gpu_is_out_of_memory(torch, out_of_memory):
    device = torch.device("cpu")
    with pytest.warns(RuntimeWarning, match="SVC continues on the CPU"):
        assert run_with_fallback("SVC", "auto", device, out_of_memory) == "on the CPU"
    message = r"SVC ran out of memory on cpu, which has .* free; lower"
    with pytest.raises(MemoryBudgetError, match=message) as caught:
        run_with_fallback("SVC", "cuda", device, out_of_memory)
    assert isinstance(caught.value.__cause__, torch.OutOfMemoryError)
    assert run_with_fallback("SVC", "cpu", None, out_of_memory) == "on the CPU"


def test_types_have_numpys_names(torch):
    assert backends.dtype_of(torch.zeros(1, dtype=torch.float32)) == np.float32
    assert backends.dtype_of(X) == np.float64


def test_triton_runs_on_a_gpu_or_in_its_interpreter(torch, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert backends.runs_triton(torch.device("cuda", 0))
    assert not backends.runs_triton(torch.device("cpu"))
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert backends.runs_triton(torch.device("cpu"))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0)[::-1],
        np.arange(6.0).reshape(2, 3).T[:, ::-1],
        np.arange(6).astype(">i4"),
        np.arange(6, dtype=np.longdouble),
    ],
    ids=["backwards", "columns backwards", "other byte order", "long doubles"],
)
def test_arrays_that_torch_cannot_share_become_tensors_of_the_same_values(array, torch):
    np.testing.assert_array_equal(backends.as_tensor(array, torch.device("cpu")).numpy(), array)


def test_work_runs_on_the_device_that_the_policy_chooses(a_gpu):
    assert run_on(DevicePolicy("SVC", "cpu", (X,)), str) == "None"
    assert run_on(DevicePolicy("SVC", "auto", (X,), large=False), str) == "None"
    assert run_on(DevicePolicy("SVC", "auto", (X,), obstacle="strings"), str) == "None"
    assert run_on(DevicePolicy("SVC", "cuda", (X,)), str) == str(a_gpu)


@pytest.mark.slow
def test_a_process_that_ends_waits_for_an_import_of_triton(tmp_path):
    cache = tmp_path / "triton" / "runtime" / "cache.py"
    cache.parent.mkdir(parents=True)
    for folder in (cache.parent, cache.parent.parent):
        (folder / "__init__.py").touch()
    cache.write_text(
        "import time\nfrom pathlib import Path\ntime.sleep(1)\n"
        "def triton_key(): Path(__file__).with_suffix('.txt').write_text('done')\n"
    )
    ahead = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    ahead += "from separatrix.runtime import device; device._import_triton_ahead()"
    subprocess.run([sys.executable, "-c", ahead], check=True)
    assert cache.with_suffix(".txt").read_text() == "done"
