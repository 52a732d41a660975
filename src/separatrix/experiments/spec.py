"""An experiment from a TOML file: data, splits, models with their grids, metrics, seed.

The whole file is checked before anything runs. It may contain its samples, in [inline]; `data` is then
only their name. docs/experiments.md describes the format.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from separatrix.data.dataset import Dataset
from separatrix.data.regular_files import read_regular
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.evaluation.metrics import require_metrics

SCALES = ("none", "unit", "standard", "range")
LARGEST_GRID = 10_000
LARGEST_SCALE = 1e300
LONGEST_STRING = 1000  # letters
MOST_ROWS, MOST_COLUMNS = 100_000, 1000  # of inline samples
MOST_ERRORS = 3  # in one message

ShortString = Annotated[str, Field(max_length=LONGEST_STRING)]


class _Table(BaseModel):
    """A table of the file: types are exact, unknown keys are errors."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SplitSpec(_Table):
    """How test rows are held out."""

    method: Literal["random", "stratified", "folds", "grouped", "given"] = "stratified"
    repeats: Annotated[int, Field(ge=1)] = 5  # with folds 1, unless it is given
    test_size: Annotated[float, Field(gt=0, lt=1)] = 0.2
    folds: Annotated[int, Field(ge=2)] = 5  # of method "folds", `repeats` times over
    subsample: Annotated[int, Field(ge=2)] | None = None
    group: ShortString | None = None  # a column; rows with the same value stay together

    @model_validator(mode="before")
    @classmethod
    def _take_folds(cls, given: Any) -> Any:
        """`folds` implies its method; each row is then tested once unless `repeats` says otherwise."""
        if not isinstance(given, dict):
            return given
        given = {"method": "folds", **given} if "folds" in given else given
        if given.get("method") == "folds":
            return {"repeats": 1, **given}
        if "folds" in given:
            raise ValueError('`folds` needs method = "folds"')
        return given

    @model_validator(mode="after")
    def _check_group(self) -> Self:
        if (self.method == "grouped") != (self.group is not None):
            raise ValueError('`group` must name a column if and only if method = "grouped"')
        return self


class ModelSpec(_Table):
    """A classifier with fixed parameters and a grid."""

    type: ShortString
    name: ShortString = ""
    scale: Any = "none"
    parameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}

    def combinations(self) -> list[dict[str, Any]]:
        """Every cell of the grid, the last parameter changing first."""
        return [dict(zip(self.grid, cell, strict=True)) for cell in product(*self.grid.values())]

    @field_validator("scale")
    @classmethod
    def _check_scale(cls, scale: Any) -> Any:
        number = isinstance(scale, int | float) and not isinstance(scale, bool)
        if not (0 < scale < LARGEST_SCALE if number else scale in SCALES):
            raise ValueError(f"must be a number above 0 or one of {', '.join(SCALES)}")
        return scale

    @field_validator("parameters")
    @classmethod
    def _check_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        for name, value in parameters.items():
            _require_json(name, value)
        return parameters

    @field_validator("grid")
    @classmethod
    def _check_grid(cls, grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for name, values in grid.items():
            if not values:
                raise ValueError(f"{name} must be a list of values; got an empty one")
        size = math.prod(map(len, grid.values()))
        if size > LARGEST_GRID:
            raise ValueError(f"must have at most {LARGEST_GRID:,} cells; got {size:,}")
        for name, values in grid.items():
            _require_json(name, values)
            twice = [text for text, count in Counter(map(_to_json, values)).items() if count > 1]
            if twice:
                raise ValueError(f"{name} has {twice[0]} twice")
        return grid

    @model_validator(mode="after")
    def _check_both(self) -> Self:
        both = sorted(set(self.parameters) & set(self.grid))
        if both:
            raise ValueError(f"{', '.join(both)} is both in parameters and in grid")
        return self if self.name else self.model_copy(update={"name": self.type})


class InlineSamples(_Table):
    """Samples written in the file."""

    columns: Annotated[list[ShortString], Field(min_length=2, max_length=MOST_COLUMNS)]
    target: ShortString
    rows: Annotated[list[Any], Field(min_length=2, max_length=MOST_ROWS)]

    def dataset(self, name: str) -> Dataset:
        """The samples as a data set."""
        position = self.columns.index(self.target)
        features = tuple(column for column in self.columns if column != self.target)
        X = [[value for i, value in enumerate(row) if i != position] for row in self.rows]
        y = np.array([row[position] for row in self.rows])
        return Dataset(
            name, np.array(X, dtype=np.float64), y, features=features, target=self.target
        )

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        if len(set(self.columns)) < len(self.columns) or "" in self.columns:
            raise ValueError("`columns` must be different, non-empty names")
        if self.target not in self.columns:
            raise ValueError(f"`target` must be one of the columns; got {self.target!r}")
        position, kind = self.columns.index(self.target), None
        for number, row in enumerate(self.rows, start=1):
            if not isinstance(row, list) or len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} must be a list of {len(self.columns)} values; got {row!r:.60}"
                )
            kind = kind or (str if isinstance(row[position], str) else int)
            for i, value in enumerate(row):
                good = _is_label(value, kind) if i == position else _is_finite(value)
                if not good:
                    label = "a string" if kind is str else "an integer"
                    must_be = f"{label} as in row 1" if i == position else "a finite number"
                    name = self.columns[i]
                    raise ValueError(f"row {number}: {name} must be {must_be}; got {value!r:.60}")
        return self


