"""Kernel machines in files: support vectors and kernel perceptrons, and the searches around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.base.support import Support
from separatrix.estimators.base.svc_fit import EXACT
from separatrix.estimators.calibration import METHODS, Calibration
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
from separatrix.estimators.svc import SVC
from separatrix.estimators.svc_cv import SVCCV
from separatrix.kernels.base import Precomputed
from separatrix.modelfile import fields as f
from separatrix.modelfile.labels import RecordTable, WordList
from separatrix.modelfile.objects import SamplesField
from separatrix.modelfile.schema import (
    BY_BOUNDARY,
    CLASSES,
    FEATURES,
    MISTAKES,
    OF_VECTORS,
    InnerModel,
    ModelSchema,
    Shape,
    Values,
    arrays,
    check_kernel,
    check_search,
    count_boundaries,
    each,
    kernel_takes,
    require,
    set_attributes,
)
from separatrix.modelfile.values import KernelObject, Value
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.projectron import ProjectronFit
from separatrix.solvers.svm.problem import SvmFit


def _make_support(rows: Any, cuts: Any, coef: Any, intercept: Any, paired: bool) -> Support:
    classes = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    return Support(rows, classes, cuts, coef, intercept, paired)


def _check_support(support: Support, at: str) -> None:
    s = len(support.rows)
    cuts = support.cuts
    require(int(cuts[0]) == 0 and int(cuts[-1]) == s, f"{at}.cuts", f"from 0 to {s}", cuts)


SUPPORT = f.Struct(
    _make_support,
    {
        "rows": f.Array("i8", "s", least=0, below="n", rising=True),
        "cuts": f.Array("i8", "k+1", least=0, below="s+1", rising=True),
        "coef": f.Array("f8", "r s"),
        "intercept": f.Array("f8", "p"),
        "paired": f.Boolean(),
    },
    _check_support,
)
CALIBRATION = f.Struct(
    Calibration,
    {
        "method": f.Text(METHODS),
        "n_classes": f.Integer(2, "k"),
        "scheme": f.Text(("ovo", "ovr")),
        "slopes": f.Array("f8", f.ANY_SHAPE),
    },
)
FITS = RecordTable(
    SvmFit,
    arrays={
        "rows": f.Array("i8", "m", least=0, below="n"),
        "y": f.Array("f8", "m"),
        "box": f.Array("f8", "m", "ordered", least=0.0),
        "alpha": f.Array("f8", "m", least=0.0),
        "errors": f.Array("f8", "m", "any"),
    },
    numbers={
        **dict.fromkeys(("intercept", "violation", "primal", "dual", "square"), "f8"),
        "n_iter": "i8",
    },
    words=("stop",),
    letter="p",
)


def _pack_svc(model: Any, values: Values, _slim: bool) -> Values:
    values = _pack_vectors(model, values)
    values["_exact"] = values.pop("_tolerance") <= EXACT
    return values


def _pack_vectors(model: Any, values: Values) -> Values:
    precomputed = isinstance(model.kernel_, Precomputed)
    return {key: values[key] for key in values if not (precomputed and key == "support_vectors_")}


def _unpack_svc(model: Any, values: Values) -> None:
    for name in ("_last_scheme", "_last_y"):  # of earlier versions: `_fits` holds them
        values.pop(name, None)
    model._tolerance = EXACT if values.pop("_exact") else model._kernel_tolerance
    _unpack_vectors(model, values)
    require(hasattr(model, "support_vectors_"), "support_vectors_", "there", "nothing")
    model._show_coefficients()


def _unpack_vectors(model: Any, values: Values) -> None:
    set_attributes(model, values)
    if isinstance(model.kernel_, Precomputed):
        model.support_vectors_ = np.empty((0, 0))


def _check_svc(model: Any, sizes: f.ShapeEnv) -> None:
    k, p, r = sizes["k"], sizes["p"], sizes["r"]
    scheme, support = model.multi_class, model._support
    paired = scheme == "ovo" and k > 2
    require(support.paired == paired, "_support.paired", str(paired), support.paired)
    require(r == (k - 1 if paired else p), "_support.coef", "a row for each other class", r)
    check_kernel(model, sizes)
    axes = 2 if kernel_takes(model.kernel_) == "vectors" else 1
    require(len(model.shape_fit_) == axes, "shape_fit_", f"{axes} numbers", model.shape_fit_)
    if hasattr(model, "_ties"):
        order = np.sort(model._ties).tolist()
        require(order == list(range(k)), "_ties", "an order of all classes", model._ties)
    if not hasattr(model, "_calibration"):
        return
    found = model._calibration
    require(found.scheme == scheme, "_calibration.scheme", scheme, found.scheme)
    shape = (1, 1) if found.method == "temperature" else (p, 2)
    require(found.slopes.shape == shape, "_calibration.slopes", str(shape), found.slopes.shape)


def _pack_perceptron(model: Any, values: Values, slim: bool) -> Values:
    values = _pack_vectors(model, values)
    if slim:
        values["_projectron"] = None
        if model.predictor not in ("vote", "random"):
            values["_log"] = Mistakes.concatenate([])
    return values


def _check_perceptron(model: Any, sizes: f.ShapeEnv) -> None:
    last = int(model._log.steps.max(initial=0))
    require(last <= model._n_steps, "_log.steps", f"at most {model._n_steps}", last)
    begun, names = model._begun, {"budget", "multi_class"}
    require(isinstance(begun, dict) and set(begun) == names, "_begun", f"{names}", "others")
    check_kernel(model, sizes)


def _check_perceptron_search(model: Any, sizes: f.ShapeEnv) -> None:
    check_search(model, model.estimator_, sizes, "estimator_")
    if hasattr(model.estimator_, "n_iter_"):
        model.n_iter_ = model.estimator_.n_iter_


def _check_svc_search(model: Any, sizes: f.ShapeEnv) -> None:
    check_search(model, model.best_estimator_, sizes, "best_estimator_")
    meant, found = model._model()._method, model.best_estimator_._method
    require(meant == found, "best_estimator_.calibration", f"{meant}, as searched with", found)


SEARCH: dict[str, f.Field] = {**FEATURES, "best_index_": f.Integer(), "best_score_": f.Real("any")}
RESULTS: dict[str, f.Field] = {"cv_results_": Value()}

PROJECTRON: dict[str, f.Field] = {
    "support": f.Array("i8", "s", least=0),
    **arrays("f8", coef="s p", lag="s p"),
    **{"n_iter": f.Integer(), "n_steps": f.Integer(), "stop": f.Text()},
    "mistakes_by_epoch": f.Array("i8", "t"),
}
KINDS = {
    "KernelPerceptron": ModelSchema(
        KernelPerceptron,
        {
            **CLASSES,
            "kernel_": KernelObject(),
            "support_": f.Array("i8", "s", least=0),
            "support_vectors_": SamplesField("s d"),
            "alpha_": f.Array("f8", "s p"),
            **each(f.Integer(), "_n_steps", "_rows_seen"),
            **{"_begun": Value(), "_log": MISTAKES},
            "_projectron": f.Maybe(f.Struct(ProjectronFit, PROJECTRON)),
        },
        {
            **{"mistakes_": f.Array("i8", "e"), "learning_curve_": f.Array("f8", "e")},
            **{"n_iter_": f.Integer(), "stop_": f.Text(), "gram_": f.Text()},
        },
        optional=OF_VECTORS | {"support_vectors_", "gram_"},
        pack=_pack_perceptron,
        unpack=_unpack_vectors,
        check=_check_perceptron,
        boundaries=count_boundaries,
    ),
    "KernelPerceptronCV": ModelSchema(
        KernelPerceptronCV,
        {**SEARCH, "best_kernel_": KernelObject(), "estimator_": InnerModel(("KernelPerceptron",))},
        RESULTS,
        optional=OF_VECTORS,
        derived={"classes_": "estimator_.classes_", "n_iter_": ""},
        check=_check_perceptron_search,
    ),
    "SVC": ModelSchema(
        SVC,
        {
            **CLASSES,
            "kernel_": KernelObject(),
            "shape_fit_": Shape("n d"),
            "support_": f.Array("i4", "s", least=0, below="n"),
            "support_vectors_": SamplesField("s d"),
            "_support": SUPPORT,
            "_exact": f.Boolean(),
            "_calibration": CALIBRATION,
            "_ties": f.Array("i8", "k", least=0, below="k"),
        },
        {
            **{"class_weight_": f.Array("f8", "k"), "n_iter_": f.Array("i4", "p")},
            **each(BY_BOUNDARY, "violation_", "dual_gap_", "objective_", "margin_width_"),
            **{"stop_": WordList("p"), "fit_status_": f.Integer(), "gram_": f.Text()},
            **{"_last_scheme": f.Text(), "_last_y": f.Array("i8", "n", least=0), "_fits": FITS},
        },
        optional=OF_VECTORS
        | {"support_vectors_", "_calibration", "_ties", "_last_scheme", "_last_y"},
        derived=dict.fromkeys(("dual_coef_", "intercept_"), ""),
        pack=_pack_svc,
        unpack=_unpack_svc,
        check=_check_svc,
        boundaries=count_boundaries,
    ),
    "SVCCV": ModelSchema(
        SVCCV,
        {**SEARCH, "best_params_": Value(), "best_estimator_": InnerModel(("SVC",))},
        RESULTS,
        optional=OF_VECTORS,
        derived={"classes_": "best_estimator_.classes_"},
        check=_check_svc_search,
    ),
}
