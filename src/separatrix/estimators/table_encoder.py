"""`TableEncoder`: from a table of mixed columns to features, each column by its role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.data.column_forms import ColumnForm
from separatrix.data.data_table import NUMERIC, ColumnSpec, DataTable
from separatrix.data.read_table import table_of
from separatrix.data.roles import RoleOverrides
from separatrix.errors import DataError
from separatrix.estimators.base.rollback import rollback_on_error
from separatrix.estimators.table_blocks import (
    fit_category,
    fit_date,
    fit_numbers,
    fit_targets,
    fit_text,
)
from separatrix.runtime.warnings import warn_user

MOST_VALUES = 40
"""Without labels, a category of many values keeps so many of them."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Features of a table: numbers, categories, dates and texts, each column by its role.

    The role of a column follows from its values by fixed rules, which `columns_` lists with their
    reasons. Numbers and booleans are imputed by the median with an indicator, and standardised. A
    category becomes one feature for each value, with rare ones pooled. A category of more than 40 values
    becomes the smoothed class shares of its values; the training rows get the shares of other rows, in
    folds. A date becomes year, days, and month, weekday and hour on circles. Free text becomes tf-idf of
    words and of runs of letters. Ids, constants and indices are dropped. Everything is learned in `fit`,
    so that in a pipeline nothing of a test part is seen.

    Not for matrices of numbers: use a scaler. Not for nested columns, or several tables: join them first.

    Parameters
    ----------
    drop, text, date, category, number
        Names of columns whose role is given: left out, free text, a date, a category, a number.

    Attributes
    ----------
    columns_
        Every column of the training table with its role, format and the reason.
    classes_
        Labels in y; None if there were none.
    numbers_, dates_, categories_, targets_, texts_
        How numbers are encoded; how each date is, each category that is one-hot, each category of many
        values that is encoded by the labels, and each text.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": ["31,5", "40,0", None], "job": ["cook", "clerk", "cook"]})
    >>> encoder = TableEncoder()
    >>> encoder.fit_transform(frame, ["a", "b", "a"]).shape
    (3, 4)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age missing', 'job=cook', 'job other']
    """

    def __init__(
        self,
        *,
        drop: Sequence[str] = (),
        text: Sequence[str] = (),
        date: Sequence[str] = (),
        category: Sequence[str] = (),
        number: Sequence[str] = (),
    ) -> None:
        self.drop = drop
        self.text = text
        self.date = date
        self.category = category
        self.number = number

    @rollback_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features of a table from pandas, polars, pyarrow or `read_table`."""
        self._fit(X, y)
        return self

    @rollback_on_error
    def fit_transform(self, X: Any, y: Any = None, **_params: Any) -> Any:
        """Learn the features, and return those of the training rows: class shares from other rows."""
        table, crossed = self._fit(X, y)
        return self._encode(table, crossed)

    def transform(self, X: Any) -> Any:
        """Features of a table, (n, features); a CSR matrix if there are texts.

        A `UserWarning` names cells that count as missing because they cannot be read in their role.
        """
        check_is_fitted(self)
        return self._encode(self._require_table(X), {})

    def _fit(self, X: Any, y: Any) -> tuple[DataTable, dict[str, Any]]:
        given = (self.drop, self.text, self.date, self.category, self.number)
        drop, text, date, category, number = (tuple(names) for names in given)
        overrides = RoleOverrides(drop, text, date, category, number)
        table = table_of(X, overrides).table
        if not len(table) or not table.kept:
            found = "rows" if not len(table) else "columns with a role"
            raise DataError(f"TableEncoder needs a table with {found}; found none")
        codes, self.classes_ = None, cast(Any, None)
        if y is not None:
            self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
            if len(codes) != len(table):
                raise DataError(f"the table has {len(table)} rows, but y has {len(codes)} labels")
        self.columns_ = table.specs
        self.n_features_in_ = len(table.kept)
        self.feature_names_in_ = np.array(table.columns, dtype=object)
        boolean = np.array([spec.role == "boolean" for spec in self._plain()], dtype=bool)
        self.numbers_ = fit_numbers(table.numbers[:, self._plain_columns()], boolean)
        self.dates_ = [fit_date(table.number_column(s.name)) for s in self._with_role("date")]
        self.categories_, self.targets_, crossed = [], [], {}
        for spec in self._with_role("category", "codes"):
            if spec.role == "codes" and codes is not None and len(self.classes_) > 1:
                block, rows = fit_targets(table.texts[spec.name], codes, len(self.classes_))
                self.targets_.append(block)
                crossed[spec.name] = rows
            else:
                most = MOST_VALUES if spec.role == "codes" else None
                self.categories_.append(fit_category(table.texts[spec.name], most))
        self.texts_ = [fit_text(table.texts[spec.name]) for spec in self._with_role("text")]
        self._n_features_out = len(self.get_feature_names_out())
        return table, crossed

    def _plain(self) -> list[ColumnSpec]:
        """Columns of numbers and booleans."""
        return self._with_role("number", "boolean")

    def _plain_columns(self) -> list[int]:
        """Their positions in the matrix of numbers, where dates are, too."""
        numeric = self._with_role(*NUMERIC)
        return [j for j, spec in enumerate(numeric) if spec.role != "date"]

    def _with_role(self, *roles: str) -> list[ColumnSpec]:
        return [spec for spec in self.columns_ if spec.role in roles]

    def _one_hot(self) -> list[ColumnSpec]:
        """Categories that are one-hot, in the order of `categories_`."""
        roles = ("category",) if self.targets_ else ("category", "codes")
        return self._with_role(*roles)

    def _require_table(self, X: Any) -> DataTable:
        """The table in the roles of the training table."""
        if not isinstance(X, DataTable):
            table, notes = table_of(X, specs=self.columns_)
            for note in (one for one in notes if "as missing" in one):
                warn_user(note)
            return table
        kept = [(spec.name, spec.role) for spec in self.columns_ if spec.kept]
        found = [(spec.name, spec.role) for spec in X.kept]
        if found != kept:
            odd = next((f"{name} ({role})" for name, role in kept if (name, role) not in found), "")
            raise DataError(f"the table has other columns than the one it was fitted to: {odd}")
        return X

    def _encode(self, table: DataTable, crossed: dict[str, Any]) -> Any:
        parts = list(self._parts(table, crossed))
        if any(issparse(part) for part in parts):
            return csr_array(hstack([csr_array(part) for part in parts], format="csr"))
        return np.hstack(parts)

    def _parts(self, table: DataTable, crossed: dict[str, Any]) -> Iterator[Any]:
        if self._plain():
            yield self.numbers_.encode(table.numbers[:, self._plain_columns()])
        for spec, block in self._blocks():
            if spec.name in crossed:
                yield crossed[spec.name]
            elif spec.role == "date":
                yield block.encode(table.number_column(spec.name))
            else:
                yield block.encode(table.texts[spec.name])

    def _blocks(self) -> Iterator[tuple[ColumnSpec, Any]]:
        """Every column but the numbers, with what was learned about it, in the order of the features."""
        yield from zip(self._with_role("date"), self.dates_, strict=True)
        yield from zip(self._one_hot(), self.categories_, strict=True)
        yield from zip(
            self._with_role("codes") if self.targets_ else [], self.targets_, strict=True
        )
        yield from zip(self._with_role("text"), self.texts_, strict=True)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features: age, age missing, job=clerk, day month sin, note word 'late'."""
        check_is_fitted(self)
        plain = [spec.name for spec in self._plain()]
        names = self.numbers_.names(plain) if plain else []
        classes = [] if self.classes_ is None else self.classes_.tolist()
        for spec, block in self._blocks():
            names += block.names(spec.name, classes)
        return np.array(names, dtype=object)

    def known_values(self) -> dict[str, set[str]]:
        """Values of each one-hot category that was not pooled away, for notes about unseen ones."""
        pairs = zip(self.categories_, self._one_hot(), strict=True)
        return {spec.name: set(block.values.tolist()) for block, spec in pairs if not block.pooled}

    def forms(self) -> list[ColumnForm]:
        """How the cells of each column that is kept were written at training."""
        pairs: list[tuple[ColumnSpec, Any]]
        pairs = [*zip(self._one_hot(), self.categories_, strict=True)]
        pairs += zip(self._with_role("codes") if self.targets_ else [], self.targets_, strict=True)
        known = {spec.name: block.values.tolist() for spec, block in pairs}
        return [ColumnForm(spec, known.get(spec.name, ())) for spec in self.columns_ if spec.kept]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags
