"""One-hot encoding of aligned sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError
from separatrix.estimators.base.rollback import rollback_on_error
from separatrix.types import Matrix


class PositionIndicator(TransformerMixin, BaseEstimator):
    """One-hot encoding: 1 if a sequence has this letter at this position, else 0.

    For aligned sequences, such as DNA around a site. Unknown letters and positions past the end of a
    sequence are all 0; positions past the longest training sequence are ignored.

    Attributes
    ----------
    letters_
        All letters of the training set, sorted, as one string.
    length_
        Number of positions: the length of the longest sequence.

    Examples
    --------
    >>> PositionIndicator().fit(["ac", "gc"]).transform(["gc", "tt"])
    array([[0., 0., 1., 0., 1., 0.],
           [0., 0., 0., 0., 0., 0.]])
    """

    @rollback_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the letters and the length from sequences X, n strings."""
        sequences = _strings(X)
        self.letters_ = "".join(sorted(set().union(*sequences)))
        self.length_ = max(map(len, sequences))
        if not self.length_:
            raise DataError("all sequences are empty")
        return self

    def transform(self, X: Any) -> Matrix:
        """One row for each sequence, (n, length * letters); all letters of the first position first."""
        check_is_fitted(self)
        sequences = _strings(X)
        position = {letter: number for number, letter in enumerate(self.letters_)}
        hot = np.zeros((len(sequences), self.length_, len(self.letters_) + 1))
        for row, sequence in enumerate(sequences):
            codes = [position.get(letter, -1) for letter in sequence[: self.length_]]
            hot[row, np.arange(len(codes)), codes] = 1.0
        return hot[:, :, :-1].reshape(len(sequences), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names such as "3=g" for the letter g at the third position."""
        check_is_fitted(self)
        names = [f"{p + 1}={letter}" for p in range(self.length_) for letter in self.letters_]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _strings(X: Any) -> list[str]:
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise DataError(f"PositionIndicator needs a list of sequences; got {type(X).__name__}")
    sequences = list(X)
    for sequence in sequences:
        if not isinstance(sequence, str):
            raise DataError(f"PositionIndicator needs strings; got {sequence!r}")
    if not sequences:
        raise DataError("PositionIndicator needs at least one sequence; got none")
    return sequences
