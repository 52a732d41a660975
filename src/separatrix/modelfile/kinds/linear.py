"""Linear models in files."""

from __future__ import annotations

from itertools import pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack

from separatrix.errors import ModelFileError
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.logistic_regression_cv import LogisticRegressionCV
from separatrix.estimators.passive_aggressive import PassiveAggressiveClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.subgradient_svc import SubgradientSVC
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.values import Value
from separatrix.solvers.least_squares import RidgePath
from separatrix.solvers.logistic.averaged_sgd import StreamState
from separatrix.solvers.logistic.laplace import Posterior
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.primal import OnlineState

MOST_PASSES = 5_000  # of a perceptron that votes


class _Past(NamedTuple):
    """The samples of all passes with mistakes, and the mistakes, concatenated."""

    samples: Any
    sample_ends: Any
    log: Mistakes
    log_ends: Any


PAST = f.Struct(
    _Past,
    {
        "samples": f.MatrixField("s d"),
        **f.arrays(sample_ends="i8 e >=0 rising", log_ends="i8 e >=0 rising"),
        "log": f.Struct(Mistakes, {**s.LOG, "steps": f.Array("i8 m >=0")}),
    },
    scoped=True,
)


def _pack_perceptron(model: Any, values: s.Values, slim: bool) -> s.Values:
    values, past = dict(values), values["_past"]
    values["_past"] = (
        _concatenate([part for part in past if len(part[1].rows)] or past[:1]) if past else None
    )
    if slim and model.predictor not in ("vote", "random"):
        values["_state"] = values["_past"] = None
    return values


def _concatenate(past: list[tuple[Any, Mistakes]]) -> _Past:
    samples, logs = [part for part, _ in past], [log for _, log in past]
    if len(past) > MOST_PASSES:
        raise ModelFileError(
            "limit",
            f"`_past`: this Perceptron votes with what it learned in {len(past)} passes, and a file holds "
            f"{MOST_PASSES}; learn from larger blocks, or use predictor='average'",
        )
    if len({part.dtype for part in samples}) > 1:
        raise ModelFileError(
            "unsupported",
            "`_past`: the passes of this Perceptron were over samples of different precision; fit it "
            "on samples of one type",
        )
    return _Past(
        sparse_vstack(samples).tocsr() if any(map(issparse, samples)) else np.concatenate(samples),
        np.cumsum([part.shape[0] for part in samples], dtype=np.int64),
        Mistakes.concatenate(logs),
        np.cumsum([len(log.rows) for log in logs], dtype=np.int64),
    )


def _split(past: _Past) -> list[tuple[Any, Mistakes]]:
    n, m = past.samples.shape[0], len(past.log.rows)
    s.require(len(past.log_ends) <= MOST_PASSES, "_past", f"{MOST_PASSES} passes", "more")
    for ends, last in ((past.sample_ends, n), (past.log_ends, m)):
        s.require(len(ends) > 0 and int(ends[-1]) == last, "_past", f"up to {last}", ends)
    samples = [past.samples[own] for own in starmap(slice, pairwise([0, *past.sample_ends]))]
    columns = (np.split(part, past.log_ends[:-1]) for part in past.log)
    logs = [Mistakes(*parts) for parts in zip(*columns, strict=True)]
    for part, log in zip(samples, logs, strict=True):
        most = int(log.rows.max(initial=-1))
        s.require(most < part.shape[0], "_past.log.rows", f"below {part.shape[0]}", most)
    return list(zip(samples, logs, strict=True))


def _unpack_perceptron(model: Any, values: s.Values) -> None:
    past = values["_past"]
    values["_past"] = [] if past is None else _split(past)
    if values["_state"] is None:
        del values["_state"]
    if "mistakes_" in values:  # files of earlier versions lack the curves
        unknown = np.full(len(values["mistakes_"]), np.nan)
        values = {"learning_curve_": unknown, "boundary_curve_": unknown.copy()} | values
    s.restore_argmax(model, values, "coef_")
    s.set_attributes(model, values)


