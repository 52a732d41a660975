"""CPU and GPU: NumPy arrays or torch tensors, the choice of a device, and the fallback to the CPU.

torch is imported only for tensors, or if the machine has a GPU driver.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from subprocess import CalledProcessError
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np

from separatrix.errors import DataError, DeviceError, MemoryBudgetError, ParameterError
from separatrix.runtime.blocks import (
    MEBIBYTE,
    default_budget,
    in_words,
    row_blocks,
    rows_that_fit,
)
from separatrix.runtime.warnings import warn_user

DEVICES = ("auto", "cpu", "cuda")
OLDEST = (7, 0)  # compute capability from which Triton has machine code
SHARE = 0.93  # of free GPU memory that is used by default
COPIED_BYTES = 256 * MEBIBYTE  # that are copied to a GPU at a time: some 0.03 s
DRIVERS = ("libcuda.so.1", "nvcuda.dll")
INSTALL = "install it with: pip install 'separatrix[gpu]'"

Result = TypeVar("Result")


def is_tensor(array: Any) -> bool:
    """Whether an array is torch's; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def as_numpy(array: Any) -> Any:
    """A tensor as a NumPy array, copied from its device; anything else unchanged."""
    if not is_tensor(array):
        return array
    try:
        return array.detach().cpu().numpy()
    except TypeError:
        sparse = str(array.layout) != "torch.strided"
        what, how = ("a sparse tensor", "to_dense") if sparse else (array.dtype, "float")
        raise DataError(f"got {what}, which NumPy does not support; pass tensor.{how}()") from None


def like(values: Any, example: Any) -> Any:
    """Values in the form of the example: a tensor on its device, or NumPy.

    Labels that are not numbers stay NumPy.
    """
    if not is_tensor(example):
        return as_numpy(values)
    if is_tensor(values):
        return values.to(example.device)
    if values.dtype.kind not in "biuf":
        return values
    return as_tensor(values, example.device)


def as_tensor(array: Any, device: Any) -> Any:
    """A NumPy array as a tensor on a device; one whose layout or type torch does not support is copied."""
    import torch

    known = array.dtype.newbyteorder("=")
    if known == np.longdouble:
        known = np.dtype(np.float64)
    backwards = min(array.strides, default=0) < 0
    if backwards or not array.flags.writeable or array.dtype != known:
        array = array.astype(known, order="C")
    return copied(torch.as_tensor(array), device)


def copied(tensor: Any, device: Any) -> Any:
    """A tensor on a device; a large one is copied in parts, between which Ctrl-C takes effect."""
    import torch

    device = torch.device(device)
    whole = tensor.nbytes <= COPIED_BYTES or not tensor.is_contiguous()
    if tensor.device.type == device.type or whole:
        return tensor.to(device)
    copy = torch.empty_like(tensor, device=device)
    for rows in row_blocks(len(tensor), rows_that_fit(tensor[0].nbytes, COPIED_BYTES)):
        copy[rows] = tensor[rows]
    return copy


def zeros(shape: tuple[int, ...], example: Any) -> Any:
    """Zeros in float64: a tensor on the example's device if that is one, else NumPy."""
    if not is_tensor(example):
        return np.zeros(shape)
    import torch

    return torch.zeros(shape, dtype=torch.float64, device=example.device)


def as_double(array: Any) -> Any:
    """An array or tensor in float64."""
    return array.double() if is_tensor(array) else array.astype(np.float64, copy=False)


def device_name(array: Any) -> str:
    """ "cpu", or torch's name of the device of a tensor."""
    return str(array.device) if is_tensor(array) else "cpu"


def require_same_device(first: Any = None, *others: Any) -> None:
    """Refuse tensors on different devices."""
    for other in others:
        if is_tensor(first) and is_tensor(other) and device_name(first) != device_name(other):
            raise DataError(
                f"X is on {device_name(first)}, but other input is on {device_name(other)}; move all "
                "of it to one device, as with y.to(X.device)"
            )


