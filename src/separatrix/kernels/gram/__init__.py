"""The kernel matrix as an operator: held, cached or computed on demand, on the CPU or a GPU."""

from separatrix.kernels.gram.build import kernel_blocks, make_gram
from separatrix.kernels.gram.cached import CachedGram, LazyGram
from separatrix.kernels.gram.held import HeldGram
from separatrix.kernels.gram.shared_products import SharedProducts

__all__ = [
    "CachedGram",
    "HeldGram",
    "LazyGram",
    "SharedProducts",
    "kernel_blocks",
    "make_gram",
]
