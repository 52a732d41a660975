"""The kernel of subsequences with gaps. Its dynamic programme is in `subsequence.py`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.strings.sequences import Letters, letters_of
from separatrix.kernels.strings.string_kernels import SequenceKernel
from separatrix.kernels.strings.subsequence import self_products, steps, subsequence_products
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import thread_count
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer, require_real

LONG = 10**10  # steps, of one level of one cell: more than a look
TICKS = 100


@dataclass(frozen=True)
class Subsequence(SequenceKernel):
    """Letters that two sequences share in the same order, gaps allowed at a price.

    k(s, t) = sum over u of k letters, over all ways to find u in s and in t, of decay^(span in s + span
    in t), a span being the letters from the first to the last that is used. Time grows with k |s| |t|
    for each pair: for long sequences `Spectrum` costs far less.

    Parameters
    ----------
    k
        Letters of a subsequence. At least 1.
    decay
        What each letter of a span costs. Above 0 and at most 1, where gaps cost nothing.
    alphabet
        The letters that are expected. Others are kept, and a fit says how many there are.

    Examples
    --------
    >>> Subsequence(2, decay=0.5).block(["car"], ["cat", "car"])
    array([[0.0625  , 0.140625]])

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text Classification using String Kernels,
    JMLR 2 (2002).
    """

    k: int = 3
    decay: float = 0.5
    alphabet: str | None = None

    def __post_init__(self) -> None:
        require_integer("Subsequence", "k", self.k, least=1)
        require_real("Subsequence", "decay", self.decay, above=0, most=1)
        if self.decay ** (2 * self.k) < np.finfo(np.float64).tiny:
            must_be = (
                f"larger with k={self.k}, or k smaller: decay^(2 k), a letter after the other, is 0"
            )
            raise ParameterError("Subsequence", "decay", must_be, self.decay)
        self._require_alphabet()

    @property
    def family(self) -> Hashable:
        """All lengths up to k come from one dynamic programme."""
        return (Subsequence, float(self.decay))

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """k alone."""
        return ((self.k, 1.0),)

    def prepared(self, X: Any, *others: Any) -> tuple[Gapped, ...]:
        """The sequences as numbers."""
        together = self.one_kind(np.concatenate([X, *others])) if others else X
        both = Gapped(self, letters_of(together, Vocabulary()))
        cuts = np.cumsum([0, len(X), *(len(other) for other in others)])
        return tuple(both.take(slice(*ends)) for ends in pairwise(cuts))

    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        """All of them from one dynamic programme of the longest."""
        letters, several = letters_of(X, Vocabulary()), len(levels) > 1
        P = _products(letters, None, max(levels), self.decay, all_levels=several, threads=threads)
        found = [P[level - 1] for level in levels] if several else [P]
        return [(finite(self, values), np.diagonal(values).copy()) for values in found]

    def matrices_of(self, levels: Collection[int]) -> int:
        """Beside several levels, those below too."""
        return max(levels) if len(levels) > 1 else 1


class Gapped:
    """Sequences made ready for `Subsequence`."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, kernel: Subsequence, letters: Letters) -> None:
        self.kernel, self.letters = kernel, letters
        self._squares: Vector | None = None

    @property
    def squares(self) -> Vector:
        """Values of each sequence with itself, (n,)."""
        if self._squares is None:
            k, decay = self.kernel.k, self.kernel.decay
            squares = self_products(self.letters, k, decay, threads=thread_count())
            self._squares = finite(self.kernel, squares)
        return self._squares

    def __len__(self) -> int:
        return len(self.letters.starts) - 1

    def take(self, rows: Any) -> Gapped:
        """Some of the sequences."""
        index = np.arange(len(self))[rows]
        lengths = self.letters.lengths[index]
        starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
        shift = np.repeat(self.letters.starts[index] - starts[:-1], lengths)
        codes = self.letters.codes[np.arange(starts[-1]) + shift]
        part = Gapped(self.kernel, Letters(codes, starts))
        part._squares = None if self._squares is None else self._squares[index]
        return part

    def products(self, other: Gapped, out: Matrix | None = None) -> Matrix:
        """Values of all pairs, (n, m)."""
        k, decay = self.kernel.k, self.kernel.decay
        P = finite(
            self.kernel, _products(self.letters, other.letters, k, decay, threads=thread_count())
        )
        if out is None:
            return P
        out[...] = P
        return out

    def own_products(self, threads: int | None = None) -> Matrix:
        """Values of all pairs among themselves, (n, n)."""
        k, decay = self.kernel.k, self.kernel.decay
        P = finite(
            self.kernel,
            _products(self.letters, None, k, decay, threads=threads or thread_count()),
        )
        self._squares = np.diagonal(P).copy()
        return P


def finite(kernel: Subsequence, values: Matrix) -> Matrix:
    """The values, refused where they are beyond float64."""
    if not np.isfinite(values).all():
        raise DataError(
            f"values of {kernel!r} are beyond float64; lower k or decay, or cut the sequences"
        )
    return values


def _products(
    first: Letters,
    second: Letters | None,
    k: int,
    decay: float,
    *,
    all_levels: bool = False,
    threads: int,
) -> Matrix:
    """The dynamic programme; a long one shows how far it is."""
    work = steps(first, second, k)
    with bar("Subsequence: kernel values", TICKS, show=None if work > LONG else False) as advance:
        shown = 0

        def on_step(done: int) -> None:
            nonlocal shown
            while shown < done * TICKS // max(1, work):
                shown += 1
                advance()

        return subsequence_products(
            first, second, k, decay, all_levels=all_levels, threads=threads, on_step=on_step
        )
