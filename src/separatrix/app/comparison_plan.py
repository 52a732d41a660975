"""What a comparison would do, and about how long it would take: `compare --dry-run`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from separatrix.app.compare_file import prepare_comparison
from separatrix.app.estimate import Estimate, estimate, seconds_in_words
from separatrix.data.counts import count_of
from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split
from separatrix.evaluation.comparison_splits import plan_splits
from separatrix.evaluation.samples import CheckedSamples
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing, can_be_split
from separatrix.evaluation.table_models import baselines_for
from separatrix.runtime.blocks import in_words

LONG_ENOUGH = 0.5  # seconds of a fit, of one of many models
MOST_OF_TIME = 0.4  # share of the seconds of all models from which on one is timed longer
LONGER, MOST_LONGER = (
    0.5,
    4.0,
)  # of the seconds of all on one split, for fits of it; at most, seconds


class ComparisonPlan(NamedTuple):
    """The models and splits of a comparison, with estimates."""

    data: str
    rows: int
    splits: int
    protocol: str
    seconds: dict[str, float]  # of each model on all splits; NaN if it fits no small subset
    start: float  # seconds to import packages and to read the data, as measured
    preprocessing: float  # seconds, for all models together
    bytes: int  # of the model that takes most
    budget: float | None
    left_out: Mapping[str, str]
    not_tried: Mapping[str, str]
    notes: Sequence[str]

    @property
    def total(self) -> float:
        """Seconds from the start to the table of all models on all splits, without a budget."""
        known = [seconds for seconds in self.seconds.values() if not math.isnan(seconds)]
        return self.start + self.preprocessing + sum(known)

    def __str__(self) -> str:
        lines = [
            f"would compare {count_of(len(self.seconds), 'model')} on {count_of(self.rows, 'row')} "
            f"of {self.data}, {count_of(self.splits, 'split')} ({self.protocol}):"
        ]
        lines += [
            f"  {name:<30} {seconds_in_words(seconds)}" for name, seconds in self.seconds.items()
        ]
        lines.append(f"  {'to start and to read the data':<30} {seconds_in_words(self.start)}")
        omitted = {**self.left_out, **self.not_tried}
        lines += ["left out:"] if omitted else []
        lines += [f"  {name}: {why}" for name, why in omitted.items()]
        total, memory = seconds_in_words(self.total), in_words(self.bytes)
        lines.append(f"all models on all splits: {total} and {memory} of memory")
        if self.budget is None:
            lines.append("no budget: all of it")
        elif self.total <= self.budget:
            lines.append(f"within the budget of {self.budget:g} s: all of it")
        else:
            lines.append(
                f"beyond the budget of {self.budget:g} s: models race on subsets of the rows, and those "
                "that are left run on as many splits as fit"
            )
        return "\n".join(lines)


def plan_comparison(
    name: str | Sequence[str],
    *,
    cv: int = 5,
    repeats: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    baselines: bool = False,
    group: str | None = None,
    time: str | None = None,
    begun: float | None = None,
    **options: Any,
) -> ComparisonPlan:
    """Read the data and time fits to small subsets of the first training part; as for `compare_data`."""
    begun = monotonic() if begun is None else begun
    prepared = prepare_comparison(name, group, time, seed=seed, timed=budget is not None, **options)
    start = monotonic() - begun
    data, samples = prepared.data, prepared.samples
    protocol, splits = plan_splits(
        samples.y, cv, repeats, seed, prepared.groups, prepared.times, budget=budget
    )
    models = dict(prepared.estimators)
    if baselines:
        models |= baselines_for(data, seed)
    shared, preprocessing = SharedPreprocessing(), 0.0
    found: dict[str, Estimate] = {}
    for title, model in models.items():
        found[title], spent = _estimate(model, data.name, samples, splits[0], shared, seed)
        preprocessing += spent
    for title in _unsure(found, len(splits[0].train)):
        longer = min(LONGER * sum(one.seconds for one in found.values()), MOST_LONGER)
        again = _estimate(models[title], data.name, samples, splits[0], shared, seed, longer)
        found[title] = again[0]._replace(start=found[title].start)
    return ComparisonPlan(
        data=data.name,
        rows=len(samples.y),
        splits=len(splits),
        protocol=str(protocol),
        seconds={
            title: len(splits) * (one.seconds - one.start) + one.start
            for title, one in found.items()
        },
        start=start,
        preprocessing=len(splits) * preprocessing,
        bytes=max(one.bytes for one in found.values()),
        budget=budget,
        left_out=prepared.estimators.left_out,
        not_tried=prepared.estimators.not_tried,
        notes=prepared.notes,
    )


def _unsure(found: Mapping[str, Estimate], rows: int) -> list[str]:
    """Models that take most of the time of a split, by an extrapolation: its power is worth measuring.

    >>> short, long = Estimate(1.0, 0, rows=800), Estimate(9.0, 0, rows=800)
    >>> _unsure({"a": short, "b": long}, 1600), _unsure({"a": short, "b": long}, 800)
    (['b'], [])
    """
    total = sum(one.seconds for one in found.values())
    return [
        title
        for title, one in found.items()
        if one.rows < rows and one.seconds > MOST_OF_TIME * total and total > 4 * LONG_ENOUGH
    ]


def _estimate(
    model: Any,
    name: str,
    samples: CheckedSamples,
    split: Split,
    shared: SharedPreprocessing,
    seed: int,
    long_enough: float = LONG_ENOUGH,
) -> tuple[Estimate, float]:
    """The estimate of a model on one split, and the seconds of preprocessing that no other had spent."""
    (X, y), spent = samples, 0.0
    labels = np.asarray(y)[split.train]
    if can_be_split(model):
        prepared = shared.of(model, X, labels, split)
        spent = prepared.fit_seconds + prepared.transform_seconds - prepared.saved_seconds
        X, model = deepcopy(prepared.train), model.steps[-1][1]
    else:
        X = X[split.train]
    return estimate(model, Dataset(name, X, labels), seed=seed, long_enough=long_enough), spent
