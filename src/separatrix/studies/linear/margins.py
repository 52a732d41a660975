"""Part 11: the soft margin, its slack and optimality certificates, and primal and dual solvers."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix import SVC, LinearSVC, kkt_report
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS, INK
from separatrix.report.page import Picture, Section, Shows, Table
from separatrix.studies.linear import figures, samples
from separatrix.studies.linear.samples import PETALS, SPECIES
from separatrix.studies.linear.separators import (
    LARGEST,
    compare_separators,
    margins_by_line,
    show_separators,
)
from separatrix.studies.views import largest_value, row_params, single_value
from separatrix.types import Codes, Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGINS = "11 margins and duality"
DATA = "iris petals, two kinds"
COSTS = (0.05, 0.5, 5.0, 50.0)  # values of C
DRAWN = 0.5  # the C at which the problem is half of |w|^2 + sum of slack
SLACK = 1e-7  # above the tolerance of the solver
FIXED = 20  # features while samples grow, ten times as many samples while features grow
REPEATS = 3


def check_margins(context: RunContext) -> StepResult:
    """At every C: slack is sparse, primal = dual, KKT conditions hold, margin vectors agree on w0."""
    X, y, _ = samples.last_two_classes(samples.two_features(context))
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for C in COSTS:
        model = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
        rows += _certify(model, C, X, y, samples.data_label(context, DATA))
        if C == DRAWN:
            w, bias = samples.boundary(model)
            arrays |= {"weights": w, "bias": np.array([bias]), "alpha": _multipliers(model)}
            arrays["slack"] = model.training_margins()[1]
    more, separable = compare_separators(context, MARGINS)
    return StepResult(rows + more + _time_solvers(context), {**arrays, **separable})


def _certify(model: Any, C: float, X: Matrix, y: Codes, data: str) -> list[Row]:
    w, bias = samples.boundary(model)
    slack, alpha, side = model.training_margins()[1], _multipliers(model), 2.0 * y - 1.0
    kkt = kkt_report(model).rows[0]
    primal = 0.5 * w @ w + C * slack.sum()
    dual = alpha.sum() - 0.5 * np.sum(((alpha * side) @ X) ** 2)
    values = {
        "with_slack": (slack > SLACK).sum(),
        "mistaken": (slack > 1.0).sum(),
        "margin_width": model.margin_width_[0],
        "primal": primal,
        "dual": dual,
        "gap": (primal - dual) / max(abs(primal), 1.0),
        "off_weights_from_dual": np.abs((alpha * side) @ X - w).max(),
        "a_zero": kkt.n_zero,
        "a_between": kkt.n_free,
        "a_at_C": kkt.n_bound,
        "worst_at_zero": kkt.worst_zero,
        "worst_between": kkt.worst_free,
        "worst_at_C": kkt.worst_bound,
        "balance": kkt.balance,
        "violation": kkt.violation,
        "slack_below_C": (slack[alpha < C] > SLACK).sum(),
    }
    if C == DRAWN:  # |w|^2 + sum of slack, with multipliers of at most 1, is twice this problem
        values |= {
            "whole_primal": w @ w + slack.sum(),
            "whole_dual": (2 * alpha).sum() - 0.25 * np.sum(((2 * alpha * side) @ X) ** 2),
            "largest_multiplier": (2 * alpha).max(),
        }
    rows = metric_rows(MARGINS, data, "SVC", values, C=C)
    for i in np.flatnonzero((alpha > 0) & (alpha < C)).tolist():
        w0 = side[i] - w @ X[i]
        rows += metric_rows(MARGINS, data, "SVC", {"w0": w0, "off_w0": w0 - bias}, C=C, sample=i)
    return rows


def _multipliers(model: Any) -> Vector:
    alpha = np.zeros(model.shape_fit_[0])
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


def _time_solvers(context: RunContext) -> list[Row]:
    """Dual and primal solver on the same problems, with growing numbers of samples and features."""
    quick = samples.is_quick(context)
    sizes = (100, 400, 1600) if quick else (100, 400, 1600, 6400, 25600)
    features = (20, 100, 500) if quick else (20, 100, 500, 2500)
    shapes = [("samples", n, FIXED) for n in sizes]
    shapes += [("features", 10 * FIXED, d) for d in features]
    rows: list[Row] = []
    for grows, n, d in shapes:
        X, y = _overlapping_clouds(samples.generator(context, 11), n, d)
        for dual in (True, False):
            model = LinearSVC(C=0.1, dual=dual, tol=1e-6, random_state=0, max_iter=100_000)
            seconds = min(_fit_seconds(model, X, y) for _ in range(REPEATS))
            values = {"objective": model.objective_[0], "gap": model.dual_gap_[0]}
            about = {"by": "dual" if dual else "primal", "d": d, "grows": grows, "n": n}
            row = partial(metric_rows, MARGINS, "two noisy clouds", "LinearSVC")
            rows += row(values, seconds=seconds, **about)
    return rows


def _overlapping_clouds(rng: np.random.Generator, n: int, d: int) -> tuple[Matrix, Codes]:
    """Two overlapping classes, separated a little by every feature."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + (2 * y[:, None] - 1) / np.sqrt(d)
    return X, y


