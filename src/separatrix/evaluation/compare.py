"""Train and test several classifiers on the same splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from separatrix.data.splits import Split
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.registry import DATA_KINDS
from separatrix.evaluation.cluster_trials import ClusterTrials
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.comparison_splits import plan_splits
from separatrix.evaluation.metrics import require_metrics
from separatrix.evaluation.profile import profile
from separatrix.evaluation.race import ProgressListener, Race, RaceResult
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples, check_samples
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing
from separatrix.evaluation.study import evaluate, submit_evaluation
from separatrix.evaluation.suite import Suite, suite
from separatrix.runtime.progress import bar, busy
from separatrix.validation import require_choice, require_real

LONGEST_REASON = 200  # letters of why a model failed


def compare(
    models: Mapping[str, Any] | Sequence[str] | str | None,
    X: Any,  # shape: (n, d), a frame, n strings, or `CheckedSamples`
    y: Any = None,  # shape: (n,)
    *,
    cv: int | None = None,
    repeats: int | None = None,
    test_size: float = 0.2,
    groups: Any = None,  # shape: (n,)
    times: Any = None,  # shape: (n,)
    kind: str | None = None,
    folds: int = 3,
    metric: str = "error",
    random_state: int = 0,
    budget: float | None = None,
    baselines: bool | Mapping[str, Any] = False,
    progress: bool | None = None,
    done: Callable[[str, Evaluation], None] | None = None,
    on_progress: ProgressListener | None = None,
    cluster: Any = None,
) -> Comparison:
    """Train and test classifiers on the same splits, and test which of them differ.

    A classifier that fails is listed in `failed` with the reason; the others continue. Convergence
    warnings are counted in `unfinished`; every other warning is shown once per model. Ctrl-C ends the
    comparison with the classifiers that are finished, if there are any; the others are in `not_tried`.

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
    times
        Test rows are later than all training rows: `cv` later periods, 5 by default.
    kind, folds
        Of the `suite`: "vectors", "text", "sequences" or "graphs"; folds of the cross-validation that
        tunes.
    metric
        Ranks the classifiers: a name of `separatrix.evaluation.metrics.NAMES`, such as "roc_auc",
        "average_precision", "log_loss", "f1", "balanced_accuracy" or "mcc".
    random_state
        Seed of the splits, and of models of the suite that use random numbers.
    budget
        Seconds. Classifiers then race on growing subsets of the rows, and those that are left, or all if
        there is time, run on as many splits as fit; which is not the same on a slower machine. None: all.
    baselines
        Add the most frequent class, and gradient boosting and a random forest of scikit-learn; or
        classifiers by name, which are compared but are no answer.
    progress
        Whether to draw progress bars on stderr. None: if stderr is a terminal.
    done
        Callback with the name and the `Evaluation` of each classifier once it is finished.
    on_progress
        With a budget, callback with the evaluations so far, by name, and a description of the round.
    cluster
        Run all splits of all classifiers as tasks of a Dask cluster, as in `evaluate`; the result is the
        same, times aside. The budget must be None.

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
    search = {"folds": folds, "random_state": random_state, "timed": budget is not None}
    models = _models(models, samples, kind, search)
    suited = models if isinstance(models, Suite) else Suite({}, {}, {})
    check_classification_targets(samples.y)
    if len(np.unique(samples.y)) < 2:
        raise DataError(f"compare needs samples of at least 2 classes; got one, {samples.y[0]!r}")
    if budget is not None:
        require_real("compare", "budget", budget, above=0)
        if cluster is not None:
            raise ParameterError("compare", "budget", "None with a cluster: all splits run", budget)
    more = {"test_size": test_size, "folds": folds, "budget": budget}
    protocol, splits = plan_splits(samples.y, cv, repeats, random_state, groups, times, **more)
    added = dict(baselines) if isinstance(baselines, Mapping) else {}
    if baselines is True:
        from separatrix.evaluation.baselines import make_baselines  # imports scikit-learn's forests

        added = make_baselines(profile(samples, kind=kind), random_state)
    everything = {**models, **added}
    if budget is None:
        with _trials(cluster, samples, splits) as trials:
            found = _run_all(everything, samples, splits, random_state, progress, done, trials)
    else:
        how: dict[str, Any] = {
            "random_state": random_state,
            "metric": metric,
            "on_progress": on_progress,
        }
        found = Race(everything, samples, splits, budget=budget, always=list(added), **how).run()
        if done is not None:
            for name, evaluation in found.evaluations.items():
                done(name, evaluation)
    if not found.evaluations:
        raise _error_of_all(found)
    comparison = Comparison(
        found.evaluations,
        left_out=suited.left_out,
        failed={name: _in_one_line(error) for name, error in found.failed.items()},
        unfinished={n: count for n, count in found.unfinished.items() if n in found.evaluations},
        protocol=protocol,
        metric=metric,
        not_tried={**suited.not_tried, **found.not_tried},
        interrupted=found.interrupted,
        raced=found.raced,
        baselines=tuple(added),
        subset=found.rows,
        planned=len(splits),
    )
    if all(np.isnan(one.metric(metric)[0]).all() for one in found.evaluations.values()):
        raise DataError(
            f"{metric} needs probabilities or scores, which none of these classifiers has"
        )
    return comparison


