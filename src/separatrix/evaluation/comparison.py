"""The result of a comparison: a leaderboard with significance tests that account for overlap."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binomtest

from separatrix.data.counts import count_of
from separatrix.evaluation.metrics import LOSSES
from separatrix.evaluation.result import Evaluation, shorten
from separatrix.evaluation.statistics import Difference, corrected_t, holm, interval

COLUMNS = 110
MAJORITY, BOOSTING, FOREST = (
    "baseline: most frequent",
    "baseline: boosted trees",
    "baseline: random forest",
)
BASELINES = {  # in a sentence
    MAJORITY: "the most frequent class",
    BOOSTING: "gradient boosting of scikit-learn",
    FOREST: "a random forest of scikit-learn",
}
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(e-?\d+)?")


@dataclass(frozen=True)
class SplitProtocol:
    """How rows were split into training and test parts."""

    cv: int | None  # folds; None: random splits
    repeats: int
    seed: int
    grouped: bool = False
    test_size: float = 0.2  # of random splits
    folds: int = 3  # that tune
    ordered: bool = False  # test rows are later than training rows
    budget: float | None = None  # seconds

    def __str__(self) -> str:
        groups = " of whole groups" if self.grouped else ""
        if self.ordered:
            return count_of(self.cv or 1, "later period")
        if self.cv is None:
            return count_of(self.repeats, "random split") + groups
        times = "once" if self.repeats == 1 else f"{self.repeats} times"
        return f"{self.cv} folds{groups}, {times}"


@dataclass(frozen=True)
class Comparison:
    """Evaluations of several classifiers on the same splits, and why others are missing."""

    evaluations: dict[str, Evaluation]
    left_out: dict[str, str] = field(default_factory=dict)  # reasons by title
    failed: dict[str, str] = field(default_factory=dict)  # errors by name
    unfinished: dict[str, int] = field(default_factory=dict)  # convergence warnings by name
    protocol: SplitProtocol | None = None
    metric: str = "error"  # by which classifiers are ranked and tested
    not_tried: dict[str, str] = field(default_factory=dict)  # would suit: why not, by title
    interrupted: bool = False
    raced: dict[str, str] = field(default_factory=dict)  # dropped on a subset: its error, in words
    baselines: tuple[str, ...] = ()  # names of models that are no candidates
    subset: int | None = None  # training rows, if no split was finished on all of them
    planned: int | None = None  # splits, of which a budget may have allowed fewer

    @property
    def best(self) -> str:
        """The classifier that is best by the metric; ties go to the first. A baseline only if all are."""
        own = [name for name in self.evaluations if name not in self.baselines]
        return min(own or self.evaluations, key=self._mean_loss)

    def _losses(self, name: str) -> Any:
        """The metric on each split, (repeats,), with its sign changed if higher is better."""
        found = self.evaluations[name]
        if self.metric == "error":
            return found.test_error[0]
        return found.metric(self.metric)[0] * (1.0 if self.metric in LOSSES else -1.0)

    def _mean_loss(self, name: str) -> float:
        """The mean over splits; infinite for a model without what the metric needs."""
        mean = float(np.mean(self._losses(name)))
        return math.inf if math.isnan(mean) else mean

    @property
    def at_edge(self) -> dict[str, str]:
        """Models whose search still ended at the last value of a widened grid, in words."""
        found = {}
        for name, evaluation in self.evaluations.items():
            counts = Counter(edge for edges in evaluation.edges for edge in edges.items())
            words = [
                f"{param} is the {end} tried in {count} of {count_of(len(evaluation.splits), 'split')}"
                for (param, end), count in counts.items()
            ]
            if words:
                found[name] = ", ".join(words)
        return found

    @property
    def splits_in_words(self) -> str:
        """The protocol in words, or the number of splits."""
        count = len(self._splits)
        words = str(self.protocol or count_of(count, "split"))
        if self.planned is None or count == self.planned:
            return words
        return f"{count} of {count_of(self.planned, 'split')} ({words})"

    def difference(self, one: str, other: str) -> Difference:
        """Test the difference of two errors, as fractions, or of the metric, by the corrected t test."""
        rows = self._rows if self.metric == "error" else None  # others are no rates of rows
        return corrected_t(self._losses(one) - self._losses(other), self._ratio, rows)

    def pairs(self) -> list[dict[str, Any]]:
        """Return all pairs as plain values: the mean difference in per cent, its test, and Holm's p.

        The family of Holm's p is all pairs: the best is selected on the same data, so the pairs with the
        best alone would be too small a family.
        """
        pairs = list(combinations(self.evaluations, 2))
        found = [self.difference(*pair) for pair in pairs]
        adjusted = holm([difference.p for difference in found])
        return [
            {
                "models": pair,
                "difference": self._unit * difference.mean,
                "half_width": self._unit * difference.half_width,
                "p_value": _or_none(difference.p),
                "p_holm": _or_none(p),
            }
            for pair, difference, p in zip(pairs, found, adjusted, strict=True)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain values, best first; errors in per cent, times in seconds.

        `low` and `high` are the 95 % interval of the test error. `behind` is the mean difference to
        the best, with the `half_width` of its interval and its `p_value` by Nadeau and Bengio's
        corrected t test, and `p_holm` among all pairs of models. `fit_seconds` and `predict_seconds`
        are means over splits, None if models shared their work; `seconds` is the total. `chosen` are the
        parameters chosen in each split. If any model has probabilities there are `log_loss` and
        `brier`, None for models without. `converged` is False if any fit, those of searches included,
        missed its tolerance; the printed table marks such a model by an asterisk.
        """
        best = self.best
        tests = {frozenset(pair["models"]): pair for pair in self.pairs()}
        seen = any(found.probabilities for found in self.evaluations.values())
        rows = []
        for name, found in self.evaluations.items():
            low, high = interval(found.test_error[0], self._ratio, self._rows, self._tested)
            behind = self.difference(name, best)
            test = tests.get(frozenset((name, best)), {})
            rows.append(
                {
                    "model": name,
                    "converged": name not in self.unfinished,
                    "train_error": 100 * float(found.train_error.mean()),
                    "test_error": 100 * float(found.test_error.mean()),
                    "test_sd": 100 * float(found.test_error.std()),
                    "low": 100 * low,
                    "high": 100 * high,
                    "behind": self._unit * behind.mean,
                    "half_width": self._unit * behind.half_width,
                    "p_value": test.get("p_value"),
                    "p_holm": test.get("p_holm"),
                    "fit_seconds": _mean(found.fit_seconds),
                    "predict_seconds": _mean(found.predict_seconds),
                    "seconds": found.seconds,
                    "chosen": [_plain(settings) for settings in found.settings],
                    **(_of_probabilities(found) if seen else {}),
                    **({} if self.metric == "error" else {self.metric: self._mean_metric(name)}),
                }
            )
        return sorted(rows, key=lambda row: self._mean_loss(row["model"]))

    @property
    def warning(self) -> str:
        """What the ranking does not know, in one sentence, or ""."""
        words = []
        if self.interrupted:
            words.append("Interrupted: only what was finished is listed.")
        if self.not_tried:
            reasons: dict[str, list[str]] = {}
            for name, why in self.not_tried.items():
                reasons.setdefault(why, []).append(name)
            each = [f"{'; '.join(names)} ({why})" for why, names in reasons.items()]
            words.append(f"Not tried: {'; '.join(each)}.")
        if self.subset is not None:
            words.append(
                f"No split was finished on all rows: these are errors of {self.subset:,} rows."
            )
        return " ".join(words)

    @property
    def verdict(self) -> str:
        """What the baselines say about the best classifier, in a sentence or two, or ""."""
        if not self.baselines:
            return ""
        words = []
        for name in self.baselines:
            if name not in self.evaluations or name == self.best:
                continue
            gap = self.difference(self.best, name)
            title, unit = BASELINES.get(name, name), "points" if self.metric == "error" else ""
            size = f"{abs(self._unit * gap.mean):.2f} {unit}".strip()
            beyond = self._p_of_rows(name) <= 0.05 if math.isnan(gap.p) else gap.p <= 0.05
            if beyond and gap.mean > 0:
                words.append(f"{title} is better by {size}: it would serve you better")
            elif gap.mean == 0:
                words.append(f"{title} is as good")
            elif gap.mean > 0:
                words.append(f"{title} is ahead by {size}, within chance")
            else:
                sure = "" if beyond else ", within chance"
                words.append(f"{title} is behind by {size}{sure}")
        return f"Against {shorten(self.best, 40)}: {'; '.join(words)}." if words else ""

    def _p_of_rows(self, name: str) -> float:
        """Exact test of McNemar on the rows of a single split, on which splits cannot be compared."""
        one, other = (self.evaluations[n].predicted[0, 0] for n in (self.best, name))
        true = self.evaluations[name]._true(0)
        only = np.count_nonzero((one == true) & (other != true))
        differ = np.count_nonzero((one == true) != (other == true))
        return float(binomtest(only, differ).pvalue) if differ else 1.0

    def __str__(self) -> str:
        warning, verdict = (
            textwrap.wrap(text, COLUMNS, break_on_hyphens=False)
            for text in (self.warning, self.verdict)
        )
        return "\n".join([*warning, self._how(), *self._table(), *verdict, *self._notes()])

    @property
    def _unit(self) -> float:
        """Differences of errors are in per cent, those of other metrics in their own unit."""
        return 100.0 if self.metric == "error" else 1.0

    def _mean_metric(self, name: str) -> float | None:
        return _or_none(float(np.mean(self.evaluations[name].metric(self.metric)[0])))

    @property
    def _splits(self) -> Any:
        return next(iter(self.evaluations.values())).splits

    @property
    def _ratio(self) -> float:
        """Ratio of test rows to training rows."""
        return float(np.mean([len(test) / len(train) for train, test in self._splits]))

    @property
    def _rows(self) -> int:
        """Test rows of a split."""
        return round(np.mean([len(test) for _, test in self._splits]))

    @property
    def _tested(self) -> int:
        """Distinct test rows of all splits."""
        return len(np.unique(np.concatenate([test for _, test in self._splits])))

    def _how(self) -> str:
        train, test = self._splits[0]
        seed = f", seed {self.protocol.seed}" if self.protocol else ""
        return (
            f"{self.splits_in_words}, {len(train)} rows to train and {len(test)} to test{seed}; "
            "95 % intervals and p by corrected t, Holm"
            + ("" if self.metric == "error" else f"; best by {self.metric}")
        )

    @property
    def _metric_width(self) -> int:
        """Width of the metric's column: its name, or a number of four digits."""
        return max(8, len(self.metric) + 2)

    def _table(self) -> Iterator[str]:
        rows = self.rows()
        more = "brier" in rows[0]
        yield (
            f"{'model':<25}{'train':>6}{'test %':>8}{'interval':>14}{'behind best':>14}{'p':>8}"
            f"{'fit s':>8}{'predict s':>10}"
            + (f"{'log loss':>9}{'Brier':>8}" if more else "")
            + ("" if self.metric == "error" else f"{self.metric:>{self._metric_width}}")
        )
        for row in rows:
            first = row["model"] == self.best
            bounds = f"{row['low']:.1f}..{row['high']:.1f}"
            apart = round(row["behind"], 2) + 0.0  # no -0.00
            behind = "" if first else f"{apart:.2f}" + _plus_minus(row["half_width"])
            yield (
                f"{shorten(self._marked(row['model']), 24):<25}"
                + _number(row["train_error"], 6, 2)
                + _number(row["test_error"], 8, 2)
                + f"{bounds:>14}{behind:>14}{'' if first else _p(row['p_holm']):>8}"
                + _number(row["fit_seconds"], 8, 3)
                + _number(row["predict_seconds"], 10, 3)
                + (_number(row["log_loss"], 9, 4) + _number(row["brier"], 8, 4) if more else "")
                + (
                    ""
                    if self.metric == "error"
                    else _number(row[self.metric], self._metric_width, 4)
                )
            )

    def _marked(self, name: str) -> str:
        """The name, with an asterisk if fits of the model did not converge."""
        return f"*{name}" if name in self.unfinished else name

    def _notes(self) -> Iterator[str]:
        chosen = {name: _usual(found.settings) for name, found in self.evaluations.items()}
        warned = {
            self._marked(name): f"{count} fits missed their tolerance, including those of searches"
            for name, count in self.unfinished.items()
        }
        for title, lines in (
            ("chosen", {name: words for name, words in chosen.items() if words}),
            ("best value at the end of the grid", self.at_edge),
            ("not converged", warned),
            ("dropped on a subset of the rows", self.raced),
            ("failed", self.failed),
            ("left out", {n: w for n, w in self.left_out.items() if n not in self.not_tried}),
        ):
            if lines:
                yield f"{title}:"
            for name, words in lines.items():
                yield from textwrap.wrap(
                    f"{name}: {words}", COLUMNS, initial_indent="  ", subsequent_indent="      "
                )


