"""Train and test several classifiers on the same splits."""

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
from separatrix.estimators.registry import DATA_KINDS
from separatrix.evaluation.comparison import Comparison, SplitProtocol
from separatrix.evaluation.metrics import require_metrics
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples, check_samples
from separatrix.evaluation.study import evaluate
from separatrix.evaluation.suite import Suite, suite
from separatrix.runtime.progress import bar, busy
from separatrix.validation import require_choice, require_integer

__all__ = ["Comparison", "compare"]

RANDOM_SPLITS = 20  # by default
MIN_TEST_FOLDS = 10  # by default, k-fold splits are repeated until there are as many test folds


def compare(
    models: Mapping[str, Any] | Sequence[str] | str | None,
    X: Any,  # shape: (n, d), a frame, n strings, or `CheckedSamples`
    y: Any = None,  # shape: (n,)
    *,
    cv: int | None = None,
    repeats: int | None = None,
    test_size: float = 0.2,
    groups: Any = None,  # shape: (n,)
    kind: str | None = None,
    folds: int = 3,
    metric: str = "error",
    random_state: int = 0,
    progress: bool | None = None,
    done: Callable[[str, Evaluation], None] | None = None,
) -> Comparison:
    """Train and test classifiers on the same splits, and test which of them differ.

    Parameters
    ----------
    models
        Classifiers by name; or one or several keys of `separatrix.evaluation.suite.keys()`; "all" or
        None: all that suit the data, each tuned inside the training rows.
    X, y
        Samples (a dense or sparse matrix, a pandas or polars frame, or texts) and labels.
    cv
        Number of stratified folds; every row is tested once in every repeat. None: random splits.
    repeats
        Number of random splits, or of repeats of the k-fold split. None: 20 splits, or as many repeats
        as give at least 10 test folds.
    test_size
        Fraction of the rows, or of the groups, in the test part of a random split.
    groups
        Rows of one group are all in the training part or all in the test part; folds are then not
        stratified.
    kind, folds
        Of the `suite`: "vectors", "text", "sequences" or "graphs"; folds of the cross-validation that
        tunes.
    metric
        Ranks the classifiers: a name of `separatrix.evaluation.metrics.NAMES`, such as "roc_auc",
        "average_precision", "log_loss", "f1", "balanced_accuracy" or "mcc".
    random_state
        Seed of the splits, and of models of the suite that use random numbers.
    progress
        Whether to draw progress bars on stderr. None: if stderr is a terminal.
    done
        Callback with the name and the `Evaluation` of each classifier once it is finished.

    A classifier that fails is listed in `failed` with the reason; the others continue. Convergence
    warnings are counted in `unfinished`; every other warning is shown once per model. Ctrl-C ends the
    comparison with the classifiers that are finished, if there are any; the others are in `not_tried`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KernelPerceptron, Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"linear": Perceptron(predictor="average"), "kernel": KernelPerceptron(min_gain=0.001)}
    >>> sorted(row["model"] for row in compare(models, X, y, repeats=5).rows())
    ['kernel', 'linear']
    """
    require_metrics([metric])
    samples = check_samples(X, y, missing=True)
    models = _models(models, samples, kind, {"folds": folds, "random_state": random_state})
    check_classification_targets(samples.y)
    if len(np.unique(samples.y)) < 2:
        raise DataError(f"compare needs samples of at least 2 classes; got one, {samples.y[0]!r}")
    protocol = replace(
        _protocol(cv, repeats, random_state, groups), test_size=test_size, folds=folds
    )
    splits = _splits(protocol, samples.y, groups)
    evaluations: dict[str, Evaluation] = {}
    failed: dict[str, Exception] = {}
    unfinished: dict[str, int] = {}
    options: dict[str, Any] = {
        "splits": splits,
        "random_state": random_state,
        "progress": progress,
    }
    interrupted = False
    with bar("compare", len(models), show=False) as advance:
        for name, model in models.items():
            with busy(name, show=False), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    evaluations[name] = evaluate(model, samples, name=name, **options)
                except Exception as error:
                    failed[name] = error
                except KeyboardInterrupt:
                    if not evaluations:
                        raise
                    interrupted = True
            if interrupted:
                break
            count = _count_unconverged(caught)
            if name in evaluations:
                if count:
                    unfinished[name] = count
                if done is not None:
                    done(name, evaluations[name])
            advance()
    if not evaluations:
        raise _error_of_all(failed)
    suited = models if isinstance(models, Suite) else Suite({}, {}, {})
    later = [name for name in models if interrupted and name not in (*evaluations, *failed)]
    comparison = Comparison(
        evaluations,
        left_out=suited.left_out,
        failed={name: _in_one_line(error) for name, error in failed.items()},
        unfinished=unfinished,
        protocol=protocol,
        metric=metric,
        not_tried={**suited.not_tried, **dict.fromkeys(later, "interrupted")},
        interrupted=interrupted,
    )
    if all(np.isnan(found.metric(metric)[0]).all() for found in evaluations.values()):
        raise DataError(
            f"{metric} needs probabilities or scores, which none of these classifiers has"
        )
    return comparison


