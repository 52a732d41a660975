"""S3, the numbers on strings: news told apart by subsequences of letters, runs of letters, and words.

The published study took 470 documents of four classes and was run ten times. Here they are drawn from R8,
where grain stands in for corn, which is not a class of R8, and divided ten times at random. One matrix of
kernel values over all of them serves every run, class, fold and C; all lengths of subsequences come from
one dynamic programme. Folds inside the training part choose C, and for the rows called "chosen" the
length and the decay too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split
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
from separatrix.kernels import BagOfWords, Kernel, Linear, Normalized, Spectrum, Subsequence
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.types import Codes, Matrix
from separatrix.validation import require_integer

NAME = "reuters-strings"
DATA = "r8"
CLASSES = ("earn", "acq", "crude", "grain")
SUBSEQUENCES, RUNS, WORDS, WEIGHTED = "subsequences", "runs of letters", "words", "words, tf-idf"
DOCUMENTS = "documents"
Cs = (0.1, 1.0, 10.0, 100.0)
METRICS = ("precision", "recall", "f1")


class Sizes(NamedTuple):
    """How much is drawn, and what is tried."""

    train: tuple[int, ...]  # documents of each class
    test: tuple[int, ...]
    letters: int  # of a document, from its beginning
    lengths: tuple[int, ...]  # of subsequences and runs
    decays: tuple[float, ...]
    folds: int


WHOLE_STUDY = Sizes(
    (152, 114, 76, 38), (40, 25, 15, 10), 1500, (3, 4, 5, 6, 7), (0.1, 0.3, 0.5, 0.7, 0.9), 5
)
QUICK_STUDY = Sizes((18, 13, 9, 4), (6, 5, 3, 2), 200, (3, 4, 5), (0.5,), 3)


@dataclass(frozen=True)
class Family:
    """Kernels of one step, with what makes each different; none of them for tf-idf."""

    name: str
    step: str
    kernels: Sequence[tuple[Mapping[str, Any], Kernel]] = ()


class Texts(NamedTuple):
    """The documents that were drawn, and how they are divided."""

    X: Any  # shape: (n,) of str
    y: Any  # shape: (n,)
    splits: list[Split]


class Tested(NamedTuple):
    """One class against the rest in one run."""

    score: float  # accuracy in the folds of what they chose
    C: float
    guess: Any  # shape: (m,); whether a test document is of the class


def families(sizes: Sizes) -> list[Family]:
    """What is compared."""
    gapped = [
        Family(
            SUBSEQUENCES,
            f"{SUBSEQUENCES}, decay {decay:g}",
            [({"k": k, "decay": decay}, Subsequence(k, decay)) for k in sizes.lengths],
        )
        for decay in sizes.decays
    ]
    return [
        *gapped,
        Family(RUNS, RUNS, [({"k": k}, Spectrum(k)) for k in sizes.lengths]),
        Family(WORDS, WORDS, [({}, BagOfWords())]),
        Family(WEIGHTED, WEIGHTED),
    ]


def experiment(*, quick: bool = False, seed: int = 0, repeats: int | None = None) -> Experiment:
    """Precision, recall and F1 of each class against the rest, for each kernel.

    Parameters
    ----------
    quick
        60 documents of 200 letters, few lengths, one decay, three runs.
    repeats
        Divisions of the documents into those to train and those to test on. None: ten, or three.
    """
    require_integer(NAME, "seed", seed, least=0)
    repeats = (3 if quick else 10) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    study = _Study(QUICK_STUDY if quick else WHOLE_STUDY, seed, repeats)
    compared = families(study.sizes)
    steps = [Step(DOCUMENTS, study.documents)]
    steps += [Step(family.step, partial(study.tested, family=family)) for family in compared]
    steps += [
        Step(choice_of(name), partial(study.choice, name=name, families=compared))
        for name in (SUBSEQUENCES, RUNS)
    ]
    options = {"quick": quick, "seed": seed, "repeats": repeats}
    return Experiment(NAME, "News told apart by their letters", options, (DATA,), steps)


def choice_of(name: str) -> str:
    """The part in which folds choose everything about a family."""
    return f"{name}, chosen"


def drawn(data: Dataset, sizes: Sizes, *, repeats: int, seed: int) -> Texts:
    """As many documents of each class as the study had, and random divisions of them."""
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
    ends = np.cumsum([0, *map(len, rows)])
    splits = []
    for _ in range(repeats):
        mixed = [start + rng.permutation(stop - start) for start, stop in _pairs(ends)]
        train = [own[:count] for own, count in zip(mixed, sizes.train, strict=True)]
        test = [own[count:] for own, count in zip(mixed, sizes.train, strict=True)]
        splits.append(Split(np.sort(np.concatenate(train)), np.sort(np.concatenate(test))))
    return Texts(X, labels[taken], splits)


class _Study:
    """The steps, under one seed."""

    def __init__(self, sizes: Sizes, seed: int, repeats: int) -> None:
        self.sizes, self.seed, self.repeats = sizes, seed, repeats

    def documents(self, workshop: RunContext) -> StepResult:
        """What was drawn."""
        X, y, splits = self.texts(workshop)
        train, test = splits[0]
        lengths = np.array([len(text) for text in X])
        words = np.array([len(text.split()) for text in X])
        rows = []
        for label in CLASSES:
            own = y == label
            for metric, value in (
                ("train_documents", np.count_nonzero(own[train])),
                ("test_documents", np.count_nonzero(own[test])),
                ("mean_letters", lengths[own].mean()),
                ("mean_words", words[own].mean()),
                ("cut", np.mean(lengths[own] == self.sizes.letters)),
            ):
                rows.append(_row(DOCUMENTS, metric, value, ALL_SPLITS, **{"class": label}))
        return StepResult(rows)

    def tested(self, workshop: RunContext, family: Family) -> StepResult:
        """Every kernel of a step on all runs and classes; each makes one matrix for all of them."""
        texts = self.texts(workshop)
        rows, scores, guesses = [], [], []
        for parameters, results in self._results(texts, family):
            for (run, label), one in results.items():
                how = {**parameters, "class": label, "C": one.C}
                rows += _measured(family.name, texts, run, label, one.guess, how)
            scores.append([one.score for one in results.values()])
            guesses.append(np.concatenate([one.guess for one in results.values()]))
        return StepResult(
            rows, {"scores": np.array(scores), "guesses": np.array(guesses, dtype=np.uint8)}
        )

    def choice(self, workshop: RunContext, name: str, families: Sequence[Family]) -> StepResult:
        """The kernel that the folds of each run and class like best, the first among equals."""
        texts = self.texts(workshop)
        own = [family for family in families if family.name == name]
        parameters = [how for family in own for how, _ in family.kernels]
        found = [workshop.found(family.step).arrays for family in own]
        scores = np.concatenate([arrays["scores"] for arrays in found])
        guesses = np.concatenate([arrays["guesses"] for arrays in found])
        ends = np.cumsum([len(texts.splits[run].test) for run, _ in self._cells()])[:-1]
        parts = [np.split(guess.astype(bool), ends) for guess in guesses]
        rows = []
        for cell, (run, label) in enumerate(self._cells()):
            best = int(scores[:, cell].argmax())
            how = {**parameters[best], "class": label}
            rows += _measured(choice_of(name), texts, run, label, parts[best][cell], how)
        return StepResult(rows)

    def texts(self, workshop: RunContext) -> Texts:
        """The documents; drawn once."""
        made: Texts = workshop.once(
            "texts",
            lambda: drawn(workshop.data(DATA), self.sizes, repeats=self.repeats, seed=self.seed),
        )
        return made

    def _results(
        self, texts: Texts, family: Family
    ) -> Iterator[tuple[Mapping[str, Any], dict[tuple[int, str], Tested]]]:
        if not family.kernels:
            yield {}, {cell: self._weighted(texts, *cell) for cell in self._cells()}
            return
        kernels = [Normalized(kernel) for _, kernel in family.kernels]
        grams = SharedProducts(texts.X).grams(kernels)
        for (parameters, _), gram in zip(family.kernels, grams, strict=True):
            K = np.array(
                gram.tile(np.arange(len(texts.y)), slice(0, len(texts.y))), dtype=np.float64
            )
            yield parameters, {cell: self._ready(texts, K, *cell) for cell in self._cells()}

    def _cells(self) -> list[tuple[int, str]]:
        """Runs and classes, in the order of everything."""
        return [(run, label) for run in range(self.repeats) for label in CLASSES]

    def _ready(self, texts: Texts, K: Matrix, run: int, label: str) -> Tested:
        """A machine on the part of a matrix."""
        train, test = texts.splits[run]
        search = SVCCV(Cs, cv=self._folds(run), estimator=SVC(kernel="precomputed"))
        return _tested(search, K[np.ix_(train, train)], K[np.ix_(test, train)], texts, train, label)

    def _weighted(self, texts: Texts, run: int, label: str) -> Tested:
        """A machine on words that count more the fewer documents of the training part have them."""
        train, test = texts.splits[run]
        words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
        F = words.fit_transform(texts.X[train])
        search = SVCCV(Cs, cv=self._folds(run), kernels=[Linear()])
        return _tested(search, F, words.transform(texts.X[test]), texts, train, label)

    def _folds(self, run: int) -> StratifiedKFold:
        return StratifiedKFold(self.sizes.folds, shuffle=True, random_state=self.seed + run)


def _tested(search: SVCCV, X: Any, Z: Any, texts: Texts, train: Codes, label: str) -> Tested:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, texts.y[train] == label)
    return Tested(search.best_score_, search.best_params_["C"], search.predict(Z))


def _measured(
    part: str, texts: Texts, run: int, label: str, guess: Any, how: Mapping[str, Any]
) -> list[Row]:
    true = texts.y[texts.splits[run].test] == label
    found = precision_recall_fscore_support(true, guess, average="binary", zero_division=0)
    return [
        _row(part, metric, value, run, **how)
        for metric, value in zip(METRICS, found[:3], strict=True)
    ]


def _row(part: str, metric: str, value: Any, split: int = ALL_SPLITS, **how: Any) -> Row:
    return Row(part, DATA, part, params_json(**how), split, metric, float(value))


def _pairs(ends: Any) -> Iterator[tuple[int, int]]:
    return zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
