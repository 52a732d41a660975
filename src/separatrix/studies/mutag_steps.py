"""MUTAG: which of 188 molecules change genes, told by kernels on their graphs.

Ten times ten stratified folds. Inside each training part more folds choose: how far the kernel looks,
whether its values are divided by those of both graphs with themselves, and C. Neighbours are chosen by
leaving each molecule out. So a molecule that is tested has had no part in any choice. All families are
tested on the same folds.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from separatrix.data.graph import Graph
from separatrix.data.splits import Split, stratified_folds
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.object_attribution import explain_object
from separatrix.estimators.svc import SVC
from separatrix.estimators.svc_cv import SVCCV
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels import (
    EdgeHistogram,
    Kernel,
    Normalized,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from separatrix.types import Codes
from separatrix.validation import require_integer

NAME = "mutag"
DATA = "mutag"
FOLDS = 10
CONFUSIONS, MOLECULES = "confusions", "molecules"
MACHINE, NEIGHBOURS, PERCEPTRON = "SVC", "k-NN", "kernel perceptron"
SUBTREES, BONDS, PATHS = "WL subtrees", "WL subtrees, bonds too", "shortest paths"
BOTH_WAYS = f"{PATHS}, both ways"
# C is 10^e over the molecules trained on, e from -7 to 7 as it was published; with less than these all
# molecules are of one class, and plain values with more take minutes to fit, for the same accuracy
EXPONENTS = {True: range(1, 8), False: range(-1, 4)}  # of normalised values, and of plain ones
MOST_NEIGHBOURS = 15
ROUNDS, QUICK_ROUNDS = 8, 2  # of refinement, at most


class Inner(NamedTuple):
    """Folds of a training part that choose."""

    n_splits: int
    n_repeats: int


INNER, QUICK_INNER = Inner(10, 3), Inner(3, 1)


@dataclass(frozen=True)
class Family:
    """A learner, and the kernels that it may choose from, plain."""

    name: str
    kernels: Sequence[Kernel]
    learner: str = MACHINE


class Choice(NamedTuple):
    """What the folds of a training part chose, trained on all of it."""

    score: float  # accuracy in the folds
    parameters: dict[str, Any]
    model: Any

    def predicted(self, X: Any) -> Any:
        """Classes of some molecules."""
        if "n_neighbors" in self.parameters:
            return self.model.predict_by_k(X, self.parameters["n_neighbors"])[:, -1]
        return self.model.predict(X)


def families(most: int) -> list[Family]:
    """What is compared, the subtrees first, with 0 to `most` rounds of refinement."""
    rounds = range(most + 1)
    subtrees = [WeisfeilerLehman(t) for t in rounds]
    return [
        Family(SUBTREES, subtrees),
        Family(BONDS, [WeisfeilerLehman(t, edge_labels=True) for t in rounds]),
        Family(PATHS, [ShortestPath(both_ways=False, nodes=True)]),
        Family(BOTH_WAYS, [ShortestPath()]),
        Family("atoms", [VertexHistogram()]),
        Family("bonds", [EdgeHistogram()]),
        Family(f"{SUBTREES}, {NEIGHBOURS}", subtrees, NEIGHBOURS),
        Family(f"{SUBTREES}, {PERCEPTRON}", subtrees, PERCEPTRON),
    ]


def experiment(*, quick: bool = False, seed: int = 0, repeats: int | None = None) -> Experiment:
    """Accuracy of each kernel, what was chosen, confusions, and atoms that decided.

    Parameters
    ----------
    quick
        Ten folds once, few rounds, and few folds inside the training parts.
    repeats
        How often all molecules are dealt into ten folds. None: ten times, or once.
    """
    require_integer(NAME, "seed", seed, least=0)
    repeats = (1 if quick else 10) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    study = _Study(seed, repeats, QUICK_INNER if quick else INNER)
    compared = families(QUICK_ROUNDS if quick else ROUNDS)
    steps = [
        Step(step_name(family.name, repeat), partial(study.repeat, family=family, repeat=repeat))
        for family in compared
        for repeat in range(repeats)
    ]
    steps += [
        Step(CONFUSIONS, partial(study.confusions, families=compared)),
        Step(MOLECULES, partial(study.molecules, family=compared[0])),
    ]
    options = {"quick": quick, "seed": seed, "repeats": repeats}
    return Experiment(NAME, "Molecules that change genes", options, (DATA,), steps)


def step_name(family: str, repeat: int) -> str:
    """The step that tests a family on ten folds of all molecules."""
    return f"{family}: repetition {repeat + 1}"


def chosen(
    family: Family,
    X: Any,  # shape: (n,); graphs
    y: Any,  # shape: (n,)
    *,
    inner: Inner,
    seed: int,
) -> Choice:
    """The best of a family by folds of these molecules, the first among equals, trained on all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # of large C; folds judge what comes out
        if family.learner == NEIGHBOURS:
            return _neighbours(family, X, y)
        folds = RepeatedStratifiedKFold(**inner._asdict(), random_state=seed)
        if family.learner == PERCEPTRON:
            return _perceptron(family, X, y, folds)
        found = [_machine(family, X, y, folds, normal) for normal in EXPONENTS]
    return max(found, key=lambda choice: choice.score)


