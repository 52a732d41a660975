"""Similarity as small frozen objects, and the kernel matrix as an operator.

A kernel refuses bad parameters at birth, prints as the call that makes it, and never changes. All
vector kernels but `Laplacian` are element-wise functions of inner products and squared norms, so
every kernel over the same data shares one product (`gram.py`). Kernels on sequences and graphs are inner
products of counts, so that the same holds for them (`objects.py`).
"""

from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.combination import Combination, kernel_alignment
from separatrix.kernels.composed import Normalized, Product, Scaled, Sum
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
