"""Sequences and graphs as sparse feature vectors of a kernel, for models on vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import diags_array
from sklearn.base import TransformerMixin
from sklearn.utils import _align_api_if_sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.kernel_machine import KernelMachine
from separatrix.estimators.base.parameters import with_parameters
from separatrix.estimators.base.prepare import check_samples
from separatrix.kernels.attribution import find_features
from separatrix.kernels.composed import inside, inverse_root
from separatrix.kernels.object_kernels import FeatureKernel
from separatrix.kernels.vocabulary import Vocabulary


@with_parameters
class KernelFeatures(TransformerMixin, KernelMachine):
    """Explicit features of a kernel on sequences or graphs: counts of words, subtrees or paths.

    Their inner products are the kernel. Linear models, naive Bayes and nearest neighbours can use them,
    in time linear in the number of samples. The features are those of the training set; new ones are
    ignored, except in the norm with `Normalized`, so that products of new samples with training samples
    are the kernel exactly.

    Parameters
    ----------
    kernel
        A kernel that counts features, such as `Spectrum(3)` or `WeisfeilerLehman(2)`, alone or inside
        `Normalized` or a multiple. Not `Subsequence`, which has too many features.

    Attributes
    ----------
    kernel_, vocabulary_
        The counting kernel, and the numbers of its features.
    widths_
        Number of features of each level.

    Examples
    --------
    >>> from separatrix.kernels import Spectrum
    >>> features = KernelFeatures(Spectrum(2)).fit(["GATTACA", "TACO"])
    >>> features.transform(["TATA"]).toarray()
    array([[0., 1., 0., 2., 0., 0., 0.]])
    """

    kernel: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features of objects X; y is not used."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the features of objects X and return their counts, sparse, (n, features)."""
        kernel = self._counting(self.kernel)
        X = check_samples(self, X)
        vocabulary = Vocabulary()
        counts = kernel.counts(X, vocabulary)
        vocabulary.closed = True
        self.kernel_, self.vocabulary_ = kernel, vocabulary
        self.widths_ = tuple(int(part.shape[1]) for part in counts)
        return self._weight(X, counts)

    def transform(self, X: Any) -> Any:
        """Features of objects X, sparse, (n, features)."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False)
        return self._weight(X, self.kernel_.counts(X, self.vocabulary_))

    @property
    def n_features_out_(self) -> int:
        """Number of features of all levels."""
        check_is_fitted(self)
        return sum(self.widths_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the words, labels, paths or subtrees, (features,).

        >>> from separatrix.kernels import Spectrum
        >>> KernelFeatures(Spectrum(2)).fit(["GATTA"]).get_feature_names_out().tolist()
        ['GA', 'AT', 'TT', 'TA']
        """
        check_is_fitted(self)
        kernel, vocabulary, names = self.kernel_, self.vocabulary_, list[str]()
        none = find_features(kernel, np.empty(0, dtype=object), vocabulary).occurrences
        for (level, _), width, found in zip(kernel.levels, self.widths_, none, strict=True):
            names += kernel.names(level, vocabulary, np.arange(found.width))
            names += [""] * (width - found.width)  # a level without features has one empty column
        return np.array(names, dtype=object)

    def _weight(self, X: Any, counts: list[Any]) -> Any:
        """Counts of all levels in one matrix, weighted as in `kernel`."""
        F = self.kernel_.concatenate_levels(counts)
        if self.kernel != self.kernel_:  # a normalised kernel or a multiple scales the rows
            own = self.kernel_.diagonal(X)
            factors = np.sqrt(self.kernel.self_values(own)) * inverse_root(own)
            F = (diags_array(factors) @ F).tocsr()
        return _align_api_if_sparse(F)

    def _counting(self, kernel: Any) -> FeatureKernel:
        found = inside(kernel)
        if not isinstance(found, FeatureKernel):
            must_be = "a kernel that counts features, alone, Normalized or times a number"
            raise ParameterError("KernelFeatures", "kernel", must_be, kernel)
        return found
