"""Parts 7 and 8: quadratic terms of Gaussian classes, and naive Bayes on words as counting."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import separatrix
from separatrix import MultinomialNB, decision_regions
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS, MARKERS
from separatrix.report.page import Picture, Section, Shows, Table
from separatrix.solvers.decomposition import pairs
from separatrix.studies.linear import figures
from separatrix.studies.linear.samples import (
    PETALS,
    SPECIES,
    data_label,
    grid_size,
    two_features,
)
from separatrix.studies.views import largest_value, params_of, single_value
from separatrix.types import Matrix, Vector

TERMS = "7 quadratic terms"
ENTRIES = {"x1 x1": (0, 0), "x1 x2": (0, 1), "x2 x2": (1, 1)}
STEP = 0.5  # cm, of second differences, which are exact for quadratic functions
LINEAR, QUADRATIC = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
MODELS = {LINEAR: "one covariance", QUADRATIC: "a covariance each"}


def compute_terms(context: RunContext) -> StepResult:
    """Quadratic coefficients of log p_a - log p_b, from covariances and from predictions."""
    X, y, names = two_features(context)
    labels = np.array(names)[y]
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for name in MODELS:
        model = getattr(separatrix, name)(store_covariance=True).fit(X, labels)
        row = partial(metric_rows, TERMS, data_label(context, "iris petals"), name)
        Q = _quadratic_forms(model, len(names))
        measured = _measure_forms(model, X.mean(axis=0))
        for k, species in enumerate(names):
            for term, at in ENTRIES.items():
                rows += row({"coefficient": Q[k, *at]}, classes=species, term=term)
        for a, b in pairs(len(names)):
            for term, at in ENTRIES.items():
                difference = Q[a, *at] - Q[b, *at]
                observed = measured[a, *at] - measured[b, *at]
                values = {"difference": difference, "measured_difference": observed}
                rows += row(values, classes=f"{names[a]} - {names[b]}", term=term)
        rows += row({"accuracy": model.score(X, labels)})
        found = decision_regions(model, X, labels, grid=grid_size(context))
        arrays |= figures.region_arrays(found, f"{name}_")
    return StepResult(rows, arrays)


def _quadratic_forms(model: Any, k: int) -> Matrix:
    """-1/2 of the inverse covariance of each class, (k, 2, 2)."""
    covariances = model.covariance_
    covariances = covariances if isinstance(covariances, list) else [covariances] * k
    return np.array([-0.5 * np.linalg.inv(C) for C in covariances])


def _measure_forms(model: Any, middle: Vector) -> Matrix:
    """The same, up to a common term, from second differences of log probabilities, (k, 2, 2)."""

    def second(u: Vector) -> Vector:
        log_p: Matrix = model.predict_log_proba(np.array([middle + u, middle - u, middle]))
        return np.asarray((log_p[0] + log_p[1] - 2 * log_p[2]) / (2 * STEP**2))

    across, up = STEP * np.eye(2)
    first, both, other = second(across), second(across + up), second(up)
    mixed = (both - first - other) / 2
    return np.stack([np.stack([first, mixed], -1), np.stack([mixed, other], -1)], -2)


def terms_section(results: Results) -> Section:
    """Both models on the same flowers."""
    found = results.arrays[TERMS]
    figure, panels = figures.panel_figure(3.3, 1, 2, sharex=True, sharey=True)
    for axes, (model, name) in zip(panels, MODELS.items(), strict=True):
        figures.draw_regions(axes, found, f"{model}_", SPECIES)
        accuracy = single_value(results, TERMS, "accuracy", model)
        axes.set_title(f"{name}\naccuracy {100 * accuracy:.1f} %", fontsize=9.5)
    figures.name_outer_axes(panels, PETALS)
    figures.class_legend(figure, SPECIES)
    cancelled = largest_value(results, TERMS, "measured_difference", model=LINEAR)
    remain = largest_value(results, TERMS, "difference", model=QUADRATIC)
    words = [
        "The log density of a Gaussian class has the term -½ x'C⁻¹x. If classes share C it is the same for "
        "all, so between two classes it cancels and the boundary is linear. With a covariance for each "
        "class it remains, and the boundary is a conic.",
        "Measured on predictions, from second differences of log probabilities: at most "
        f"{cancelled:.0e} remains with one covariance; up to {remain:.3g} per square cm with one each.",
    ]

    def values(metric: str, model: str, classes: str) -> list[float]:
        value = partial(single_value, results, TERMS, metric, model, classes=classes)
        return [value(term=term) for term in ENTRIES]

    coefficients = [
        [name, species, *values("coefficient", model, species)]
        for model, name in MODELS.items()
        for species in SPECIES
    ]
    metrics = ("difference", "measured_difference")
    names = [f"{SPECIES[a]} - {SPECIES[b]}" for a, b in pairs(len(SPECIES))]
    differences = [
        [name, pair, *(v for metric in metrics for v in values(metric, model, pair))]
        for model, name in MODELS.items()
        for pair in names
    ]
    columns = ("covariances", "classes", *ENTRIES)
    caption = "Coefficients of -½ C⁻¹ for each class; x1 is the length and x2 the width."
    left = "Difference between two classes: from the covariances, and from predict_log_proba."
    shows: Shows = [
        Picture(
            figure,
            "Boundaries of the linear and of the quadratic discriminant for iris by its petals.",
            Table(columns, coefficients, caption),
        ),
        Table((*columns, *(f"{term}, measured" for term in ENTRIES)), differences, left),
    ]
    return Section("7 · Terms that cancel", words, shows)


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
    figure, axes = figures.panel_figure(5.6)
    y = np.arange(len(words))
    line_style: dict[str, Any] = {"height": 0.4, "edgecolor": "white"}
    axes.barh(y + 0.2, 100 * ham[order], color=COLOURS[0], label="ham", **line_style)
    axes.barh(
        y - 0.2, 100 * spam[order], color=COLOURS[1], hatch="////", label="spam", **line_style
    )
    axes.set_yticks(y, [words[i] for i in order])
    axes.set(xlabel="share of all words of the class, %", ylim=(-0.7, len(words) - 0.3))
    figures.legend_below(figure, axes, 2)
    rows = [[words[i], *map(int, counts[:, i]), float(ham[i]), float(spam[i])] for i in order[::-1]]
    caption = "Share of each word among all words of its class. A missing bar is an absent word."
    columns = ("word", "in ham", "in spam", "share in ham", "share in spam")
    return Picture(figure, caption, Table(columns, rows))


def _draw_smoothing(results: Results) -> Picture:
    value = partial(single_value, results, WORDS, "probability", kind="spam")
    figure, axes = figures.panel_figure(3.4)
    rows: list[list[Any]] = []
    for i, text in enumerate(QUERIES):
        p = [value(alpha=alpha, text=text) for alpha in ALPHAS]
        line_style = {
            "linestyle": figures.STYLES[i],
            "marker": MARKERS[i],
            "color": COLOURS[i],
            "ms": 5,
        }
        axes.plot(range(len(ALPHAS)), p, label=f"“{text}”", **line_style)
        rows.append([text, *p])
    axes.set_xticks(range(len(ALPHAS)), [f"{alpha:g}" for alpha in ALPHAS])
    axes.set(xlabel="alpha, added to every count", ylabel="probability of spam")
    axes.set_ylim(-0.04, 1.04)
    figures.legend_below(figure, axes, 2)
    caption = "Four messages under seven values of smoothing; alpha 0 is the limit."
    columns = ("message", *(f"alpha {alpha:g}" for alpha in ALPHAS))
    return Picture(figure, caption, Table(columns, rows))
