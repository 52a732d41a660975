"""What the card itself can do, measured: how fast products are, and how fast memory is copied."""

import time
from functools import cache
from statistics import median

from benchmarks.measure import Row

SIDE = 16_384  # of the square matrices that are multiplied
COPIED = 2**32  # bytes


def on_the_clock(function, *, repeat=5):
    """Median seconds of calls on the card, and what the last one returned; the first is not counted."""
    import torch

    value = function()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        value = function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return median(times), value


@cache
def rates():
    """Operations a second of products in float32 and float64, and bytes a second read and written."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    found = {}
    for name, dtype, side in (
        ("float32", torch.float32, SIDE),
        ("float64", torch.float64, SIDE // 2),
    ):
        A = torch.rand((side, side), dtype=dtype, device="cuda")
        out = torch.empty_like(A)
        found[name] = 2 * side**3 / on_the_clock(lambda A=A, out=out: torch.mm(A, A, out=out))[0]
        del A, out
    torch.set_float32_matmul_precision(before)
    source = torch.empty(COPIED // 4, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    found["copy"] = 2 * COPIED / on_the_clock(lambda: target.copy_(source))[0]
    held = torch.empty(2**28, dtype=torch.float32)
    found["to the card"] = 2**30 / on_the_clock(lambda: source[: 2**28].copy_(held))[0]
    return found


def floor_of_matrix(n, d):
    """Seconds that the kernel matrix of n samples with d features takes at least, in float32.

    Half of the products (n^2 d operations), then every value written once and read and written once more
    by the kernel's formula (12 n^2 bytes); nothing of it at the same time.
    """
    found = rates()
    return n * n * d / found["float32"], 12 * n * n / found["copy"]


def ceilings():
    """What the card can do: one float32 and one float64 product, one copy, one transfer."""
    found = rates()
    products, copies = floor_of_matrix(60_000, 784)
    rows = [
        Row("float32 product of 16,384 x 16,384", f"{found['float32'] / 1e12:.1f} TFLOP/s", "-", "-", "-"),
        Row("float64 product of 8,192 x 8,192", f"{found['float64'] / 1e12:.1f} TFLOP/s", "-", "-", "-"),
        Row("copy of 4 GiB on the card, read and written", f"{found['copy'] / 1e12:.2f} TB/s", "-", "-", "-"),
        Row("1 GiB of NumPy's memory to the card", f"{found['to the card'] / 1e9:.1f} GB/s", "-", "-", "-"),
        Row("floor of MNIST's 60,000 x 60,000 matrix", f"{products + copies:.3f} s ({products:.3f} s products, {copies:.3f} s memory)", "-", "-", "-"),
    ]  # fmt: skip
    return rows, [], found
