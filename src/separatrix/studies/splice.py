"""Splice junctions of primates: which of the 60 letters around a position show that an exon ends or begins.

3190 sequences in three classes, EI, IE and neither. Ten folds under two schemes: stratified by class, as
is customary, and with identical sequences in the same fold, since 185 of them are copies of another.
Letters that stand for more than one base are kept as letters of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from separatrix import KernelFeatures, LinearSVC, LogisticRegression, MultinomialNB, Perceptron
from separatrix.estimators.object_attribution import Attribution, explain_object
from separatrix.experiments import steps
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.kernels import Kernel, Normalized, Spectrum, Subsequence, WeightedDegree
from separatrix.plots.figures import INK, new_axes
from separatrix.plots.sequence_drawing import letters_table, plot_letters
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies import sequence_pages as pages
from separatrix.studies import sequence_study as sequences
from separatrix.studies.sequence_study import SequenceStudy, sequence_experiment, svm_candidates
from separatrix.studies.views import row_params, study_page

NAME = "splice"
PLAIN, GROUPED = SCHEMES = ("stratified folds", "identical sequences together")
DEGREE, SPECTRUM, GAPS = "SVM, weighted degree", "SVM, spectrum", "SVM, subsequence"
LOGISTIC, LINEAR = "logistic regression on words", "linear SVM on words"
BAYES, NEAREST = "naive Bayes on words", "nearest neighbours"
PERCEPTRON, AVERAGED = "perceptron on letters", "perceptron on letters, averaged"
FAMILIES = (DEGREE, SPECTRUM, GAPS, LOGISTIC, LINEAR, BAYES, NEAREST, PERCEPTRON, AVERAGED)
POSITIONS, LETTERS = "positions", "letters"
CS = (0.3, 1.0, 3.0, 10.0)
FOLDS, INNER = 10, 3
K_MAX = 30  # neighbours
WORD = 3  # letters of the longest word in linear models, some 5,000 features
QUICK_ROWS = 300
MOST_EXPLAINED = 300  # test sequences with attributions
CLASSES = ("N", "EI", "IE")  # as published
PUBLISHED = {  # error % of neither, EI, IE, from the UCI archive
    "KBANN": (4.62, 7.56, 8.47),
    "neural network (backpropagation)": (5.29, 5.74, 10.75),
    "PEBLS": (6.86, 8.18, 7.55),
    "perceptron": (3.99, 16.32, 17.41),
    "ID3": (8.84, 10.58, 13.99),
    "COBWEB": (11.80, 15.04, 9.46),
    "nearest neighbour": (31.11, 11.65, 9.09),
}
GOOD = "95 to 97 %"  # accuracy of good string kernels


def families(quick: bool, seed: int) -> dict[str, Sequence[sequences.SequenceCandidate]]:
    """Candidates of each family."""
    degrees = (1, 3, 6) if quick else (1, 2, 3, 4, 6, 8, 12)
    lengths = (3, 4) if quick else (3, 4, 5, 6)
    gapped = (2, 3) if quick else (2, 3, 4)
    decays = (0.5,) if quick else (0.5, 0.8)
    Cs = CS[1::2] if quick else CS
    weights = (1.0,) if quick else (1.0, 10.0, 100.0)
    near = (1, 3) if quick else (1, 3, 6)
    words = Normalized(WeightedDegree(WORD))
    return {
        DEGREE: svm_candidates([Normalized(WeightedDegree(k)) for k in degrees], Cs),
        SPECTRUM: svm_candidates([Normalized(Spectrum(k)) for k in lengths], Cs),
        GAPS: svm_candidates([Normalized(Subsequence(k, d)) for d in decays for k in gapped], Cs),
        LOGISTIC: [_on_words(words, LogisticRegression(C=C), C=C) for C in weights],
        LINEAR: [
            _on_words(words, LinearSVC(C=C, random_state=seed), C=C) for C in (0.1, 1.0, 10.0)
        ],
        BAYES: [
            _on_words(WeightedDegree(k), MultinomialNB(alpha=alpha), alpha=alpha)
            for k in (1, WORD)
            for alpha in (0.1, 1.0)
        ],
        NEAREST: [sequences.NeighborsCandidate(Normalized(WeightedDegree(k)), K_MAX) for k in near],
        PERCEPTRON: _perceptrons("last", seed),
        AVERAGED: _perceptrons("average", seed),
    }


def experiment(
    *, quick: bool = False, seed: int = 0, data: str = "splice", subsample: int | None = None
) -> steps.Experiment:
    """Ten folds of kernel SVMs, linear models, neighbours and perceptrons, with nested choices.

    A quick run has 300 sequences (`subsample`), three folds and smaller grids.
    """
    folds: dict[str, Any] = {
        "folds": 3 if quick else FOLDS,
        "inner": 2 if quick else INNER,
        "seed": seed,
    }
    return sequence_experiment(
        NAME,
        "Splice junctions by string kernels",
        {"quick": quick, "seed": seed, "data": data, "subsample": subsample},
        fewest=30,
        quick_rows=QUICK_ROWS,
        groups=sequences.group_identical,
        schemes={
            PLAIN: partial(sequences.stratified_scheme, **folds),
            GROUPED: partial(sequences.grouped_scheme, **folds),
        },
        families=families(quick, seed),
        more={POSITIONS: _weigh_positions, LETTERS: _explain_sequences},
    )


def _weigh_positions(context: RunContext, study: SequenceStudy) -> StepResult:
    """Mean |share| of each position in the score of the predicted class, over test sequences.

    The linear SVM on words has one score for each class.
    """
    model, data, test = _fit_on_words(context, study)
    some = test[np.linspace(0, len(test) - 1, min(MOST_EXPLAINED, len(test))).astype(np.intp)]
    found = [explain_object(model, sequence) for sequence in data.X[some]]
    classes = np.unique(data.y)
    longest = max(len(one.values) for one in found)
    weights = np.array([_mean_share(found, label, longest) for label in classes])
    rows: list[Row] = []
    for (code, position), value in np.ndenumerate(weights):
        about = {"class": classes[code], "position": position + 1}
        rows += metric_rows(POSITIONS, study.data, LINEAR, {"mean_share": value}, **about)
    counts = [sum(one.label == label for one in found) for label in classes]
    return StepResult(rows, {"mean_share": weights, "sequences": np.array(counts)})


def _explain_sequences(context: RunContext, study: SequenceStudy) -> StepResult:
    """Attributions of one right test sequence of each class, and of one wrong one."""
    model, data, test = _fit_on_words(context, study)
    guesses = model.predict(data.X[test])
    right = [test[(data.y[test] == label) & (guesses == label)][:1] for label in np.unique(data.y)]
    rows: list[Row] = []
    arrays = {}
    for row in np.concatenate([*right, test[data.y[test] != guesses][:1]]).tolist():
        found = explain_object(model, data.X[row])
        about = {"row": row, "sequence": data.X[row], "label": data.y[row]}
        values = {"score": found.score, "bias": found.bias}
        rows += metric_rows(LETTERS, study.data, LINEAR, values, **about, predicted=found.label)
        arrays[f"shares_{row}"] = found.values
    return StepResult(rows, arrays)


def _fit_on_words(context: RunContext, study: SequenceStudy) -> Any:
    """The linear SVM on words with C=1, trained on the first part; the data, and the test rows."""
    data, (train, test) = study.sequences(context), study.splits(context, PLAIN).splits[0]
    svm = LinearSVC(C=1.0, random_state=context.options["seed"])
    model = make_pipeline(KernelFeatures(Normalized(WeightedDegree(WORD))), svm)
    return model.fit(data.X[train], data.y[train]), data, test


def _mean_share(found: Sequence[Attribution], label: Any, longest: int) -> Any:
    """Mean |share| of every position in sequences predicted as one class; 0 if there are none."""
    total = np.zeros(longest)
    own = [one for one in found if one.label == label]
    for one in own:
        total[: len(one.values)] += np.abs(one.values)
    return total / max(1, len(own))


def _on_words(kernel: Kernel, model: Any, **parameters: Any) -> sequences.SequenceCandidate:
    pipeline = make_pipeline(KernelFeatures(kernel), model)
    return sequences.PipelineCandidate(
        {"k": getattr(kernel.base, "k", None), **parameters}, pipeline
    )


def _perceptrons(predictor: str, seed: int) -> list[sequences.SequenceCandidate]:
    """On indicators of every letter at every position."""
    candidates: list[sequences.SequenceCandidate] = []
    for passes in (5, 20):
        model = Perceptron(
            max_iter=passes, tol=None, multi_class="auto", predictor=predictor, random_state=seed
        )
        pipeline = make_pipeline(KernelFeatures(WeightedDegree(1)), model)
        candidates.append(sequences.PipelineCandidate({"passes": passes}, pipeline))
    return candidates


def page(results: Results) -> Page:
    """Errors of each class, important positions, and sequences with attributions."""
    accuracy = {
        (scheme, family): 100 * pages.chosen_metric(results, scheme, family, "accuracy")
        for scheme in SCHEMES
        for family in FAMILIES
    }
    n = pages.count(results, "sequences")
    best = max(FAMILIES, key=lambda family: accuracy[PLAIN, family])
    highest = accuracy[PLAIN, best]
    standard_error = float(np.sqrt(highest * (100 - highest) / n))
    parts = len(results.where(part=PLAIN, model=DEGREE, metric="chosen_error"))
    summary = [
        f"In {parts} folds the SVM with the weighted degree kernel, its degree and C chosen inside each "
        f"training part, has an accuracy of {accuracy[PLAIN, DEGREE]:.2f} % on {n} sequences; with "
        f"identical sequences in the same fold {accuracy[GROUPED, DEGREE]:.2f} %. Good string kernels "
        f"reach {GOOD} in the literature.",
        f"The highest accuracy is {highest:.2f} %, by {best}; one standard error is {standard_error:.2f}, "
        "so smaller differences are not significant. Kernels that ignore positions are worse: "
        f"{accuracy[PLAIN, SPECTRUM]:.2f} % for the spectrum, {accuracy[PLAIN, GAPS]:.2f} % for "
        "subsequences.",
    ]
    sections = [
        _data(results),
        _errors(results),
        pages.confusion_section(results, PLAIN, DEGREE),
        _positions(results),
        _letters(results),
        pages.choices_section(results, SCHEMES, FAMILIES),
    ]
    return study_page(results, summary, sections)


def _data(results: Results) -> Section:
    n, distinct = pages.count(results, "sequences"), pages.count(results, "distinct")
    words = [
        f"{n - distinct} of {n} sequences are copies of another. A copy in the training part reveals the "
        "class of its twin, so there are two schemes: folds stratified by class, and folds that keep "
        "identical sequences together, inside the training parts as well.",
        f"{pages.count(results, 'letters_that_are_no_base')} letters stand for more than one base. They "
        "are kept, each as a letter of its own.",
    ]
    if results.options["data"] == "splice":
        words.insert(
            0,
            "Three classes: an exon ends in the middle of the sequence (EI), one begins there (IE), or "
            "neither (N).",
        )
    return pages.data_section(results, words, "groups of identical sequences")


def _errors(results: Results) -> Section:
    names = pages.class_names(results)
    names = list(CLASSES) if sorted(names) == sorted(CLASSES) else names
    rows: list[tuple[Any, ...]] = []
    for family in FAMILIES:
        for scheme in SCHEMES:
            by_class = pages.class_errors(results, scheme, family)
            accuracy = f"{100 * pages.chosen_metric(results, scheme, family, 'accuracy'):.2f}"
            each = [f"{by_class[name]:.2f}" for name in names]
            seconds = f"{pages.family_seconds(results, family):.1f}"
            rows.append((family, scheme, accuracy, *each, seconds))
    words = [
        "The SVMs use normalised kernels. Linear models and naive Bayes use the features of the weighted "
        f"degree kernel, words of up to {WORD} letters at their position; nearest neighbours use its "
        "distance; the perceptrons use indicators of the letter at each position."
    ]
    if pages.is_complete(results, NAME):
        rows += [
            (f"published: {name}", "of 1,000 sequences", None, *(f"{e:.2f}" for e in errors), None)
            for name, errors in PUBLISHED.items()
        ]
        words.append(
            "The published numbers, from the UCI archive, are of ten folds of 1,000 sequences: 900 "
            "training sequences each, some 2,870 in this study."
        )
    columns = (
        *("model", "folds", "accuracy %"),
        *(f"error % of {name}" for name in names),
        "seconds, both",
    )
    caption = "Every sequence is held out once; seconds cover all candidates and inner folds."
    figure, numbers = pages.plot_errors(results, SCHEMES, FAMILIES, {})
    picture = Picture(figure, "Error of each family under both schemes.", numbers)
    return Section("Errors of each class", words, [Table(columns, rows, caption), picture])


def _positions(results: Results) -> Section:
    found = results.arrays[POSITIONS]
    names = pages.class_names(results)
    weights = found["mean_share"]
    positions = _count_from_junction(weights.shape[1])
    figure, axes = new_axes(7.2, 3.4)
    for name, line, colour in zip(names, weights, pages.COLOURS * len(names), strict=False):
        axes.plot(range(len(line)), line, marker=".", color=colour, label=f"predicted as {name}")
    axes.axvline(len(positions) / 2 - 0.5, color=INK, linestyle=":", linewidth=0.8)
    ticks = [i for i, position in enumerate(positions) if abs(position) == 1 or position % 5 == 0]
    axes.set_xticks(ticks, [f"{positions[i]:+d}" for i in ticks], fontsize=7, rotation=60)
    axes.set(xlabel="position, from the junction", ylabel="mean |share| of the score")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    table = Table(
        ("position", *(f"predicted as {name}" for name in names)),
        [(f"{position:+d}", *weights[:, i].tolist()) for i, position in enumerate(positions)],
        f"Mean over {found['sequences'].sum()} test sequences.",
    )
    top = [positions[int(line.argmax())] for line in weights]
    listed = "; ".join(f"{name} {position:+d}" for name, position in zip(names, top, strict=True))
    words = [
        f"The linear SVM on words of up to {WORD} letters has a weight for each word at each position. "
        "The contribution of a word to the score is shared equally by its letters; the mean absolute "
        "share measures the importance of a position.",
        f"The most important position, by class: {listed}.",
    ]
    if results.options["data"] == "splice":
        words.append(
            "An intron begins with GT, at +1 and +2 of EI, and ends with AG, at -2 and -1 of IE."
        )
    caption = "Importance of each position; the dotted line is the junction."
    return Section("Important positions", words, [Picture(figure, caption, table)])


def _letters(results: Results) -> Section:
    shows = []
    for row in results.where(part=LETTERS, metric="score"):
        about = row_params(row)
        label, predicted, sequence = about["label"], about["predicted"], about["sequence"]
        shares = results.arrays[LETTERS][f"shares_{about['row']}"]
        right = "right" if label == predicted else f"predicted as {predicted}"
        title = f"row {about['row']}: {label}, {right}"
        classes = (f"not {predicted}", str(predicted))
        figure = plot_letters(sequence, shares, title=title, classes=classes)
        caption = f"{title}. The score of {predicted} is {row.value:.3f}, the highest."
        shows.append(Picture(figure, caption, letters_table(sequence, shares)))
    words = [
        "Test sequences: the first of each class that the linear SVM on words predicts right, and the "
        "first that it predicts wrong. The shares of all letters and the bias sum to the score."
    ]
    return Section("Letter by letter", words, shows)


def _count_from_junction(length: int) -> list[int]:
    """Positions counted from the middle, without 0.

    >>> _count_from_junction(4)
    [-2, -1, 1, 2]
    """
    numbers = np.arange(length) - length // 2
    return [int(number) + int(number >= 0) for number in numbers]
