"""News classified by subsequences of letters, runs of letters, and words.

The published study (Lodhi and others, JMLR 2, 2002) took 470 documents of four classes and was run ten
times. Here they are drawn from R8, in which grain replaces the class corn, and divided ten times at
random. One kernel matrix over all documents serves every run, class, fold and C; one dynamic programme
computes all subsequence lengths. Folds inside the training part choose C, and in the parts called
"chosen" also length and decay.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold

from separatrix import SVC, SVCCV
from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split
from separatrix.experiments.protocol import SplitSamples
from separatrix.experiments.steps import (
    Experiment,
    Results,
    Row,
    RunContext,
    Step,
    StepResult,
    metric_rows,
)
from separatrix.kernels import BagOfWords, Kernel, Linear, Normalized, Spectrum, Subsequence
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.plots.figures import new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.views import format_spread, row_params, step_seconds, study_page
from separatrix.types import Codes, Matrix
from separatrix.validation import require_integer

NAME = "reuters-strings"
DATA = "r8"
CLASSES = ("earn", "acq", "crude", "grain")
SUBSEQUENCES, RUNS, WORDS, WEIGHTED = "subsequences", "runs of letters", "words", "words, tf-idf"
DOCUMENTS = "documents"
Cs = (0.1, 1.0, 10.0, 100.0)
METRICS = ("precision", "recall", "f1")
# F1 for earn, acq, crude and corn; length 5, and a decay of 0.5
PUBLISHED = {SUBSEQUENCES: (0.936, 0.867, 0.936, 0.779), RUNS: (0.944, 0.882, 0.937, 0.847)}
LENGTH, DECAY = 5, 0.5
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#000000")

Cells = dict[tuple[Any, ...], list[float]]
chosen_part = "{}, chosen".format  # the part in which folds choose all parameters of a family


class TextGrid(NamedTuple):
    """Numbers of documents, and the kernels that are compared."""

    train: tuple[int, ...]  # documents of each class
    test: tuple[int, ...]
    letters: int  # of a document, from its beginning
    lengths: tuple[int, ...]  # of subsequences and runs
    decays: tuple[float, ...]
    folds: int


FULL = TextGrid(
    (152, 114, 76, 38), (40, 25, 15, 10), 1500, (3, 4, 5, 6, 7), (0.1, 0.3, 0.5, 0.7, 0.9), 5
)
QUICK = TextGrid((18, 13, 9, 4), (6, 5, 3, 2), 200, (3, 4, 5), (0.5,), 3)


@dataclass(frozen=True)
class TextKernelFamily:
    """Kernels of one step with their parameters; empty for tf-idf."""

    name: str
    step: str
    kernels: Sequence[tuple[Mapping[str, Any], Kernel]] = ()


class ClassResult(NamedTuple):
    """One class against the rest in one run."""

    score: float  # accuracy in the folds of the chosen C
    C: float
    guess: Any  # shape: (m,); whether a test document is predicted as the class


def families(sizes: TextGrid) -> list[TextKernelFamily]:
    """The families that are compared."""
    gapped = [
        TextKernelFamily(
            SUBSEQUENCES,
            f"{SUBSEQUENCES}, decay {decay:g}",
            [({"k": k, "decay": decay}, Subsequence(k, decay)) for k in sizes.lengths],
        )
        for decay in sizes.decays
    ]
    return [
        *gapped,
        TextKernelFamily(RUNS, RUNS, [({"k": k}, Spectrum(k)) for k in sizes.lengths]),
        TextKernelFamily(WORDS, WORDS, [({}, BagOfWords())]),
        TextKernelFamily(WEIGHTED, WEIGHTED),
    ]


def experiment(*, quick: bool = False, seed: int = 0, repeats: int | None = None) -> Experiment:
    """Precision, recall and F1 of each class against the rest, for each kernel.

    A quick run has 60 documents of 200 letters, few lengths, one decay and three divisions (`repeats`).
    """
    repeats = (3 if quick else 10) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    study = _TextStudy(QUICK if quick else FULL, seed, repeats)
    compared = families(study.sizes)
    steps = [Step(DOCUMENTS, study.describe_documents)]
    steps += [Step(family.step, partial(study.test, family=family)) for family in compared]
    steps += [
        Step(chosen_part(name), partial(study.choose, name=name, families=compared))
        for name in (SUBSEQUENCES, RUNS)
    ]
    options = {"quick": quick, "seed": seed, "repeats": repeats}
    return Experiment(NAME, "News classified by letters and words", options, (DATA,), steps)


def draw_documents(data: Dataset, sizes: TextGrid, *, repeats: int, seed: int) -> SplitSamples:
    """As many documents of each class as in the study, and random divisions of them."""
    texts = [*data.X, *data.X_test]
    labels = np.concatenate([data.y, data.y_test])
    rng = np.random.default_rng(seed)
    rows = [
        rng.permutation(np.flatnonzero(labels == label))[: train + test]
        for label, train, test in zip(CLASSES, sizes.train, sizes.test, strict=True)
    ]
    taken = np.concatenate(rows)
    X = np.empty(len(taken), dtype=object)
    X[:] = [texts[row][: sizes.letters] for row in taken]
    ends = np.cumsum([0, *map(len, rows)]).tolist()
    splits = []
    for _ in range(repeats):
        mixed = [start + rng.permutation(stop - start) for start, stop in pairwise(ends)]
        halves = [np.split(own, [count]) for own, count in zip(mixed, sizes.train, strict=True)]
        train, test = (np.sort(np.concatenate(part)) for part in zip(*halves, strict=True))
        splits.append(Split(train, test))
    return SplitSamples(X, labels[taken], splits)


class _TextStudy:
    """The steps, under one seed."""

    def __init__(self, sizes: TextGrid, seed: int, repeats: int) -> None:
        self.sizes, self.seed, self.repeats = sizes, seed, repeats
        self.cells = [(run, label) for run in range(repeats) for label in CLASSES]

    def describe_documents(self, context: RunContext) -> StepResult:
        """Numbers and lengths of the documents."""
        X, y, splits = self.texts(context)
        train, test = splits[0]
        lengths = np.array([len(text) for text in X])
        words = np.array([len(text.split()) for text in X])
        rows: list[Row] = []
        for label in CLASSES:
            own = y == label
            values = {
                "train_documents": np.count_nonzero(own[train]),
                "test_documents": np.count_nonzero(own[test]),
                "mean_letters": lengths[own].mean(),
                "mean_words": words[own].mean(),
                "cut": np.mean(lengths[own] == self.sizes.letters),
            }
            rows += metric_rows(DOCUMENTS, DATA, DOCUMENTS, values, **{"class": label})
        return StepResult(rows)

    def test(self, context: RunContext, family: TextKernelFamily) -> StepResult:
        """Every kernel of a family on all runs and classes; each kernel needs one matrix."""
        texts = self.texts(context)
        rows, scores, guesses = [], [], []
        for parameters, results in self._test_kernels(texts, family):
            for (run, label), one in zip(self.cells, results, strict=True):
                about = {**parameters, "class": label, "C": one.C}
                rows += _score(family.name, texts, run, label, one.guess, about)
            scores.append([one.score for one in results])
            guesses.append(np.concatenate([one.guess for one in results]))
        arrays = {"scores": np.array(scores), "guesses": np.array(guesses, dtype=np.uint8)}
        return StepResult(rows, arrays)

    def choose(
        self, context: RunContext, name: str, families: Sequence[TextKernelFamily]
    ) -> StepResult:
        """The kernel with the best fold score of each run and class, the first among equals."""
        texts = self.texts(context)
        own = [family for family in families if family.name == name]
        parameters = [params for family in own for params, _ in family.kernels]
        found = [context.result(family.step).arrays for family in own]
        scores = np.concatenate([arrays["scores"] for arrays in found])
        guesses = np.concatenate([arrays["guesses"] for arrays in found])
        ends = np.cumsum([len(texts.splits[run].test) for run, _ in self.cells])[:-1]
        parts = [np.split(guess.astype(bool), ends) for guess in guesses]
        rows = []
        for cell, (run, label) in enumerate(self.cells):
            best = int(scores[:, cell].argmax())
            about = {**parameters[best], "class": label}
            rows += _score(chosen_part(name), texts, run, label, parts[best][cell], about)
        return StepResult(rows)

    def texts(self, context: RunContext) -> SplitSamples:
        """The documents and their divisions, drawn once."""
        draw = partial(draw_documents, repeats=self.repeats, seed=self.seed)
        return context.shared("texts", lambda: draw(context.data(DATA), self.sizes))

    def _test_kernels(
        self, texts: SplitSamples, family: TextKernelFamily
    ) -> Iterator[tuple[Mapping[str, Any], list[ClassResult]]]:
        if not family.kernels:
            yield {}, [self._fit_tfidf(texts, *cell) for cell in self.cells]
            return
        kernels = [Normalized(kernel) for _, kernel in family.kernels]
        grams = SharedProducts(texts.X).grams(kernels)
        for (parameters, _), gram in zip(family.kernels, grams, strict=True):
            K = np.array(gram.tile(slice(None), slice(None)), dtype=np.float64)
            yield parameters, [self._fit_matrix(texts, K, *cell) for cell in self.cells]

    def _fit_matrix(self, texts: SplitSamples, K: Matrix, run: int, label: str) -> ClassResult:
        train, test = texts.splits[run]
        search = SVCCV(Cs, cv=self._folds(run), estimator=SVC(kernel="precomputed"))
        X, X_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        return _search(search, X, X_test, texts.y[train] == label)

    def _fit_tfidf(self, texts: SplitSamples, run: int, label: str) -> ClassResult:
        """Words weighted by their inverse document frequency in the training part."""
        train, test = texts.splits[run]
        words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
        X = words.fit_transform(texts.X[train])
        search = SVCCV(Cs, cv=self._folds(run), kernels=[Linear()])
        return _search(search, X, words.transform(texts.X[test]), texts.y[train] == label)

    def _folds(self, run: int) -> StratifiedKFold:
        return StratifiedKFold(self.sizes.folds, shuffle=True, random_state=self.seed + run)


def _search(search: SVCCV, X: Any, X_test: Any, y: Codes) -> ClassResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    return ClassResult(search.best_score_, search.best_params_["C"], search.predict(X_test))


def _score(
    part: str, texts: SplitSamples, run: int, label: str, guess: Any, about: Mapping[str, Any]
) -> list[Row]:
    true = texts.y[texts.splits[run].test] == label
    found = precision_recall_fscore_support(true, guess, average="binary", zero_division=0)
    values = dict(zip(METRICS, found[:3], strict=True))
    return metric_rows(part, DATA, part, values, split=run, **about)


def page(results: Results) -> Page:
    """F1 beside the published values, against length and decay, and the documents."""
    cells = group_values(results)
    gapped, runs = (
        _class_means(cells, part, LENGTH, decay)
        for part, decay in ((SUBSEQUENCES, DECAY), (RUNS, None))
    )
    sizes = QUICK if results.options["quick"] else FULL
    total = sum(sizes.train) + sum(sizes.test)
    summary = [
        f"F1 with subsequences of {LENGTH} letters and a decay of {DECAY:g} is {_list(gapped)}; with "
        f"runs of {LENGTH} letters {_list(runs)}; with words {_list(_class_means(cells, WORDS))}.",
        f"{total} documents of R8, cut to {sizes.letters} letters, {sum(sizes.train)} for training and "
        f"{sum(sizes.test)} for testing, mean of {results.options['repeats']} random divisions, seed "
        f"{results.options['seed']}. R8 has no class corn; grain replaces it.",
    ]
    sections = [
        _published(results, cells, sizes),
        _lengths(results, cells),
        _choices(results, cells),
        _documents(results, sizes.letters),
    ]
    return study_page(results, summary, sections)


def group_values(results: Results) -> Cells:
    """Values of all runs by part, class, metric, length and decay."""
    cells: Cells = {}
    for row in results.rows:
        if row.metric in METRICS:
            one = row_params(row)
            chosen = row.part.endswith("chosen")
            kernel = (None, None) if chosen else (one.get("k"), one.get("decay"))
            cells.setdefault((row.part, one["class"], row.metric, *kernel), []).append(row.value)
    return cells


def _published(results: Results, cells: Cells, sizes: TextGrid) -> Section:
    kinds: list[tuple[str, str, Any, Any]] = [
        (f"{SUBSEQUENCES} of {LENGTH}, decay {DECAY:g}", SUBSEQUENCES, LENGTH, DECAY),
        (chosen_part(SUBSEQUENCES), chosen_part(SUBSEQUENCES), None, None),
        (f"{RUNS}, {LENGTH} long", RUNS, LENGTH, None),
        (chosen_part(RUNS), chosen_part(RUNS), None, None),
        (WORDS, WORDS, None, None),
        (WEIGHTED, WEIGHTED, None, None),
    ]
    known = {} if results.options["quick"] else PUBLISHED
    figure, axes = new_axes(7.4, 3.4)
    width = 0.8 / len(kinds)
    dash = {"color": "#000000", "marker": "_", "s": 90}
    rows = []
    for number, (name, part, k, decay) in enumerate(kinds):
        x = np.arange(len(CLASSES)) + width * (number - (len(kinds) - 1) / 2)
        found = [cells[part, label, "f1", k, decay] for label in CLASSES]
        published: Sequence[Any] = known.get(part, (None,) * len(CLASSES))
        means, sds = ([of(one) for one in found] for of in (np.mean, np.std))
        axes.errorbar(x, means, sds, fmt="o", color=COLOURS[number], capsize=2, label=name)
        if part in known:
            axes.scatter(x, published, zorder=3, **dash)
        for label, was in zip(CLASSES, published, strict=True):
            each = [format_spread(cells[part, label, metric, k, decay], 3) for metric in METRICS]
            rows.append((label, name, *each, was))
    if known:
        axes.scatter([], [], label="published", **dash)
    axes.set_xticks(range(len(CLASSES)), CLASSES)
    axes.set_ylabel("F1")
    axes.set_ylim(top=1.02)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    rows.sort(key=lambda row: CLASSES.index(row[0]))
    columns = ("class", "kernel", "precision", "recall", "F1", "published F1")
    table = Table(columns, rows, f"Mean ± sd over {results.options['repeats']} divisions.")
    words = [
        "Each class against the rest, by an SVM on normalised values. "
        f"{sizes.folds} folds of the training part choose C from {', '.join(f'{C:g}' for C in Cs)}; in "
        "the parts called chosen also length and decay. Weights of tf-idf come from the training part.",
        "The published figures are those of Lodhi and others, Text Classification using String Kernels "
        "(JMLR 2, 2002), for other documents of Reuters-21578, with corn as the fourth class. R8 "
        "contains only documents of a single class, which makes classes easier to separate, and grain is "
        "wider than corn.",
    ]
    dashes = "; dashes are published values" if known else ""
    caption = f"F1 of each class, mean and one sd{dashes}."
    return Section("Published and measured F1", words, [Picture(figure, caption, table)])


def _lengths(results: Results, cells: Cells) -> Section:
    lengths, decays = (sorted({key[i] for key in cells if key[0] == SUBSEQUENCES}) for i in (3, 4))
    figure, panels = new_axes(7.6, 4.8, 2, 2)
    for axes, label in zip(panels.flat, CLASSES, strict=True):
        for colour, decay in zip(COLOURS, decays, strict=False):
            means = [np.mean(cells[SUBSEQUENCES, label, "f1", k, decay]) for k in lengths]
            line_style = {"color": colour, "marker": "o", "markersize": 3}
            axes.plot(lengths, means, label=f"decay {decay:g}", **line_style)
        means = [np.mean(cells[RUNS, label, "f1", k, None]) for k in lengths]
        axes.plot(lengths, means, marker="s", markersize=3, color="#000000", label=RUNS)
        words = float(np.mean(cells[WORDS, label, "f1", None, None]))
        axes.axhline(words, color="#888888", linestyle=":", label=WORDS)
        axes.set_title(label, fontsize=9)
        axes.set_xticks(lengths)
        axes.set(xlabel="letters", ylabel="F1")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    rows = [
        (
            k,
            f"decay {decay:g}" if decay else RUNS,
            *(format_spread(cells[part, label, "f1", k, decay], 3) for label in CLASSES),
        )
        for part, every in ((SUBSEQUENCES, decays), (RUNS, [None]))
        for decay in every
        for k in lengths
    ]
    about = f"F1, mean ± sd over {results.options['repeats']} divisions, C chosen by folds."
    table = Table(("letters", "kernel", *CLASSES), rows, about)
    paragraphs = [
        "A low decay favours adjacent letters, so subsequences approach runs; the closer it is to 1, the "
        "less gaps cost. One dynamic programme computes all lengths of one decay."
    ]
    caption = "F1 against the number of letters, one panel for each class."
    return Section("Length and decay", paragraphs, [Picture(figure, caption, table)])


def _choices(results: Results, cells: Cells) -> Section:
    rows = []
    for name in (SUBSEQUENCES, RUNS):
        part = chosen_part(name)
        chosen = [row_params(row) for row in results.where(part=part, metric="f1")]
        for label in CLASSES:
            texts = (
                f"{p['k']} letters" + (f", decay {p['decay']:g}" if "decay" in p else "")
                for p in chosen
                if p["class"] == label
            )
            listed = "; ".join(f"{text}: {count}" for text, count in Counter(texts).most_common(3))
            f1 = format_spread(cells[part, label, "f1", None, None], 3)
            rows.append((name, label, f1, listed))
    table = Table(
        ("kernel", "class", "F1", "chosen most often"),
        rows,
        "Length and decay chosen by the folds of each training part, with the number of divisions.",
    )
    words = ["The folds use the training part only; the chosen kernel is tested once."]
    return Section("Parameters chosen by the folds", words, [table])


def _documents(results: Results, letters: int) -> Section:
    found: dict[str, dict[str, float]] = {label: {} for label in CLASSES}
    for row in results.where(part=DOCUMENTS):
        found[row_params(row)["class"]][row.metric] = row.value
    rows = [
        (
            label,
            *(int(one["train_documents"]), int(one["test_documents"])),
            *(f"{one['mean_letters']:.0f}", f"{one['mean_words']:.0f}", f"{one['cut']:.0%}"),
        )
        for label, one in found.items()
    ]
    parts = (SUBSEQUENCES, RUNS, WORDS, WEIGHTED)
    seconds = [(part, f"{step_seconds(results, part):.1f}") for part in parts]
    words = [
        f"Documents are lower-case words as in R8, cut to {letters} letters; as many of each class as in "
        "the published study, drawn once and divided anew for each run."
    ]
    columns = ("class", "training", "test", "letters", "words", "cut")
    shows = [
        Table(columns, rows, "Letters and words are means, after the cut."),
        Table(("kernel", "seconds"), seconds, "Matrices, folds and tests of all runs and classes."),
    ]
    return Section("The documents", words, shows)


def _class_means(
    cells: Cells, part: str, k: int | None = None, decay: float | None = None
) -> list[float]:
    return [float(np.mean(cells[part, label, "f1", k, decay])) for label in CLASSES]


def _list(values: list[float]) -> str:
    named = [f"{value:.3f} for {label}" for label, value in zip(CLASSES, values, strict=True)]
    return f"{', '.join(named[:-1])} and {named[-1]}"
