"""What stands in for missing values, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from separatrix.errors import ModelFileError
from separatrix.modelfile.array_fields import NUMBERS, Array
from separatrix.modelfile.fields import Archive, Flag, Maybe, ShapeEnv, Text, mismatch_error
from separatrix.modelfile.schema import FEATURES, ModelSchema, Values, require, set_all
from separatrix.modelfile.values import NO_CODE, Number, Only

SAMPLE_TYPES = tuple(code for code in NUMBERS.split() if code != "b1")


@dataclass(frozen=True)
class SampleType:
    """The type of the numbers in samples."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """Its kind and its bytes, as "f8"."""
        code = f"{value.kind}{value.itemsize}"
        self.get(code, at, file, sizes)
        return code

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> np.dtype[Any]:
        """The type."""
        return np.dtype(Text(SAMPLE_TYPES).get(document, at, file, sizes))


def _imputer_pack(model: Any, values: Values, _slim: bool) -> Values:
    if model._fit_dtype.kind == "O":
        raise ModelFileError(
            "unsupported",
            "this SimpleImputer was fitted to objects, such as words; a file holds those of numbers",
        )
    left_out = ("indicator_", "_fill_dtype")  # None, and the same as _fit_dtype
    packed = {name: value for name, value in values.items() if name not in left_out}
    statistics = values["statistics_"]
    packed["as_objects"] = statistics.dtype.kind == "O"
    packed["statistics_"] = statistics.astype(float) if packed["as_objects"] else statistics
    return packed


def _imputer_unpack(model: Any, values: Values) -> None:
    as_objects = values.pop("as_objects")
    set_all(model, values)
    model.indicator_, model._fill_dtype = None, model._fit_dtype
    if model.strategy == "constant":
        _require_constant(model)
    if as_objects:
        model.statistics_ = _as_objects(model)


def _constant(model: Any) -> Any:
    return 0 if model.fill_value is None else model.fill_value


def _require_constant(model: Any) -> None:
    fill, found = _constant(model), model.statistics_
    same = bool((np.isnan(found) | (found == float(fill))).all())
    require(same, "statistics_", f"{fill}, as fill_value says, or NaN", "others")


def _as_objects(model: Any) -> Any:
    """The number to fill with, as scikit-learn keeps it: once for each column that had any value."""
    require(model.strategy == "constant", "as_objects", "false unless constant", "true")
    found = np.full(len(model.statistics_), _constant(model), dtype=object)
    try:
        found.astype(model._fill_dtype)
    except (OverflowError, ValueError):
        raise mismatch_error("fill_value", f"within {model._fill_dtype}", found[0]) from None
    found[np.isnan(model.statistics_)] = np.nan
    return found


KINDS = {
    "SimpleImputer": ModelSchema(
        SimpleImputer,
        {
            **FEATURES,
            "_fit_dtype": SampleType(),
            "statistics_": Array("f2 f4 f8", "d", "any"),
            "as_objects": Flag(),
        },
        params={
            "missing_values": Number(),
            "strategy": Only(("mean", "median", "most_frequent", "constant"), NO_CODE),
            "fill_value": Maybe(Number()),
            "add_indicator": Only((False,), "for a file has no place for the columns it adds"),
        },
        pack=_imputer_pack,
        unpack=_imputer_unpack,
    ),
}