def _machine(family: Family, X: Any, y: Any, folds: Any, normal: bool) -> Choice:
    exponents = EXPONENTS[normal]
    Cs = [10.0**e / len(y) for e in exponents]
    search = SVCCV(Cs, kernels=_kernels(family, normal), cv=folds).fit(X, y)
    best = search.best_params_
    exponent = exponents[Cs.index(best["C"])]
    parameters = {**_of_kernel(best["kernel"]), "C": best["C"], "exponent": exponent}
    return Choice(search.best_score_, parameters, search.best_estimator_)


def _perceptron(family: Family, X: Any, y: Any, folds: Any) -> Choice:
    kernels = [*_kernels(family, True), *_kernels(family, False)]
    search = KernelPerceptronCV(kernels, cv=folds, estimator=KernelPerceptron(max_iter=50))
    search.fit(X, y)
    return Choice(search.best_score_, _of_kernel(search.best_kernel_), search.estimator_)


def _neighbours(family: Family, X: Any, y: Any) -> Choice:
    found = []
    for kernel in (*_kernels(family, True), *_kernels(family, False)):
        model = KNeighborsClassifier(kernel=kernel, k_max=MOST_NEIGHBOURS).fit(X, y)
        k = int(model.best_k_)
        parameters = {**_of_kernel(kernel), "n_neighbors": k}
        found.append(Choice(float(model.accuracy_by_k_[k - 1]), parameters, model))
    return max(found, key=lambda choice: choice.score)


def _kernels(family: Family, normal: bool) -> list[Kernel]:
    return [Normalized(kernel) if normal else kernel for kernel in family.kernels]


def _of_kernel(kernel: Kernel) -> dict[str, Any]:
    normal = isinstance(kernel, Normalized)
    plain = kernel.kernel if isinstance(kernel, Normalized) else kernel
    known = {"kernel": repr(plain), "normalized": normal}
    if isinstance(plain, WeisfeilerLehman):
        known["iterations"] = plain.iterations
    return known


