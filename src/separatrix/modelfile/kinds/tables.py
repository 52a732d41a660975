"""The encoder of mixed tables: roles of columns, and the statistics of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.data_table import DROPPED, KEPT, NUMERIC, ColumnSpec
from separatrix.data.dates import EPOCHS, SERIAL, are_formats
from separatrix.data.dates import FORMATS as DATE_FORMATS
from separatrix.data.numerals import BOOLEANS
from separatrix.data.units import is_form
from separatrix.estimators.table_blocks import (
    PARTS,
    PERIODS,
    CategoryBlock,
    DateBlock,
    NumberBlock,
    TargetBlock,
    TextBlock,
)
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.labels import Labels, WordList

NAMES = Labels("c", rising=False)
WORDS = Labels("c", rising=False, distinct=False)
FORMATS = {
    "boolean": tuple("/".join(pair) for pair in BOOLEANS),
    "date": (*DATE_FORMATS, SERIAL, *EPOCHS),
}
LARGEST_SCALE = 1e6
TERMS = f.Maybe(s.InnerModel(("TfidfVectorizer",)))


def _check_scale(block: Any, at: str) -> None:
    s.require(bool((block.scale > 0).all()), f"{at}.scale", "above 0", block.scale)


def _check_date(block: Any, at: str) -> None:
    _check_scale(block, at)
    width = sum(1 + (part in PERIODS) for part in block.parts)
    s.require(len(block.mean) == width, f"{at}.mean", f"{width} long", len(block.mean))


def _check_words(block: Any, at: str) -> None:
    words = all(isinstance(value, str) for value in block.values.tolist())
    s.require(words, f"{at}.values", "texts", "others")


def _check_target(block: Any, at: str) -> None:
    _check_scale(block, at)
    _check_words(block, at)


NUMBERS = f.Struct(
    NumberBlock, f.arrays(fill="f8 q", mean="f8 q", scale="f8 q", indicator="b1 q"), _check_scale
)
DATE = f.Struct(
    DateBlock,
    {
        "fill": f.Real(),
        "parts": f.Mapped(f.Listed(f.Text(PARTS)), lambda value, _at: tuple(value), list),
        **f.arrays(mean="f8 w", scale="f8 w"),
        "indicator": f.Boolean(),
    },
    _check_date,
    scoped=True,
)
VALUES = Labels("v", rising=False)
CATEGORY = f.Struct(
    CategoryBlock,
    {"values": VALUES, "pooled": f.Boolean(), "missing": f.Boolean()},
    _check_words,
    scoped=True,
)
TARGET = f.Struct(
    TargetBlock,
    {"values": VALUES, **f.arrays(shares="f8 v w", prior="f8 w", mean="f8 w", scale="f8 w")},
    _check_target,
    scoped=True,
)


def _check_text(block: Any, at: str) -> None:
    meant = f"above 0 and below {LARGEST_SCALE:g}"
    s.require(0 < block.scale < LARGEST_SCALE, f"{at}.scale", meant, block.scale)


TEXT = f.Struct(
    TextBlock,
    {"words": TERMS, "letters": TERMS, "scale": f.Real()},
    _check_text,
    scoped=True,
    before={"scale": 2.0},  # the same for all texts then
)


def _pack(model: Any, values: s.Values, _slim: bool) -> s.Values:
    for name in ColumnSpec._fields:
        column = [getattr(spec, name) for spec in model.columns_]
        values[f"column_{name}s"] = column if name == "role" else np.array(column, dtype=object)
    return values


def _unpack(model: Any, values: s.Values) -> None:
    columns = [values.pop(f"column_{name}s") for name in ColumnSpec._fields]
    specs = tuple(ColumnSpec(*map(str, cells)) for cells in zip(*columns, strict=True))
    s.set_attributes(model, {**values, "columns_": specs})


def _check(model: Any, sizes: f.ShapeEnv) -> None:
    """Each role has as many statistics as columns, and all that is encoded has a name."""
    roles = [spec.role for spec in model.columns_]
    for spec in model.columns_:
        s.require(spec.role in (*KEPT, *DROPPED), "column_roles", "known roles", spec.role)
        known = spec.format in FORMATS.get(spec.role, ("",))
        known = known or (spec.role == "number" and is_form(spec.format))
        known = known or (spec.role == "date" and are_formats(spec.format))
        s.require(known, "column_formats", f"a format of a {spec.role}", spec.format)
    kept = [spec.name for spec in model.columns_ if spec.kept]
    s.require(len(kept) == sizes["d"] > 0, "n_features_in_", str(len(kept)), sizes["d"])
    names = list(getattr(model, "feature_names_in_", ()))
    s.require(names == kept, "feature_names_in_", "the columns that are kept", names)
    plain = sum(role in NUMERIC and role != "date" for role in roles)
    s.require(len(model.numbers_.fill) == plain, "numbers_", f"{plain} columns", "others")
    codes, few = roles.count("codes"), roles.count("category")
    targets = len(model.targets_)
    s.require(targets in (0, codes), "targets_", f"0 or {codes}", targets)
    counts = {
        "dates_": (len(model.dates_), roles.count("date")),
        "categories_": (len(model.categories_), few if targets else few + codes),
        "texts_": (len(model.texts_), roles.count("text")),
    }
    for name, (found, meant) in counts.items():
        s.require(found == meant, name, f"{meant} columns", found)
    if targets:
        k = 0 if model.classes_ is None else len(model.classes_)
        width = 1 if k == 2 else k
        for block in model.targets_:
            s.require(len(block.prior) == width, "targets_", f"{width} wide", len(block.prior))
    model._n_features_out = len(model.get_feature_names_out())


TUPLE = f.Mapped(f.Listed(f.Text()), lambda value, _at: tuple(value), list)
KINDS = {
    "TableEncoder": s.ModelSchema(
        TableEncoder,
        {
            **s.FEATURES,
            "column_names": NAMES,
            "column_roles": WordList("c"),
            **s.each(WORDS, "column_formats column_reasons"),
            "classes_": f.Maybe(Labels("k")),
            "numbers_": NUMBERS,
            "dates_": f.Listed(DATE),
            "categories_": f.Listed(CATEGORY),
            "targets_": f.Listed(TARGET),
            "texts_": f.Listed(TEXT),
        },
        params=dict.fromkeys(("drop", "text", "date", "category", "number"), TUPLE),
        derived="columns_ _n_features_out",
        pack=_pack,
        unpack=_unpack,
        check=_check,
    )
}
