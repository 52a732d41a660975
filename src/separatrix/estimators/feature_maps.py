"""Feature maps as transformers: a linear model after one of them is curved.

The arithmetic is in `kernels/features.py`. `PolynomialMap` is exact; `Nystroem` and `RandomFourier`
approximate a kernel, and take its place where there are too many samples for the kernel matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.estimators.base.kernel_machine import KernelMachine
from separatrix.estimators.base.prepare import check_samples, generator
from separatrix.kernels.base import FromCallable, Kernel, Precomputed
from separatrix.kernels.composed import Normalized
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.features import (
    Monomials,
    fourier_draw,
    fourier_map,
    inverse_root,
)
from separatrix.kernels.names import MUST_BE, resolve_kernel, width
from separatrix.kernels.prepared import SMALL
from separatrix.kernels.vector_kernels import Linear, Polynomial
from separatrix.runtime.blocks import MEBIBYTE, default_budget, in_words, row_blocks
from separatrix.types import Codes, Matrix
from separatrix.validation import require_flag, require_integer, require_real, require_threads

FLOATS = (np.float64, np.float32)
NAME_BYTES = 64  # what one feature name takes, about
# so few kernel values at a time are float64: what is inverted must not be rounded to float32
SIDE = isqrt(SMALL)


class PolynomialMap(TransformerMixin, BaseEstimator):
    """Products of features as features: all monomials up to a degree.

    With `kernel=True` each is scaled so that inner products of the new features are the kernel
    `Polynomial(degree, gamma, coef0)`, (gamma <x, z> + coef0)^degree, to rounding: a linear model
    on them is the kernel's. There are (d + degree)! / (d! degree!) of them, so this is for few
    features or low degrees; sparse samples stay sparse. Otherwise keep the kernel, or use
    `Nystroem` with it.

    Parameters
    ----------
    degree
        Factors of the longest product. At least 1.
    kernel
        Scale the monomials to the kernel, and leave out those without a weight in it: with
        `coef0` 0 all but the ones of the full degree.
    gamma
        Scale of <x, z> in the kernel. Above 0; only with `kernel=True`.
    coef0
        What is added to it. At least 0; only with `kernel=True`.
    include_bias
        Whether the constant 1 is a feature. The kernel decides it with `kernel=True`.
    interaction_only
        Whether to leave out products with a feature twice. Only without a kernel.
    memory_limit
        Largest output, in units of 2^20 bytes; what would be larger is refused before it is
        computed. None for 4096, or a quarter of the machine's memory where that is less.

    Attributes
    ----------
    n_output_features_
        How many features there are.
    monomials_
        Which they are: a `separatrix.kernels.features.Monomials`.

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

    def __init__(
        self,
        degree: int = 2,
        *,
        kernel: bool = False,
        gamma: float = 1.0,
        coef0: float = 0.0,
        include_bias: bool = True,
        interaction_only: bool = False,
        memory_limit: float | None = None,
    ) -> None:
        self.degree = degree
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.include_bias = include_bias
        self.interaction_only = interaction_only
        self.memory_limit = memory_limit

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
        """Monomials of samples X, (n, n_output_features_); CSR where X is sparse."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        return self.monomials_.map(X, limit=self._limit)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Each feature as `x0^2 x1`, in the names of the samples' columns or those given."""
        check_is_fitted(self)
        # scikit-learn's public way to the checked names of what came in
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
        """Refuse what no index can count, or what does not fit once; 0 bytes where it is sparse."""
        size = monomials.total
        if size >= 2**62 or size * value_bytes > self._limit:
            many = f"{size}" if size < 2**62 else "more than 2^62"
            raise MemoryBudgetError(
                f"{many} monomials of {monomials.d} features up to degree {self.degree} do not fit "
                f"the {in_words(self._limit)} there are; lower `degree`, give more memory "
                "(`memory_limit`), or use Nystroem with a polynomial kernel"
            )

    def _check_parameters(self) -> None:
        name = "PolynomialMap"
        require_integer(name, "degree", self.degree, least=1)
        require_flag(name, "kernel", self.kernel)
        require_real(name, "gamma", self.gamma, above=0)
        require_real(name, "coef0", self.coef0, least=0)
        require_flag(name, "include_bias", self.include_bias)
        require_flag(name, "interaction_only", self.interaction_only)
        if self.memory_limit is not None:
            require_real(name, "memory_limit", self.memory_limit, above=0)
        idle: dict[str, object] = {"include_bias": True, "interaction_only": False}
        if not self.kernel:
            idle = {"gamma": 1.0, "coef0": 0.0}
        for parameter, default in idle.items():
            if getattr(self, parameter) != default:
                raise ParameterError(
                    name,
                    parameter,
                    f"left at its default {default} with kernel={self.kernel}",
                    getattr(self, parameter),
                )


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Features from kernel values with some of the samples, whose inner products are near the kernel.

    With landmarks Z drawn from the samples, <f(x), f(y)> = k(x, Z) K(Z, Z)^+ k(Z, y). That is the
    kernel itself wherever x or y is a landmark, so with all samples as landmarks it is the kernel
    matrix. For m landmarks it takes n m kernel values, O(m^2) for each sample and O(m^3) once: with m
    near n a kernel machine is faster, and exact.

    Parameters
    ----------
    kernel
        A kernel object, or one of "rbf", "poly" (or "polynomial"), "sigmoid", "laplacian",
        "linear", "cosine" and "precomputed"; or a function of two samples that returns a number.
        `FromCallable` takes a function of two sets of samples, which is faster.
    gamma
        Width of a kernel given by name: a number above 0, "scale" for 1 / (d var(X)), or "auto"
        and None for 1 / d.
    coef0
        Constant of "poly" and "sigmoid". None for 1.
    degree
        Degree of "poly": an integer of at least 1. None for 3.
    kernel_params
        More arguments of a kernel that is a function; or `gamma`, `coef0` and `degree` of one
        given by name, where they are not given above.
    n_components
        Landmarks, and features. At least 1.
    random_state
        Seed, generator or None: draws the landmarks.
    n_jobs
        Threads; None for all cores.

    Attributes
    ----------
    components_
        The landmarks, (m, d); rows of the kernel matrix where it is precomputed.
    component_indices_
        Which rows they are, rising, (m,).
    normalization_
        Inverse root of their kernel matrix, (m, m), over its eigenvalues above 1e-12 of the
        largest.
    rank_
        How many of its eigenvalues these are: the dimensions that features span.
    kernel_
        The kernel object that was used.

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

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        coef0: float | None = None,
        degree: int | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw landmarks from samples X, (n, d), or (n, n) where precomputed; y is not used."""
        self._check_parameters()
        X = check_samples(self, X, dtype=FLOATS)
        kernel = self._resolve(X)
        if isinstance(kernel, Precomputed):
            X = symmetric_matrix(X, name="X (kernel='precomputed')")
        landmarks = self._draw(X.shape[0])

        self.kernel_ = kernel
        self.components_ = X[landmarks]
        self.component_indices_ = landmarks
        found = inverse_root(self._with_landmarks(self.components_))
        if not found.definite:
            warnings.warn(
                f"{kernel!r} is not positive semi-definite on the landmarks: its lowest eigenvalue "
                f"is {found.lowest:.2g} of the largest. Directions below 0 are left out",
                UserWarning,
                stacklevel=2,
            )
        self.normalization_ = found.root
        self.rank_ = found.rank
        self._n_features_out = len(landmarks)
        return self

    def transform(self, X: Any) -> Matrix:
        """Features of samples X, (n, m); where precomputed, X is their kernel with all training rows."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        return self._with_landmarks(X, self.normalization_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _with_landmarks(self, X: Any, V: Matrix | None = None) -> Matrix:
        """Kernel values of X with the landmarks, times V where given; in float64, by blocks."""
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
        """Rows of the landmarks, rising."""
        m = min(self.n_components, n)
        if m < self.n_components:
            warnings.warn(
                f"`n_components` of Nystroem is {self.n_components}, but there are {n} samples; "
                "all of them are landmarks",
                UserWarning,
                stacklevel=3,
            )
        # the matrix, its eigenvectors, and the workspace of both
        _require_room("Nystroem", self.n_components, f"{m} landmarks", 32 * m * m)
        return np.sort(generator(self).choice(n, size=m, replace=False)).astype(np.intp)

    def _resolve(self, X: Any) -> Kernel:
        name, kernel = "Nystroem", self.kernel
        given = {
            parameter: getattr(self, parameter)
            for parameter in ("gamma", "coef0", "degree")
            if getattr(self, parameter) is not None
        }
        extra = dict(self.kernel_params or {})
        if isinstance(kernel, str) and kernel != "precomputed":
            for parameter in extra:
                if parameter not in ("gamma", "coef0", "degree"):
                    must_be = "a dict of gamma, coef0 and degree when `kernel` is a name"
                    raise ParameterError(name, "kernel_params", must_be, extra)
            if kernel == "cosine":
                return Normalized(Linear())
            kernel = "poly" if kernel == "polynomial" else kernel
            defaults = {"gamma": "auto", "coef0": 1.0, "degree": 3}
            return resolve_kernel(name, kernel, X, **{**defaults, **extra, **given})
        for parameter, value in given.items():
            must_be = f"None unless `kernel` is the name of one that has it; it is {kernel!r}"
            raise ParameterError(name, parameter, must_be, value)
        if isinstance(kernel, Kernel) or not callable(kernel):
            if extra:
                must_be = "None unless `kernel` is a function or a name"
                raise ParameterError(name, "kernel_params", must_be, extra)
            return resolve_kernel(name, kernel, X)
        return FromCallable(partial(_every_pair, partial(kernel, **extra)))

    def _check_parameters(self) -> None:
        name = "Nystroem"
        require_integer(name, "n_components", self.n_components, least=1)
        if self.kernel_params is not None and not isinstance(self.kernel_params, dict):
            raise ParameterError(name, "kernel_params", "a dict or None", self.kernel_params)
        if not isinstance(self.kernel, str | Kernel) and not callable(self.kernel):
            raise ParameterError(name, "kernel", MUST_BE, self.kernel)
        require_threads(name, self.n_jobs)


