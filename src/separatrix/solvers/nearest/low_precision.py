"""Rows on a GPU in low precision: cheap scores, with bounds of their error.

With rows y, queries q and h(y) = |y|^2 / 2, the score h(y) - q . y is half the squared distance less
|q|^2 / 2, which is the same for all rows. It is one matrix product, of (-q, 1) with (y, h(y)). A filter
holds y = scale (x - centre), rounded, and has for every query a limit that rows within some distance do
not exceed. So rows above the limit are ruled out; the others need an exact distance.

*Whole numbers* of magnitude up to 256, such as pixels, are exact in bfloat16, and so are their products
in float32. All partial sums are whole numbers of at most |q| |y| + h. Below 2^24 float32 holds those
exactly, in whatever order they are added, and h is rounded down: then a score is never too large.
Else a sum of K products is off by less than K 2^-21 (|q| |y| + h). Rounding to nearest would give
K 2^-24. Tensor cores add blocks of b >= 4 products to the sum so far, cut off 2^-23 below the largest: an
error of (b + 2) 2^-23 a block, so 1.5 K 2^-23 in all, times what is above.

*Other rows* are split, where a GPU multiplies bfloat16: y = y1 + y2, both bfloat16 and so rounded to 8
binary digits, is moved by less than 2^-17 of its length. Of q . y the product q2 . y2 is left out, below
2^-16 |q| |y|. The others are one product, of (-q1, -q1, -q2, 1) with (y1, y2, y1, h), whose terms sum to
at most 1.02 (|q| |y| + h); it is as far off as one of whole numbers. Elsewhere these rows are multiplied
in float32, rounded to nearest, K 2^-24 (|q| |y| + h) off at most; 2^-22 leaves room. As
|q| |y| <= |q|^2 / 2 + h, an error of E (|q| |y| + h) is at most E (|q|^2 / 2 + 2 h). To score h (1 - 3 E)
instead of h takes the second part off, and one row far away does not blur the others.

Rounding moved rows and queries by so little that |q - y| <= scale distance + how far both moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, sqrt
from typing import Any, NamedTuple

import torch

from separatrix.errors import DeviceError
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.solvers.nearest.rounding import FAR, scale_of

GROUP = 64  # rows are filled up to a multiple of this
ALIGNED = 16  # columns are
BLOCK_BYTES = 256 * MEBIBYTE
SAMPLE = 4096  # rows whose median is the centre
SCALES = (1.0, 255.0)  # that may make whole numbers of rows
MAX_EXACT = 256  # magnitude that bfloat16 holds to the unit
INTEGER_TOLERANCE = 2.0**-12  # from a whole number
AROUND = 2.0**-40  # more than float64 is off for such numbers
EXACT = 2.0**24  # whole numbers below are float32
WHOLE_SUM, PLAIN_SUM = 2.0**-21, 2.0**-22  # error of a product, see above
ROUNDED, SPLIT = 2.0**-23, 2.0**-17  # what float32 and two bfloat16 move a row by, over its length
LEFT_OUT = 2.0**-16  # of |q| |y|, by a product of split rows
MORE = 1.02  # terms of such a product, over |q| |y| + h
PIECES = 3  # bfloat16 that hold a number of 24 binary digits
UNDERFLOW = 1e-33  # what products of float32 may lose below its range
PAD_SCORE = 2.0**100  # score of the rows that fill up
HUGE = 1e100


class PreparedQueries(NamedTuple):
    """Queries prepared for a filter."""

    columns: Any  # shape: (m, K)
    squares: Any  # shape: (m,); |q|^2, float64
    error: Any  # shape: (m,); by how much a score may be too large
    moved: Any  # shape: (m,); how far rounding moved queries and rows; infinite: there is no limit


class LowPrecisionFilter:
    """Rows X, (n, d), of a device, as whole numbers with a scale of `SCALES`, or without one in float32."""

    def __init__(self, X: Any, whole: float | None) -> None:
        self.n, self.d = X.shape
        self._of = X.dtype
        self.whole = whole is not None
        if whole is not None:
            self.scale, self.centre = whole, _whole_centre(X, whole)
        else:
            self.centre = _middle(X)
            self.scale = scale_of(_spread(X, self.centre))
        mixed = multiplies_mixed(X.device)
        self.split = mixed and not self.whole
        self._dtype = torch.bfloat16 if mixed else torch.float32
        self._rounding = 0.0 if self.whole else SPLIT if self.split else ROUNDED
        self._heights = self.d * (3 if self.split else 1)  # the first column of h
        self._pieces = PIECES if self.whole or self.split else 1
        self._width = -(-(self._heights + self._pieces) // ALIGNED) * ALIGNED
        self._error = self._width * (PLAIN_SUM if self._pieces == 1 else WHOLE_SUM)
        if self.split:
            self._error = MORE * self._error + LEFT_OUT
        self._fill(X)
        self.nbytes = int(self._columns.nbytes)

    def suits(self, Q: Any) -> bool:
        """Whether queries are such numbers as the rows are."""
        if not self.whole or (Q.dtype == self._of == torch.uint8):
            return True
        off, largest = off_whole(Q, self.scale, self.centre)
        return off <= INTEGER_TOLERANCE and largest <= MAX_EXACT

    def prepare(self, Q: Any) -> PreparedQueries:
        """Prepare queries, (m, d), float64."""
        Y = (Q - self.centre) * self.scale
        near = Y.abs().amax(dim=1) < FAR
        Y = torch.where(near[:, None], Y, 0.0)
        rounded = self._rounded(Y)
        squares = rounded.square().sum(dim=1)
        lengths = squares.sqrt()
        if self.whole:
            moved = ((Y - rounded).abs().amax(dim=1) + AROUND) * sqrt(self.d) + self._moved
            largest = lengths * self._longest + 1.01 * self._highest
            error = torch.where(largest < EXACT, 0.0, self._error * largest)
        else:
            moved = 2 * self._rounding * lengths + sqrt(self.d) * UNDERFLOW
            error = self._error * squares / 2 + UNDERFLOW
        moved = torch.where(near, moved, torch.inf)
        columns = torch.zeros((len(Q), self._width), dtype=self._dtype, device=Q.device)
        columns[:, : self.d] = -rounded
        if self.split:  # beside the first halves of rows and their second, and the first again
            columns[:, self.d : 2 * self.d] = columns[:, : self.d]
            columns[:, 2 * self.d : 3 * self.d] = -rounded - columns[:, : self.d].double()
        columns[:, self._heights : self._heights + self._pieces] = 1
        return PreparedQueries(columns, squares, error, moved)

    def scores(self, queries: PreparedQueries) -> Any:
        """Scores of all rows, (m, n and what fills up), float32."""
        if self._dtype == torch.bfloat16:
            with _whole_reductions():
                return torch.mm(queries.columns, self._columns.T, out_dtype=torch.float32)
        return queries.columns @ self._columns.T

    def limits(self, queries: PreparedQueries, squares: Any) -> Any:
        """The most that rows score which are measured to be within these squared distances, (m,)."""
        measured = squares.sqrt() * (1 + self.d * 2.0**-50)  # sums of squares are rounded too
        reach = (measured * self.scale + queries.moved) * (1 + 2 * self._rounding)
        return (reach.square() * (1 + 2.0**-50) - queries.squares) / 2 + queries.error

    def _fill(self, X: Any) -> None:
        """Make the columns; keep the longest row, the highest h, and the farthest that a row moved."""
        size = -(-self.n // GROUP) * GROUP
        self._columns = torch.zeros((size, self._width), dtype=self._dtype, device=X.device)
        self._columns[self.n :, self._heights] = PAD_SCORE
        moved = torch.zeros((), dtype=torch.float64, device=X.device)
        highest = torch.zeros_like(moved)
        for part in row_blocks(self.n, rows_that_fit(32 * self.d, BLOCK_BYTES)):
            Y = (X[part].double() - self.centre) * self.scale
            rounded = self._rounded(Y)
            heights = rounded.square().sum(dim=1) / 2
            moved = torch.maximum(moved, (Y - rounded).abs().max())
            highest = torch.maximum(highest, heights.max())
            columns = self._columns[part]
            columns[:, : self.d] = rounded.to(self._dtype)
            if self.split:
                columns[:, self.d : 2 * self.d] = rounded - columns[:, : self.d].double()
                columns[:, 2 * self.d : 3 * self.d] = columns[:, : self.d]
            left = heights.floor() if self.whole else heights * (1 - 3 * self._error)
            for column in range(self._heights, self._heights + self._pieces):
                piece = left.float() if self._pieces == 1 else left.to(torch.bfloat16)
                columns[:, column] = piece.to(self._dtype)
                left = left - piece.double()
        self._moved = (moved + AROUND) * sqrt(self.d)
        self._highest, self._longest = highest, (2 * highest).sqrt()

    def _rounded(self, Y: Any) -> Any:
        if self.whole:
            return Y.round()
        if not self.split:
            return Y.float().double()
        first = Y.to(torch.bfloat16).double()
        return first + (Y - first).to(torch.bfloat16).double()


def filter_bytes(n: int, d: int) -> int:
    """Most bytes that building a filter of n rows takes."""
    return 6 * (n + GROUP) * (d + PIECES + ALIGNED) + min(BLOCK_BYTES, 32 * n * d)


def whole_scale(X: Any) -> float | None:
    """A scale that makes whole numbers of rows, to be centred, that bfloat16 holds; None: there is none."""
    for scale in SCALES:
        off, largest = off_whole(X, scale, _whole_centre(X, scale))
        if off <= INTEGER_TOLERANCE and 1 <= largest <= MAX_EXACT:  # smaller ones would all be 0
            return scale
    return None


def off_whole(X: Any, scale: float, centre: Any) -> tuple[float, float]:
    """How far scaled and centred values are from whole numbers, and the largest of them."""
    off = largest = 0.0
    for part in row_blocks(len(X), rows_that_fit(32 * X.shape[1], BLOCK_BYTES)):
        Y = (X[part].double() - centre) * scale
        sizes = torch.stack([(Y - Y.round()).abs().max(), Y.abs().max()])
        if not bool(sizes.isfinite().all()):
            return inf, inf
        off, largest = (max(pair) for pair in zip((off, largest), sizes.tolist(), strict=True))
        if off > INTEGER_TOLERANCE:
            break
    return off, largest


def multiplies_mixed(device: Any) -> bool:
    """Whether torch multiplies bfloat16 on the device and keeps the sums in float32."""
    if device.type != "cuda":
        return False
    A = torch.zeros((ALIGNED, ALIGNED), dtype=torch.bfloat16, device=device)
    try:
        torch.mm(A, A, out_dtype=torch.float32)
    except (TypeError, NotImplementedError, RuntimeError):
        return False
    return True


def _whole_centre(X: Any, scale: float) -> Any:
    """The mean, (d,), to the next whole number once scaled."""
    total = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for part in row_blocks(len(X), rows_that_fit(32 * X.shape[1], BLOCK_BYTES)):
        total += X[part].double().sum(dim=0)
    return (total / len(X) * scale).round() / scale


def _middle(X: Any) -> Any:
    """The median of some rows, (d,): a few that lie far off do not draw it away from the others."""
    return X[:: max(1, len(X) // SAMPLE)][:SAMPLE].double().median(dim=0).values


def _spread(X: Any, centre: Any) -> float:
    """The most that a value is off the centre, times the root of d; refused at the ends of float64."""
    largest = max(abs(float(X.min())), abs(float(X.max())))
    if not (largest == 0 or 1 / HUGE < largest < HUGE):
        raise DeviceError(
            f"values up to {largest:.3g} are out of range on a GPU; scale them, or use device='cpu'"
        )
    highest, lowest = X.amax(dim=0).double() - centre, X.amin(dim=0).double() - centre
    return float(torch.maximum(highest, -lowest).max()) * sqrt(X.shape[1])


@contextmanager
def _whole_reductions() -> Iterator[None]:
    """Parts of a product are not added in bfloat16."""
    settings = torch.backends.cuda.matmul
    before = settings.allow_bf16_reduced_precision_reduction
    settings.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        settings.allow_bf16_reduced_precision_reduction = before