def _models(
    models: Any, samples: CheckedSamples, kind: str | None, search: dict[str, int]
) -> Mapping[str, Any]:
    """Return the models if they are estimators; build them if they are keys."""
    if isinstance(models, Mapping) and models:
        return models
    if kind is not None:
        require_choice("compare", "kind", kind, DATA_KINDS)
    if models is None or (isinstance(models, str) and models == "all"):
        keys = None
    else:
        keys = [models] if isinstance(models, str) else models
        if not (isinstance(keys, Sequence) and keys and all(isinstance(key, str) for key in keys)):
            must_be = "a dict with at least one classifier, keys of the suite, or 'all'"
            raise ParameterError("compare", "models", must_be, models)
    return suite(samples, models=keys, kind=kind, **search)


def _protocol(cv: int | None, repeats: int | None, seed: int, groups: Any) -> SplitProtocol:
    require_integer("compare", "random_state", seed, least=0)
    if cv is not None:
        require_integer("compare", "cv", cv, least=2)
    if repeats is None:
        repeats = RANDOM_SPLITS if cv is None else math.ceil(MIN_TEST_FOLDS / cv)
    require_integer("compare", "repeats", repeats, least=1)
    return SplitProtocol(cv, repeats, seed, grouped=groups is not None)


def _splits(protocol: SplitProtocol, y: Any, groups: Any) -> list[Split]:
    """Split the rows in random order, so that the folds of a search inside see no drift."""
    cv, seed, n, test_size = protocol.cv, protocol.seed, len(y), protocol.test_size
    repeats = {"repeats": protocol.repeats, "seed": seed}
    if groups is not None and len(groups) != n:
        raise DataError(f"X has {n} samples, but groups has {len(groups)} values")
    order = np.random.default_rng(seed).permutation(n)
    if groups is not None:
        groups = np.asarray(groups)[order]
        splits = (
            grouped_splits(groups, test_size=test_size, **repeats)
            if cv is None
            else grouped_folds(groups, folds=cv, **repeats)
        )
    elif cv is not None:
        splits = stratified_folds(y[order], folds=cv, **repeats)
    else:
        splits = random_splits(n, test_size=test_size, **repeats)
    return [Split(order[train], order[test]) for train, test in splits]


def _count_unconverged(caught: Sequence[warnings.WarningMessage]) -> int:
    """Count the convergence warnings; show every other warning once."""
    others = {
        (warning.category, str(warning.message)): warning
        for warning in reversed(caught)
        if not issubclass(warning.category, ConvergenceWarning)
    }
    for warning in others.values():
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def _error_of_all(failed: Mapping[str, Exception]) -> Exception:
    """Return the error of the only model, or one that lists the errors of all."""
    if len(failed) == 1:
        return next(iter(failed.values()))
    reasons = "; ".join(f"{name}: {_in_one_line(error)}" for name, error in failed.items())
    return DataError(f"no classifier could be trained: {reasons}")


def _in_one_line(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
