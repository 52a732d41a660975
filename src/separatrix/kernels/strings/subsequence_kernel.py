"""The gap-weighted subsequence kernel. Its dynamic programme is in `subsequence.py`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.strings.sequences import EncodedSequences, encode_sequences
from separatrix.kernels.strings.string_kernels import SequenceKernel
from separatrix.kernels.strings.subsequence import count_steps, self_products, subsequence_products
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import thread_count
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer, require_real

LONG = 10**10  # steps (one level of one cell) from which a progress bar is shown
TICKS = 100


@dataclass(frozen=True)
class Subsequence(SequenceKernel):
    """Gap-weighted subsequence kernel: common letters in the same order, with gaps at a price.

    k(s, t) = sum over all subsequences u of k letters and all occurrences of u in s and in t of
    decay^(span in s + span in t); a span counts the letters from the first to the last one used. A pair
    takes time proportional to k |s| |t|: for long sequences `Spectrum` is far cheaper.

    Parameters
    ----------
    k
        Letters of a subsequence. At least 1.
    decay
        Factor per letter of a span. Above 0 and at most 1; 1 makes gaps free.
    alphabet
        The expected letters. Others are kept, and a fit reports how many there are.

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
            must_be = f"larger for k={self.k}: decay^(2 k), the value of one match, underflows to 0"
            raise ParameterError("Subsequence", "decay", must_be, self.decay)
        self._require_alphabet()

    @property
    def family(self) -> Hashable:
        return (Subsequence, float(self.decay))

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        return ((self.k, 1.0),)

    def prepared(self, X: Any, *others: Any) -> tuple[PreparedSequences, ...]:
        together = self.require_one_type(np.concatenate([X, *others])) if others else X
        both = PreparedSequences(self, encode_sequences(together, Vocabulary()))
        cuts = np.cumsum([0, len(X), *(len(other) for other in others)])
        return tuple(both.take(slice(*ends)) for ends in pairwise(cuts))

    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        letters, several = encode_sequences(X, Vocabulary()), len(levels) > 1
        P = _products(self, letters, None, k=max(levels), all_levels=several, threads=threads)
        found = [P[level - 1] for level in levels] if several else [P]
        return [(require_finite(self, values), np.diagonal(values).copy()) for values in found]

    def matrices_of(self, levels: Collection[int]) -> int:
        # several levels come from one run that also stores all shorter ones
        return max(levels) if len(levels) > 1 else 1


class PreparedSequences:
    """Encoded sequences of a `Subsequence` kernel, with their values with themselves."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, kernel: Subsequence, letters: EncodedSequences) -> None:
        self.kernel, self.letters = kernel, letters
        self._squares: Vector | None = None

    @property
    def squares(self) -> Vector:
        if self._squares is None:
            k, decay = self.kernel.k, self.kernel.decay
            squares = self_products(self.letters, k, decay, threads=thread_count())
            self._squares = require_finite(self.kernel, squares)
        return self._squares

    def __len__(self) -> int:
        return len(self.letters.starts) - 1

    def take(self, rows: Any) -> PreparedSequences:
        index = np.arange(len(self))[rows]
        lengths = self.letters.lengths[index]
        starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
        shift = np.repeat(self.letters.starts[index] - starts[:-1], lengths)
        codes = self.letters.codes[np.arange(starts[-1]) + shift]
        part = PreparedSequences(self.kernel, EncodedSequences(codes, starts))
        part._squares = None if self._squares is None else self._squares[index]
        return part

    def products(self, other: PreparedSequences, out: Matrix | None = None) -> Matrix:
        P = require_finite(self.kernel, _products(self.kernel, self.letters, other.letters))
        if out is None:
            return P
        out[...] = P
        return out

    def own_products(self, threads: int | None = None) -> Matrix:
        P = _products(self.kernel, self.letters, None, threads=threads)
        self._squares = np.diagonal(require_finite(self.kernel, P)).copy()
        return P


def require_finite(kernel: Subsequence, values: Matrix) -> Matrix:
    """The values, if they are finite; otherwise an error."""
    if not np.isfinite(values).all():
        raise DataError(
            f"values of {kernel!r} overflow float64; lower k or decay, or shorten the sequences"
        )
    return values


def _products(
    kernel: Subsequence,
    first: EncodedSequences,
    second: EncodedSequences | None,
    *,
    k: int | None = None,
    all_levels: bool = False,
    threads: int | None = None,
) -> Matrix:
    """The dynamic programme, with a progress bar if it takes long."""
    k = k or kernel.k
    work = count_steps(first, second, k)
    with bar("Subsequence: kernel values", TICKS, show=None if work > LONG else False) as advance:
        shown = 0

        def on_step(done: int) -> None:
            nonlocal shown
            while shown < done * TICKS // max(1, work):
                shown += 1
                advance()

        options: Any = {"all_levels": all_levels, "threads": threads or thread_count()}
        return subsequence_products(first, second, k, kernel.decay, on_step=on_step, **options)
