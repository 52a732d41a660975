"""Records of the classifiers that model the distribution of each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.estimators.registry.record import (
    WEIGHT_CHECKS,
    EstimatorRecord,
    PlaygroundRecord,
    SuiteModel,
)
from separatrix.estimators.registry.sliders import choice, linear, log


def _lda_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"solver": "lsqr", "shrinkage": values["shrinkage"]} if values["shrinkage"] else {}


RECORDS = (
    EstimatorRecord(
        name="LinearDiscriminantAnalysis",
        module="discriminant",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Fisher 1936; Ledoit and Wolf 2004",
        not_for="classes with different covariances: use QuadraticDiscriminantAnalysis",
        linear=True,
        suite=(
            SuiteModel(
                "lda",
                "linear discriminant",
                tuned={"solver": "lsqr"},
                grid={"shrinkage": ("auto", 0.001)},
                requires=("table",),
            ),
        ),
        playground=PlaygroundRecord(
            "lda",
            "Linear discriminant analysis",
            "Gaussian classes that spread alike: straight boundaries.",
            (linear("shrinkage", "shrinkage", 0.0, (0.0, 1.0), "Towards round classes."),),
            arguments=_lda_arguments,
        ),
        variants=("LinearDiscriminantAnalysis('eigen', 0.3)",),
    ),
    EstimatorRecord(
        name="QuadraticDiscriminantAnalysis",
        module="discriminant",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Smith 1946; Friedman 1989",
        not_for="few samples per class: each covariance needs more than d; shrink it",
        suite=(
            SuiteModel(
                "qda",
                "quadratic discriminant",
                grid={"reg_param": (0.001, 0.01, 0.1, 0.5)},
                requires=("table", "rows per class"),
            ),
        ),
        playground=PlaygroundRecord(
            "qda",
            "Quadratic discriminant analysis",
            "Gaussian classes, each with its own spread: conic boundaries.",
            (linear("reg_param", "shrinkage", 0.0, (0.0, 1.0), "Towards round classes."),),
        ),
        variants=("QuadraticDiscriminantAnalysis(reg_param=0.1)",),
    ),
    EstimatorRecord(
        name="GaussianNB",
        module="naive_bayes",
        solver="separatrix.solvers.naive_bayes, separatrix.solvers.moments",
        paper="Duda and Hart 1973",
        not_for="correlated features: use QuadraticDiscriminantAnalysis",
        suite=(
            SuiteModel(
                "gaussian-nb",
                "naive Bayes, Gaussian",
                grid={"var_smoothing": (1e-9, 1e-3, 0.01, 0.1)},
                requires=("dense columns",),
            ),
        ),
        playground=PlaygroundRecord(
            "gaussian-nb",
            "Gaussian naive Bayes",
            "Gaussian classes whose two features are taken for independent.",
            (log("var_smoothing", "smoothing", 1e-9, (1e-9, 1.0), "Added to all variances."),),
        ),
    ),
    EstimatorRecord(
        name="MultinomialNB",
        module="naive_bayes",
        solver="separatrix.solvers.naive_bayes",
        paper="Maron 1961; McCallum and Nigam 1998",
        not_for="calibrated probabilities: words are not independent; negative values",
        counts=True,
        suite=(
            SuiteModel(
                "multinomial-nb",
                "naive Bayes, multinomial",
                grid={"alpha": (0.01, 0.1, 1.0)},
                requires=("counts",),
            ),
        ),
        variants=("MultinomialNB(alpha=0)",),
    ),
    EstimatorRecord(
        name="BernoulliNB",
        module="naive_bayes",
        solver="separatrix.solvers.naive_bayes",
        paper="McCallum and Nigam 1998",
        not_for="counts that matter beyond zero or not: use MultinomialNB",
        counts=True,
        suite=(
            SuiteModel(
                "bernoulli-nb",
                "naive Bayes, Bernoulli",
                grid={"alpha": (0.01, 0.1, 1.0)},
                requires=("counts",),
            ),
        ),
        variants=("BernoulliNB(alpha=0, fit_prior=False)", "BernoulliNB(binarize=1.0)"),
    ),
    EstimatorRecord(
        name="ComplementNB",
        module="complement_bayes",
        solver="separatrix.solvers.naive_bayes",
        paper="Rennie, Shih, Teevan and Karger 2003",
        not_for="probabilities: its scores are not log probabilities; negative values",
        counts=True,
        suite=(
            SuiteModel(
                "complement-nb",
                "naive Bayes, complement",
                grid={"alpha": (0.01, 0.1, 1.0), "norm": (False, True)},
                requires=("counts",),
                by_default=False,
            ),
        ),
        variants=("ComplementNB(alpha=0.5, norm=True)",),
    ),
    EstimatorRecord(
        name="CategoricalNB",
        module="categorical_bayes",
        solver="separatrix.solvers.categorical_bayes",
        paper="Duda and Hart 1973",
        not_for="ordered numbers: use GaussianNB; counts: use MultinomialNB",
        counts=True,
        suite=(
            SuiteModel(
                "categorical-nb",
                "naive Bayes, categorical",
                build="categorical_bayes",
                requires=("counts", "dense columns"),
                by_default=False,
            ),
        ),
        variants=("CategoricalNB(alpha=0, min_categories=9)",),
        expected_failures={WEIGHT_CHECKS[0]: "it takes no fractions; scikit-learn cuts them off"},
    ),
    EstimatorRecord(
        name="NearestCentroid",
        module="nearest_centroid",
        solver="separatrix.solvers.nearest_centroid, separatrix.solvers.moments",
        paper="Rocchio 1971; Tibshirani, Hastie, Narasimhan and Chu 2002",
        not_for="classes of several clusters or of different spread",
        suite=(
            SuiteModel(
                "centroid",
                "nearest centroid",
                grid={"shrink_threshold": (None, 0.5, 1.0, 2.0, 4.0)},
                by_default=False,
            ),
        ),
        playground=PlaygroundRecord(
            "centroid",
            "Nearest centroid",
            "Every position takes the class whose centre is nearest.",
            (choice("metric", "distance", {"euclidean": "Euclidean", "manhattan": "city block"}),),
        ),
        variants=(
            "NearestCentroid('manhattan')",
            "NearestCentroid(shrink_threshold=0.5, priors='empirical')",
        ),
    ),
)