def _check_perceptron(model: Any, _sizes: f.ShapeEnv) -> None:
    begun, names = model._begun, {"predictor", "multi_class", "bias"}
    s.require(isinstance(begun, dict) and set(begun) == names, "_begun", f"{names}", "others")
    if model.predictor in ("vote", "random"):
        s.require(bool(model._past), "_past", "there, to vote", "nothing")
        s.require(hasattr(model, "_state"), "_state", "there, to vote", "nothing")
        steps = np.concatenate([log.steps for _, log in model._past])
        last = int(steps.max(initial=0))
        s.require(last < model.t_, "_past.log.steps", f"below {model.t_}", last)
        s.require(bool((np.diff(steps) >= 0).all()), "_past.log.steps", "rising", "falling")
    if model.bias == "radius":
        s.require(hasattr(model, "_radius"), "_radius", "there with bias='radius'", "nothing")


def _pack_passive(_model: Any, values: s.Values, slim: bool) -> s.Values:
    return {name: None if slim and name == "_state" else value for name, value in values.items()}


def _unpack_passive(model: Any, values: s.Values) -> None:
    if values["_state"] is None:
        del values["_state"]
    model._past = []  # a passive-aggressive learner does not vote
    s.set_attributes(model, values)


def _check_passive(model: Any, _sizes: f.ShapeEnv) -> None:
    begun = model._begun
    s.require(isinstance(begun, dict) and set(begun) == {"average"}, "_begun", "average", "others")


def _check_logistic(model: Any, sizes: f.ShapeEnv) -> None:
    if hasattr(model, "_stream"):
        met, begin, squares = model._stream[1:]
        s.require(begin < met, "_stream.begin", f"below {met}", begin)
        s.require(squares >= 0, "_stream.squares", "at least 0", squares)
        seen = getattr(model, "n_samples_seen_", None)
        s.require(seen == met, "n_samples_seen_", f"{met}", seen)
    posterior = model._posterior
    if posterior is None:
        return
    wanted = sizes["p"] * (sizes["d"] + bool(model.fit_intercept))
    s.require(posterior.p == sizes["p"], "_posterior.p", str(sizes["p"]), posterior.p)
    shape = posterior.factor.shape
    s.require(shape == (wanted, wanted), "_posterior.factor", f"({wanted}, {wanted})", shape)
    positive = bool((np.diag(posterior.factor) > 0).all())
    s.require(positive, "_posterior.factor", "with a diagonal above 0", "another")


def _check_logistic_search(model: Any, sizes: f.ShapeEnv) -> None:
    best = model._best
    numbers = isinstance(best, tuple) and all(isinstance(value, float) for value in best)
    s.require(numbers and len(best) == 2, "_best", "C and l1_ratio", best)
    if hasattr(model, "_fold_paths"):
        wide = sizes["d"] + bool(model.fit_intercept)
        s.require(sizes["w"] == wide, "_fold_paths", f"{wide} weights wide", sizes["w"])


def _check_least_squares(model: Any, sizes: f.ShapeEnv) -> None:
    wide = sizes["d"]
    if model.features_ is not None:
        transforms = hasattr(model.features_, "transform")
        s.require(transforms, "features_", "a transformer", type(model.features_).__name__)
        s.check_features(model.features_, sizes["d"], "features_")
        wide = s.count_features_out(model.features_)
    s.require(sizes["e"] == wide, "coef_", f"{wide} columns wide", sizes["e"])


