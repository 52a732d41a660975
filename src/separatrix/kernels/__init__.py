"""Similarity as small frozen objects, and the kernel matrix as an operator.

A kernel rejects bad parameters when it is made, prints as the call that makes it, and never changes. All
vector kernels but `Laplacian` (`vector_kernels.py`) are element-wise functions of inner products and
squared norms, so every kernel over the same data shares one product (`gram/shared_products.py`). Kernels
on sequences and graphs (`strings/`, `graphs/`) are inner products of counts, so that the same holds for
them (`object_kernels.py`). `gram/build.py` chooses the form of the kernel matrix.
"""

from separatrix.kernels.base import Kernel, Precomputed, Product, Scaled, Sum
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.combination import Combination, kernel_alignment
from separatrix.kernels.composed import Normalized
from separatrix.kernels.embedding import eigen_embedding, is_positive_semidefinite
from separatrix.kernels.features import quadratic_map
from separatrix.kernels.graphs.from_networkx import graphs_from_networkx
from separatrix.kernels.graphs.graph_kernels import (
    EdgeHistogram,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from separatrix.kernels.strings.string_kernels import BagOfWords, Spectrum, WeightedDegree
from separatrix.kernels.strings.subsequence_kernel import Subsequence
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

__all__ = [
    "BagOfWords",
    "Combination",
    "EdgeHistogram",
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
    "ShortestPath",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "eigen_embedding",
    "graphs_from_networkx",
    "is_positive_semidefinite",
    "kernel_alignment",
    "quadratic_map",
]
