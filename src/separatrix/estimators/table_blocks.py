"""Parts of a fitted `TableEncoder`: how the columns of one role become features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction.text import TfidfVectorizer

from separatrix.data.data_table import Category
from separatrix.data.splits import stratified_folds
from separatrix.types import Codes, Flags, Matrix, Vector

DAY = 86_400.0
RARE_SHARE = 0.002
"""Categories of fewer rows than this share, and than two, are pooled."""

SMOOTHING = 10.0
"""Rows that the overall class shares count for in a target encoding."""

FOLDS = 5
MOST_TERMS = 10_000
MOST_LETTERS = 5_000_000
"""Texts of more letters are encoded by their words only."""


_DIGIT = re.compile("[1-9]")

MOST_COMPARED = 1000
"""Texts that decide about the scale of a column of texts."""

MOST_SPREAD = 10.0
"""Total variance of a column of texts at most; a standardised number has 1."""


class NumberBlock(NamedTuple):
    """Numbers: imputed by the median, standardised, with an indicator where some were missing."""

    fill: Vector  # shape: (q,)
    mean: Vector  # shape: (q,)
    scale: Vector  # shape: (q,)
    indicator: Flags  # shape: (q,)

    def encode(self, values: Matrix) -> Matrix:
        """Standardised numbers (n, q), then one indicator for each column that had missing values."""
        missing = np.isnan(values)
        filled = np.where(missing, self.fill, values)
        return np.hstack([(filled - self.mean) / self.scale, missing[:, self.indicator]])

    def names(self, columns: Sequence[str]) -> list[str]:
        """Names of the features."""
        marked = [c for c, has in zip(columns, self.indicator.tolist(), strict=True) if has]
        return [*columns, *(f"{name} missing" for name in marked)]


def fit_numbers(values: Matrix, boolean: Flags) -> NumberBlock:
    """Medians, means and deviations of columns; booleans stay 0 and 1."""
    missing = np.isnan(values)
    fill = np.zeros(values.shape[1])
    for j in range(values.shape[1]):  # column by column: memory for one
        known = values[~missing[:, j], j]
        fill[j] = np.median(known) if len(known) else 0.0
    fill = np.where(boolean, np.rint(fill), fill)
    mean, scale = np.zeros_like(fill), np.ones_like(fill)
    for j in np.flatnonzero(~boolean).tolist():
        column = np.where(missing[:, j], fill[j], values[:, j])
        mean[j] = column.mean()
        deviation = float(np.std(column - mean[j]))
        scale[j] = deviation if deviation > 0 and np.isfinite(deviation) else 1.0
    return NumberBlock(fill, mean, scale, np.asarray(missing.any(axis=0)))


class DateBlock(NamedTuple):
    """A date: its parts, of which those that repeat are on a circle."""

    fill: float  # seconds since 1970
    parts: tuple[str, ...]  # of PARTS
    mean: Vector  # shape: (w,)
    scale: Vector  # shape: (w,)
    indicator: bool

    def encode(self, seconds: Vector) -> Matrix:
        """The features of dates, (n, w), and an indicator if some were missing."""
        missing = np.isnan(seconds)
        F = _date_features(np.where(missing, self.fill, seconds), self.parts)
        F = (F - self.mean) / self.scale
        return np.column_stack([F, missing]) if self.indicator else F

    def names(self, column: str, _classes: Sequence[Any] = ()) -> list[str]:
        """Names of the features."""
        found = [
            f"{column} {part}{end}"
            for part in self.parts
            for end in (("",) if part in ("year", "days") else (" sin", " cos"))
        ]
        return [*found, *([f"{column} missing"] if self.indicator else [])]


PARTS = ("year", "days", "month", "weekday", "hour")


def fit_date(seconds: Vector) -> DateBlock:
    """The parts of a date that differ between rows, with means and deviations."""
    missing = np.isnan(seconds)
    known = seconds[~missing]
    fill = float(np.median(known)) if len(known) else 0.0
    filled = np.where(missing, fill, seconds)
    parts = tuple(part for part in PARTS if np.ptp(_part_values(filled, part)) > 0)
    F = _date_features(filled, parts)
    mean, scale = F.mean(axis=0), F.std(axis=0)
    return DateBlock(fill, parts, mean, np.where(scale > 0, scale, 1.0), bool(missing.any()))


def _part_values(seconds: Vector, part: str) -> Vector:
    days = np.floor(seconds / DAY)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(float)
    parts: dict[str, Vector] = {
        "year": np.floor(months / 12) + 1970,
        "days": days,
        "month": months % 12,
        "weekday": (days + 3) % 7,  # 1970 began on a Thursday; 0 is Monday
        "hour": (seconds - days * DAY) / 3600,
    }
    return parts[part]


PERIODS = {"month": 12.0, "weekday": 7.0, "hour": 24.0}


def _date_features(seconds: Vector, parts: Sequence[str]) -> Matrix:
    columns = []
    for part in parts:
        values = _part_values(seconds, part)
        if part in PERIODS:
            angle = 2 * np.pi * values / PERIODS[part]
            columns += [np.sin(angle), np.cos(angle)]
        else:
            columns.append(values)
    return np.column_stack(columns) if columns else np.empty((len(seconds), 0))


class CategoryBlock(NamedTuple):
    """A category: one feature for each frequent value, one for all others, one for missing."""

    values: Any  # shape: (v,), of texts
    pooled: bool  # whether rare values were pooled; unseen ones then count as such
    missing: bool

    def encode(self, category: Category) -> Matrix:
        """Zeros and ones, (n, w)."""
        width = len(self.values) + self.pooled + self.missing
        position = {value: i for i, value in enumerate(self.values.tolist())}
        other = len(self.values) if self.pooled else -1
        to = [position.get(value, other) for value in category.values]
        absent = width - 1 if self.missing else -1
        found = np.array([*to, absent])[category.codes]
        hot = np.zeros((len(found), width))
        rows = np.flatnonzero(found >= 0)
        hot[rows, found[rows]] = 1.0
        return hot

    def names(self, column: str, _classes: Sequence[Any] = ()) -> list[str]:
        """Names of the features."""
        more = ["other"] * self.pooled + ["missing"] * self.missing
        return [*(f"{column}={v}" for v in self.values.tolist()), *(f"{column} {m}" for m in more)]


def fit_category(category: Category, most: int | None = None) -> CategoryBlock:
    """The frequent values of a category, sorted; with `most`, no more than so many."""
    codes, values = category
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    least = max(2, int(np.ceil(RARE_SHARE * len(codes))))
    kept = np.flatnonzero(counts >= least)
    if most is not None and len(kept) > most:
        kept = kept[np.argsort(-counts[kept], kind="stable")[:most]]
    pooled = bool((np.delete(counts, kept) > 0).any())
    words = np.array(sorted(values[i] for i in kept), dtype=object)
    return CategoryBlock(words, pooled, bool((codes < 0).any()))


class TargetBlock(NamedTuple):
    """A category of many values: the smoothed class shares of each value."""

    values: Any  # shape: (v,), of texts
    shares: Matrix  # shape: (v, w)
    prior: Vector  # shape: (w,); for other values, and missing ones
    mean: Vector  # shape: (w,)
    scale: Vector  # shape: (w,)

    def encode(self, category: Category) -> Matrix:
        """Standardised shares, (n, w)."""
        position = {value: i for i, value in enumerate(self.values.tolist())}
        to = np.array([*(position.get(v, -1) for v in category.values), -1], dtype=np.intp)
        table = np.vstack([self.shares, self.prior])
        return (table[to[category.codes]] - self.mean) / self.scale

    def names(self, column: str, classes: Sequence[Any]) -> list[str]:
        """Names of the features."""
        shown = classes[1:] if len(classes) == 2 else classes
        return [f"{column}: share of {label}" for label in shown]


def fit_targets(category: Category, y: Codes, k: int) -> tuple[TargetBlock, Matrix]:
    """The block, and the features of the rows it is fitted to, each from shares of the other rows.

    The shares of all classes together have the variance of one standardised number: else a column of names
    would outweigh all others where there are many classes.

    The rows of a fold get the shares of the other folds: otherwise a value of one row would tell its
    class.
    """
    shares, prior = _class_shares(category, y, k, np.arange(len(y)))
    crossed = np.empty((len(y), shares.shape[1]))
    smallest = int(np.bincount(y, minlength=k)[np.unique(y)].min())
    folds = min(FOLDS, smallest)
    if folds >= 2:
        for train, test in stratified_folds(y, folds=folds, seed=0):
            part, other = _class_shares(category, y, k, train)
            crossed[test] = np.vstack([part, other])[category.codes[test]]
    else:
        crossed[:] = np.vstack([shares, prior])[category.codes]
    mean, scale = crossed.mean(axis=0), crossed.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0) * np.sqrt(max(1, crossed.shape[1]))
    counts = np.bincount(category.codes[category.codes >= 0], minlength=len(category.values))
    kept = np.flatnonzero(counts)
    words = np.array([category.values[i] for i in kept], dtype=object)
    block = TargetBlock(words, shares[kept], prior, mean, scale)
    return block, (crossed - mean) / scale


def _class_shares(category: Category, y: Codes, k: int, rows: Codes) -> tuple[Matrix, Vector]:
    """Class shares of each value among some rows, drawn towards the overall shares; of two classes one."""
    codes, values = category
    counts = np.zeros((len(values) + 1, k))
    np.add.at(counts, (codes[rows], y[rows]), 1.0)  # code -1 is the last line
    prior = np.bincount(y[rows], minlength=k) / len(rows)
    counts = counts[:-1]
    shares = (counts + SMOOTHING * prior) / (counts.sum(axis=1, keepdims=True) + SMOOTHING)
    return (shares[:, 1:], prior[1:]) if k == 2 else (shares, prior)


class TextBlock(NamedTuple):
    """Free text: tf-idf of its words, and of its runs of letters unless there are too many."""

    words: TfidfVectorizer | None
    letters: TfidfVectorizer | None
    scale: float  # see `_spread_scale`

    def encode(self, category: Category) -> Any:
        """A sparse matrix (n, w)."""
        texts = [*category.values, ""]
        masked = mask_digits(texts) if self._masks_digits else texts
        parts = [
            self.scale * csr_array(model.transform(given))[category.codes % len(texts)]
            for model, given in ((self.words, texts), (self.letters, masked))
            if model is not None
        ]
        if not parts:
            return csr_array((len(category.codes), 0))
        return parts[0] if len(parts) == 1 else _stack_columns(parts)

    @property
    def _masks_digits(self) -> bool:
        """Whether the runs of letters are of texts with masked digits, as in all but older models."""
        terms = () if self.letters is None else self.letters.vocabulary_
        return not any(_DIGIT.search(term) for term in terms)

    def names(self, column: str, _classes: Sequence[Any] = ()) -> list[str]:
        """Names of the features."""
        found = []
        for model, kind in ((self.words, "word"), (self.letters, "letters")):
            if model is not None:
                found += [f"{column} {kind} {term!r}" for term in model.get_feature_names_out()]
        return found


def mask_digits(texts: Sequence[str]) -> list[str]:
    """Texts with every digit as 0: runs of them tell how long a number is, not which one.

    Parts of numbers that differ in every row, of orders or of telephones, would be hundreds of features.

    >>> mask_digits(["order 1234", "call 07-99"])
    ['order 0000', 'call 00-00']
    """
    return [_DIGIT.sub("0", text) for text in texts]


def fit_text(category: Category) -> TextBlock:
    """The vocabulary of a column of texts."""
    texts = [*category.values, ""]
    documents = [texts[code] for code in category.codes.tolist()]
    least = 2 if len(documents) >= 50 else 1
    options: dict[str, Any] = {"sublinear_tf": True, "min_df": least, "max_features": MOST_TERMS}
    words = _fit_terms(TfidfVectorizer(**options), documents)
    letters = None
    if sum(map(len, documents)) <= MOST_LETTERS:
        options["min_df"] = max(least, len(documents) // 200)
        runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), **options)
        letters = _fit_terms(runs, mask_digits(documents))
    block = TextBlock(words, letters, 1.0)
    return block._replace(scale=_spread_scale(block, category))


def _spread_scale(block: TextBlock, category: Category) -> float:
    """The factor at which texts spread along a typical direction as a standardised number does.

    With S the covariance of the features, tr S^2 / tr S is the mean of the variances along its principal
    directions, each weighted by that variance. It is 1 for any number of standardised columns that are
    not correlated, and the factor makes it 1 for the texts, as long as their variance in all directions
    together is at most MOST_SPREAD: different texts may be the length of hundreds of numbers apart.
    """
    rows = np.unique(np.linspace(0, len(category.codes) - 1, MOST_COMPARED).astype(np.intp))
    F = block.encode(Category(category.codes[rows], category.values))
    products = (F @ F.T).toarray()
    means = products.mean(axis=0)
    centred = products - means - means[:, None] + means.mean()
    variance = float(np.trace(centred)) / len(rows)
    squares = float((centred**2).sum()) / len(rows) ** 2
    if squares <= 1e-12:
        return 1.0
    return float(np.sqrt(min(variance / squares, MOST_SPREAD / variance)))


def _fit_terms(model: TfidfVectorizer, documents: list[str]) -> TfidfVectorizer | None:
    try:
        return model.fit(documents)
    except ValueError:  # no term is frequent enough
        return None


def _stack_columns(parts: Sequence[Any]) -> Any:
    return csr_array(vstack([part.T for part in parts], format="csc").T)
