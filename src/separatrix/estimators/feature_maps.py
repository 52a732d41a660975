"""Feature maps as transformers: a linear model on their features is a kernel machine.

The arithmetic is in `kernels/features.py`. `PolynomialMap` is exact; `Nystroem` and `RandomFourier`
approximate a kernel, for data sets too large for the kernel matrix.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import isqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import MemoryBudgetError, ParameterError
from separatrix.estimators.base.device_samples import map_rows
from separatrix.estimators.base.kernel_machine import KernelMachine, gpu_obstacle
from separatrix.estimators.base.nystroem_kernel import resolve_nystroem_kernel
from separatrix.estimators.base.parameters import (
    Estimator,
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import check_samples, generator
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.features import (
    Monomials,
    draw_fourier,
    fourier_map,
    inverse_root,
)
from separatrix.kernels.names import MUST_BE, width
from separatrix.kernels.prepared import SMALL
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.runtime.blocks import MEBIBYTE, default_budget, in_words, row_blocks
from separatrix.runtime.device import DEVICES, as_numpy, is_tensor
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Matrix

FLOATS = (np.float64, np.float32)
NAME_BYTES = 64  # of one feature name, about
# blocks of this side are computed in float64: the inverted matrix must not be rounded to float32
SIDE = isqrt(SMALL)


@with_parameters
class PolynomialMap(TransformerMixin, Estimator):
    """All monomials of the features up to a degree.

    With `kernel=True` they are scaled so that inner products of the new features are the kernel
    `Polynomial(degree, gamma, coef0)`, (gamma <x, z> + coef0)^degree, up to rounding. There are
    (d + degree)! / (d! degree!) of them, so this is for few features or low degrees; sparse samples
    stay sparse. Otherwise use the kernel itself, or `Nystroem` with it.

    Parameters
    ----------
    degree
        Highest degree. At least 1.
    kernel
        Scale the monomials to the kernel, and leave out those with coefficient 0: with `coef0=0` all
        but the highest degree.
    gamma, coef0
        Scale of <x, z>, above 0, and constant of the kernel, at least 0; only with `kernel=True`.
    include_bias
        Whether the constant 1 is a feature. With `kernel=True` the kernel decides.
    interaction_only
        Leave out monomials with a repeated feature. Only without a kernel.
    memory_limit
        Size limit of the output in MiB, checked before the computation. None: the smaller of 4096 and
        a quarter of the machine's memory.
    device
        As in `RandomFourier`; on a GPU the limit is its free memory.

    Attributes
    ----------
    n_output_features_, monomials_
        Number of features, and the features as a `separatrix.kernels.features.Monomials`.

    Examples
    --------
    >>> X = np.array([[2.0, 3.0], [1.0, -1.0]])
    >>> plain = PolynomialMap(2).fit(X)
    >>> plain.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> plain.transform(X).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0], [1.0, 1.0, -1.0, 1.0, -1.0, 1.0]]
    >>> F = PolynomialMap(3, kernel=True, coef0=1.0).fit_transform(X)
    >>> bool(np.allclose(F @ F.T, Polynomial(3, coef0=1.0).block(X, X)))
    True
    """

    degree: int = integer(2, least=1)
    _: KW_ONLY
    kernel: bool = flag(False)
    gamma: float = real(1.0, above=0)
    coef0: float = real(0.0, least=0)
    include_bias: bool = flag(True)
    interaction_only: bool = flag(False)
    memory_limit: float | None = real(None, above=0)
    device: str = choice(*DEVICES)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the features of samples X, (n, d); y is not used."""
        self._check_parameters()
        X = check_samples(self, X, dtype=FLOATS)
        monomials = self._monomials(X.shape[1])
        self._require_countable(monomials, 0 if issparse(X) else X.dtype.itemsize)
        self.monomials_ = monomials
        self.n_output_features_ = monomials.size
        return self

    def transform(self, X: Any) -> Any:
        """Monomials of samples X, (n, n_output_features_); CSR if X is sparse."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        return map_rows(self, X, self._map, obstacle="sparse samples" if issparse(X) else None)

    def _map(self, X: Any) -> Any:
        if is_tensor(X):
            from separatrix.kernels.device_features import monomials_on  # torch is optional

            return monomials_on(self.monomials_, X)
        return self.monomials_.map(X, limit=self._limit)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Feature names such as `x0^2 x1`, from the names of the input features."""
        check_is_fitted(self)
        # the checked names of the input features
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        self._require_countable(self.monomials_, NAME_BYTES)
        return np.asarray(self.monomials_.names(names.tolist()), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        return _float_tags(super().__sklearn_tags__())

    @property
    def _limit(self) -> int:
        return default_budget() if self.memory_limit is None else int(self.memory_limit * MEBIBYTE)

    def _monomials(self, d: int) -> Monomials:
        if self.kernel:
            return Monomials.of_kernel(Polynomial(self.degree, self.gamma, self.coef0), d)
        lowest = 0 if self.include_bias else 1
        return Monomials(d, self.degree, lowest=lowest, distinct=self.interaction_only)

    def _require_countable(self, monomials: Monomials, value_bytes: int) -> None:
        """Raise if an index cannot count the monomials, or if one dense row exceeds the limit."""
        size = monomials.total
        if size >= 2**62 or size * value_bytes > self._limit:
            many = f"{size}" if size < 2**62 else "more than 2^62"
            raise MemoryBudgetError(
                f"{many} {monomials} exceed the memory limit of {in_words(self._limit)}; lower "
                "`degree`, raise `memory_limit`, or use Nystroem with a polynomial kernel"
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        unused: dict[str, object] = {"include_bias": True, "interaction_only": False}
        if not self.kernel:
            unused = {"gamma": 1.0, "coef0": 0.0}
        for parameter, default in unused.items():
            if getattr(self, parameter) != default:
                must_be = f"left at its default {default} with kernel={self.kernel}"
                raise ParameterError("PolynomialMap", parameter, must_be, getattr(self, parameter))


@with_parameters
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Approximate feature map of a kernel from its values with a subset of the samples.

    With landmarks Z drawn from the samples, <f(x), f(y)> = k(x, Z) K(Z, Z)^+ k(Z, y). This equals the
    kernel if x or y is a landmark, so with all samples as landmarks it is the kernel matrix. For m
    landmarks it takes n m kernel values, O(m^2) for each sample and O(m^3) once: with m near n a
    kernel machine is faster, and exact.

    Parameters
    ----------
    kernel
        A kernel object, or one of "rbf", "poly" (or "polynomial"), "sigmoid", "laplacian",
        "linear", "cosine" and "precomputed"; or a function of two samples that returns a number.
        `FromCallable` takes a function of two sets of samples, which is faster.
    gamma
        Coefficient of a kernel given by name: a number above 0, "scale" for 1 / (d var(X)), or "auto"
        and None for 1 / d.
    coef0, degree
        Constant of "poly" and "sigmoid", None for 1; degree of "poly", at least 1, None for 3.
    kernel_params
        Further arguments of a kernel that is a function; or `gamma`, `coef0` and `degree` of one
        given by name, unless set above.
    n_components, random_state
        Number of landmarks and features, at least 1; seed, generator or None, for drawing them.
    n_jobs, device
        Threads, None for all cores; where to transform, as in `RandomFourier`.

    Attributes
    ----------
    components_, component_indices_, kernel_
        The landmarks, (m, d), or rows of the kernel matrix if it is precomputed; their row indices,
        ascending, (m,); the kernel object.
    normalization_, rank_
        Inverse square root of their kernel matrix, (m, m), over its eigenvalues above 1e-12 of the
        largest, and the number of those: the dimension of the feature space.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> K = Gaussian(0.1).block(X, X)
    >>> for m in (5, 20, 50):
    ...     F = Nystroem(Gaussian(0.1), n_components=m, random_state=0).fit_transform(X)
    ...     print(F.shape, abs(F @ F.T - K).mean().round(4))
    (50, 5) 0.1676
    (50, 20) 0.0008
    (50, 50) 0.0

    References
    ----------
    Williams and Seeger, Using the Nystroem Method to Speed Up Kernel Machines, NIPS 2000.
    """

    cache_size = None  # the default budget

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = None
    coef0: float | None = None
    degree: int | None = None
    kernel_params: dict[str, Any] | None = None
    n_components: int = integer(100, least=1)
    random_state: Any = None
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw landmarks from samples X, (n, d), or (n, n) if precomputed; y is not used."""
        self._check_parameters()
        X = check_samples(self, X, dtype=FLOATS)
        kernel = resolve_nystroem_kernel(self, X)
        if isinstance(kernel, Precomputed):
            X = symmetric_matrix(X, name="X (kernel='precomputed')")
        landmarks = self._draw(X.shape[0])

        self.kernel_ = kernel
        self.components_ = as_numpy(X[landmarks])
        self.component_indices_ = landmarks
        found = inverse_root(self._with_landmarks(self.components_))
        if not found.definite:
            warn_user(
                f"{kernel!r} is not positive semi-definite on the landmarks: its lowest eigenvalue "
                f"is {found.lowest:.2g} of the largest. Negative eigenvalues are left out"
            )
        self.normalization_ = found.root
        self.rank_ = found.rank
        self._n_features_out = len(landmarks)
        return self

    def transform(self, X: Any) -> Any:
        """Features of samples X, (n, m); if precomputed, X is their kernel with all training rows."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        kernel = self.kernel_
        obstacle = "a precomputed kernel" if self._precomputed else gpu_obstacle(kernel, X)

        def features(part: Any) -> Any:
            if not is_tensor(part):
                return self._with_landmarks(part, self.normalization_)
            from separatrix.kernels import device_features as maps  # torch is optional

            landmarks = maps.landmarks_on(part.device, kernel, self.components_)
            return maps.nystroem_on(kernel, part, landmarks, self.normalization_)

        return map_rows(self, X, features, obstacle=obstacle)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _with_landmarks(self, X: Any, V: Matrix | None = None) -> Matrix:
        """Kernel values of X with the landmarks, times V if given; in float64, by blocks."""
        n, m = X.shape[0], len(self.component_indices_)
        out = np.empty((n, m), X.dtype if V is not None and X.dtype in FLOATS else np.float64)
        for rows in row_blocks(n, SIDE):
            K = np.empty((rows.stop - rows.start, m))
            for columns in row_blocks(m, SIDE):
                chosen, landmarks = self.component_indices_[columns], self.components_[columns]
                for part, values in self._kernel_with_support(X[rows], chosen, landmarks):
                    K[part, columns] = values
            out[rows] = K if V is None else K @ V
        return out

    def _draw(self, n: int) -> Codes:
        """Row indices of the landmarks, ascending."""
        m = min(self.n_components, n)
        if m < self.n_components:
            warn_user(
                f"`n_components` of Nystroem is {self.n_components}, but there are {n} samples; "
                "all of them are landmarks"
            )
        # the matrix, its eigenvectors, and the workspace of both
        _require_memory("Nystroem", self.n_components, f"{m} landmarks", 32 * m * m)
        return np.sort(generator(self).choice(n, size=m, replace=False)).astype(np.intp)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = "Nystroem"
        if self.kernel_params is not None and not isinstance(self.kernel_params, dict):
            raise ParameterError(name, "kernel_params", "a dict or None", self.kernel_params)
        if not isinstance(self.kernel, str | Kernel) and not callable(self.kernel):
            raise ParameterError(name, "kernel", MUST_BE, self.kernel)


@with_parameters
class RandomFourier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Random Fourier features: an approximate feature map of the Gaussian kernel.

    f(x) = sqrt(2 / D) cos(W' x + b) with D random frequencies and phases, as in scikit-learn's
    `RBFSampler`. <f(x), f(z)> is the kernel on average, with standard deviation
    (1 - k^2 + k^4 / 2)^(1/2) / sqrt(D) for a kernel value k. It is independent of the samples, so it
    suits streams; for the same number of features `Nystroem` is usually more accurate.

    Parameters
    ----------
    gamma
        The kernel is exp(-gamma |x - z|^2). Above 0, or "scale" for 1 / (d var(X)), or "auto" for
        1 / d.
    n_components, random_state
        Number of frequencies and features, at least 1; seed, generator or None, for drawing them.
    device
        "auto", "cpu" or "cuda": where to transform. "auto" stays on the CPU unless samples are on a GPU.

    Attributes
    ----------
    random_weights_, random_offset_, gamma_
        Frequencies, (d, n_components); phases, (n_components,); gamma as a number.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> K = Gaussian(0.5).block(X, X)
    >>> for D in (100, 10_000):
    ...     F = RandomFourier(0.5, n_components=D, random_state=0).fit_transform(X)
    ...     print(F.shape, abs(F @ F.T - K).mean().round(3))
    (50, 100) 0.066
    (50, 10000) 0.008

    References
    ----------
    Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.
    """

    gamma: Any = 1.0
    _: KW_ONLY
    n_components: int = integer(100, least=1)
    random_state: Any = None
    device: str = choice(*DEVICES)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies and phases for samples X, (n, d); y is not used."""
        self._check_parameters()
        name = "RandomFourier"
        X = check_samples(self, X, dtype=FLOATS)
        self.gamma_ = width(name, self.gamma, X)
        d, size = X.shape[1], 8 * X.shape[1] * self.n_components
        what = f"{self.n_components} frequencies of {d} features"
        _require_memory(name, self.n_components, what, size)
        self.random_weights_, self.random_offset_ = draw_fourier(
            d, self.n_components, gamma=self.gamma_, rng=generator(self)
        )
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Any:
        """Features of samples X, (n, n_components)."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        return map_rows(self, X, self._map)

    def _map(self, X: Any) -> Any:
        if is_tensor(X):
            from separatrix.kernels.device_features import fourier_on  # torch is optional

            return fourier_on(X, self.random_weights_, self.random_offset_)
        F = fourier_map(X, self.random_weights_, self.random_offset_)
        return F.astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Tags:
        return _float_tags(super().__sklearn_tags__())


def _float_tags(tags: Tags) -> Tags:
    tags.input_tags.sparse = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def _require_memory(owner: str, n_components: int, what: str, size: int) -> None:
    if size > default_budget():
        raise MemoryBudgetError(
            f"{what} need {in_words(size)}; the limit is {in_words(default_budget())}: lower "
            f"`n_components` of {owner}, which is {n_components}"
        )
