"""Similarity as small frozen objects, and the kernel matrix as an operator.

A kernel refuses bad parameters at birth, prints as the call that makes it, and never changes. All
vector kernels but `Laplacian` are element-wise functions of inner products and squared norms, so
every kernel over the same data shares one product (`gram.py`).
"""

from separatrix.kernels.composed import Normalized, Product, Scaled, Sum
from separatrix.kernels.embedding import eigen_embedding, is_positive_semidefinite
from separatrix.kernels.features import quadratic_map
from separatrix.kernels.kernel import FromCallable, Kernel, Precomputed
from separatrix.kernels.vector import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

__all__ = [
    "FromCallable",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Normalized",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "eigen_embedding",
    "is_positive_semidefinite",
    "quadratic_map",
]