class _Study:
    """The steps, under one set of options."""

    def __init__(self, seed: int, repeats: int, inner: Inner) -> None:
        self.seed, self.repeats, self.inner = seed, repeats, inner

    def repeat(self, workshop: RunContext, family: Family, repeat: int) -> StepResult:
        """One family on ten folds of all molecules: each is tested once."""
        X, y, splits = self.samples(workshop)
        classes, codes = np.unique(y, return_inverse=True)
        predicted = np.empty(len(y), dtype=np.int32)
        rows = []
        for number in range(repeat * FOLDS, (repeat + 1) * FOLDS):
            train, test = splits[number]
            choice = self._chosen(family, X, y, train, number)
            predicted[test] = np.searchsorted(classes, choice.predicted(X[test]))
            for metric, value in (
                ("fold_accuracy", choice.score),
                ("chosen_accuracy", np.mean(predicted[test] == codes[test])),
            ):
                rows.append(_row(family.name, metric, value, number, **choice.parameters))
        rows.append(_row(family.name, "accuracy", np.mean(predicted == codes), repeat))
        return StepResult(rows, {"predicted": predicted})

    def confusions(self, workshop: RunContext, families: list[Family]) -> StepResult:
        """Molecules of each class that each family takes for each, mean and sd over the repetitions."""
        _, y, _ = self.samples(workshop)
        classes, codes = np.unique(y, return_inverse=True)
        rows = []
        for family in families:
            tables = [
                np.bincount(len(classes) * codes + guess, minlength=len(classes) ** 2)
                for guess in self._predicted(workshop, family)
            ]
            mean, sd = np.mean(tables, axis=0), np.std(tables, axis=0)
            for position, (count, spread) in enumerate(zip(mean, sd, strict=True)):
                of, guess = (classes[code].item() for code in divmod(position, len(classes)))
                for metric, value in (("mean", count), ("sd", spread)):
                    rows.append(
                        _row(CONFUSIONS, metric, value, model=family.name, of=of, taken_for=guess)
                    )
        wrong = {
            family.name: np.mean([guess != codes for guess in self._predicted(workshop, family)], 0)
            for family in families
        }
        return StepResult(rows, {"wrong": np.array(list(wrong.values())), "y": np.asarray(y)})

    def molecules(self, workshop: RunContext, family: Family) -> StepResult:
        """Of the molecules of one fold the surest and the worst of each class, and why."""
        X, y, splits = self.samples(workshop)
        number = self._with_subtrees(workshop, family)
        train, test = splits[number]
        model: SVC = self._chosen(family, X, y, train, number).model
        scores = model.decision_function(X[test])
        towards = np.where(y[test] == model.classes_[1], scores, -scores)
        rows, arrays = [], dict[str, Any]()
        for position, at in enumerate(_telling(y[test], towards)):
            row, graph = int(test[at]), X[test[at]]
            parts = explain_object(model, graph)
            how = {
                "row": row,
                "label": y[row],
                "taken_for": parts.label,
                "against": parts.against,
                "place": position,
                "bias": parts.bias,
            }
            rows.append(_row(MOLECULES, "score", parts.score, model=family.name, **how))
            rows += [
                _row(
                    MOLECULES,
                    "term",
                    one.term,
                    feature=one.name,
                    count=one.count,
                    position=position,
                )
                for one in parts.features[:5]
            ]
            arrays |= {f"{position}.{name}": array for name, array in _as_arrays(graph).items()}
            arrays[f"{position}.shares"] = parts.values
        return StepResult(rows, arrays)

    def samples(self, workshop: RunContext) -> tuple[Any, Any, list[Split]]:
        """Graphs, labels, and the folds of all repetitions."""
        data = workshop.data(DATA)
        X = np.empty(len(data.X), dtype=object)
        X[:] = data.X
        y = np.asarray(data.y)
        return X, y, stratified_folds(y, folds=FOLDS, seed=self.seed, repeats=self.repeats)

    def _chosen(self, family: Family, X: Any, y: Any, train: Codes, number: int) -> Choice:
        return chosen(family, X[train], y[train], inner=self.inner, seed=self.seed + number)

    def _with_subtrees(self, workshop: RunContext, family: Family) -> int:
        """The first fold for which more than atoms was chosen, so that there is something to see."""
        for repeat in range(self.repeats):
            for row in workshop.found(step_name(family.name, repeat)).rows:
                if json.loads(row.parameters).get("iterations"):
                    return row.split
        return 0

    def _predicted(self, workshop: RunContext, family: Family) -> list[Any]:
        names = [step_name(family.name, repeat) for repeat in range(self.repeats)]
        return [workshop.found(name).arrays["predicted"] for name in names]


def molecule(arrays: Any, position: int) -> Graph:
    """One of the molecules that the last step kept."""
    kept = {name: arrays[f"{position}.{name}"] for name in ("edges", "node_labels", "edge_labels")}
    return Graph(len(kept["node_labels"]), **kept)


def _as_arrays(graph: Graph) -> dict[str, Any]:
    return {
        "edges": graph.edges,
        "node_labels": graph.node_labels,
        "edge_labels": graph.edge_labels,
    }


def _telling(y: Any, towards: Any) -> list[int]:
    """Places of the samples of each class that are furthest on its side, then on the other."""
    positions = []
    for label in np.unique(y)[::-1]:
        own = np.flatnonzero(y == label)
        order = own[np.argsort(-towards[own], kind="stable")]
        positions += [int(order[0]), int(order[-1])]
    return positions


def _row(part: str, metric: str, value: Any, split: int = ALL_SPLITS, **how: Any) -> Row:
    model = how.pop("model", part)
    return Row(part, DATA, model, params_json(**how), split, metric, float(value))
