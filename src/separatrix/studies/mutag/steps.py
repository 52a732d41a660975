"""Steps of `mutag`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from separatrix import (
    SVC,
    SVCCV,
    KernelPerceptron,
    KernelPerceptronCV,
    KNeighborsClassifier,
    kernels,
)
from separatrix.data.graph import Graph
from separatrix.data.splits import Split, stratified_folds
from separatrix.estimators.object_attribution import explain_object
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels import Kernel, Normalized, ShortestPath, VertexHistogram, WeisfeilerLehman
from separatrix.studies.views import row_params
from separatrix.types import Codes
from separatrix.validation import require_integer

NAME = DATA = "mutag"
FOLDS = 10
CONFUSIONS, MOLECULES = "confusions", "molecules"
MACHINE, NEIGHBOURS, PERCEPTRON = "SVC", "k-NN", "kernel perceptron"
SUBTREES, BONDS, PATHS = "WL subtrees", "WL subtrees, bonds too", "shortest paths"
BOTH_WAYS = f"{PATHS}, both ways"
# C is 10^e / n, published with e from -7 to 7. Below these ranges all molecules are predicted as one
# class; above them plain values take minutes to fit, for the same accuracy.
EXPONENTS = {True: range(1, 8), False: range(-1, 4)}  # of normalised values, and of plain ones
MAX_NEIGHBORS = 15
ROUNDS, QUICK_ROUNDS = 8, 2  # of refinement, at most
# folds inside a training part, by which parameters are chosen
INNER, QUICK_INNER = {"n_splits": 10, "n_repeats": 3}, {"n_splits": 3, "n_repeats": 1}
GRAPH_ARRAYS = ("edges", "node_labels", "edge_labels")


@dataclass(frozen=True)
class GraphKernelFamily:
    """A learner, and the plain kernels from which folds choose."""

    name: str
    kernels: Sequence[Kernel]
    learner: str = MACHINE


class FoldChoice(NamedTuple):
    """The model that folds of a training part chose, refitted on all of it."""

    score: float  # accuracy in the folds
    parameters: dict[str, Any]
    model: Any

    def predict(self, X: Any) -> Any:
        """Classes of molecules."""
        if "n_neighbors" in self.parameters:
            return self.model.predict_by_k(X, self.parameters["n_neighbors"])[:, -1]
        return self.model.predict(X)


def families(most: int) -> list[GraphKernelFamily]:
    """Families that are compared, subtrees first, with 0 to `most` rounds of refinement."""
    rounds = range(most + 1)
    subtrees = [WeisfeilerLehman(t) for t in rounds]
    bonds = [WeisfeilerLehman(t, edge_labels=True) for t in rounds]
    return [
        GraphKernelFamily(SUBTREES, subtrees),
        GraphKernelFamily(BONDS, bonds),
        GraphKernelFamily(PATHS, [ShortestPath(both_ways=False, nodes=True)]),
        GraphKernelFamily(BOTH_WAYS, [ShortestPath()]),
        GraphKernelFamily("atoms", [VertexHistogram()]),
        GraphKernelFamily("bonds", [kernels.EdgeHistogram()]),
        GraphKernelFamily(f"{SUBTREES}, {NEIGHBOURS}", subtrees, NEIGHBOURS),
        GraphKernelFamily(f"{SUBTREES}, {PERCEPTRON}", subtrees, PERCEPTRON),
    ]


def experiment(*, quick: bool = False, seed: int = 0, repeats: int | None = None) -> Experiment:
    """Accuracy of each kernel, chosen parameters, confusions, and attribution to atoms.

    A quick run has ten folds once instead of ten times (`repeats`), fewer rounds, and fewer inner folds.
    """
    repeats = (1 if quick else 10) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    compared = families(QUICK_ROUNDS if quick else ROUNDS)
    steps = [
        Step(step_name(family.name, repeat), partial(evaluate_family, family=family, repeat=repeat))
        for family in compared
        for repeat in range(repeats)
    ]
    steps += [
        Step(CONFUSIONS, partial(count_confusions, families=compared)),
        Step(MOLECULES, partial(explain_molecules, family=compared[0])),
    ]
    options = {"quick": quick, "seed": seed, "repeats": repeats}
    return Experiment(NAME, "Mutagenic molecules by graph kernels", options, (DATA,), steps)


def step_name(family: str, repeat: int) -> str:
    """The step that tests a family on ten folds of all molecules."""
    return f"{family}: repetition {repeat + 1}"


def choose(
    family: GraphKernelFamily,
    X: Any,  # shape: (n,); graphs
    y: Any,  # shape: (n,)
    *,
    inner: dict[str, int],
    seed: int,
) -> FoldChoice:
    """The best model of a family by folds, the first among equals, refitted on all molecules."""
    folds = RepeatedStratifiedKFold(**inner, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of large C, which the folds score
        if family.learner == NEIGHBOURS:
            return _choose_neighbors(family, X, y)
        if family.learner == PERCEPTRON:
            return _choose_perceptron(family, X, y, folds)
        found = [_choose_svm(family, X, y, folds, normal) for normal in EXPONENTS]
    return max(found, key=lambda choice: choice.score)


def _choose_svm(family: GraphKernelFamily, X: Any, y: Any, folds: Any, normal: bool) -> FoldChoice:
    exponents = EXPONENTS[normal]
    Cs = [10.0**e / len(y) for e in exponents]
    search = SVCCV(Cs, kernels=_kernels(family, normal), cv=folds).fit(X, y)
    best = search.best_params_
    exponent = exponents[Cs.index(best["C"])]
    parameters = {**_kernel_params(best["kernel"]), "C": best["C"], "exponent": exponent}
    return FoldChoice(search.best_score_, parameters, search.best_estimator_)


def _choose_perceptron(family: GraphKernelFamily, X: Any, y: Any, folds: Any) -> FoldChoice:
    tried = [*_kernels(family, True), *_kernels(family, False)]
    search = KernelPerceptronCV(tried, cv=folds, estimator=KernelPerceptron(max_iter=50))
    search.fit(X, y)
    return FoldChoice(search.best_score_, _kernel_params(search.best_kernel_), search.estimator_)


def _choose_neighbors(family: GraphKernelFamily, X: Any, y: Any) -> FoldChoice:
    found = []
    for kernel in (*_kernels(family, True), *_kernels(family, False)):
        model = KNeighborsClassifier(kernel=kernel, ties="nearest", k_max=MAX_NEIGHBORS).fit(X, y)
        k = int(model.best_k_)
        parameters = {**_kernel_params(kernel), "n_neighbors": k}
        found.append(FoldChoice(float(model.accuracy_by_k_[k - 1]), parameters, model))
    return max(found, key=lambda choice: choice.score)


def _kernels(family: GraphKernelFamily, normal: bool) -> list[Kernel]:
    return [Normalized(kernel) if normal else kernel for kernel in family.kernels]


def _kernel_params(kernel: Kernel) -> dict[str, Any]:
    plain = kernel.base or kernel
    known = {"kernel": repr(plain), "normalized": plain is not kernel}
    if isinstance(plain, WeisfeilerLehman):
        known["iterations"] = plain.iterations
    return known


def evaluate_family(context: RunContext, family: GraphKernelFamily, repeat: int) -> StepResult:
    """One family on ten folds of all molecules: each is tested once."""
    X, y, splits = samples(context)
    classes, codes = np.unique(y, return_inverse=True)
    predicted = np.empty(len(y), dtype=np.int32)
    rows: list[Row] = []
    for number in range(repeat * FOLDS, (repeat + 1) * FOLDS):
        train, test = splits[number]
        choice = _choose(context, family, X, y, train, number)
        predicted[test] = np.searchsorted(classes, choice.predict(X[test]))
        accuracy = np.mean(predicted[test] == codes[test])
        values = {"fold_accuracy": choice.score, "chosen_accuracy": accuracy}
        rows += _rows(family.name, values, split=number, **choice.parameters)
    rows += _rows(family.name, {"accuracy": np.mean(predicted == codes)}, split=repeat)
    return StepResult(rows, {"predicted": predicted})


def count_confusions(context: RunContext, families: list[GraphKernelFamily]) -> StepResult:
    """Molecules of each class by predicted class, mean and sd over the repetitions."""
    _, y, _ = samples(context)
    classes, codes = np.unique(y, return_inverse=True)
    k = len(classes)
    rows, wrong = [], []
    for family in families:
        names = [step_name(family.name, repeat) for repeat in range(context.options["repeats"])]
        guesses = [context.result(name).arrays["predicted"] for name in names]
        wrong.append(np.mean([guess != codes for guess in guesses], axis=0))
        tables = [np.bincount(k * codes + guess, minlength=k**2) for guess in guesses]
        mean, sd = np.mean(tables, axis=0), np.std(tables, axis=0)
        for cell in range(k**2):
            label, guess = (classes[code].item() for code in divmod(cell, k))
            values, about = {"mean": mean[cell], "sd": sd[cell]}, {"label": label}
            rows += _rows(CONFUSIONS, values, family.name, **about, predicted=guess)
    return StepResult(rows, {"wrong": np.array(wrong), "y": np.asarray(y)})


def explain_molecules(context: RunContext, family: GraphKernelFamily) -> StepResult:
    """The most and the least clearly classified test molecules of one fold, with attributions."""
    X, y, splits = samples(context)
    number = _first_with_subtrees(context, family)
    train, test = splits[number]
    model: SVC = _choose(context, family, X, y, train, number).model
    scores = model.decision_function(X[test])
    margins = np.where(y[test] == model.classes_[1], scores, -scores)
    rows: list[Row] = []
    arrays: dict[str, Any] = {}
    for position, at in enumerate(_extremes(y[test], margins)):
        row, graph = int(test[at]), X[test[at]]
        found = explain_object(model, graph)
        about = {"row": row, "label": y[row], "predicted": found.label, "bias": found.bias}
        about |= {"against": found.against, "rank": position}
        rows += _rows(MOLECULES, {"score": found.score}, family.name, **about)
        for one in found.features[:5]:
            about = {"feature": one.name, "count": one.count, "rank": position}
            rows += _rows(MOLECULES, {"term": one.term}, **about)
        arrays |= {f"{position}.{name}": getattr(graph, name) for name in GRAPH_ARRAYS}
        arrays[f"{position}.shares"] = found.values
    return StepResult(rows, arrays)


def samples(context: RunContext) -> tuple[Any, Any, list[Split]]:
    """Graphs, labels, and the folds of all repetitions."""
    data = context.data(DATA)
    X = np.empty(len(data.X), dtype=object)
    X[:] = data.X
    y = np.asarray(data.y)
    return (
        X,
        y,
        stratified_folds(
            y, folds=FOLDS, seed=context.options["seed"], repeats=context.options["repeats"]
        ),
    )


def _choose(
    context: RunContext, family: GraphKernelFamily, X: Any, y: Any, train: Codes, number: int
) -> FoldChoice:
    inner, seed = QUICK_INNER if context.options["quick"] else INNER, context.options["seed"]
    return choose(family, X[train], y[train], inner=inner, seed=seed + number)


def _first_with_subtrees(context: RunContext, family: GraphKernelFamily) -> int:
    """The first fold whose chosen kernel refines at least once: its features are subtrees."""
    for repeat in range(context.options["repeats"]):
        for row in context.result(step_name(family.name, repeat)).rows:
            if row_params(row).get("iterations"):
                return row.split
    return 0


def read_molecule(arrays: Any, position: int) -> Graph:
    """A molecule that `explain_molecules` stored."""
    kept = {name: arrays[f"{position}.{name}"] for name in GRAPH_ARRAYS}
    return Graph(len(kept["node_labels"]), **kept)


def _extremes(y: Any, margins: Any) -> list[int]:
    """Samples of each class with the largest and the smallest margin."""
    positions = []
    for label in np.unique(y)[::-1]:
        own = np.flatnonzero(y == label)
        order = own[np.argsort(-margins[own], kind="stable")]
        positions += [int(order[0]), int(order[-1])]
    return positions


def _rows(part: str, values: dict[str, Any], model: str = "", **about: Any) -> list[Row]:
    return metric_rows(part, DATA, model or part, values, **about)