def _run_all(
    models: Mapping[str, Any],
    samples: CheckedSamples,
    splits: list[Split],
    random_state: int,
    progress: bool | None,
    done: Callable[[str, Evaluation], None] | None,
    trials: ClusterTrials | None,
) -> RaceResult:
    """Evaluate every model on all splits, one model after the other; on a cluster, all at once."""
    found = RaceResult()
    how: dict[str, Any] = {"splits": splits, "random_state": random_state, "progress": progress}
    how |= {"preprocessing": SharedPreprocessing(), "cluster": trials}
    if trials is not None:
        for name, model in models.items():
            with suppress(Exception):  # raised again when its turn comes
                submit_evaluation(model, samples, random_state, name, trials)
    with bar("compare", len(models), show=False) as advance:
        for name, model in models.items():
            with busy(name, show=False), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found.evaluations[name] = evaluate(model, samples, name=name, **how)
                except Exception as error:
                    found.failed[name] = error
                except KeyboardInterrupt:
                    if not found.evaluations:
                        raise
                    found.interrupted = True
            if found.interrupted:
                later = [n for n in models if n not in (*found.evaluations, *found.failed)]
                found.not_tried = dict.fromkeys(later, "interrupted")
                break
            count = _count_unconverged(caught)
            if name in found.evaluations:
                if count:
                    found.unfinished[name] = count
                if done is not None:
                    done(name, found.evaluations[name])
            advance()
    return found


def _trials(
    cluster: Any, samples: CheckedSamples, splits: list[Split]
) -> AbstractContextManager[ClusterTrials | None]:
    if cluster is None:
        return nullcontext()
    return ClusterTrials.on(cluster, (*samples, splits), len(splits))


def _models(
    models: Any, samples: CheckedSamples, kind: str | None, search: dict[str, Any]
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


def _error_of_all(found: RaceResult) -> BaseException:
    """Return the error of the only model, or one that lists the errors of all."""
    if found.interrupted:
        return KeyboardInterrupt()
    if len(found.failed) == 1 and not found.not_tried:
        return next(iter(found.failed.values()))
    whys = {name: _in_one_line(error) for name, error in found.failed.items()} | found.not_tried
    reasons = "; ".join(f"{name}: {why}" for name, why in whys.items())
    return DataError(f"no classifier could be trained: {reasons}")


def _in_one_line(error: Exception) -> str:
    text = str(error).strip()
    if "fits failed" in text:  # of a search: the last line is the error of a fit
        text = text.splitlines()[-1]
    words = " ".join(text.split())
    words = words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 1] + "…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
