"""Several classifiers on the same splits, side by side: all that suit, or those given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from separatrix.data.splits import (
    Split,
    grouped_folds,
    grouped_splits,
    random_splits,
    stratified_folds,
)
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.comparison import Comparison, Protocol
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import samples_and_labels
from separatrix.evaluation.study import evaluate
from separatrix.evaluation.suite import Suite, suite
from separatrix.runtime.progress import bar, busy
from separatrix.validation import require_integer

__all__ = ["Comparison", "compare"]

RANDOM_SPLITS = 20  # by default
FEWEST_TESTS = 10  # folds are drawn anew, by default, until there are as many tests as this


def compare(
    models: Mapping[str, Any] | Sequence[str] | str | None,
    X: Any,  # shape: (n, d), a frame, or n strings
    y: Any,  # shape: (n,)
    *,
    cv: int | None = None,
    repeats: int | None = None,
    test_size: float = 0.2,
    groups: Any = None,  # shape: (n,)
    kind: str | None = None,
    folds: int = 3,
    random_state: int = 0,
    progress: bool | None = None,
    done: Callable[[str, Evaluation], None] | None = None,
) -> Comparison:
    """Train and test every classifier on the same splits, and say which differ.

    Parameters
    ----------
    models
        Classifiers by name; or keys of `separatrix.evaluation.suite.keys()`, one or a list; "all" or
        None: all that suit the data, each tuned inside the rows it is trained on.
    X, y
        Samples, as a matrix, dense or sparse, a frame of pandas or polars, or texts; and labels.
    cv
        Stratified folds, so that every row is tested once in every repeat. None: random splits.
    repeats
        Random splits, or how often folds are drawn. None: 20 splits, or as many draws of the folds as
        give at least 10 tests.
    test_size
        Share of the rows, or of the groups, that a random split tests on.
    groups
        Rows of one group are all trained on or all tested on. Then folds are not stratified.
    kind, folds
        Of the `suite`: "vectors", "text" or "sequences"; parts of the cross-validation that tunes.
    random_state
        Seed of the splits, and of models of the suite that draw.
    progress
        Whether to draw bars on stderr. None: where stderr is a terminal.
    done
        Called with the name and the `Evaluation` of each classifier as it ends.

    A classifier that fails is listed in `failed` with its reason, and the others go on. Warnings that
    a fit missed its tolerance are counted in `unfinished`; other warnings are given once a model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KernelPerceptron, Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"linear": Perceptron(predictor="average"), "kernel": KernelPerceptron(min_gain=0.001)}
    >>> sorted(row["model"] for row in compare(models, X, y, repeats=5).rows())
    ['kernel', 'linear']
    """
    X, y = samples_and_labels(X, y, missing=True)
    check_classification_targets(y)
    if len(np.unique(y)) < 2:
        raise DataError(f"compare needs samples of at least 2 classes; got one, {y[0]!r}")
    models = _models(models, X, y, kind=kind, folds=folds, random_state=random_state)
    protocol = replace(
        _protocol(cv, repeats, random_state, groups), test_size=test_size, folds=folds
    )
    splits = _splits(protocol, y, groups)
    evaluations: dict[str, Evaluation] = {}
    failed: dict[str, Exception] = {}
    unfinished: dict[str, int] = {}
    with bar("compare", len(models), show=False) as advance:
        for name, model in models.items():
            with busy(name, show=False), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found = evaluate(
                        model,
                        X,
                        y,
                        splits=splits,
                        random_state=random_state,
                        progress=progress,
                        name=name,
                    )
                except Exception as error:
                    failed[name] = error
                else:
                    evaluations[name] = found
            count = _told(caught)
            if count and name in evaluations:
                unfinished[name] = count
            if done is not None and name in evaluations:
                done(name, evaluations[name])
            advance()
    if not evaluations:
        raise _nothing_left(failed)
    left_out = models.left_out if isinstance(models, Suite) else {}
    reasons = {name: _sentence(error) for name, error in failed.items()}
    return Comparison(evaluations, left_out, reasons, unfinished, protocol)


def _models(models: Any, X: Any, y: Any, **terms: Any) -> Mapping[str, Any]:
    """Those given, or the suite of those named."""
    if models is None or (isinstance(models, str) and models == "all"):
        return suite(X, y, **terms)
    if isinstance(models, str):
        models = [models]
    if isinstance(models, Mapping) and models:
        return models
    if isinstance(models, Sequence) and models and all(isinstance(model, str) for model in models):
        return suite(X, y, models=models, **terms)
    must_be = "a dict with at least one classifier, keys of the suite, or 'all'"
    raise ParameterError("compare", "models", must_be, models)


def _protocol(cv: int | None, repeats: int | None, seed: int, groups: Any) -> Protocol:
    require_integer("compare", "random_state", seed, least=0)
    if cv is not None:
        require_integer("compare", "cv", cv, least=2)
    if repeats is None:
        repeats = RANDOM_SPLITS if cv is None else math.ceil(FEWEST_TESTS / cv)
    require_integer("compare", "repeats", repeats, least=1)
    return Protocol(cv, repeats, seed, grouped=groups is not None)


def _splits(protocol: Protocol, y: Any, groups: Any) -> list[Split]:
    """The same for all models, with rows to train on in random order: folds that tune see no drift."""
    cv, seed, n, test_size = protocol.cv, protocol.seed, len(y), protocol.test_size
    repeats = {"repeats": protocol.repeats, "seed": seed}
    if groups is not None and len(groups) != n:
        raise DataError(f"X has {n} samples, but groups has {len(groups)} values")
    order = np.random.default_rng(seed).permutation(n)
    if groups is not None:
        whole = np.asarray(groups)[order]
        splits = (
            grouped_splits(whole, test_size=test_size, **repeats)
            if cv is None
            else grouped_folds(whole, folds=cv, **repeats)
        )
    elif cv is not None:
        splits = stratified_folds(y[order], folds=cv, **repeats)
    else:
        splits = random_splits(n, test_size=test_size, **repeats)
    return [Split(order[train], order[test]) for train, test in splits]


def _told(caught: Sequence[warnings.WarningMessage]) -> int:
    """How many say that a fit missed its tolerance; the others are given again, once each."""
    others = {
        (warning.category, str(warning.message)): warning
        for warning in reversed(caught)
        if not issubclass(warning.category, ConvergenceWarning)
    }
    for warning in others.values():
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def _nothing_left(failed: Mapping[str, Exception]) -> Exception:
    """The error where all fail: its own for one model, all in one sentence for several."""
    if len(failed) == 1:
        return next(iter(failed.values()))
    reasons = "; ".join(f"{name}: {_sentence(error)}" for name, error in failed.items())
    return DataError(f"no classifier could be trained: {reasons}")


def _sentence(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
