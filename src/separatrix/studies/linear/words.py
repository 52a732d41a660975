"""Part 8: naive Bayes on words is counting, and a word absent from a class rules the class out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix.estimators.naive_bayes import MultinomialNB
from separatrix.experiments.steps import Row, RunContext, StepResult, metric_rows
from separatrix.experiments.table import Results
from separatrix.plots.region_figures import COLOURS, MARKERS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section, Shows
from separatrix.studies.linear.panels import STYLES, legend_below, panel_figure
from separatrix.studies.summaries import largest_value, params_of, single_value
from separatrix.types import Matrix

WORDS = "8 word frequencies"
MESSAGES = (
    ("ham", "see you at lunch"),
    ("ham", "call me when you are home"),
    ("ham", "are you free for lunch now"),
    ("ham", "see you soon at home"),
    ("ham", "call me now please"),
    ("ham", "lunch at home is free for you"),
    ("ham", "please see me soon"),
    ("spam", "win cash now"),
    ("spam", "call now to win a free prize"),
    ("spam", "free cash prize call now"),
    ("spam", "claim your free prize now"),
    ("spam", "win win win cash"),
)
QUERIES = ("free prize now", "see you at lunch", "win lunch now", "claim your lunch at home")
ALPHAS = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0)
CLASSES = ("ham", "spam")
IMPOSSIBLE = "win lunch now"


def count_words(_context: RunContext) -> StepResult:
    """beta(j | k) is the count of word j in class k over all counts; alpha=0 keeps zeros."""
    kinds = np.array([kind for kind, _ in MESSAGES])
    vocabulary = sorted({word for _, text in MESSAGES for word in text.split()})
    counts = _count([text for _, text in MESSAGES], vocabulary)
    row = partial(metric_rows, WORDS, "a dozen messages", "MultinomialNB")
    plain = MultinomialNB(alpha=0.0).fit(counts, kinds)
    rows: list[Row] = []
    for k, kind in enumerate(plain.classes_.tolist()):
        own = counts[kinds == kind].sum(axis=0)
        shares = np.exp(plain.feature_log_prob_[k])
        for j, word in enumerate(vocabulary):
            rows += row({"count": own[j], "share": shares[j]}, kind=kind, word=word)
        values = {
            "all_counts": own.sum(),
            "prior": np.exp(plain.class_log_prior_[k]),
            "never_met": (own == 0).sum(),
            "off_relative_frequency": np.abs(shares - own / own.sum()).max(),
        }
        rows += row(values, kind=kind)
    queries = _count(list(QUERIES), vocabulary)
    for alpha in ALPHAS:
        model = MultinomialNB(alpha=alpha).fit(counts, kinds)
        joint, proba = model.predict_joint_log_proba(queries), model.predict_proba(queries)
        for i, text in enumerate(QUERIES):
            for k, kind in enumerate(model.classes_.tolist()):
                values = {"joint_log_probability": joint[i, k], "probability": proba[i, k]}
                rows += row(values, alpha=alpha, kind=kind, text=text)
    return StepResult(rows)


def _count(texts: list[str], vocabulary: list[str]) -> Matrix:
    """Counts of each word in each text, (n, d)."""
    return np.array(
        [[text.split().count(word) for word in vocabulary] for text in texts], dtype=np.float64
    )


def words_section(results: Results) -> Section:
    """Share of every word, then four messages under every smoothing."""
    value = partial(single_value, results, WORDS)
    ham, spam = (int(value("all_counts", kind=kind)) for kind in CLASSES)
    no_ham, no_spam = (int(value("never_met", kind=kind)) for kind in CLASSES)
    limit = value("probability", alpha=0.0, kind="spam", text=IMPOSSIBLE)
    words = [
        f"{len(MESSAGES)} messages, {ham} words of ham and {spam} of spam. Without smoothing, naive Bayes "
        "gives each word its share of all words of the class, to "
        f"{largest_value(results, WORDS, 'off_relative_frequency'):.0e}.",
        f"{no_ham} of the words do not occur in ham, {no_spam} not in spam. One such word makes a class "
        f"impossible: its log probability is minus infinity. “{IMPOSSIBLE}” is impossible in both. The "
        "probability is not NaN: the class with fewer impossible words wins, then the possible words "
        f"decide, which is the limit of smoothing as alpha goes to 0: {limit:.3f} for spam.",
    ]
    joint = [
        [text]
        + [
            value("joint_log_probability", alpha=alpha, kind=kind, text=text)
            for alpha in (0.0, 1.0)
            for kind in CLASSES
        ]
        for text in QUERIES
    ]
    table = Table(
        ("message", "ham, alpha 0", "spam, alpha 0", "ham, alpha 1", "spam, alpha 1"),
        joint,
        "log p(message, class). Minus infinity: some word does not occur in that class.",
    )
    shows: Shows = [_draw_shares(results), _draw_smoothing(results), table]
    return Section("8 · Words as shares", words, shows)


def _draw_shares(results: Results) -> Picture:
    value = partial(single_value, results, WORDS)
    found = params_of(results, part=WORDS, metric="count")
    words = list(dict.fromkeys(params["word"] for params in found))
    (ham, spam), counts = (
        np.array([[value(metric, kind=kind, word=word) for word in words] for kind in CLASSES])
        for metric in ("share", "count")
    )
    order = np.argsort(spam - ham, kind="stable")
    figure, axes = panel_figure(5.6)
    y = np.arange(len(words))
    line_style: dict[str, Any] = {"height": 0.4, "edgecolor": "white"}
    axes.barh(y + 0.2, 100 * ham[order], color=COLOURS[0], label="ham", **line_style)
    axes.barh(
        y - 0.2, 100 * spam[order], color=COLOURS[1], hatch="////", label="spam", **line_style
    )
    axes.set_yticks(y, [words[i] for i in order])
    axes.set(xlabel="share of all words of the class, %", ylim=(-0.7, len(words) - 0.3))
    legend_below(figure, axes, 2)
    rows = [[words[i], *map(int, counts[:, i]), float(ham[i]), float(spam[i])] for i in order[::-1]]
    caption = "Share of each word among all words of its class. A missing bar is an absent word."
    columns = ("word", "in ham", "in spam", "share in ham", "share in spam")
    return Picture(figure, caption, Table(columns, rows))


def _draw_smoothing(results: Results) -> Picture:
    value = partial(single_value, results, WORDS, "probability", kind="spam")
    figure, axes = panel_figure(3.4)
    rows: list[list[Any]] = []
    for i, text in enumerate(QUERIES):
        p = [value(alpha=alpha, text=text) for alpha in ALPHAS]
        line_style = {"linestyle": STYLES[i], "marker": MARKERS[i], "color": COLOURS[i], "ms": 5}
        axes.plot(range(len(ALPHAS)), p, label=f"“{text}”", **line_style)
        rows.append([text, *p])
    axes.set_xticks(range(len(ALPHAS)), [f"{alpha:g}" for alpha in ALPHAS])
    axes.set(xlabel="alpha, added to every count", ylabel="probability of spam")
    axes.set_ylim(-0.04, 1.04)
    legend_below(figure, axes, 2)
    caption = "Four messages under seven values of smoothing; alpha 0 is the limit."
    columns = ("message", *(f"alpha {alpha:g}" for alpha in ALPHAS))
    return Picture(figure, caption, Table(columns, rows))