class RandomFourier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random waves as features, whose inner products are near a Gaussian kernel.

    f(x) = sqrt(2 / D) cos(W' x + b) with D random frequencies and phases, as scikit-learn's
    `RBFSampler`. <f(x), f(z)> is the kernel on average, off by (1 - k^2 + k^4 / 2)^(1/2) / sqrt(D)
    for a kernel value k: ten times closer for a hundred times the features. It looks at no sample,
    so it suits streams; for the same number of features `Nystroem` is as a rule closer.

    Parameters
    ----------
    gamma
        The kernel is exp(-gamma |x - z|^2). Above 0, or "scale" for 1 / (d var(X)), or "auto" for
        1 / d.
    n_components
        Waves, and features. At least 1.
    random_state
        Seed, generator or None: draws frequencies and phases.

    Attributes
    ----------
    random_weights_
        Frequencies, (d, n_components).
    random_offset_
        Phases, (n_components,).
    gamma_
        gamma as a number.

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

    def __init__(
        self, gamma: Any = 1.0, *, n_components: int = 100, random_state: Any = None
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw waves for the features of samples X, (n, d); y is not used."""
        self._check_parameters()
        name = "RandomFourier"
        X = check_samples(self, X, dtype=FLOATS)
        self.gamma_ = width(name, self.gamma, X)
        d, size = X.shape[1], 8 * X.shape[1] * self.n_components
        _require_room(name, self.n_components, f"{self.n_components} waves of {d} features", size)
        self.random_weights_, self.random_offset_ = fourier_draw(
            d, self.n_components, gamma=self.gamma_, rng=generator(self)
        )
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Matrix:
        """Features of samples X, (n, n_components)."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=FLOATS, reset=False)
        F = fourier_map(X, self.random_weights_, self.random_offset_)
        return F.astype(X.dtype, copy=False)

    def _check_parameters(self) -> None:
        require_integer("RandomFourier", "n_components", self.n_components, least=1)

    def __sklearn_tags__(self) -> Tags:
        return _float_tags(super().__sklearn_tags__())


def _float_tags(tags: Tags) -> Tags:
    tags.input_tags.sparse = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def _require_room(owner: str, asked: int, words: str, size: int) -> None:
    if size > default_budget():
        raise MemoryBudgetError(
            f"{words} take {in_words(size)}, more than the {in_words(default_budget())} there are; "
            f"lower `n_components` of {owner}, which is {asked}"
        )


def _every_pair(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Matrix:
    """A function of two samples over all pairs, (n, m)."""

    def number(x: Any, z: Any) -> float:
        value = function(x, z)
        if np.ndim(value):
            raise DataError(
                f"a function as `kernel` of Nystroem must return a number for two samples; it "
                f"returned shape {np.shape(value)}. Give FromCallable(function) for one that takes "
                "two sets of samples"
            )
        return float(value)

    kept = [slice(i, i + 1) if issparse(Z) else i for i in range(Z.shape[0])]
    every = [slice(i, i + 1) if issparse(X) else i for i in range(X.shape[0])]
    return np.array([[number(X[i], Z[j]) for j in kept] for i in every])
