"""Significance tests for errors on overlapping splits, and for multiple comparisons.

Training parts of repeated splits share most of their rows, so their errors are correlated. The plain t
test assumes independence and finds differences that do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from separatrix.types import Vector

LEVEL = 0.95
SMALLEST_P = 0.001  # that is written out
ROUNDING = 1e-9  # values closer than this, relatively, are equal


class Difference(NamedTuple):
    """A mean over splits with its standard error and test; NaN if there is no variance estimate."""

    mean: float
    error: float  # standard error of the mean, corrected for overlap
    half_width: float  # of the 95 % interval
    p: float  # two-sided, that the true mean is 0


def corrected_t(values: Any, ratio: float, rows: int | None = None) -> Difference:
    """Nadeau and Bengio's corrected resampled t test of the mean of values over splits.

    Given
        values     one number for each of r splits, such as the difference of two error rates
        ratio      test rows over training rows; 1 / (K - 1) for K folds
        rows       test rows of a split, if values are rates: lower bound of s^2 is then
                   |mean| (1 - |mean|) / rows

    Returns  t = mean / sqrt((1/r + ratio) s^2)  against Student's t with r - 1 degrees of freedom.
    For repeated folds r counts all folds of all repeats. p is 1 if all values are 0, and NaN
    without a variance estimate: one split, or equal values without `rows`.

    The lower bound of s^2 is the variance of a mean of `rows` numbers out of -1, 0 and 1; two models that
    differ by one row in each of five folds do not differ significantly.

    Reference: Nadeau and Bengio, Inference for the Generalization Error, Machine Learning 52 (2003);
    Bouckaert and Frank, Evaluating the Replicability of Significance Tests, PAKDD (2004).

    >>> found = corrected_t([0.02, 0.01, 0.03, 0.02, 0.02], ratio=1 / 4)
    >>> round(found.mean, 3), round(found.half_width, 4), round(found.p, 3)
    (0.02, 0.0132, 0.014)
    """
    values = np.asarray(values, dtype=np.float64)
    r, mean = len(values), float(values.mean())
    if not values.any():
        return Difference(0.0, 0.0, 0.0, 1.0)
    if r < 2 or (rows is None and np.ptp(values) <= ROUNDING * np.abs(values).max()):
        return Difference(mean, np.nan, np.nan, np.nan)
    least = 0.0 if rows is None else abs(mean) * (1 - abs(mean)) / rows
    error = float(np.sqrt((1 / r + ratio) * max(least, values.var(ddof=1))))
    if error == 0:  # a rate of 1 in all splits
        return Difference(mean, np.nan, np.nan, np.nan)
    half_width = float(student.ppf((1 + LEVEL) / 2, r - 1) * error)
    return Difference(mean, error, half_width, float(2 * student.sf(abs(mean) / error, r - 1)))


def interval(errors: Any, ratio: float, rows: int, tested: int) -> tuple[float, float]:
    """The 95 % interval of an error rate over splits of `rows` each, within 0 and 1: corrected t.

    After one split, and if no row or every row is wrong, Wilson's interval for that fraction of all
    rows `tested`.

    >>> [round(end, 3) for end in interval([0.0, 0.0, 0.0], ratio=0.5, rows=33, tested=99)]
    [0.0, 0.037]
    """
    found = corrected_t(errors, ratio, rows)
    if not found.error > 0:
        return _wilson(found.mean, tested)
    return max(0.0, found.mean - found.half_width), min(1.0, found.mean + found.half_width)


def holm(p: Sequence[float]) -> Vector:
    """Return Holm's adjusted p values, which bound the family-wise error rate.

    The i-th smallest of m is multiplied by m - i + 1; adjusted values are monotone. NaN, a test that
    could not be computed, counts among the m and stays NaN.

    Reference: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6 (1979).

    >>> holm([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")  # NaN last
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


def _wilson(share: float, rows: int) -> tuple[float, float]:
    """Wilson, Probable Inference, Journal of the American Statistical Association 22 (1927)."""
    z = float(norm.ppf((1 + LEVEL) / 2)) ** 2 / rows
    middle, reach = share + z / 2, float(np.sqrt(z * share * (1 - share) + z**2 / 4))
    return max(0.0, (middle - reach) / (1 + z)), min(1.0, (middle + reach) / (1 + z))


def format_p(p: float) -> str:
    """A p value in a table.

    >>> format_p(0.0123), format_p(1e-6)
    ('0.012', '<0.001')
    """
    return f"<{SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}"


def format_difference(mean: float, half_width: float) -> str:
    """A mean with the half width of its interval, if known.

    >>> format_difference(1.234, 0.5), format_difference(-1e-9, float("nan"))
    ('1.23 ± 0.50', '0.00')
    """
    mean = round(mean, 2) + 0.0  # no -0.00
    return f"{mean:.2f}" + ("" if np.isnan(half_width) else f" ± {half_width:.2f}")
