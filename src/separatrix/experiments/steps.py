"""What an experiment is made of: steps, each a pure function with rows of a tidy table as its answer.

A step may read the data, what earlier steps found and what the run shares, and nothing else: so its
answer is the same whether the run was killed before it or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError

LARGEST_SEED = 2**32 - 1  # as in scikit-learn
ALL_SPLITS = -1  # the split of a row that is about all splits, or about none


class Row(NamedTuple):
    """One number of an experiment and what it is about; the table is a list of these."""

    part: str  # of the experiment, as "1 every degree"
    data: str
    model: str
    parameters: str  # JSON, keys in order: see `params_json`
    split: int  # its number, or WHOLE
    metric: str  # as "test_error", a share, not per cent
    value: float
    seconds: float = float("nan")  # how long it took; no two runs agree, also on the next
    memory: float = float("nan")  # MiB that it took beside what was there


class StepResult(NamedTuple):
    """The answer of a step: rows for the table, and arrays for pictures."""

    rows: list[Row]
    arrays: dict[str, npt.NDArray[Any]] = {}  # noqa: RUF012 (never changed)


@dataclass(frozen=True)
class Step:
    """One piece of work that is kept when it is done; a few seconds to a minute is a good size."""

    name: str  # one of its own in the experiment
    run: Callable[[RunContext], StepResult]


@dataclass(frozen=True)
class Experiment:
    """Steps under a name, with the options that make it this experiment and no other.

    Where machines work, their `device`, is not among these: a run may go on elsewhere.
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
        if not 0 <= seed <= LARGEST_SEED:
            raise ExperimentError(f"seed is {seed}, expected 0 to {LARGEST_SEED}")


@dataclass
class RunContext:
    """What steps work with: data read once, what is shared made once, what was found before."""

    experiment: Experiment
    _data: dict[str, Dataset] = field(default_factory=dict)
    _shared: dict[Any, Any] = field(default_factory=dict)
    _found: dict[str, StepResult] = field(default_factory=dict)

    def data(self, name: str) -> Dataset:
        """The data set of that name, read when first asked for."""
        if name not in self._data:
            self._data[name] = self.experiment.load(name)
        return self._data[name]

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What several steps need and only one should make, as inner products or neighbours."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def found(self, step: str) -> StepResult:
        """What an earlier step found, in this run or in one before it."""
        return self._found[step]

    def keep(self, step: str, finding: StepResult) -> None:
        """Remember the answer of a step."""
        self._found[step] = finding


def params_json(**parameters: Any) -> str:
    """Parameters as one JSON string, the same for the same parameters.

    >>> params_json(degree=3, C=np.float64(0.1))
    '{"C": 0.1, "degree": 3}'
    """
    return json.dumps(parameters, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else repr(value)
