"""Where arrays live: NumPy in this machine's memory, or torch tensors on a card.

Everything that asks for a card, moves arrays to one, or knows what can go wrong there asks here.
Estimators hand on what they get; torch is imported only when somebody has a tensor or a card.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from subprocess import CalledProcessError
from typing import Any, TypeVar

import numpy as np

from separatrix.errors import DataError, DeviceError, MemoryBudgetError, ParameterError
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.warnings import warn_user

DEVICES = ("auto", "cpu", "cuda")
OLDEST = (7, 0)  # compute capability from which Triton has machine code
SHARE = 0.93  # of the card's free memory that work may take when nobody says
DRIVERS = ("libcuda.so.1", "nvcuda.dll")
INSTALL = "install it with: pip install 'separatrix[gpu]'"

Result = TypeVar("Result")


def is_tensor(array: Any) -> bool:
    """Whether an array is torch's; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def as_numpy(array: Any) -> Any:
    """A tensor as a NumPy array, through memory where it is on a card; anything else as it is."""
    if not is_tensor(array):
        return array
    try:
        return array.detach().cpu().numpy()
    except TypeError:
        sparse = str(array.layout) != "torch.strided"
        what, how = ("a sparse tensor", "to_dense") if sparse else (array.dtype, "float")
        raise DataError(f"got {what}, which NumPy does not know; pass tensor.{how}()") from None


def like(values: Any, example: Any) -> Any:
    """Values as what the example is: a tensor on its device, or NumPy.

    Labels that are no numbers have no tensor, and stay.
    """
    if not is_tensor(example):
        return as_numpy(values)
    if is_tensor(values):
        return values.to(example.device)
    if values.dtype.kind not in "biuf":
        return values
    return as_tensor(values, example.device)


def as_tensor(array: Any, device: Any) -> Any:
    """A NumPy array as a tensor on a device; one that torch cannot share as it lies is copied first."""
    import torch

    known = array.dtype.newbyteorder("=")
    if known == np.longdouble:
        known = np.dtype(np.float64)
    backwards = min(array.strides, default=0) < 0
    if backwards or not array.flags.writeable or array.dtype != known:
        array = array.astype(known, order="C")
    return torch.as_tensor(array, device=device)


def zeros(shape: tuple[int, ...], example: Any) -> Any:
    """Zeros in float64: a tensor where the example is one, on its device."""
    if not is_tensor(example):
        return np.zeros(shape)
    import torch

    return torch.zeros(shape, dtype=torch.float64, device=example.device)


def device_name(array: Any) -> str:
    """Where an array lies, in a word: "cpu", or torch's name of the card."""
    return str(array.device) if is_tensor(array) else "cpu"


def require_same_device(first: Any = None, *others: Any) -> None:
    """Refuse tensors that lie on different devices."""
    for other in others:
        if is_tensor(first) and is_tensor(other) and device_name(first) != device_name(other):
            raise DataError(
                f"X is on {device_name(first)}, but other input is on {device_name(other)}; move all "
                "of it to one device, as with y.to(X.device)"
            )


def choose_device(
    owner: str, device: Any, *arrays: Any, worth: bool = True, without: str | None = None
) -> Any:
    """The torch device to work on, or None to work with NumPy here.

    "auto" takes a card where there is one, the work is `worth` it, and nothing speaks against it;
    tensors that lie on a card stay there. `without` says why this work cannot be done on a card.
    """
    if device not in DEVICES:
        raise ParameterError(owner, "device", f"one of {', '.join(map(repr, DEVICES))}", device)
    require_same_device(*arrays)
    away = [array for array in arrays if device_name(array) != "cpu"]
    if device == "cpu":
        if away:
            raise DataError(
                f"X is on {device_name(away[0])}, but `device` of {owner} is 'cpu'; pass X.cpu(), or "
                "device='auto'"
            )
        return None
    for array in away:
        if array.device.type != "cuda":
            raise DataError(
                f"X is on {device_name(array)}, where {owner} cannot work; pass X.cpu()"
            )
    if device == "cuda" or away:
        if without:
            raise DeviceError(f"{owner} cannot work on a card with {without}; use device='cpu'")
        return away[0].device if away else default_gpu()
    if not worth or without or not has_driver() or importlib.util.find_spec("torch") is None:
        return None
    try:
        return default_gpu()
    except DeviceError as error:
        warn_once(f"{error}. {owner} works without a card", about=str(error))
        return None


def run_on(owner: str, device: str, place: Any, work: Callable[[Any], Result]) -> Result:
    """Work on a place; where that is a card that runs out of memory and device="auto", then here."""
    if place is None:
        return work(None)
    try:
        with gpu_context(owner, place):
            return work(place)
    except (DeviceError, MemoryBudgetError) as error:
        if device != "auto":
            raise
        # models inside a search and what comes after it would say the same
        warn_once(f"{error}. {owner} goes on without a card", about=type(error).__name__)
    return work(None)


def default_gpu() -> Any:
    """The card that torch works on, as a torch device; an error says why there is none."""
    if importlib.util.find_spec("torch") is None:
        raise DeviceError(f"device='cuda' needs torch, which is not installed; {INSTALL}")
    import torch

    if not torch.cuda.is_available():
        raise DeviceError(
            f"device='cuda' needs a card, and torch {torch.__version__} finds none; check `nvidia-smi`, or "
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
def has_driver() -> bool:
    """Whether this machine has a driver of a card; asked before torch is imported for it."""
    for name in DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def free_bytes(device: Any) -> int:
    """Bytes of a device's memory that work may take."""
    import torch

    if device.type != "cuda":
        return default_budget()
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(SHARE * (free + unused))


@contextmanager
def gpu_context(owner: str, device: Any) -> Iterator[None]:
    """Work on a card: float32 products are float32, and running out of memory is said in a sentence."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    there = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    try:
        with there:  # programs are launched on the current card
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


def warn_once(message: str, about: str | None = None) -> None:
    """Warn, the same thing, or about the same thing, only once in a process."""
    if (about or message) not in _said:
        _said.add(about or message)
        warn_user(message, RuntimeWarning)


_said: set[str] = set()


def dtype_of(array: Any) -> np.dtype[Any]:
    """The NumPy type of an array's or tensor's values."""
    return np.dtype(str(array.dtype).removeprefix("torch."))


def runs_triton(device: Any) -> bool:
    """Whether Triton programs run there: on a card, or here by Triton's interpreter."""
    return bool(device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
