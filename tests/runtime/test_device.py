"""Where arrays live. Nothing here needs a card: what a card says is put into torch's mouth."""

import subprocess
import sys
import warnings

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
    warn_once,
)

X = np.arange(6.0).reshape(3, 2)


class Elsewhere:
    """A tensor on a card, as far as this module looks at it."""

    def __init__(self, device):
        self.device = device


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def tensors_elsewhere(torch, monkeypatch):
    """Two tensors on cards that this machine does not have."""
    kinds = (torch.Tensor, Elsewhere)
    monkeypatch.setattr(backends, "is_tensor", lambda array: isinstance(array, kinds))
    return [Elsewhere(torch.device("cuda", number)) for number in (0, 1)]


@pytest.fixture
def a_card(torch, monkeypatch):
    """torch's CPU passes for a card."""
    position = torch.device("cpu")
    monkeypatch.setattr(backends, "default_gpu", lambda: position)
    monkeypatch.setattr(backends, "has_driver", lambda: True)
    return position


@pytest.fixture
def no_card(torch, monkeypatch):
    """A driver, but no card that works."""

    def none():
        raise DeviceError("the card is on holiday")

    monkeypatch.setattr(backends, "default_gpu", none)
    monkeypatch.setattr(backends, "has_driver", lambda: True)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(backends, "_warned", set())


def test_an_array_is_known_for_one_without_importing_torch():
    code = (
        "import sys; import numpy as np; from separatrix.runtime import device as backends\n"
        "x = np.zeros(2); assert not backends.is_tensor(x) and backends.like(x, x) is x\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_estimators_on_arrays_never_import_torch():
    code = (
        "import sys; import numpy as np; from separatrix import SVC, KNeighborsClassifier\n"
        "X = np.arange(20.0).reshape(10, 2); y = np.arange(10) % 2\n"
        "for model in (SVC(), KNeighborsClassifier()): model.fit(X, y).predict(X)\n"
        "from separatrix.runtime.device import has_driver\n"
        "sys.exit('torch' in sys.modules and not has_driver())"
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


def test_a_tensor_here_shares_its_memory_with_the_array(torch):
    tensor = torch.zeros(3)
    as_numpy(tensor)[1] = 5.0
    assert tensor[1] == 5.0
    assert as_numpy(torch.zeros(2, requires_grad=True)).tolist() == [0.0, 0.0]
    assert as_numpy(X) is X


def test_a_place_has_a_name(torch, tensors_elsewhere):
    assert device_name(X) == device_name(torch.zeros(1)) == "cpu"
    assert device_name(tensors_elsewhere[1]) == "cuda:1"


def test_tensors_on_two_devices_are_refused(torch, tensors_elsewhere):
    require_same_device(tensors_elsewhere[0], X, None)
    with pytest.raises(DataError, match=r"X is on cuda:0, but other input is on cuda:1; move all"):
        require_same_device(*tensors_elsewhere)
    with pytest.raises(DataError, match=r"on cuda:0, but other input is on cpu"):
        require_same_device(tensors_elsewhere[0], torch.zeros(1))


def test_a_device_is_one_of_three_words():
    with pytest.raises(
        ParameterError, match=r"`device` of SVC must be one of 'auto', 'cpu', 'cuda'; got 'gpu'"
    ):
        choose_device("SVC", "gpu", X)


def test_the_cpu_is_no_device_of_torchs(a_card):
    assert choose_device("SVC", "cpu", X) is None


def test_a_tensor_on_a_card_is_not_taken_away_from_it(tensors_elsewhere):
    there = tensors_elsewhere[1]
    with pytest.raises(
        DataError, match=r"X is on cuda:1, but `device` of SVC is 'cpu'; pass X.cpu\(\)"
    ):
        choose_device("SVC", "cpu", there)
    assert choose_device("SVC", "auto", there) == there.device
    assert choose_device("SVC", "cuda", there) == there.device
    assert choose_device("SVC", "auto", there, worth=False) == there.device
    for device in ("auto", "cuda"):
        with pytest.raises(
            DeviceError, match="SVC cannot run on a GPU with strings; use device='cpu'"
        ):
            choose_device("SVC", device, there, without="strings")


def test_auto_takes_a_card_where_it_pays_and_nothing_speaks_against_it(a_card, monkeypatch):
    assert choose_device("SVC", "auto", X) == a_card
    assert choose_device("SVC", "auto", X, worth=False) is None
    assert choose_device("SVC", "auto", X, without="strings") is None
    monkeypatch.setattr(backends, "has_driver", lambda: False)
    assert choose_device("SVC", "auto", X) is None


def test_auto_without_torch_is_the_cpu_and_says_nothing(monkeypatch):
    monkeypatch.setattr(backends, "has_driver", lambda: True)
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: None)
    assert choose_device("SVC", "auto", X) is None
    with pytest.raises(DeviceError, match=r"needs torch, .* pip install 'separatrix\[gpu\]'"):
        choose_device("SVC", "cuda", X)


def test_a_card_that_is_asked_for_must_be_there(no_card):
    with pytest.raises(DeviceError, match="holiday"):
        choose_device("SVC", "cuda", X, worth=False)
    with pytest.warns(RuntimeWarning, match="the card is on holiday. SVC runs on the CPU"):
        assert choose_device("SVC", "auto", X) is None
    assert choose_device("SVC", "auto", X) is None  # said already: a warning would be an error


def test_torch_that_finds_no_card_is_told_from_a_card_that_is_too_old(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="finds none; check `nvidia-smi`"):
        backends.default_gpu()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Old card")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    with pytest.raises(
        DeviceError, match=r"Old card has compute capability 6\.1, and at least 7\.0"
    ):
        backends.default_gpu()


