"""Models around models: pipelines, decisions, frozen estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.calibrated import CalibratedClassifier, ScoreCurve
from separatrix.estimators.decision import BayesDecision, CostCurve
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.values import checked

MOST_STEPS = 64
LEFT_OUT = replace(checked(lambda value: value is None, "null"), encode=lambda _folder: None)


class Steps(f.Field):
    """The steps of a pipeline: names, and models or "passthrough"."""

    def put(self, value: Any, at: str, file: f.Archive) -> list[list[Any]]:
        return [
            [name, step if _is_idle(step) else file.put_model(step, f"{at}[{i}]", file.fitted)]
            for i, (name, step) in enumerate(value)
        ]

    def get(self, document: Any, at: str, file: f.Archive) -> list[tuple[str, Any]]:
        if not isinstance(document, list) or not 1 <= len(document) <= MOST_STEPS:
            raise f.schema_error(at, "a list of steps", document)
        steps: list[tuple[str, Any]] = []
        for number, pair in enumerate(document):
            if not isinstance(pair, list) or len(pair) != 2:
                raise f.schema_error(at, "pairs of a name and a model", pair)
            name, step = f.Text().get(pair[0], at, file), pair[1]
            if not _is_idle(step):
                step = file.get_model(step, f"{at}[{number}]")
                if number < len(document) - 1 and not hasattr(step, "transform"):
                    raise f.schema_error(f"{at}[{number}]", "a transformer", type(step).__name__)
            steps.append((name, step))
        if len({name for name, _ in steps}) < len(steps):
            raise f.schema_error(at, "steps of different names", [name for name, _ in steps])
        return steps


def _is_idle(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _check_pipeline(model: Any, _sizes: f.ShapeEnv) -> None:
    for name, step in model.steps:
        if not _is_idle(step):
            try:
                check_is_fitted(step)
            except NotFittedError:
                raise f.schema_error(f"steps.{name}", "fitted", "a template") from None


def _check_decision(model: Any, sizes: f.ShapeEnv) -> None:
    k, a = sizes["k"], sizes["a"]
    s.require(a in (k, k + 1), "actions_", f"{k} or {k + 1}", a)
    inner = model.estimator_
    s.require(hasattr(inner, "predict_proba"), "estimator_", "with probabilities", inner)
    labels = np.asarray(getattr(inner, "classes_", ()))
    s.require(labels.tolist() == model.classes_.tolist(), "classes_", "those of estimator_", labels)
    if model._by_threshold:
        s.require(k == 2 and hasattr(model, "threshold_"), "threshold_", "there, for 2 classes", k)
    if "d" in sizes:
        s.check_features(inner, sizes["d"], "estimator_")


def _check_curves(model: Any, sizes: f.ShapeEnv) -> None:
    k, have = sizes["k"], len(model.curves_)
    s.require(k >= 2, "classes_", "at least two", k)
    s.require(have == (1 if k == 2 else k), "curves_", "one for each class, or for two", have)
    labels = np.asarray(getattr(model.estimator_, "classes_", ()))
    s.require(labels.tolist() == model.classes_.tolist(), "classes_", "those of estimator_", labels)
    if "d" in sizes:
        s.check_features(model.estimator_, sizes["d"], "estimator_")


SCORE_CURVE = {
    **f.arrays(x="f8 t rising", y="f8 t >=0"),
    **{"slope": f.Real(), "offset": f.Real()},
}
CURVE = {
    **f.arrays(thresholds="f8 m ordered", mean_cost="f8 m any"),
    **{"best_threshold": f.Real("ordered"), "best_cost": f.Real("any")},
}
KINDS = {
    "BayesDecision": s.ModelSchema(
        BayesDecision,
        {
            **s.FEATURES,
            **{"classes_": Labels("k"), "actions_": Labels("a", rising=False)},
            "loss_matrix_": f.Array("f8 k a"),
            **{"threshold_": f.Real("ordered"), "_by_threshold": f.Boolean()},
            "estimator_": s.InnerModel(),
        },
        {"held_out_curve_": f.Struct(CostCurve, CURVE)},
        optional="n_features_in_ threshold_ held_out_curve_",
        check=_check_decision,
    ),
    "CalibratedClassifier": s.ModelSchema(
        CalibratedClassifier,
        {
            **{**s.FEATURES, "classes_": Labels("k"), "estimator_": s.InnerModel()},
            "curves_": f.Listed(f.Struct(ScoreCurve, SCORE_CURVE, scoped=True)),
        },
        optional="n_features_in_",
        check=_check_curves,
    ),
    "FrozenEstimator": s.ModelSchema(FrozenEstimator, {}, params={"estimator": s.InnerModel()}),
    "Pipeline": s.ModelSchema(
        Pipeline, {}, params={"steps": Steps(), "memory": LEFT_OUT}, check=_check_pipeline
    ),
}
