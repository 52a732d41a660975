"""Splice junctions of primates: which of the 60 letters around a place say that an exon ends or begins.

3190 sequences in three classes, EI, IE and neither. Ten folds, twice: drawn by class alone, as is
customary, and with identical sequences in the same fold, since 185 of them are copies of another. Letters
that stand for more than one base are kept as letters of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from separatrix.data.catalogue.find import find
from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.naive_bayes import MultinomialNB
from separatrix.estimators.object_attribution import Attribution, explain_object
from separatrix.estimators.perceptron import Perceptron
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels import Kernel, Normalized, Spectrum, Subsequence, WeightedDegree
from separatrix.studies.sequence_candidates import Candidate, Model, Neighbours, machines
from separatrix.studies.sequence_samples import (
    Sequences,
    drawn_from,
    grouped_way,
    identical,
    stratified_way,
)
from separatrix.studies.sequence_study import DATA, Study, look
from separatrix.validation import require_integer

NAME = "splice"
PLAIN, GROUPED = "stratified folds", "identical sequences together"
DEGREE, SPECTRUM, GAPS = "SVM, weighted degree", "SVM, spectrum", "SVM, subsequence"
LOGISTIC, LINEAR = "logistic regression on words", "linear SVM on words"
BAYES, NEAREST = "naive Bayes on words", "nearest neighbours"
PERCEPTRON, AVERAGED = "perceptron on letters", "perceptron on letters, averaged"
POSITIONS, LETTERS = "positions", "letters"
CS = (0.3, 1.0, 3.0, 10.0)
FOLDS, INNER = 10, 3
K_MAX = 30  # neighbours
WORD = 3  # letters of the longest word in linear models: all of them are some 5,000 features
QUICK_ROWS = 300
LOOKED_AT = 300  # sequences held out whose letters are weighed, at most


def families(quick: bool, seed: int) -> dict[str, Sequence[Candidate]]:
    """What is trained, each with what folds choose from."""
    degrees = (1, 3, 6) if quick else (1, 2, 3, 4, 6, 8, 12)
    lengths = (3, 4) if quick else (3, 4, 5, 6)
    gapped = (2, 3) if quick else (2, 3, 4)
    decays = (0.5,) if quick else (0.5, 0.8)
    Cs = CS[1::2] if quick else CS
    weights = (1.0,) if quick else (1.0, 10.0, 100.0)
    near = (1, 3) if quick else (1, 3, 6)
    return {
        DEGREE: machines([Normalized(WeightedDegree(k)) for k in degrees], Cs),
        SPECTRUM: machines([Normalized(Spectrum(k)) for k in lengths], Cs),
        GAPS: machines([Normalized(Subsequence(k, d)) for d in decays for k in gapped], Cs),
        LOGISTIC: [
            _on_words(Normalized(WeightedDegree(WORD)), LogisticRegression(C=C), C=C)
            for C in weights
        ],
        LINEAR: [
            _on_words(Normalized(WeightedDegree(WORD)), LinearSVC(C=C, random_state=seed), C=C)
            for C in (0.1, 1.0, 10.0)
        ],
        BAYES: [
            _on_words(WeightedDegree(k), MultinomialNB(alpha=alpha), alpha=alpha)
            for k in (1, WORD)
            for alpha in (0.1, 1.0)
        ],
        NEAREST: [Neighbours(Normalized(WeightedDegree(k)), K_MAX) for k in near],
        PERCEPTRON: _perceptrons("last", seed),
        AVERAGED: _perceptrons("average", seed),
    }


def experiment(
    *, quick: bool = False, seed: int = 0, data: str = "splice", subsample: int | None = None
) -> Experiment:
    """Ten folds of kernel machines, linear models, neighbours and perceptrons, chosen inside.

    Parameters
    ----------
    quick
        300 sequences, three folds and smaller grids.
    data
        A name of the catalogue, or a file of sequences.
    subsample
        Draw this many sequences. None: all.
    """
    require_integer(NAME, "seed", seed, least=0)
    if subsample is None and quick:
        subsample = QUICK_ROWS
    if subsample is not None:
        require_integer(NAME, "subsample", subsample, least=30)
    folds, inner = (3, 2) if quick else (FOLDS, INNER)
    study = Study(
        data=data,
        sequences=partial(drawn_from, data=data, subsample=subsample, seed=seed, groups=identical),
        ways={
            PLAIN: partial(stratified_way, folds=folds, inner=inner, seed=seed),
            GROUPED: partial(grouped_way, folds=folds, inner=inner, seed=seed),
        },
        families=families(quick, seed),
    )
    steps = [
        Step(DATA, partial(look, study=study)),
        *study.steps(),
        Step(POSITIONS, partial(_positions, study=study, seed=seed)),
        Step(LETTERS, partial(_letters, study=study, seed=seed)),
    ]
    options = {"quick": quick, "seed": seed, "data": data, "subsample": subsample}
    title = "Splice junctions told by string kernels"
    return Experiment(NAME, title, options, (data,), steps, find)


def _positions(workshop: RunContext, study: Study, seed: int) -> StepResult:
    """How much each position says: mean |share| of its letter in the score of the class guessed.

    The linear machine on words has one score for each class; the sequences were held out from it.
    """
    data, (train, test) = study.sequences(workshop), study.way(workshop, PLAIN).splits[0]
    some = test[np.linspace(0, len(test) - 1, min(LOOKED_AT, len(test))).astype(np.intp)]
    model = _explained(data, train, seed)
    found = [explain_object(model, sequence) for sequence in data.X[some]]
    classes = np.unique(data.y)
    longest = max(len(one.values) for one in found)
    weights = np.array([_mean_share(found, label, longest) for label in classes])
    rows = [
        Row(
            POSITIONS,
            study.data,
            LINEAR,
            params_json(**{"class": label, "position": position + 1}),
            ALL_SPLITS,
            "mean_share",
            float(value),
        )
        for label, line in zip(classes, weights, strict=True)
        for position, value in enumerate(line)
    ]
    counts = [sum(one.label == label for one in found) for label in classes]
    return StepResult(rows, {"mean_share": weights, "sequences": np.array(counts)})


def _letters(workshop: RunContext, study: Study, seed: int) -> StepResult:
    """One sequence of each class that was held out and got right, and one that was not, by letters."""
    data, (train, test) = study.sequences(workshop), study.way(workshop, PLAIN).splits[0]
    model = _explained(data, train, seed)
    guesses = model.predict(data.X[test])
    right = [test[(data.y[test] == label) & (guesses == label)][:1] for label in np.unique(data.y)]
    rows, arrays = [], {}
    for row in np.concatenate([*right, test[data.y[test] != guesses][:1]]).tolist():
        found = explain_object(model, data.X[row])
        how = params_json(row=row, sequence=data.X[row], label=data.y[row], taken_for=found.label)
        rows.append(Row(LETTERS, study.data, LINEAR, how, ALL_SPLITS, "score", found.score))
        rows.append(Row(LETTERS, study.data, LINEAR, how, ALL_SPLITS, "bias", found.bias))
        arrays[f"shares_{row}"] = found.values
    return StepResult(rows, arrays)


def _explained(data: Sequences, train: Any, seed: int) -> Any:
    """The linear machine on words, with the middle of its values of C, trained on one part."""
    machine = LinearSVC(C=1.0, random_state=seed)
    model = make_pipeline(KernelFeatures(Normalized(WeightedDegree(WORD))), machine)
    return model.fit(data.X[train], data.y[train])


def _mean_share(found: Sequence[Attribution], label: Any, longest: int) -> Any:
    """Mean |share| of every position in sequences taken for one class; 0 where there are none."""
    total = np.zeros(longest)
    taken = [one for one in found if one.label == label]
    for one in taken:
        total[: len(one.values)] += np.abs(one.values)
    return total / max(1, len(taken))


def _on_words(kernel: Kernel, model: Any, **parameters: Any) -> Candidate:
    pipeline = make_pipeline(KernelFeatures(kernel), model)
    inside = kernel.base
    return Model({"k": getattr(inside, "k", None), **parameters}, pipeline)


def _perceptrons(predictor: str, seed: int) -> list[Candidate]:
    """On indicators of every letter at every position, with so many passes."""
    return [
        Model(
            {"passes": passes},
            make_pipeline(
                KernelFeatures(WeightedDegree(1)),
                Perceptron(max_iter=passes, tol=None, predictor=predictor, random_state=seed),
            ),
        )
        for passes in (5, 20)
    ]
