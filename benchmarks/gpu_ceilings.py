"""Measured limits of the GPU: matrix product rates and memory bandwidth."""

import time
from functools import cache
from statistics import median

from benchmarks.measure import Row

SIDE = 16_384  # of the square matrices
COPY_BYTES = 2**32  # bytes


def time_on_gpu(function, *, repeat=5):
    """Median seconds of GPU calls after a warm-up call, and the result of the last one."""
    import torch

    value = function()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        value = function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times), value


@cache
def rates():
    """Operations per second of float32 and float64 products, and bytes per second read and written."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    rates_found = {}
    for name, dtype, side in (
        ("float32", torch.float32, SIDE),
        ("float64", torch.float64, SIDE // 2),
    ):
        A = torch.rand((side, side), dtype=dtype, device="cuda")
        out = torch.empty_like(A)
        rates_found[name] = (
            2 * side**3 / time_on_gpu(lambda A=A, out=out: torch.mm(A, A, out=out))[0]
        )
        del A, out
    torch.set_float32_matmul_precision(before)
    source = torch.empty(COPY_BYTES // 4, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    rates_found["copy"] = 2 * COPY_BYTES / time_on_gpu(lambda: target.copy_(source))[0]
    held = torch.empty(2**28, dtype=torch.float32)
    rates_found["to the GPU"] = 2**30 / time_on_gpu(lambda: source[: 2**28].copy_(held))[0]
    return rates_found


def matrix_lower_bound(n, d):
    """Lower bounds on the seconds of a float32 kernel matrix of n samples with d features.

    Half of the products (n^2 d operations), and every value written once, then read and written once more
    by the kernel's formula (12 n^2 bytes), without overlap.
    """
    rates_found = rates()
    return n * n * d / rates_found["float32"], 12 * n * n / rates_found["copy"]


def ceilings():
    """Limits of the GPU: one float32 and one float64 product, one copy, one transfer."""
    rates_found = rates()
    products, copies = matrix_lower_bound(60_000, 784)
    rows = [
        Row("float32 product of 16,384 x 16,384", f"{rates_found['float32'] / 1e12:.1f} TFLOP/s", "-", "-", "-"),
        Row("float64 product of 8,192 x 8,192", f"{rates_found['float64'] / 1e12:.1f} TFLOP/s", "-", "-", "-"),
        Row("copy of 4 GiB in GPU memory, read and written", f"{rates_found['copy'] / 1e12:.2f} TB/s", "-", "-", "-"),
        Row("1 GiB from NumPy to the GPU", f"{rates_found['to the GPU'] / 1e9:.1f} GB/s", "-", "-", "-"),
        Row("lower bound of MNIST's 60,000 x 60,000 matrix", f"{products + copies:.3f} s ({products:.3f} s products, {copies:.3f} s memory)", "-", "-", "-"),
    ]  # fmt: skip
    return rows, [], rates_found
