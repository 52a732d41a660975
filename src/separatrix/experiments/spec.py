"""An experiment from a TOML file: data, splits, models with their grids, metrics, seed.

    data = "digits"                      # a name of the catalogue, or a file beside this one
    seed = 0
    metrics = ["error", "log_loss"]

    [split]
    method = "stratified"                # random, stratified, folds, grouped or given
    repeats = 10
    test_size = 0.2

    [[model]]
    type = "SVC"
    scale = 16                           # a number, "unit", "standard", "range" or "none"
    parameters = { C = 10.0 }
    grid = { kernel = [{ type = "Gaussian", gamma = 0.1 }, { type = "Polynomial", degree = 3 }] }

Every word is checked before anything runs. A file may also carry its samples itself; `data` is then only
what they are called:

    [inline]
    columns = ["length", "width", "kind"]
    target = "kind"
    rows = [[5.1, 3.5, "setosa"], [6.2, 2.9, "versicolor"]]
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.evaluation.metrics import NAMES, require_metrics

METHODS = ("random", "stratified", "folds", "grouped", "given")
SCALES = ("none", "unit", "standard", "range")
LARGEST_GRID = 10_000
LARGEST_SCALE = 1e300
LONGEST_STRING = 1000  # letters; of a name, or of any other
MOST_ROWS, MOST_COLUMNS = 100_000, 1000  # that a file carries itself


@dataclass(frozen=True)
class SplitSpec:
    """How rows are set aside."""

    method: str = "stratified"
    repeats: int = 5
    test_size: float = 0.2
    folds: int = 5  # with method "folds": each of these parts is tested once, `repeats` times over
    subsample: int | None = None
    group: str | None = None  # a column; rows that agree in it stay together


@dataclass(frozen=True)
class ModelSpec:
    """A classifier, what is fixed about it and what is tried."""

    name: str
    type: str
    scale: float | str = "none"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)

    def combinations(self) -> list[dict[str, Any]]:
        """Every cell of the grid, the last parameter changing first."""
        return [dict(zip(self.grid, cell, strict=True)) for cell in product(*self.grid.values())]


@dataclass(frozen=True, eq=False)
class Inline:
    """Samples that are written in the file itself."""

    columns: tuple[str, ...]
    target: str
    rows: tuple[tuple[Any, ...], ...]  # one value for each column

    def dataset(self, name: str) -> Dataset:
        """The same as samples with labels."""
        position = self.columns.index(self.target)
        features = tuple(column for column in self.columns if column != self.target)
        X = [[value for i, value in enumerate(row) if i != position] for row in self.rows]
        y = np.array([row[position] for row in self.rows])
        return Dataset(
            name, np.array(X, dtype=np.float64), y, features=features, target=self.target
        )


@dataclass(frozen=True)
class Spec:
    """An experiment as it is written."""

    name: str
    title: str
    data: str
    models: tuple[ModelSpec, ...]
    split: SplitSpec = field(default_factory=SplitSpec)
    metrics: tuple[str, ...] = ("error",)
    tune_folds: int = 5
    seed: int = 0
    target: str | int | None = None
    folder: Path = field(default_factory=Path)  # that relative file names start from
    inline: Inline | None = None  # the samples, where the file has them


def read_spec(path: Path) -> Spec:
    """The experiment in a TOML file."""
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        raise ExperimentError(f"there is no file {path}") from None
    except (ValueError, RecursionError) as error:
        raise ExperimentError(f"{path}: found what is no TOML: {error}") from None
    try:
        return parse_spec(document, path.stem, path.parent)
    except SeparatrixError as error:
        said = ExperimentError(f"{path}: {error}")
        said.hint = error.hint
        raise said from None


def parse_spec(document: Mapping[str, Any], name: str, folder: Path | None = None) -> Spec:
    """The experiment in a document, every key and value checked.

    >>> parse_spec({"data": "iris", "model": [{"type": "GaussianNB"}]}, "small").models[0].name
    'GaussianNB'
    """
    top = _Keys(document, "the file")
    models = top.take("model", list, None)
    if not models:
        raise ExperimentError("found no [[model]], expected at least one")
    split = _Keys(top.take("split", dict, {}), "[split]")
    inline = top.take("inline", dict, None, optional=True)
    spec = Spec(
        name=top.take("name", str, name),
        title=top.take("title", str, name.replace("-", " ").capitalize()),
        data=top.take("data", str, None),
        models=tuple(_model(model, number) for number, model in enumerate(models, start=1)),
        split=SplitSpec(
            method=split.choice("method", METHODS, "stratified"),
            repeats=split.number("repeats", int, 5, least=1),
            test_size=split.number("test_size", float, 0.2, above=0.0, below=1.0),
            folds=split.number("folds", int, 5, least=2),
            subsample=split.number("subsample", int, None, least=2),
            group=split.take("group", str, None, optional=True),
        ),
        metrics=tuple(top.take("metrics", list, ["error"])),
        tune_folds=top.number("tune_folds", int, 5, least=2),
        seed=top.number("seed", int, 0, least=0),
        target=top.take("target", str | int, None, optional=True),
        folder=folder or Path(),
        inline=None if inline is None else _inline(inline),
    )
    split.end()
    top.end()
    _require_folder_name(spec.name)
    require_metrics(spec.metrics)
    if (spec.split.method == "grouped") != (spec.split.group is not None):
        raise ExperimentError(
            '`group` names the column for method = "grouped", and goes with no other'
        )
    if spec.inline is not None and spec.target is not None:
        raise ExperimentError("found a `target` beside [inline], expected it inside of that")
    names = [model.name for model in spec.models]
    if len(set(names)) < len(names):
        raise ExperimentError(
            f"models need one `name` each; got {', '.join(names)}; two of a type need their own"
        )
    return spec


def _model(document: Any, number: int) -> ModelSpec:
    where = f"[[model]] {number}"
    if not isinstance(document, dict):
        raise ExperimentError(f"{where}: found {document!r}, expected a table")
    keys = _Keys(document, where)
    kind = keys.take("type", str, None)
    scale = keys.take("scale", str | int | float, "none")
    if scale not in SCALES if isinstance(scale, str) else not 0 < scale < LARGEST_SCALE:
        listed = ", ".join(SCALES)
        raise ExperimentError(f"{where}: scale is {scale!r}, expected a number above 0 or {listed}")
    grid = keys.take("grid", dict, {})
    size = 1
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ExperimentError(f"{where}: grid.{name} is {values!r}, expected a list of values")
        size *= len(values)
    if size > LARGEST_GRID:
        raise ExperimentError(
            f"{where}: the grid has {size:,} cells; at most {LARGEST_GRID:,} are run"
        )
    for name, values in grid.items():
        twice = [said for said, count in Counter(map(_json, values)).items() if count > 1]
        if twice:
            raise ExperimentError(f"{where}: grid.{name} has {twice[0]} twice, expected it once")
    model = ModelSpec(
        keys.take("name", str, kind), kind, scale, keys.take("parameters", dict, {}), grid
    )
    for name, value in (*model.parameters.items(), *grid.items()):
        if not _storable(value):
            expected = "numbers, strings, true, false, lists and tables of these"
            raise ExperimentError(f"{where}: {name} is {value!r}, expected {expected}")
    both = sorted(set(model.parameters) & set(grid))
    if both:
        raise ExperimentError(f"{where}: {', '.join(both)} is both in parameters and in grid")
    keys.end()
    return model


def _inline(document: dict[str, Any]) -> Inline:
    keys = _Keys(document, "[inline]")
    columns = keys.take("columns", list, None)
    target = keys.take("target", str, None)
    rows = keys.take("rows", list, None)
    keys.end()
    good = all(isinstance(name, str) and 0 < len(name) <= LONGEST_STRING for name in columns)
    if not good or not 2 <= len(columns) <= MOST_COLUMNS or len(set(columns)) < len(columns):
        raise ExperimentError(
            f"[inline]: columns is {columns!r:.200}, expected 2 to {MOST_COLUMNS:,} different names"
        )
    if target not in columns:
        raise ExperimentError(f"[inline]: target is {target!r:.60}, expected one of the columns")
    if not 2 <= len(rows) <= MOST_ROWS:
        raise ExperimentError(f"[inline]: found {len(rows):,} rows, expected 2 to {MOST_ROWS:,}")
    labels = _kind_of_label(rows[0], columns.index(target))
    for number, row in enumerate(rows, start=1):
        _require_row(row, number, columns, target, labels)
    return Inline(tuple(columns), target, tuple(map(tuple, rows)))


def _kind_of_label(row: Any, position: int) -> type:
    """Labels are all texts or all whole numbers, as the first one is."""
    text = isinstance(row, list) and len(row) > position and isinstance(row[position], str)
    return str if text else int


def _require_row(row: Any, number: int, columns: list[str], target: str, labels: type) -> None:
    where = f"[inline]: row {number}"
    if not isinstance(row, list) or len(row) != len(columns):
        raise ExperimentError(f"{where} is {row!r:.60}, expected a list of {len(columns)} values")
    for name, value in zip(columns, row, strict=True):
        if name == target:
            if type(value) is not labels or not _is_label(value):
                raise ExperimentError(
                    f"{where}: {name} is {value!r:.60}, expected {_words(labels.__name__)} as in row 1"
                )
        elif type(value) not in (int, float) or not _is_finite(value):
            raise ExperimentError(f"{where}: {name} is {value!r:.60}, expected a finite number")


def _is_label(value: Any) -> bool:
    """Whether an array holds it as it is; texts lose a last NUL there."""
    if isinstance(value, str):
        return len(value) <= LONGEST_STRING and "\0" not in value
    return bool(abs(value) < 2**53)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False


def _storable(value: Any) -> bool:
    """Whether JSON gives back the same: what is written beside a run is compared with it later."""
    try:
        return bool(json.loads(_json(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _require_folder_name(name: str) -> None:
    """Refuse a name that is no plain one: a run's folder is called so."""
    if not name.isprintable() or set(name) & set("/\\") or not name.strip(". "):
        raise ExperimentError(f"name is {name!r}, expected letters, digits and dashes")


