"""Experiments, their steps and their results; a step is a pure function that returns rows of a tidy table.

A step reads the data, the results of earlier steps and the objects that the run shares, nothing else:
so its result is the same in an uninterrupted and in a resumed run.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError, ParameterError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.validation import require_integer

Shared = TypeVar("Shared")

LARGEST_SEED = 2**32 - 1  # as in scikit-learn
MEASURED = ("seconds", "memory")  # columns in which two runs of the same experiment differ
ALL_SPLITS = -1  # the split of a row that is about all splits, or about none


class Row(NamedTuple):
    """One number of an experiment with its coordinates; the table is a list of rows."""

    part: str  # of the experiment, as "1 every degree"
    data: str
    model: str
    parameters: str  # JSON, keys in order: see `params_json`
    split: int  # its number, or ALL_SPLITS
    metric: str  # as "test_error", a share, not per cent
    value: float
    seconds: float = float("nan")  # differs from run to run, as does memory
    memory: float = float("nan")  # MiB by which the process grew
    train_rows: int = 0  # of the split, if the value is a share of its test rows; else 0
    test_rows: int = 0


class StepResult(NamedTuple):
    """Rows for the table, and arrays for figures and later steps."""

    rows: list[Row]
    arrays: dict[str, npt.NDArray[Any]] = {}  # noqa: RUF012 (never changed)


@dataclass(frozen=True)
class Step:
    """A unit of work that is checkpointed; a few seconds to a minute is a good size."""

    name: str  # unique in the experiment
    run: Callable[[RunContext], StepResult]


@dataclass(frozen=True)
class Experiment:
    """Named steps with the options that identify the experiment.

    The `device` is not among the options: a run may be resumed on another one.
    """

    name: str
    title: str
    options: Mapping[str, Any]  # what JSON can hold; the seed among them
    data: tuple[str, ...]  # names of the data sets, for their hashes
    steps: Sequence[Step]
    load: Callable[[str], Dataset] = load

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names) or not names:
            raise ExperimentError(
                f"the steps of {self.name} need one name each; got {', '.join(names) or 'none'}"
            )
        seed = self.options.get("seed", 0)
        require_integer(self.name, "seed", seed, least=0)
        if seed > LARGEST_SEED:
            raise ParameterError(self.name, "seed", f"at most {LARGEST_SEED}", seed)


class MissingResult(LookupError):
    """A step asked for the result of a step that has not run."""


@dataclass
class RunContext:
    """What steps read: data sets, objects that several steps share, and results of earlier steps."""

    experiment: Experiment
    _data: dict[str, Dataset] = field(default_factory=dict)
    _shared: dict[Any, Any] = field(default_factory=dict)
    _results: dict[str, StepResult] = field(default_factory=dict)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the experiment."""
        return self.experiment.options

    def data(self, name: str) -> Dataset:
        """The data set of that name, loaded on first use."""
        if name not in self._data:
            self._data[name] = self.experiment.load(name)
        return self._data[name]

    def shared(self, key: Any, make: Callable[[], Shared]) -> Shared:
        """An object that several steps use, such as inner products; made on first use."""
        if key not in self._shared:
            self._shared[key] = make()
        found: Shared = self._shared[key]
        return found

    def result(self, step: str) -> StepResult:
        """The result of an earlier step, of this run or of the one that it resumes."""
        if step not in self._results:
            raise MissingResult(step)
        return self._results[step]

    def store(self, step: str, result: StepResult) -> None:
        """Make the result of a step available to later steps."""
        self._results[step] = result


@dataclass(frozen=True)
class Results:
    """The results of a run."""

    name: str
    title: str
    options: Mapping[str, Any]
    data_sha256: Mapping[str, str]
    rows: list[Row]
    arrays: Mapping[str, Mapping[str, npt.NDArray[Any]]]  # by step
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0

    def where(self, **fields: Any) -> list[Row]:
        """Rows with these values, in the order of the table."""
        return [row for row in self.rows if all(getattr(row, n) == v for n, v in fields.items())]

    def values(self, **fields: Any) -> npt.NDArray[np.float64]:
        """The values of these rows."""
        return np.array([row.value for row in self.where(**fields)])

    def table(self) -> list[dict[str, Any]]:
        """All rows with their provenance, one dict each."""
        constant = {
            "options": params_json(**self.options),
            "seed": self.options.get("seed"),
            "threads": self.threads,
            **{name.replace("-", "_"): number for name, number in self.versions.items()},
        }
        return [
            {
                "experiment": self.name,
                **row._asdict(),
                "data_sha256": self.data_sha256.get(row.data, ""),
                **constant,
            }
            for row in self.rows
        ]

    def write(self, folder: Path) -> list[Path]:
        """Write results.csv and, if pyarrow is installed, results.parquet."""
        table = self.table()
        with (
            atomic_write(folder / "results.csv") as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows({n: "" if v != v else v for n, v in row.items()} for row in table)
        try:
            import pyarrow as pa
            import pyarrow.parquet as parquet
        except ImportError:
            return [folder / "results.csv"]
        with atomic_write(folder / "results.parquet") as temporary:
            parquet.write_table(pa.Table.from_pylist(table), temporary)
        return [folder / "results.csv", folder / "results.parquet"]


def params_json(**parameters: Any) -> str:
    """Parameters as one JSON string, the same for the same parameters.

    >>> params_json(degree=3, C=np.float64(0.1))
    '{"C": 0.1, "degree": 3}'
    """
    return json.dumps(parameters, sort_keys=True, default=_plain)


def metric_rows(
    part: str,
    data: str,
    model: str,
    values: Mapping[str, Any],
    *,
    split: Any = ALL_SPLITS,  # an int; `Any`, as parameters may come as a dict
    seconds: Any = float("nan"),
    sizes: Any = (0, 0),  # of the training and the test part, for shares of the test rows
    **parameters: Any,
) -> list[Row]:
    """One row for each metric of a model with these parameters.

    >>> [row] = metric_rows("1 data", "iris", "SVC", {"error": 0.5}, C=1.0)
    >>> row.parameters, row.metric, row.value
    ('{"C": 1.0}', 'error', 0.5)
    """
    text = params_json(**parameters)
    return [
        Row(part, data, model, text, split, metric, float(value), seconds, math.nan, *sizes)
        for metric, value in values.items()
    ]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else repr(value)
