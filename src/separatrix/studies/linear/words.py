"""Part 8 of the page: shares of words, and what one word that was never met does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.region_figures import COLOURS, MARKERS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    STYLES,
    figure_of,
    largest,
    legend_below,
    number,
    open_frame,
    rows_of,
)
from separatrix.studies.linear_steps.words import ALPHAS, ASKED, MESSAGES, WORDS

CLASSES = ("ham", "spam")
ODD = "win lunch now"


def frequencies(results: Results) -> Section:
    """Shares of every word, then four messages under every smoothing."""
    total = {kind: number(results, WORDS, "all_counts", kind=kind) for kind in CLASSES}
    never = {kind: int(number(results, WORDS, "never_met", kind=kind)) for kind in CLASSES}
    limit = number(results, WORDS, "probability", alpha=0.0, kind="spam", text=ODD)
    return Section(
        "8 · Words as shares",
        [
            f"{len(MESSAGES)} messages, {int(total['ham'])} words of ham and "
            f"{int(total['spam'])} of spam. Without smoothing, naive Bayes gives each word the "
            "share it has among all words of the class: count over count, to "
            f"{largest(results, WORDS, 'off_relative_frequency'):.0e}.",
            f"Ham has never met {never['ham']} of the words, spam {never['spam']}. One such word "
            f"makes a class impossible: its log probability is minus infinity. “{ODD}” is "
            "impossible in both. That is not NaN here: the class with fewer impossible words "
            "wins, then the possible words decide, which is what smoothing does as alpha goes "
            f"to 0: {limit:.3f} for spam.",
        ],
        [_shares(results), _smoothing(results), _joint(results)],
    )


def _shares(results: Results) -> Picture:
    words = [json.loads(row.parameters)["word"] for row in rows_of(results, WORDS, "count")]
    words = list(dict.fromkeys(words))

    def of(metric: str, kind: str) -> list[float]:
        return [number(results, WORDS, metric, kind=kind, word=word) for word in words]

    shares = {kind: of("share", kind) for kind in CLASSES}
    counts = {kind: of("count", kind) for kind in CLASSES}
    order = np.argsort(np.array(shares["spam"]) - np.array(shares["ham"]), kind="stable")
    figure, axes = figure_of(5.6)
    positions = np.arange(len(words))
    for shift, kind, colour, hatch in (
        (0.2, "ham", COLOURS[0], ""),
        (-0.2, "spam", COLOURS[1], "////"),
    ):
        lengths = 100 * np.array(shares[kind])[order]
        axes.barh(
            positions + shift,
            lengths,
            0.4,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=kind,
        )
    axes.set_yticks(positions, [words[i] for i in order])
    axes.set(xlabel="share of all words of the class, %", ylim=(-0.7, len(words) - 0.3))
    open_frame(axes)
    legend_below(figure, axes, 2)
    rows = [
        [
            words[i],
            *(int(counts[kind][i]) for kind in CLASSES),
            *(shares[kind][i] for kind in CLASSES),
        ]
        for i in order[::-1]
    ]
    caption = (
        "How often each word is used, of all words of its class. A missing bar is a word never met."
    )
    return Picture(
        figure, caption, Table(("word", "in ham", "in spam", "share in ham", "share in spam"), rows)
    )


def _smoothing(results: Results) -> Picture:
    figure, axes = figure_of(3.4)
    rows: list[list[Any]] = []
    for position, text in enumerate(ASKED):
        p = [number(results, WORDS, "probability", alpha=a, kind="spam", text=text) for a in ALPHAS]
        axes.plot(
            range(len(ALPHAS)),
            p,
            linestyle=STYLES[position],
            marker=MARKERS[position],
            ms=5,
            color=COLOURS[position],
            label=f"“{text}”",
        )
        rows.append([text, *p])
    axes.set_xticks(range(len(ALPHAS)), [f"{alpha:g}" for alpha in ALPHAS])
    axes.set(xlabel="alpha, the count that every word begins with", ylabel="probability of spam")
    axes.set_ylim(-0.04, 1.04)
    open_frame(axes)
    legend_below(figure, axes, 2)
    caption = (
        "Four messages under seven amounts of smoothing. The curves lead to the plain shares, 0."
    )
    return Picture(
        figure, caption, Table(("message", *(f"alpha {alpha:g}" for alpha in ALPHAS)), rows)
    )


def _joint(results: Results) -> Table:
    rows = [
        [
            text,
            *(
                number(results, WORDS, "joint_log_probability", alpha=alpha, kind=kind, text=text)
                for alpha in (0.0, 1.0)
                for kind in CLASSES
            ),
        ]
        for text in ASKED
    ]
    return Table(
        ("message", "ham, alpha 0", "spam, alpha 0", "ham, alpha 1", "spam, alpha 1"),
        rows,
        "log p(message, class). Minus infinity: some word was never met in that class.",
    )