def test_a_card_without_triton_is_refused_with_what_to_install(torch, monkeypatch):
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


def test_the_same_thing_is_said_once():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for message in ("one", "two", "one"):
            warn_once(message)
    assert [str(warning.message) for warning in said] == ["one", "two"]
    assert all(warning.category is RuntimeWarning for warning in said)


def test_what_is_said_is_said_at_the_line_of_whoever_asked(no_card):
    with pytest.warns(RuntimeWarning, match="holiday") as said:
        choose_device("SVC", "auto", X)
    assert said[0].filename == __file__


def test_one_cause_is_said_once_whoever_meets_it(no_card, torch):
    def full(where):
        if where is not None:
            raise torch.OutOfMemoryError("full")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for owner in ("SVCCV", "SVC"):
            choose_device(owner, "auto", X)
            run_with_fallback(owner, "auto", torch.device("cpu"), full)
    first, second = (str(warning.message) for warning in said)
    assert first.endswith("SVCCV runs on the CPU")
    assert second.endswith("SVCCV continues on the CPU")


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
def test_a_launcher_that_cannot_be_built_is_said_in_a_sentence(error, torch):
    with (
        pytest.raises(DeviceError, match="needs a C compiler and Python's headers; install gcc"),
        gpu_context("SVC", torch.device("cpu")),
    ):
        raise error


def test_other_errors_on_a_card_stay_what_they_are(torch):
    with pytest.raises(RuntimeError, match="shapes"), gpu_context("SVC", torch.device("cpu")):
        raise RuntimeError("shapes do not match")


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


def test_out_of_memory_is_said_in_a_sentence(torch):
    sentence = r"SVC ran out of memory on cpu, which has .* free; lower"
    with (
        pytest.raises(MemoryBudgetError, match=sentence) as caught,
        gpu_context("SVC", torch.device("cpu")),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    assert isinstance(caught.value.__cause__, torch.OutOfMemoryError)


def test_with_auto_the_work_goes_on_here_when_the_card_is_full(torch):
    position = torch.device("cpu")

    def work(where):
        if where is not None:
            raise torch.OutOfMemoryError("full")
        return "done here"

    with pytest.warns(RuntimeWarning, match="SVC continues on the CPU"):
        assert run_with_fallback("SVC", "auto", position, work) == "done here"
    with pytest.raises(MemoryBudgetError):
        run_with_fallback("SVC", "cuda", position, work)
    assert run_with_fallback("SVC", "cpu", None, work) == "done here"


def test_a_mistake_in_the_work_is_not_taken_for_a_full_card(torch):
    def work(where):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_with_fallback("SVC", "auto", torch.device("cpu"), work)


def test_types_have_numpys_names(torch):
    assert backends.dtype_of(torch.zeros(1, dtype=torch.float32)) == np.float32
    assert backends.dtype_of(X) == np.float64


def test_triton_runs_on_a_card_or_where_it_is_interpreted(torch, monkeypatch):
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
    there = backends.as_tensor(array, torch.device("cpu"))

    np.testing.assert_array_equal(there.numpy(), array)


def test_work_runs_on_the_device_that_the_policy_chooses(a_card):
    X = np.zeros((2, 2))

    assert run_on(DevicePolicy("SVC", "cpu", (X,)), str) == "None"
    assert run_on(DevicePolicy("SVC", "auto", (X,), large=False), str) == "None"
    assert run_on(DevicePolicy("SVC", "auto", (X,), obstacle="strings"), str) == "None"
    assert run_on(DevicePolicy("SVC", "cuda", (X,)), str) == str(a_card)