class _Keys:
    """A table of the file that is taken apart; what nobody took is a mistake."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self.table, self.where = dict(table), where
        self.known: list[str] = []

    def take(self, key: str, kind: Any, default: Any, *, optional: bool = False) -> Any:
        """The value of a key, of that type; a default of None means that it must be there."""
        self.known.append(key)
        if key not in self.table:
            if default is None and not optional:
                raise ExperimentError(f"{self.where}: found no `{key}`, expected one")
            return default
        value = self.table.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            name = getattr(kind, "__name__", str(kind))
            raise ExperimentError(f"{self.where}: {key} is {value!r}, expected {_words(name)}")
        if isinstance(value, str) and len(value) > LONGEST_STRING:
            raise ExperimentError(
                f"{self.where}: {key} has {len(value):,} letters, expected at most {LONGEST_STRING:,}"
            )
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """One of some words."""
        value: str = self.take(key, str, default)
        if value not in choices:
            raise ExperimentError(
                f"{self.where}: {key} is {value!r}, expected one of {', '.join(choices)}"
            )
        return value

    def number(
        self,
        key: str,
        kind: type,
        default: Any,
        *,
        least: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ) -> Any:
        """A number in range."""
        value = self.take(key, int if kind is int else int | float, default, optional=True)
        if value is None:
            return None
        bad = (
            (least is not None and value < least)
            or (above is not None and value <= above)
            or (below is not None and value >= below)
        )
        if bad:
            bounds = (
                [f"at least {least}"] if least is not None else [f"above {above}", f"below {below}"]
            )
            raise ExperimentError(
                f"{self.where}: {key} is {value}, expected {' and '.join(bounds)}"
            )
        return value

    def end(self) -> None:
        """Refuse what nobody took."""
        if self.table:
            found = ", ".join(f"`{key}`" for key in self.table)
            raise ExperimentError(
                f"{self.where}: found {found}, expected only {', '.join(self.known)}"
            )


def _words(name: str) -> str:
    return {"str": "a string", "int": "a whole number", "dict": "a table", "list": "a list"}.get(
        name, name.replace("|", "or")
    )


__all__ = [
    "METHODS",
    "NAMES",
    "SCALES",
    "Inline",
    "ModelSpec",
    "Spec",
    "SplitSpec",
    "parse_spec",
    "read_spec",
]
