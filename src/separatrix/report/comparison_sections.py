"""The sections of a comparison's page: leaderboard, confusions, hardest rows, calibration, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.counts import count_of
from separatrix.data.dataset import Dataset
from separatrix.evaluation.comparison import MAJORITY, Comparison
from separatrix.evaluation.result import Evaluation
from separatrix.plots.figures import plot_confusion, plot_hardest
from separatrix.plots.probabilities import plot_reliability
from separatrix.report.comparison_pictures import (
    plot_leaderboard,
    plot_sizes,
    plot_times,
    short,
    with_short_names,
)
from separatrix.report.page import Picture, Section, Table
from separatrix.types import Matrix

CERTAIN = 0.05  # level of the tests
MOST_CLASSES = 30  # above, a matrix cannot be read: the largest confusions are listed
MOST_PAIRS = 60
LONGEST_CLASS = 14
DRAWN, LISTED = 5, 10  # hardest rows
MOST_VALUES = 12  # of a row that is listed
MOST_LETTERS = 200
MOST_LETTERS_OF_A_TITLE = 56
COLUMNS = {
    "model": "classifier",
    "test_error": "test error %",
    "test_sd": "sd",
    "behind": "behind the best",
    "p_holm": "p",
    "train_error": "train error %",
    "log_loss": "log loss",
    "brier": "Brier",
}
TIMES = {"fit_seconds": "fit", "predict_seconds": "predict", "seconds": "all in all"}


def is_level(row: Mapping[str, Any]) -> bool:
    """Whether the tests do not tell a classifier from the best one.

    >>> is_level({"p_holm": 0.2}), is_level({"p_holm": None}), is_level({"p_holm": 0.01})
    (True, True, False)
    """
    p = row["p_holm"]  # None: these splits cannot tell
    return bool(p is None or p > CERTAIN)


def leaderboard_section(rows: list[dict[str, Any]], protocol: str) -> Section:
    """All classifiers, best first."""
    drawn_rows = [row for row in rows if row["model"] != MAJORITY] or rows  # it is far to the right
    names = [row["model"] for row in drawn_rows]
    errors, low, high = ([row[key] for row in drawn_rows] for key in ("test_error", "low", "high"))
    level = [is_level(row) for row in drawn_rows]
    figure = plot_leaderboard(names, errors, low, high, level=level)
    caption = (
        f"Test error, mean over {protocol}, with its 95 % interval. Blue: the best, and all that are not "
        "significantly worse."
    )
    ends = list(zip(names, errors, low, high, strict=True))
    drawn = Table(["classifier", "test error %", "from", "to"], ends)
    return Section("Leaderboard", [], [Picture(figure, caption, drawn), _leaderboard(rows)])


def _leaderboard(rows: list[dict[str, Any]]) -> Table:
    """All columns that are known, one line for each classifier."""
    still = all(row.get("test_sd") == 0 for row in rows)  # as on one split
    known = [name for name in COLUMNS if any(row.get(name) is not None for row in rows)]
    known = [name for name in known if not (still and name == "test_sd")]
    best = rows[0]["model"]
    caption = (
        "Behind the best: mean difference with its 95 % interval by Nadeau and Bengio's "
        "corrected t test, which allows for the overlap of training parts; p by the same test, "
        "after Holm, for all pairs of classifiers."
    )
    return Table(
        [COLUMNS[name] for name in known],
        [[_cell(row, name, best) for name in known] for row in rows],
        caption=caption,
        bars=[COLUMNS["test_error"]],
    )


def _cell(row: Mapping[str, Any], name: str, best: str) -> Any:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    if name == "behind":
        return None if row["model"] == best else plus_minus(value, row["half_width"])
    if name == "p_holm":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if not np.isfinite(value):
        return value
    return f"{value:.4f}" if name in ("log_loss", "brier") else f"{value:.2f}"


def plus_minus(value: float, half_width: float) -> str:
    """A number with the half width of its interval, if known.

    >>> plus_minus(1.234, 0.5), plus_minus(-1e-9, float("nan"))
    ('1.23 ± 0.50', '0.00')
    """
    value = round(value, 2) + 0.0  # no -0.00
    return f"{value:.2f}" + ("" if np.isnan(half_width) else f" ± {half_width:.2f}")


def confusion_section(name: str, found: Evaluation) -> Section | None:
    """Confusions of the best classifier."""
    mean, sd = (100 * table for table in found.confusion())
    if not mean.any():
        return None
    pairs = [(a, b) for a, b in np.argwhere(mean > 0)]
    pairs.sort(key=lambda pair: -mean[pair])
    left = f" The {MOST_PAIRS} most frequent of {len(pairs)}." if len(pairs) > MOST_PAIRS else ""
    heads = ["true class", "predicted class", "mean %", "sd %"]
    rows = [
        [str(found.classes[a]), str(found.classes[b]), f"{mean[a, b]:.1f}", f"{sd[a, b]:.1f}"]
        for a, b in pairs[:MOST_PAIRS]
    ]
    if len(found.splits) == 1:
        heads, rows = [*heads[:2], "%"], [row[:3] for row in rows]
    table = Table(
        heads,
        rows,
        caption="Share of the test rows of a class predicted as another." + left,
    )
    title = "Confusions"
    if len(found.classes) > MOST_CLASSES:
        return Section(title, [], [table])
    if len(found.classes) == 2:
        return Section(title, [], [_counts(name, found), table])
    caption = (
        f"Share of each class (row) that {name} predicts as another (column), in per cent: mean and "
        f"standard deviation over {count_of(len(found.splits), 'split')}. Correct predictions are left out."
    )
    return Section(title, [], [Picture(_confusion(found), caption, table)])


def _counts(name: str, found: Evaluation) -> Table:
    """Test rows of each true class by their predicted class, over all splits."""
    counts = found.counts()
    rows = [
        [f"true class {label}", *(int(count) for count in row), int(row.sum())]
        for label, row in zip(found.classes, counts, strict=True)
    ]
    heads = ["", *(f"predicted class {label}" for label in found.classes), "rows"]
    one = len(found.splits) == 1
    splits = "the split" if one else f"all {count_of(len(found.splits), 'split')}"
    how = f"Predictions of {name} for the test rows of {splits}, as counts."
    return Table(heads, rows, caption=how)


def _confusion(found: Evaluation) -> Any:
    """The figure with shortened names of classes."""
    figure = plot_confusion(found)
    axes = figure.axes[0]
    names = [short(label, LONGEST_CLASS) for label in found.classes]
    turned = any(len(name) > 4 for name in names)
    axes.set_xticks(
        range(len(names)), names, rotation=45 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_yticks(range(len(names)), names)
    return figure


def hardest_section(name: str, found: Evaluation, data: Dataset | None) -> Section | None:
    """The rows misclassified most often, as images if they are."""
    wrong = [one for one in found.hardest(LISTED) if one[1] > 0]
    if not wrong:
        return None
    title = "Hardest rows"
    columns = ["row", "true class", "predicted class", "wrong %"]
    rows = [
        [row, str(found.y[row]), "rejected" if guess is None else str(guess), round(100 * share)]
        for row, share, guess in wrong
    ]
    how = f"The test rows that {name} misclassifies most often; rows are counted from 0."
    if data is not None and data.image is not None:
        drawn = rows[:DRAWN]
        picture = Picture(_images(found, data, drawn), how, Table(columns, rows))
        return Section(title, [], [picture])
    if data is not None:
        names, values = _values(data, [row for row, _, _ in wrong])
        columns = columns + names
        rows = [[*row, *more] for row, more in zip(rows, values, strict=True)]
    return Section(title, [how], [Table(columns, rows)])


def _images(found: Evaluation, data: Dataset, rows: Sequence[Sequence[Any]]) -> Any:
    figure = plot_hardest(found, _dense(data.X), data.image, count=len(rows))  # type: ignore[arg-type]
    for axes, (row, label, guess, share) in zip(figure.axes, rows, strict=True):
        words = [f"row {row}, {share:.0f} % wrong", f"true: {label}", f"predicted: {guess}"]
        axes.set_title("\n".join(short(line, 24) for line in words), fontsize=9)
    return figure


def _dense(X: Any) -> Matrix:
    return np.asarray(X.toarray() if issparse(X) else X)


def _values(data: Dataset, rows: list[int]) -> tuple[list[str], list[list[Any]]]:
    """Samples as cells of a table: the text, or the first features by name."""
    if data.kind == "graphs":
        return [], [[] for _ in rows]
    if not hasattr(data.X, "shape"):
        return [data.kind], [[_cut(data.X[row])] for row in rows]
    names = data.features or tuple(f"feature {j}" for j in range(data.X.shape[1]))
    values = _dense(data.X[rows])[:, :MOST_VALUES]
    cells = [[_cut(cell) if isinstance(cell, str) else cell for cell in line] for line in values]
    return list(names[:MOST_VALUES]), cells


def _cut(sample: Any) -> str:
    text = sample if isinstance(sample, str) else " ".join(map(str, sample))
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def sizes_section(name: str, sizes: Mapping[int, Evaluation]) -> Section | None:
    """Error against the number of training rows."""
    if not sizes:
        return None
    order = sorted(sizes)
    curves = {
        kind: (
            [100 * float(getattr(sizes[size], f"{kind}_error").mean()) for size in order],
            [100 * float(getattr(sizes[size], f"{kind}_error").std()) for size in order],
        )
        for kind in ("test", "train")
    }
    table = Table(
        ["training rows", "test error %", "sd", "train error %", "sd "],
        [
            [size, *(curves[kind][part][position] for kind in ("test", "train") for part in (0, 1))]
            for position, size in enumerate(order)
        ],
    )
    gain = curves["test"][0][0] - curves["test"][0][-1]
    ahead = _extrapolate(order, curves["test"][0])
    moves = "falls" if gain >= 0 else "rises"
    caption = (
        f"Error of {name} against the number of training rows. From {order[0]} to "
        f"{order[-1]} rows it {moves} by {abs(gain):.2f} points.{ahead}"
    )
    return Section("Learning curve", [], [Picture(plot_sizes(order, curves), caption, table)])


def _extrapolate(sizes: Sequence[int], errors: Sequence[float]) -> str:
    """What twice the rows would give if the error went on falling as between the last two sizes.

    >>> _extrapolate([100, 200], [8.0, 4.0])
    ' Twice the rows would give about 2.0 %, if it goes on like that.'
    >>> _extrapolate([100, 200], [8.0, 8.5])
    ' It does not fall from 100 rows on: more rows alone would hardly help.'
    """
    if len(sizes) < 2 or min(errors[-2:]) <= 0:
        return ""
    if errors[-1] >= errors[-2]:
        return f" It does not fall from {sizes[-2]} rows on: more rows alone would hardly help."
    power = np.log(errors[-1] / errors[-2]) / np.log(sizes[-1] / sizes[-2])
    return f" Twice the rows would give about {errors[-1] * 2.0**power:.1f} %, if it goes on like that."


def calibration_section(name: str, found: Evaluation) -> Section | None:
    """Calibration of the best classifier, if it has probabilities."""
    if not found.probabilities:
        return None
    reliability = found.reliability()
    table = Table(
        ["from", "to", "rows", "mean probability", "observed frequency"],
        [list(row.values()) for row in reliability.rows()],
    )
    caption = (
        f"Observed frequency against predicted probability of {name}. On the diagonal probabilities "
        "are calibrated, below it too high. Expected calibration error: "
        f"{reliability.expected_calibration_error:.3f}."
    )
    figure = with_short_names(plot_reliability(found), MOST_LETTERS_OF_A_TITLE)
    return Section("Calibration", [], [Picture(figure, caption, table)])


def times_section(rows: list[dict[str, Any]]) -> Section:
    """Time of each classifier: fit and predict, or in total."""
    kinds = {key: words for key, words in TIMES.items() if any(row.get(key) for row in rows)}
    by_time = sorted(rows, key=lambda row: row["seconds"])
    names = [row["model"] for row in by_time]
    times = {
        words: [np.nan if row[key] is None else row[key] for row in by_time]
        for key, words in kinds.items()
    }
    table = Table(
        ["classifier", *(f"{words}, s" for words in times)],
        [[name, *line] for name, *line in zip(names, *times.values(), strict=True)],
    )
    caption = (
        "Seconds to fit, search included, and to predict the test rows, for one split; and for the "
        "whole comparison. Fastest on top."
        if len(kinds) > 1
        else "Seconds for the whole comparison, fastest on top."
    )
    return Section("Times", [], [Picture(plot_times(names, times), caption, table)])


def others_section(comparison: Comparison) -> Section | None:
    """Classifiers that failed, were left out or did not converge, with reasons."""
    missed = "fits, those of searches included, missed their tolerance"
    rows = [
        *([name, "failed", why] for name, why in comparison.failed.items()),
        *([name, "left out", why] for name, why in comparison.left_out.items()),
        *(
            [name, "not converged", f"{count} {missed}"]
            for name, count in comparison.unfinished.items()
        ),
    ]
    table = Table(["classifier", "what", "why"], rows)
    return Section("Left out, failed or not converged", [], [table]) if rows else None
