"""Naive Bayes on categories; `solvers/categorical_bayes.py` computes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.parameters import choice, flag, with_parameters
from separatrix.estimators.naive_bayes import DiscreteBayes, require_counts
from separatrix.runtime.blocks import default_budget
from separatrix.runtime.device import DEVICES, as_numpy, dtype_of, is_tensor, like
from separatrix.solvers.categorical_bayes import (
    CategoryCounts,
    categorical,
    categorical_log_joint,
    count_categories,
    merge_categories,
    starts_of,
)
from separatrix.solvers.naive_bayes import Joint
from separatrix.types import Block, Codes, Matrix

LARGEST_CODE = 2**40  # a larger category is a number that was never meant as one


@with_parameters
class CategoricalNB(DiscreteBayes):
    """Naive Bayes on features that are categories: colours, countries, answers.

    Categories of each feature are 0, 1, 2, ...; encode words with scikit-learn's `OrdinalEncoder`. One
    pass over the data. Numbers in an order, such as ages, lose it: use `GaussianNB`. Features that go
    together are counted twice, so the probabilities are too sure; use `LogisticRegression` on
    `OneHotEncoder` where that matters.

    Parameters
    ----------
    alpha
        Samples of every category that a class begins with. At least 0. 0: plain shares; of classes that
        are all impossible those with the fewest contradictions remain.
    force_alpha
        False: an alpha below 1e-10 becomes 1e-10, with a warning.
    fit_prior, class_prior
        As in `MultinomialNB`.
    min_categories
        Least number of categories of each feature, one number or (d,), for categories that training may
        not have. None: as many as were met.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_
        As in `MultinomialNB`.
    category_count_, feature_log_prob_
        For each feature, how many samples of each class have each category, and the log of the smoothed
        share: lists of d arrays (k, categories).
    n_categories_
        Categories of each feature, (d,).

    Examples
    --------
    >>> X = [[0, 1], [0, 2], [1, 0], [1, 2]]
    >>> model = CategoricalNB().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    ['yes', 'no']
    """

    _merge_sums = staticmethod(merge_categories)

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = flag(True)
    fit_prior: bool = flag(True)
    class_prior: Any = None
    min_categories: Any = None
    device: str = choice(*DEVICES)

    @property
    def category_count_(self) -> list[Matrix]:
        """Samples of each class with each category: for each feature, (k, categories)."""
        sums: CategoryCounts = self._sums
        return np.split(sums.table, starts_of(sums.sizes)[1:], axis=1)

    @property
    def feature_log_prob_(self) -> list[Matrix]:
        """Log probability of each category: for each feature, (k, categories)."""
        return np.split(self._likelihood.log_prob, starts_of(self.n_categories_)[1:], axis=1)

    @property
    def n_categories_(self) -> Codes:
        """Categories of each feature, (d,)."""
        return self._likelihood.sizes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.min_categories is None:
            return
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or least.ndim > 1 or not least.size or least.min() < 1:
            must_be = "an integer of at least 1, one for each feature, or None"
            raise ParameterError("CategoricalNB", "min_categories", must_be, self.min_categories)

    def _check_alphas(self) -> None:
        raise ParameterError("CategoricalNB", "alpha", "a number of at least 0", self.alpha)

    def _part(self, block: Block, n_classes: int) -> CategoryCounts:
        X = _categories("CategoricalNB", block.X)
        self._least_sizes(X.shape[1])  # an error before the work
        _require_room(n_classes, as_numpy(X.amax(dim=0) if is_tensor(X) else X.max(axis=0)) + 1)
        return count_categories(X, block.y, block.weights, n_classes)

    def _learn(self) -> Self:
        sums: CategoryCounts = self._sums
        sizes = np.maximum(sums.sizes, self._least_sizes(len(sums.sizes)))
        _require_room(len(sums.weight), sizes)
        self._sums = sums = sums.widened(sizes, len(sums.weight))
        alpha = self._smoothing()
        assert isinstance(alpha, float)
        self.class_log_prior_ = self._log_prior(sums.weight)
        self._likelihood = categorical(sums, alpha)
        self.class_count_ = sums.weight
        return self

    def _least_sizes(self, d: int) -> Codes:
        """The least number of categories of each feature, (d,)."""
        least = np.asarray(
            1 if self.min_categories is None else self.min_categories, dtype=np.int64
        )
        if least.shape not in ((), (d,)):
            must_be = f"of length {d}, one number for each feature"
            raise ParameterError("CategoricalNB", "min_categories", must_be, len(least))
        return np.broadcast_to(least, (d,))

    def _joint_of(self, X: Any) -> Joint:
        X = _categories("CategoricalNB", X)
        unknown = np.argwhere(as_numpy(like(self.n_categories_, X) <= X))
        if len(unknown):
            i, j = unknown[0]
            raise DataError(
                f"row {i} has category {X[i, j]} of feature {j}, but training had 0 to "
                f"{self.n_categories_[j] - 1}; raise `min_categories` of CategoricalNB to allow more"
            )
        return categorical_log_joint(self._likelihood, self.class_log_prior_, X)


def _categories(owner: str, X: Any) -> Any:
    """Samples as categories, (n, d), int64 and C-contiguous."""
    require_counts(owner, X)
    if dtype_of(X).kind not in "biu":
        whole = X.round() if is_tensor(X) else np.rint(X)
        bad = X[(whole != X) | (X > LARGEST_CODE)]
        if len(bad):
            raise DataError(
                f"{owner} needs categories 0, 1, 2, ...; got {float(bad[0]):g}: encode the features with "
                "OrdinalEncoder, or use GaussianNB, a Gaussian per class"
            )
    return X.long() if is_tensor(X) else np.ascontiguousarray(X, dtype=np.int64)


def _require_room(n_classes: int, sizes: Codes) -> None:
    """Raise an error if a table of so many categories does not fit the memory budget."""
    if 8 * n_classes * int(sizes.sum()) > default_budget():
        j = int(sizes.argmax())
        raise DataError(
            f"feature {j} has a category {sizes[j] - 1}, too many for a table; encode the features with "
            "OrdinalEncoder"
        )