PATH = f.arrays(ridges="f8 m any", error="f8 m any", squared_error="f8 m any")
POSTERIOR = {"factor": f.Array("f8 q q"), "p": f.Integer(1), "log_evidence": f.Real("any")}
STATE = f.arrays(W="f8 p d", U="f8 p d", b="f8 p", u="f8 p")
STREAM: dict[str, f.Field] = {
    "online": f.Struct(OnlineState, STATE),
    **{"met": f.Integer(), "begin": f.Integer(), "squares": f.Real()},
}
KINDS = {
    "Perceptron": s.ModelSchema(
        Perceptron,
        {
            **s.CLASSES,
            **f.arrays(coef_="f8 p d", intercept_="f8 p"),
            **{"_state": f.Maybe(f.Struct(OnlineState, STATE)), "_past": f.Maybe(PAST)},
            **{"_radius": f.Real(), "_begun": Value(), "t_": f.Integer(1)},
        },
        {
            **{"n_iter_": f.Integer(), "mistake_bound_": Value(), "stop_": f.Text()},
            **f.arrays(mistakes_="i8 m", loss_curve_="f8 m"),
            **f.arrays(learning_curve_="f8 m any", boundary_curve_="f8 m any"),
        },
        optional="_radius mistake_bound_ learning_curve_ boundary_curve_",
        later="zero",
        pack=_pack_perceptron,
        unpack=_unpack_perceptron,
        check=_check_perceptron,
        boundaries=True,
    ),
    "PassiveAggressiveClassifier": s.ModelSchema(
        PassiveAggressiveClassifier,
        {
            **s.CLASSES,
            **f.arrays(coef_="f8 p d", intercept_="f8 p"),
            **{"_state": f.Maybe(f.Struct(OnlineState, STATE)), "_begun": Value()},
            "t_": f.Integer(1),
        },
        {
            **{"n_iter_": f.Integer(), "stop_": f.Text()},
            **f.arrays(mistakes_="i8 m", loss_curve_="f8 m"),
            **f.arrays(learning_curve_="f8 m", boundary_curve_="f8 m"),
        },
        derived="_past",
        pack=_pack_passive,
        unpack=_unpack_passive,
        check=_check_passive,
        boundaries=True,
    ),
    "LinearSVC": s.ModelSchema(
        LinearSVC,
        {**s.CLASSES, **s.WEIGHTS},
        {
            **f.arrays(objective_="f8 q any", dual_gap_="f8 q any", margin_width_="f8 p any"),
            **{"n_iter_": f.Integer(), "solver_": f.Text()},
        },
        boundaries=True,
    ),
    "SubgradientSVC": s.ModelSchema(
        SubgradientSVC,
        {**s.CLASSES, **s.WEIGHTS},
        {
            **s.each(f.Array("f8 ... any"), "iterates_ average_iterate_ loss_curve_"),
            **f.arrays(iterate_steps_="i8 m", steps_="i8 p", margin_width_="f8 p any"),
            **{"n_iter_": f.Integer(), "stop_": f.Text()},
            "stops_": Labels("p", rising=False, distinct=False),
        },
        boundaries=True,
    ),
    "LeastSquaresClassifier": s.ModelSchema(
        LeastSquaresClassifier,
        {
            **s.CLASSES,
            **{"coef_": f.MatrixField("p e"), "intercept_": f.Array("f8 p")},
            **{"features_": f.Maybe(s.InnerModel()), "ridge_": Value(), "rank_": f.Integer()},
        },
        {"_sums": f.Maybe(s.moments_field("e")), "loo_": f.Struct(RidgePath, PATH)},
        optional="loo_",
        check=_check_least_squares,
        boundaries=True,
    ),
    "LogisticRegression": s.ModelSchema(
        LogisticRegression,
        {**s.CLASSES, **s.WEIGHTS, "_posterior": f.Maybe(f.Struct(Posterior, POSTERIOR))},
        {
            **{"C_": f.Real("ordered"), "solver_": f.Text()},
            **s.each(f.Real("any"), "objective_ gradient_ log_evidence_"),
            **f.arrays(coef_std_="f8 p d", intercept_std_="f8 p", n_iter_="i4 u"),
            "separated_": f.Maybe(f.Boolean()),
            **{"dual_gap_": f.Real("any"), "n_samples_seen_": f.Integer()},
            "_stream": f.Struct(StreamState, STREAM),
        },
        optional="coef_std_ intercept_std_ log_evidence_ dual_gap_ objective_ gradient_ "
        "n_samples_seen_ _stream",
        check=_check_logistic,
        boundaries=True,
    ),
    "LogisticRegressionCV": s.ModelSchema(
        LogisticRegressionCV,
        {**s.CLASSES, **s.WEIGHTS, "_best": Value()},
        {
            **{"Cs_": f.Array("f8 c ordered"), "solver_": f.Text()},
            **f.arrays(
                _fold_scores="f8 f c r any", _fold_paths="f8 f c r p w any", _fold_steps="i4 f c r"
            ),
        },
        check=_check_logistic_search,
        boundaries=True,
    ),
}
