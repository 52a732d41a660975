"""Kernel machines in files: support vectors and kernel perceptrons, and the searches around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.base.support import Support
from separatrix.estimators.base.svc_certificate import EXACT
from separatrix.estimators.calibration import METHODS, Calibration
from separatrix.estimators.kernel_fisher import KernelFisherDiscriminant
from separatrix.estimators.kernel_logistic import KernelLogisticRegression
from separatrix.estimators.kernel_logistic_cv import KernelLogisticRegressionCV
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.one_class_svm import OneClassSVM
from separatrix.estimators.svc import SVC
from separatrix.estimators.svc_cv import SVCCV
from separatrix.kernels.base import Precomputed
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.labels import RecordTable, WordList
from separatrix.modelfile.objects import SamplesField
from separatrix.modelfile.values import KernelObject, KernelParameter, Value
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.projectron import ProjectronFit
from separatrix.solvers.svm.problem import SvmFit


def _make_support(rows: Any, cuts: Any, **fields: Any) -> Support:
    classes = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    return Support(rows, classes, cuts, **fields)


def _check_support(support: Support, at: str) -> None:
    last, cuts = len(support.rows), support.cuts
    whole = int(cuts[0]) == 0 and int(cuts[-1]) == last
    s.require(whole, f"{at}.cuts", f"from 0 to {last}", cuts)


SUPPORT = f.Struct(
    _make_support,
    {
        **f.arrays(rows="i8 s >=0 <n rising", cuts="i8 k+1 >=0 <s+1 rising"),
        **f.arrays(coef="f8 r s", intercept="f8 p"),
        **{"paired": f.Boolean(), "weights": f.Maybe(f.Array("f8 p d"))},
    },
    _check_support,
    before={"weights": None},  # those of the coefficients then
)
CALIBRATION = f.Struct(
    Calibration,
    {
        **{"method": f.Text(METHODS), "n_classes": f.Integer(2, "k")},
        **{"scheme": f.Text(("ovo", "ovr")), "slopes": f.Array("f8 ...")},
    },
)
FITS = RecordTable(
    SvmFit,
    {
        **f.arrays(rows="i8 m >=0 <n", y="f8 m", box="f8 m ordered >=0"),
        **f.arrays(alpha="f8 m >=0", errors="f8 m any"),
    },
    {**dict.fromkeys(("intercept", "violation", "primal", "dual", "square"), "f8"), "n_iter": "i8"},
    words=("stop",),
    letter="p",
)


def _pack_svc(model: Any, values: s.Values, _slim: bool) -> s.Values:
    values = _pack_vectors(model, values)
    values["_exact"] = values.pop("_tolerance") <= EXACT
    return values


def _pack_vectors(model: Any, values: s.Values) -> s.Values:
    precomputed = isinstance(model.kernel_, Precomputed)
    return {key: values[key] for key in values if not (precomputed and key == "support_vectors_")}


def _unpack_svc(model: Any, values: s.Values) -> None:
    for name in ("_last_scheme", "_last_y"):  # of earlier versions: `_fits` holds them
        values.pop(name, None)
    model._tolerance = EXACT if values.pop("_exact") else model._kernel_tolerance
    if "_fits" in values:  # a file of an earlier version has no other gaps either
        pairs = zip(values["_fits"], values["dual_gap_"].tolist(), strict=True)
        values["_fits"] = [fit._replace(gap=gap) for fit, gap in pairs]
    _unpack_sum(model, values)


def _unpack_vectors(model: Any, values: s.Values) -> None:
    s.set_attributes(model, values)
    if isinstance(model.kernel_, Precomputed):
        model.support_vectors_ = np.empty((0, 0))


def _check_svc(model: Any, sizes: f.ShapeEnv) -> None:
    k, p, r = sizes["k"], sizes["p"], sizes["r"]
    scheme, support = model.multi_class, model._support
    paired = scheme == "ovo" and k > 2
    s.require(support.paired == paired, "_support.paired", str(paired), support.paired)
    s.require(r == (k - 1 if paired else p), "_support.coef", "a row for each other class", r)
    _check_shape(model, sizes)
    if hasattr(model, "_ties"):
        order = np.sort(model._ties).tolist()
        s.require(order == list(range(k)), "_ties", "an order of all classes", model._ties)
    if not hasattr(model, "_calibration"):
        return
    found = model._calibration
    s.require(found.scheme == scheme, "_calibration.scheme", scheme, found.scheme)
    shape = (1, 1) if found.method == "temperature" else (p, 2)
    s.require(found.slopes.shape == shape, "_calibration.slopes", str(shape), found.slopes.shape)


def _check_one_class(model: Any, sizes: f.ShapeEnv) -> None:
    support = model._support
    shape = (1, len(support.rows))
    s.require(support.coef.shape == shape, "_support.coef", str(shape), support.coef.shape)
    s.require(len(support.intercept) == 1, "_support.intercept", "1", len(support.intercept))
    s.require(len(support.cuts) == 2, "_support.cuts", "2", len(support.cuts))
    s.require(not support.paired, "_support.paired", "False", support.paired)
    _check_shape(model, sizes)


def _unpack_sum(model: Any, values: s.Values) -> None:
    _unpack_vectors(model, values)
    s.require(hasattr(model, "support_vectors_"), "support_vectors_", "there", "nothing")
    model._show_coefficients()


def _check_sum(model: Any, sizes: f.ShapeEnv) -> None:
    support = model._support
    shape = (len(support.intercept), len(support.rows))
    s.require(support.coef.shape == shape, "_support.coef", str(shape), support.coef.shape)
    s.require(not support.paired, "_support.paired", "False", support.paired)
    _check_shape(model, sizes)


def _check_shape(model: Any, sizes: f.ShapeEnv) -> None:
    s.check_kernel(model, sizes)
    axes = 2 if s.kernel_takes(model.kernel_) == "vectors" else 1
    s.require(len(model.shape_fit_) == axes, "shape_fit_", f"{axes} numbers", model.shape_fit_)


def _pack_perceptron(model: Any, values: s.Values, slim: bool) -> s.Values:
    values = _pack_vectors(model, values)
    if slim:
        values["_projectron"] = None
        if model.predictor not in ("vote", "random"):
            values["_log"] = Mistakes.concatenate([])
    return values


def _check_perceptron(model: Any, sizes: f.ShapeEnv) -> None:
    last = int(model._log.steps.max(initial=0))
    s.require(last <= model._n_steps, "_log.steps", f"at most {model._n_steps}", last)
    begun, names = model._begun, {"budget", "multi_class", "bias"}
    s.require(isinstance(begun, dict) and set(begun) == names, "_begun", f"{names}", "others")
    s.require(model._square >= 0, "_square", "at least 0", model._square)
    s.check_kernel(model, sizes)


def _unpack_perceptron(model: Any, values: s.Values) -> None:
    """Files of earlier versions have no bias, and the curve of the boundaries for that of predictions."""
    s.restore_argmax(model, values, "alpha_")
    if isinstance(values["_begun"], dict):
        values["_begun"].setdefault("bias", None)
    values.setdefault("_square", 0.0)
    model.intercept_ = values["_square"] * values["alpha_"].sum(axis=0)
    if "learning_curve_" in values and "boundary_curve_" not in values:
        curve = values["boundary_curve_"] = values["learning_curve_"]
        same = model.multi_class in ("auto", "argmax")
        values["learning_curve_"] = curve.copy() if same else np.full(len(curve), np.nan)
    _unpack_vectors(model, values)


def _check_perceptron_search(model: Any, sizes: f.ShapeEnv) -> None:
    s.check_search(model, model.estimator_, sizes, "estimator_")
    if hasattr(model.estimator_, "n_iter_"):
        model.n_iter_ = model.estimator_.n_iter_


def _check_svc_search(model: Any, sizes: f.ShapeEnv) -> None:
    s.check_search(model, model.best_estimator_, sizes, "best_estimator_")
    meant, found = model._model()._method, model.best_estimator_._method
    s.require(meant == found, "best_estimator_.calibration", f"{meant}, as searched with", found)


KERNEL = {"kernel": KernelParameter()}


def _svc_schema(make: Any) -> s.ModelSchema:
    """The schema of a support vector classifier."""
    return s.ModelSchema(
        make,
        {
            **s.CLASSES,
            "kernel_": KernelObject(),
            "shape_fit_": s.Shape("n d"),
            "support_": f.Array("i4 s >=0 <n"),
            "support_vectors_": SamplesField("s d"),
            **{"_support": SUPPORT, "_exact": f.Boolean(), "_calibration": CALIBRATION},
            "_ties": f.Array("i8 k >=0 <k"),
        },
        {
            **f.arrays(class_weight_="f8 k", n_iter_="i4 p"),
            **s.each(f.Array("f8 p any"), "violation_ dual_gap_ objective_ margin_width_"),
            **{"stop_": WordList("p"), "fit_status_": f.Integer(), "gram_": f.Text()},
            **{"_last_scheme": f.Text(), "_last_y": f.Array("i8 n >=0"), "_fits": FITS},
        },
        optional="n_features_in_ support_vectors_ _calibration _ties _last_scheme _last_y",
        params=KERNEL,
        derived="dual_coef_ intercept_",
        pack=_pack_svc,
        unpack=_unpack_svc,
        check=_check_svc,
        boundaries=True,
    )


def _sum_schema(
    make: Any, fields: dict[str, f.Field], extra: Any, boundaries: bool
) -> s.ModelSchema:
    """The schema of a classifier with sums over support vectors, and what else it has."""
    return s.ModelSchema(
        make,
        {
            **s.CLASSES,
            "kernel_": KernelObject(),
            "shape_fit_": s.Shape("n d"),
            "support_": f.Array("i4 s >=0 <n"),
            "support_vectors_": SamplesField("s d"),
            "_support": SUPPORT,
            **fields,
        },
        {**extra, "gram_": f.Text()},
        optional="n_features_in_ support_vectors_",
        params=KERNEL,
        derived="dual_coef_ intercept_",
        pack=lambda model, values, _slim: _pack_vectors(model, values),
        unpack=_unpack_sum,
        check=_check_sum,
        boundaries=boundaries,
    )


SEARCH = {**s.FEATURES, "best_index_": f.Integer(), "best_score_": f.Real("any")}
RESULTS: dict[str, f.Field] = {"cv_results_": Value(), "edges_": Value()}
PROJECTRON: dict[str, f.Field] = {
    **f.arrays(support="i8 s >=0", coef="f8 s p", lag="f8 s p", mistakes_by_epoch="i8 t"),
    **{"n_iter": f.Integer(), "n_steps": f.Integer(), "stop": f.Text()},
}
KINDS = {
    "KernelFisherDiscriminant": _sum_schema(
        KernelFisherDiscriminant,
        f.arrays(means_="f8 k p", priors_="f8 k >=0"),
        {"scatter_ratio_": f.Array("f8 p ordered >=0")},
        boundaries=False,
    ),
    "KernelLogisticRegression": _sum_schema(
        KernelLogisticRegression,
        {},
        {
            **s.each(f.Real("any"), "objective_ dual_gap_"),
            **{"n_iter_": f.Integer(), "stop_": f.Text()},
        },
        boundaries=True,
    ),
    "KernelLogisticRegressionCV": s.ModelSchema(
        KernelLogisticRegressionCV,
        {
            **{**SEARCH, "best_params_": Value()},
            "best_estimator_": s.InnerModel(("KernelLogisticRegression",)),
        },
        RESULTS,
        optional="n_features_in_ edges_",
        copied={"classes_": "best_estimator_.classes_"},
        check=lambda model, sizes: s.check_search(
            model, model.best_estimator_, sizes, "best_estimator_"
        ),
    ),
    "KernelPerceptron": s.ModelSchema(
        KernelPerceptron,
        {
            **s.CLASSES,
            "kernel_": KernelObject(),
            "support_": f.Array("i8 s >=0"),
            "support_vectors_": SamplesField("s d"),
            "alpha_": f.Array("f8 s p"),
            **s.each(f.Integer(), "_n_steps _rows_seen"),
            "_square": f.Real(),
            **{"_begun": Value(), "_log": f.Struct(Mistakes, s.LOG)},
            "_projectron": f.Maybe(f.Struct(ProjectronFit, PROJECTRON)),
        },
        {
            **f.arrays(mistakes_="i8 e", learning_curve_="f8 e any", boundary_curve_="f8 e any"),
            **{"n_iter_": f.Integer(), "stop_": f.Text(), "gram_": f.Text()},
        },
        optional="n_features_in_ support_vectors_ gram_ _square boundary_curve_",
        params=KERNEL,
        later="bias",
        derived="intercept_",
        pack=_pack_perceptron,
        unpack=_unpack_perceptron,
        check=_check_perceptron,
        boundaries=True,
    ),
    "KernelPerceptronCV": s.ModelSchema(
        KernelPerceptronCV,
        {
            **{**SEARCH, "best_kernel_": KernelObject()},
            "estimator_": s.InnerModel(("KernelPerceptron",)),
        },
        RESULTS,
        optional="n_features_in_ edges_",
        later="gammas widen",
        derived="n_iter_",
        copied={"classes_": "estimator_.classes_"},
        check=_check_perceptron_search,
    ),
    "NuSVC": _svc_schema(NuSVC),
    "OneClassSVM": s.ModelSchema(
        OneClassSVM,
        {
            **s.FEATURES,
            "kernel_": KernelObject(),
            "shape_fit_": s.Shape("n d"),
            "support_": f.Array("i4 s >=0 <n"),
            "support_vectors_": SamplesField("s d"),
            **{"_support": SUPPORT, "_exact": f.Boolean()},
        },
        {
            **s.each(f.Real("any"), "violation_ dual_gap_ objective_"),
            **s.each(f.Integer(), "n_iter_ fit_status_"),
            **{"stop_": f.Text(), "gram_": f.Text()},
        },
        optional="n_features_in_ support_vectors_",
        params=KERNEL,
        derived="dual_coef_ intercept_",
        pack=_pack_svc,
        unpack=_unpack_svc,
        check=_check_one_class,
    ),
    "SVC": _svc_schema(SVC),
    "SVCCV": s.ModelSchema(
        SVCCV,
        {**SEARCH, "best_params_": Value(), "best_estimator_": s.InnerModel(("SVC",))},
        {
            **RESULTS,
            **{"kernels_": f.Listed(KernelObject()), "kernel_weights_": f.Array("f8 m >=0")},
            "combination_gap_": f.Real(),
        },
        optional="n_features_in_ edges_ kernels_ kernel_weights_ combination_gap_",
        later="widen search_tol race",
        copied={"classes_": "best_estimator_.classes_"},
        check=_check_svc_search,
    ),
}