@dataclass(frozen=True)
class DevicePolicy:
    """What decides between CPU and GPU: the `device` parameter, the arrays, their size, an obstacle."""

    owner: str
    device: str  # "auto", "cpu" or "cuda"
    arrays: tuple[Any, ...] = ()
    large: bool = True  # whether the problem is large enough for a GPU
    obstacle: str | None = None  # why this problem cannot run on a GPU

    def choose(self) -> Any:
        """The torch device to compute on, or None for NumPy.

        "auto" chooses a GPU if one is present, the problem is large enough and there is no obstacle;
        CUDA tensors stay on their device.
        """
        if self.device not in DEVICES:
            must_be = f"one of {', '.join(map(repr, DEVICES))}"
            raise ParameterError(self.owner, "device", must_be, self.device)
        require_same_device(*self.arrays)
        remote = [array for array in self.arrays if device_name(array) != "cpu"]
        if self.device == "cpu":
            if remote:
                raise DataError(
                    f"X is on {device_name(remote[0])}, but `device` of {self.owner} is 'cpu'; pass "
                    "X.cpu(), or device='auto'"
                )
            return None
        for array in remote:
            if array.device.type != "cuda":
                raise DataError(
                    f"X is on {device_name(array)}, which {self.owner} does not support; pass X.cpu()"
                )
        if self.device == "cuda" or remote:
            if self.obstacle:
                raise DeviceError(
                    f"{self.owner} cannot run on a GPU with {self.obstacle}; use device='cpu'"
                )
            return remote[0].device if remote else default_gpu()
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
        if not self.large or self.obstacle or hidden or not has_driver() or not _has_torch():
            return None
        try:
            return default_gpu()
        except DeviceError as error:
            warn_once(f"{error}. {self.owner} runs on the CPU", about=str(error))
            return None


def choose_device(
    owner: str, device: Any, *arrays: Any, large: bool = True, obstacle: str | None = None
) -> Any:
    """The torch device that a `DevicePolicy` of these arguments chooses, or None for NumPy."""
    return DevicePolicy(owner, device, arrays, large, obstacle).choose()


def run_on(policy: DevicePolicy, function: Callable[[Any], Result]) -> Result:
    """Call `function(device)` on the device the policy chooses; None is NumPy on the CPU.

    With device="auto", work that fails on a GPU for lack of memory runs again on the CPU.
    """
    return run_with_fallback(policy.owner, policy.device, policy.choose(), function)


def run_with_fallback(
    owner: str, parameter: str, device: Any, function: Callable[[Any], Result]
) -> Result:
    """Call `function(device)`; if that is a GPU that fails and `parameter` is "auto", `function(None)`."""
    if device is None:
        return function(None)
    try:
        with gpu_context(owner, device):
            return function(device)
    except (DeviceError, MemoryBudgetError) as error:
        if parameter != "auto":
            raise
        # models inside a search would repeat it
        warn_once(f"{error}. {owner} continues on the CPU", about=type(error).__name__)
    return function(None)


def default_gpu() -> Any:
    """torch's current GPU as a torch device; an error explains why there is none."""
    if not _has_torch():
        raise DeviceError(f"device='cuda' needs torch, which is not installed; {INSTALL}")
    import torch

    if has_driver():
        _import_triton_ahead()
    if not torch.cuda.is_available():
        raise DeviceError(
            f"device='cuda' needs a GPU, and torch {torch.__version__} finds none; check `nvidia-smi`, or "
            "use device='cpu'"
        )
    found = torch.cuda.get_device_capability()
    if found < OLDEST:
        raise DeviceError(
            f"{torch.cuda.get_device_name()} has compute capability {found[0]}.{found[1]}, and at least "
            f"{OLDEST[0]}.{OLDEST[1]} is needed; use device='cpu'"
        )
    if importlib.util.find_spec("triton") is None:
        raise DeviceError(f"device='cuda' needs Triton, which is not installed; {INSTALL}")
    return torch.device("cuda", torch.cuda.current_device())


