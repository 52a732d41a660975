"""Threads of the BLAS libraries that NumPy and SciPy call."""

from threadpoolctl import threadpool_info


def blas_threads():
    """Threads of each; torch, which another test may have loaded, has a library of its own."""
    own = [one for one in threadpool_info() if "/torch/lib/" not in one["filepath"]]
    return [one["num_threads"] for one in own if one["user_api"] == "blas"]