def _fit_seconds(model: Any, X: Matrix, y: Codes) -> float:
    begun = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begun


def margins_section(results: Results) -> Section:
    """The SVM, its certificate, and times of both solvers."""
    value = partial(single_value, results, MARGINS, C=DRAWN)
    gap = largest_value(results, MARGINS, "gap", model="SVC")
    words = [
        f"At C = {DRAWN:g}, {value('with_slack'):.0f} of 100 flowers have slack: they lie inside their "
        f"margin or beyond the boundary. {value('a_between'):.0f} lie exactly on a margin. Without all "
        "others the boundary would be the same.",
        f"The primal objective, |w|² plus all slack, is {value('whole_primal'):.6f}; the dual is "
        f"{value('whole_dual'):.6f}. Their equality proves the optimum; at every C they differ by at most "
        f"{gap:.0e} of their size. The KKT conditions hold row by row, and each flower on a margin gives "
        f"the same w0, to {largest_value(results, MARGINS, 'off_w0'):.0e}.",
        "The dual has one variable for each sample, the primal one for each feature. So the dual slows "
        "down with samples and the primal with features; both reach the same objective.",
    ]
    lines = margins_by_line(results, MARGINS)
    words.insert(
        0,
        f"Many lines separate two classes without an error, and they are not equally good: the nearest "
        f"flower is between {min(lines.values()):.3g} and {lines[LARGEST]:.3g} cm away.",
    )
    shows: Shows = [
        show_separators(results, MARGINS),
        _draw_margins(results),
        _tabulate_objectives(results),
        _tabulate_conditions(results),
        _tabulate_biases(results),
        _draw_times(results),
    ]
    return Section("11 · Margins, slack and duality", words, shows)


def _draw_margins(results: Results) -> Picture:
    found = results.arrays[MARGINS]
    X, codes, w, (bias,) = found["X"], found["codes"], found["weights"], found["bias"]
    slack, alpha = found["slack"], found["alpha"]
    figure, axes = figures.panel_figure(3.1)
    for score, style, width in ((0.0, "-", 1.6), (1.0, "--", 1.0), (-1.0, "--", 1.0)):
        line_style = {"color": INK, "linestyle": style, "lw": width, "zorder": 2}
        axes.axline((0.0, (score - bias) / w[1]), slope=-w[0] / w[1], **line_style)
    late = slack > SLACK
    ends = X + ((2.0 * codes - 1.0) * slack)[:, None] * w / (w @ w)
    for start, end in zip(X[late], ends[late], strict=True):
        axes.plot(*zip(start, end, strict=True), color=COLOURS[4], linewidth=1, zorder=2.5)
    figures.draw_samples(axes, X, codes)
    on = (alpha > 0) & ~late
    axes.scatter(*X[on].T, s=110, facecolors="none", edgecolors=INK, linewidths=1.3, zorder=4)
    axes.set_aspect("equal")
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1], xlim=(2.5, 7.4), ylim=(0.7, 2.75))
    figures.class_legend(figure, SPECIES[1:])
    columns = ("with slack", "wrong", "margin width, cm", "on a margin", "neither")
    metrics = ("with_slack", "mistaken", "margin_width", "a_between", "a_zero")
    caption = (
        f"The boundary, its margins (dashed), the distance to the margin of {int(late.sum())} flowers with "
        "slack (red), and the flowers on a margin (rings). Flowers with the same features overlap."
    )
    return Picture(figure, caption, Table(("C", *columns), _rows_by_C(results, metrics)))