def _of_probabilities(found: Evaluation) -> dict[str, float | None]:
    if not found.probabilities:
        return {"log_loss": None, "brier": None}
    return {"log_loss": float(found.log_loss.mean()), "brier": float(found.brier.mean())}


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Convert parameters to JSON types."""
    return {
        name: value if isinstance(value, bool | int | float | str) else repr(value)
        for name, value in settings.items()
    }


def _usual(settings: list[dict[str, Any]]) -> str:
    """Summarise chosen parameters: the range of a single number, else the most frequent choice.

    >>> _usual([{"C": 1}, {"C": 10}]), _usual([{"shrinkage": 0.1}, {"shrinkage": "auto"}])
    ('C=1 to 10', 'shrinkage=0.1 (1 of 2 times)')
    """
    if not settings:
        return ""
    name, *others = settings[0]
    values = [chosen[name] for chosen in settings]
    numbers = all(isinstance(value, int | float) for value in values)
    if not others and numbers and min(values) < max(values):
        return f"{name}={_brief(min(values))} to {_brief(max(values))}"
    words = [
        ", ".join(f"{name}={_brief(value)}" for name, value in chosen.items())
        for chosen in settings
    ]
    usual, count = Counter(words).most_common(1)[0]
    return f"{usual} ({count} of {len(words)} times)"


def _brief(value: Any) -> str:
    """Round numbers to four digits, also inside a kernel."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", str(value))


def _mean(seconds: Any) -> float | None:
    return None if seconds is None else float(np.mean(seconds))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _plus_minus(half_width: float) -> str:
    return "" if math.isnan(half_width) else f" ± {half_width:.2f}"


def _number(value: float | None, width: int, digits: int) -> str:
    unknown = value is None or math.isnan(value)
    return f"{'-':>{width}}" if unknown else f"{value:>{width}.{digits}f}"