Names = Annotated[tuple[ShortString, ...], Field(strict=False)]


class RolesSpec(_Table):
    """Columns of a table whose role the rules do not decide."""

    drop: Names = ()
    text: Names = ()
    date: Names = ()
    category: Names = ()
    number: Names = ()


class Spec(_Table):
    """An experiment file."""

    name: ShortString
    title: ShortString
    data: ShortString
    models: Annotated[tuple[ModelSpec, ...], Field(alias="model", strict=False)]
    split: SplitSpec = SplitSpec()
    metrics: Annotated[tuple[str, ...], Field(strict=False)] = ("error",)
    tune_folds: Annotated[int, Field(ge=2)] = 5
    seed: Annotated[int, Field(ge=0)] = 0
    target: Annotated[Any, Field(default=None)]  # name or number of a column
    roles: RolesSpec = RolesSpec()
    folder: Path = Path()  # of relative file names
    inline: InlineSamples | None = None

    @field_validator("models")
    @classmethod
    def _check_models(cls, models: tuple[ModelSpec, ...]) -> tuple[ModelSpec, ...]:
        if not models:
            raise ValueError("at least one [[model]] is needed")
        return models

    @field_validator("target")
    @classmethod
    def _check_target(cls, target: Any) -> Any:
        name = isinstance(target, str) and len(target) <= LONGEST_STRING
        if not name and type(target) is not int and target is not None:
            raise ValueError("must be the name or the number of a column")
        return target

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        """The folder of a run has this name."""
        if not name.isprintable() or set(name) & set("/\\") or not name.strip(". "):
            raise ValueError("must consist of letters, digits and dashes")
        return name

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.inline is not None and self.target is not None:
            raise ValueError("`target` of inline samples belongs into [inline]")
        names = [model.name for model in self.models]
        if len(set(names)) < len(names):
            raise ValueError(
                f"models must have different names; got {', '.join(names)}; set `name` where two have "
                "the same type"
            )
        return self


def read_spec(path: Path) -> Spec:
    """The experiment in a TOML file."""
    try:
        document = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise ExperimentError(f"there is no file {path}") from None
    except (ValueError, RecursionError) as error:
        raise ExperimentError(f"{path}: not a TOML file: {error}") from None
    try:
        return parse_spec(document, path.stem, path.parent)
    except SeparatrixError as error:
        named = ExperimentError(f"{path}: {error}")
        named.hint = error.hint
        raise named from None


def parse_spec(document: Mapping[str, Any], name: str, folder: Path | None = None) -> Spec:
    """The experiment in a document; unknown keys and wrong values are errors.

    >>> parse_spec({"data": "iris", "model": [{"type": "GaussianNB"}]}, "small").models[0].name
    'GaussianNB'
    """
    title = name.replace("-", " ").capitalize()
    unknown = {"folder", "models"} & document.keys()
    if unknown:
        raise ExperimentError(f"unknown key {unknown.pop()!r} @ $")
    try:
        spec = Spec.model_validate(
            {"name": name, "title": title, **document, "folder": folder or Path()}
        )
    except ValidationError as error:
        found = [_describe(one) for one in error.errors(include_url=False)[:MOST_ERRORS]]
        raise ExperimentError("; ".join(found)) from None
    require_metrics(spec.metrics)
    return spec


def _describe(error: Any) -> str:
    """What is wrong, and where in the file."""
    *parents, last = where = error["loc"] or ("",)
    path = "$" + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in where)
    path = path.removesuffix(".")
    if error["type"] == "missing":
        return f"no `{last}` @ {path.removesuffix(f'.{last}')}"
    if error["type"] == "extra_forbidden":
        tables: dict[Any, type[_Table]] = {
            "split": SplitSpec,
            "inline": InlineSamples,
            "roles": RolesSpec,
            "model": ModelSpec,
        }
        fields = tables[parents[0]].model_fields if parents else Spec.model_fields
        known = [one.alias or name for name, one in fields.items() if name != "folder"]
        path = path.removesuffix(f".{last}")
        return f"unknown key `{last}`, expected one of {', '.join(known)} @ {path}"
    text = error["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
    text = text.replace("valid dictionary or instance of ModelSpec", "table")
    text = text.replace("Input should", "must").replace(" should", " must")
    return f"{text}{'' if '; got' in text else _got(error['input'])} @ {path}"


def _got(value: Any) -> str:
    return "" if isinstance(value, dict | _Table) else f"; got {value!r:.60}"


def _require_json(name: str, value: Any) -> None:
    """Reject values that change in a round trip through JSON, by which runs are compared."""
    try:
        same = bool(json.loads(_to_json(value)) == value)
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        kinds = "numbers, strings, true, false, lists and tables of these"
        raise ValueError(f"{name} must consist of {kinds}; got {value!r:.60}")


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _is_label(value: Any, kind: Any) -> bool:
    """Whether an array keeps it; strings lose a trailing NUL."""
    if type(value) is not kind:
        return False
    if kind is str:
        return len(value) <= LONGEST_STRING and "\0" not in value
    return bool(abs(value) < 2**53)


def _is_finite(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False
