"""Linear models in files."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack

from separatrix.errors import ModelFileError
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.subgradient_svc import SubgradientSVC
from separatrix.modelfile.array_fields import ANY_SHAPE, Array, Labels, Rows
from separatrix.modelfile.fields import Flag, Maybe, Real, Record, Scoped, ShapeEnv, Text, Whole
from separatrix.modelfile.schema import (
    BY_BOUNDARY,
    CLASSES,
    LOG,
    WEIGHTS,
    Model,
    ModelSchema,
    Values,
    moments_of,
    of_rest,
    require,
    same_features,
    set_all,
    width_of,
)
from separatrix.modelfile.values import Value
from separatrix.solvers.least_squares import RidgePath
from separatrix.solvers.logistic.laplace import Posterior
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.primal import OnlineState

MOST_PASSES = 5_000  # of a perceptron that votes


class Past(NamedTuple):
    """The samples that mistakes were made on, and the mistakes, of all passes one after the other."""

    samples: Any
    sample_ends: Any
    log: Mistakes
    log_ends: Any


PAST = Scoped(
    Record(
        Past,
        {
            "samples": Rows("s d"),
            "sample_ends": Array("i8", "e", least=0, rising=True),
            "log": Record(LOG.make, {**LOG.parts, "steps": Array("i8", "m", least=0)}),
            "log_ends": Array("i8", "e", least=0, rising=True),
        },
    )
)


def _perceptron_pack(model: Any, values: Values, slim: bool) -> Values:
    values, past = dict(values), values["_past"]
    values["_past"] = (
        _joined([part for part in past if len(part[1].rows)] or past[:1]) if past else None
    )
    if slim and model.predictor not in ("vote", "random"):
        values["_state"] = values["_past"] = None
    return values


def _joined(past: list[tuple[Any, Mistakes]]) -> Past:
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
    return Past(
        sparse_vstack(samples).tocsr() if any(map(issparse, samples)) else np.concatenate(samples),
        np.cumsum([part.shape[0] for part in samples], dtype=np.int64),
        Mistakes.joined(logs),
        np.cumsum([len(log.rows) for log in logs], dtype=np.int64),
    )


def _parted(past: Past) -> list[tuple[Any, Mistakes]]:
    n, m = past.samples.shape[0], len(past.log.rows)
    require(len(past.log_ends) <= MOST_PASSES, "_past", f"{MOST_PASSES} passes", "more")
    for ends, last in ((past.sample_ends, n), (past.log_ends, m)):
        require(len(ends) > 0 and int(ends[-1]) == last, "_past", f"up to {last}", ends)
    parts, start, begin = [], 0, 0
    for end, close in zip(past.sample_ends.tolist(), past.log_ends.tolist(), strict=True):
        own = slice(begin, close)
        log = Mistakes(*(part[own] for part in past.log))  # type: ignore[arg-type]
        most = int(log.rows.max(initial=-1))
        require(most < end - start, "_past.log.rows", f"below {end - start}", most)
        parts.append((past.samples[start:end], log))
        start, begin = end, close
    return parts


def _perceptron_unpack(model: Any, values: Values) -> None:
    past = values.pop("_past")
    values["_past"] = [] if past is None else _parted(past)
    if values["_state"] is None:
        values.pop("_state")
    set_all(model, values)


def _perceptron_check(model: Any, _sizes: ShapeEnv) -> None:
    words = {"predictor", "multi_class", "bias"}
    require(
        isinstance(model._begun, dict) and set(model._begun) == words, "_begun", "three", "others"
    )
    if model.predictor in ("vote", "random"):
        require(bool(model._past), "_past", "there, to vote", "nothing")
        require(hasattr(model, "_state"), "_state", "there, to vote", "nothing")
        steps = np.concatenate([log.steps for _, log in model._past])
        last = int(steps.max(initial=0))
        require(last < model.t_, "_past.log.steps", f"below {model.t_}", last)
        require(bool((np.diff(steps) >= 0).all()), "_past.log.steps", "rising", "falling")
    if model.bias == "radius":
        require(hasattr(model, "_radius"), "_radius", "there with bias='radius'", "nothing")


def _logistic_check(model: Any, sizes: ShapeEnv) -> None:
    posterior = model._posterior
    if posterior is None:
        return
    wanted = sizes["p"] * (sizes["d"] + bool(model.fit_intercept))
    require(posterior.p == sizes["p"], "_posterior.p", str(sizes["p"]), posterior.p)
    shape = posterior.factor.shape
    require(shape == (wanted, wanted), "_posterior.factor", f"({wanted}, {wanted})", shape)
    positive = bool((np.diag(posterior.factor) > 0).all())
    require(positive, "_posterior.factor", "with a diagonal above 0", "another")


def _least_squares_check(model: Any, sizes: ShapeEnv) -> None:
    wide = sizes["d"]
    if model.features_ is not None:
        there = hasattr(model.features_, "transform")
        require(there, "features_", "a transformer", type(model.features_).__name__)
        same_features(model.features_, sizes["d"], "features_")
        wide = width_of(model.features_)
    require(sizes["e"] == wide, "coef_", f"{wide} columns wide", sizes["e"])


KINDS = {
    "Perceptron": ModelSchema(
        Perceptron,
        {
            **CLASSES,
            "coef_": Array("f8", "p d"),
            "intercept_": Array("f8", "p"),
            "_state": Maybe(
                Record(
                    OnlineState,
                    {
                        **dict.fromkeys("WU", Array("f8", "p d")),
                        **dict.fromkeys("bu", Array("f8", "p")),
                    },
                )
            ),
            "_past": Maybe(PAST),
            "_radius": Real(),
            "_begun": Value(),
            "t_": Whole(1),
        },
        {
            "n_iter_": Whole(),
            "mistakes_": Array("i8", "m"),
            "loss_curve_": Array("f8", "m"),
            "mistake_bound_": Value(),
            "stop_": Text(),
        },
        sometimes=frozenset({"_radius", "mistake_bound_"}),
        pack=_perceptron_pack,
        unpack=_perceptron_unpack,
        check=_perceptron_check,
        boundaries=of_rest,
    ),
    "LinearSVC": ModelSchema(
        LinearSVC,
        {**CLASSES, **WEIGHTS},
        {
            **dict.fromkeys(("objective_", "dual_gap_"), Array("f8", "q", "any")),
            "margin_width_": BY_BOUNDARY,
            "n_iter_": Whole(),
            "solver_": Text(),
        },
        boundaries=of_rest,
    ),
    "SubgradientSVC": ModelSchema(
        SubgradientSVC,
        {**CLASSES, **WEIGHTS},
        {
            "iterates_": Array("f8", ANY_SHAPE, "any"),
            "average_iterate_": Array("f8", ANY_SHAPE, "any"),
            "loss_curve_": Array("f8", ANY_SHAPE, "any"),
            "iterate_steps_": Array("i8", "m"),
            "n_iter_": Whole(),
            "steps_": Array("i8", "p"),
            "margin_width_": BY_BOUNDARY,
            "stops_": Labels("p", rising=False, distinct=False),
            "stop_": Text(),
        },
        boundaries=of_rest,
    ),
    "LeastSquaresClassifier": ModelSchema(
        LeastSquaresClassifier,
        {
            **CLASSES,
            "coef_": Rows("p e"),
            "intercept_": Array("f8", "p"),
            "features_": Maybe(Model()),
            "ridge_": Value(),
            "rank_": Whole(),
        },
        {
            "_sums": Maybe(moments_of("e")),
            "loo_": Record(
                RidgePath,
                dict.fromkeys(("ridges", "error", "squared_error"), Array("f8", "m", "any")),
            ),
        },
        sometimes=frozenset({"loo_"}),
        check=_least_squares_check,
        boundaries=of_rest,
    ),
    "LogisticRegression": ModelSchema(
        LogisticRegression,
        {
            **CLASSES,
            **WEIGHTS,
            "_posterior": Maybe(
                Record(
                    Posterior,
                    {"factor": Array("f8", "q q"), "p": Whole(1), "log_evidence": Real("any")},
                )
            ),
        },
        {
            "C_": Real("ordered"),
            "solver_": Text(),
            "n_iter_": Array("i4", "u"),
            "objective_": Real("any"),
            "gradient_": Real("any"),
            "separated_": Maybe(Flag()),
            "coef_std_": Array("f8", "p d"),
            "intercept_std_": Array("f8", "p"),
            "log_evidence_": Real("any"),
        },
        sometimes=frozenset({"coef_std_", "intercept_std_", "log_evidence_"}),
        check=_logistic_check,
        boundaries=of_rest,
    ),
}