@cache
def _import_triton_ahead() -> None:
    """Begin in a thread what Triton does at its first launch: imports, and a hash of its own files.

    It takes about as long as the start of CUDA and the copy of the samples, and runs while they do. A
    process that ends waits for it: one that left it in the middle of an import would crash.
    """

    def work() -> None:
        with suppress(Exception):  # without it the first launch does the same, later
            from triton.runtime.cache import triton_key

            triton_key()
            importlib.import_module("triton.experimental.gluon.nvidia.hopper")

    Thread(target=work).start()


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


@cache
def has_driver() -> bool:
    """Whether this machine has a GPU driver; checked before torch is imported."""
    for name in DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def free_bytes(device: Any) -> int:
    """Bytes of a device's memory that may be used."""
    import torch

    if device.type != "cuda":
        return default_budget()
    free, _ = torch.cuda.mem_get_info(device)
    return int(SHARE * (free + _unused_bytes(device)))


def _unused_bytes(device: Any) -> int:
    """Bytes that torch keeps for later tensors, in one call: `memory_reserved` computes all statistics."""
    import torch

    held = torch.cuda.memory_stats_as_nested_dict(device)
    if not held:  # nothing was allocated yet
        return 0
    reserved, allocated = (
        held[f"{what}_bytes"]["all"]["current"] for what in ("reserved", "allocated")
    )
    return int(reserved - allocated)


def release_unused(device: Any, *, beyond: float = 0.0) -> None:
    """Give memory that torch keeps for later tensors back, if it is more than a share of the device's.

    One large tensor can then have it, which would not fit in between those kept.
    """
    if device.type == "cuda":
        import torch

        if _unused_bytes(device) > beyond * torch.cuda.mem_get_info(device)[1]:
            torch.cuda.empty_cache()


def wait_for(device: Any) -> None:
    """Wait until a GPU has done what is queued on the current stream."""
    if device.type == "cuda":
        import torch

        torch.cuda.current_stream(device).synchronize()


@contextmanager
def gpu_context(owner: str, device: Any) -> Iterator[None]:
    """Run on a GPU: float32 products in full precision, and out-of-memory as a `MemoryBudgetError`."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    current = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    try:
        with current:  # Triton launches programs on the current GPU
            yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise MemoryBudgetError(
            f"{owner} ran out of memory on {device}, which has {in_words(free_bytes(device))} free; lower "
            "`cache_size`, free tensors of your own, or use device='cpu'"
        ) from error
    except (RuntimeError, CalledProcessError) as error:
        if isinstance(error, RuntimeError) and "C compiler" not in str(error):
            raise
        raise DeviceError(
            "Triton cannot build its launcher, for which it needs a C compiler and Python's headers; "
            "install gcc and python3-dev, or use device='cpu'"
        ) from error
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def beside_other_work(device: Any) -> Iterator[None]:
    """Run on a stream of its own if work of another thread is running on the same GPU.

    For work whose results are NumPy: the memory of a tensor belongs to the stream it was made on.
    """
    if device is None or device.type != "cuda":
        yield
        return
    import torch

    with _running_lock:
        alone = not _running.get(device)
        _running[device] = _running.get(device, 0) + 1
    try:
        if alone:
            yield
            return
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            yield
        stream.synchronize()
    finally:
        with _running_lock:
            _running[device] -= 1


def warn_once(message: str, about: str | None = None) -> None:
    """Warn only once per process for each message, or each `about`."""
    if (about or message) not in _warned:
        _warned.add(about or message)
        warn_user(message, RuntimeWarning)


_warned: set[str] = set()
_running: dict[Any, int] = {}  # pieces of work on each GPU
_running_lock = Lock()


def dtype_of(array: Any) -> np.dtype[Any]:
    """The NumPy type of an array's or tensor's values."""
    return np.dtype(str(array.dtype).removeprefix("torch."))


def runs_triton(device: Any) -> bool:
    """Whether Triton programs run on the device: on a GPU, or in Triton's interpreter."""
    return bool(device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