def _rows_by_C(results: Results, metrics: tuple[str, ...]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for C in COSTS:
        values = [single_value(results, MARGINS, metric, C=C) for metric in metrics]
        rows.append([C, *(int(v) if v == int(v) else v for v in values)])
    return rows


def _tabulate_objectives(results: Results) -> Table:
    rows = _rows_by_C(results, ("primal", "dual", "gap", "off_weights_from_dual"))
    return Table(
        ("C", "primal", "dual", "relative gap", "w minus its sum over samples"),
        [[C, f"{primal:.9f}", f"{dual:.9f}", *rest] for C, primal, dual, *rest in rows],
        "Both objectives, ½|w|² + C · slack and its dual, computed from weights and multipliers.",
    )


def _tabulate_conditions(results: Results) -> Table:
    columns = {
        "a_zero": "α = 0",
        "a_between": "between",
        "a_at_C": "α = C",
        "worst_at_zero": "margin below 1",
        "worst_between": "margin not 1",
        "worst_at_C": "margin above 1",
        "balance": "sum of αy",
    }
    caption = "KKT conditions: rows in each state, the worst violation of each, and the balance."
    return Table(("C", *columns.values()), _rows_by_C(results, tuple(columns)), caption)


def _tabulate_biases(results: Results) -> Table:
    rows = []
    for row in results.where(part=MARGINS, metric="w0"):
        params = row_params(row)
        off = single_value(results, MARGINS, "off_w0", **params)
        rows.append([params["C"], params["sample"] + 50, f"{row.value:.9f}", off])
    return Table(
        ("C", "flower", "w0 = y - <w, x>", "minus the model's"),
        rows,
        "The bias from each flower on a margin. At the smallest C no flower is on one.",
    )


def _draw_times(results: Results) -> Picture:
    found = [
        (row_params(row), row)
        for row in results.where(part=MARGINS, metric="objective", model="LinearSVC")
    ]
    figure, panels = figures.panel_figure(3.3, 1, 2, sharey=True)
    growths = (("samples", "n", "samples, 20 features"), ("features", "d", "features, 200 samples"))
    for axes, (grows, letter, label) in zip(panels, growths, strict=True):
        for i, by in enumerate(("dual", "primal")):
            own = [(p, row) for p, row in found if (p["grows"], p["by"]) == (grows, by)]
            sizes = [params[letter] for params, _ in own]
            times = [1000 * row.seconds for _, row in own]
            line_style = {
                "marker": "os"[i],
                "color": COLOURS[(0, 4)[i]],
                "linestyle": figures.STYLES[i],
            }
            axes.plot(sizes, times, lw=1.8, label=by, **line_style)
        axes.set(xscale="log", yscale="log", xlabel=label)
        _set_plain_ticks(axes, sizes)
        axes.grid(color=figures.GREY, alpha=0.25, linewidth=0.5)
    panels[0].set_ylabel("time to fit, ms")
    figures.open_frame(panels[1])
    figures.legend_below(figure, panels[0], 2)
    rows: list[list[Any]] = [
        [p["n"], p["d"], p["by"], 1000 * row.seconds, f"{row.value:.9g}"] for p, row in found
    ]
    rows.sort(key=lambda row: (row[1] != FIXED, row[0], row[1], row[2]))
    caption = (
        "Time of one fit by two solvers of the same problem, with growing numbers of samples and of "
        "features. The best of three fits; times differ from run to run."
    )
    return Picture(figure, caption, Table(("n", "d", "solver", "ms", "objective"), rows))


def _set_plain_ticks(axes: Axes, sizes: list[int]) -> None:
    """Plain numbers on logarithmic axes: the sizes, and 1, 2, 5 of each power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=8.5)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def objective_difference(results: Results) -> float:
    """Largest relative difference of the objectives of both solvers."""
    found: dict[tuple[int, int, str], list[float]] = {}
    for row in results.where(part=MARGINS, metric="objective", model="LinearSVC"):
        params = row_params(row)
        found.setdefault((params["n"], params["d"], params["grows"]), []).append(row.value)
    return max(float(np.ptp(both) / np.max(both)) for both in found.values())
