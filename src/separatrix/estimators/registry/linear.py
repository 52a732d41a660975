"""Records of the linear classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.estimators.registry.record import (
    FOLDS,
    ORDER_DEPENDENT,
    WITHIN_TOLERANCE,
    EstimatorRecord,
    PlaygroundRecord,
    SuiteModel,
)
from separatrix.estimators.registry.sliders import (
    PASSES,
    PREDICTORS,
    SHUFFLE,
    C,
    choice,
    cost,
    integer,
    log,
    switch,
)


def _logistic_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"C": values["C"] if values["prior"] == "given" else "evidence"}
    if values["posterior"] == "laplace":
        arguments["posterior"] = "laplace"
    return {**arguments, "cost": values["cost"]}


def _least_squares_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"ridge": values.get("ridge", "loo")}


def _without_tolerance(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "tol": None}  # only a pass without mistakes, or the last pass, stops it


RECORDS = (
    EstimatorRecord(
        name="LinearSVC",
        module="linear_svc",
        solver="separatrix.solvers.linear_svm.dual_descent, separatrix.solvers.linear_svm.primal_newton, "
        "separatrix.solvers.linear_svm.l1_penalty, separatrix.solvers.linear_svm.crammer_singer",
        paper="Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Keerthi and DeCoste 2005; "
        "Yuan, Chang, Hsieh and Lin 2010; Crammer and Singer 2001",
        not_for="curved boundaries: use SVC",
        linear=True,
        suite=(
            SuiteModel(
                "linear-svm",
                "linear SVM",
                tuned={"max_iter": 5000},
                grid={"C": (0.01, 0.1, 1.0)},
            ),
            SuiteModel(
                "nystroem-svm",
                "linear SVM, Nystroem features",
                build="nystroem_svm",
                requires=("vectors",),
                data_kinds=("vectors",),
                instead_of="svm",
            ),
        ),
        playground=PlaygroundRecord(
            "linear-svm",
            "Linear SVM",
            "A straight boundary with a wide margin, also for very many points.",
            (C(), choice("loss", "loss", {"squared_hinge": "squared hinge", "hinge": "hinge"})),
            limits=("time_limit", "n_jobs"),
            margins=True,
        ),
        variants=("LinearSVC(loss='hinge')", "LinearSVC(multi_class='crammer_singer')"),
        exact_variants=(
            "LinearSVC(tol=1e-10)",
            "LinearSVC(dual=True, tol=1e-10, max_iter=100_000)",
            "LinearSVC(loss='hinge', regularize_intercept=False, tol=1e-10)",
        ),
        endless=("LinearSVC(C=1e9, tol=1e-14, loss='hinge', dual=True, max_iter=10**7)",),
        expected_failures=WITHIN_TOLERANCE,
    ),
    EstimatorRecord(
        name="SubgradientSVC",
        module="subgradient_svc",
        solver="separatrix.solvers.subgradient",
        paper="Shor 1985",
        not_for="the exact minimum: use LinearSVC; unscaled features, with the default step",
        linear=True,
        playground=PlaygroundRecord(
            "subgradient",
            "SVM by subgradient descent",
            "The linear SVM, step by step downhill with a fixed step.",
            (
                log("alpha", "step", 0.1, (1e-4, 10.0), "How far each step goes."),
                log("mu", "penalty", 0.01, (1e-4, 10.0), "Price of large weights."),
                choice(
                    "loss",
                    "loss",
                    {
                        "hinge": "hinge",
                        "squared_hinge": "squared hinge",
                        "logistic": "logistic",
                        "sigmoid": "sigmoid",
                    },
                ),
                integer("max_iter", "steps at most", 200, (1, 2000)),
                log("eps", "stop below", 1e-4, (1e-8, 0.1), "Change of the objective in one step."),
                switch("average", "average", False, "Predict with the mean of all steps."),
            ),
            steps="descent",
            limits=("time_limit", "n_jobs"),
            margins=True,
        ),
        variants=(
            "SubgradientSVC(alpha=0.1, eps=1e-4)",
            "SubgradientSVC('logistic', alpha=0.1, eps=1e-4)",
            "SubgradientSVC('squared_hinge')",
        ),
        endless=("SubgradientSVC(eps=0.0, max_iter=10**7, keep_iterates=10**6)",),
    ),
    EstimatorRecord(
        name="LogisticRegression",
        module="logistic_regression",
        solver="separatrix.solvers.logistic.newton, separatrix.solvers.logistic.laplace, "
        "separatrix.solvers.logistic.elastic_net",
        paper="Berkson 1944; MacKay 1992; Lee, Sun and Saunders 2014",
        not_for="curved boundaries, unless after a feature map",
        linear=True,
        suite=(SuiteModel("logistic", "logistic regression", build="logistic_regression"),),
        playground=PlaygroundRecord(
            "logistic",
            "Logistic regression",
            "A straight boundary with probabilities on both sides.",
            (
                choice(
                    "prior",
                    "C is",
                    {"given": "set by hand", "evidence": "found by evidence"},
                    "Evidence: the prior under which the labels are most probable.",
                ),
                log(
                    "C",
                    "C",
                    1.0,
                    (0.001, 1000.0),
                    "Variance of the prior on the weights.",
                    when=(("prior", ("given",)),),
                ),
                choice(
                    "posterior",
                    "probabilities",
                    {"none": "of the best weights", "laplace": "of all likely weights"},
                ),
                cost(),
            ),
            arguments=_logistic_arguments,
            limits=("time_limit", "n_jobs"),
        ),
        variants=(
            "LogisticRegression(posterior='laplace', predictive='quadrature')",
            "LogisticRegression(C='evidence')",
            "LogisticRegression(solver='lbfgs', tol=1e-8)",
            "LogisticRegression(l1_ratio=0.5, tol=1e-10)",
        ),
    ),
    EstimatorRecord(
        name="LogisticRegressionCV",
        module="logistic_regression_cv",
        solver="separatrix.solvers.logistic.newton, separatrix.solvers.logistic.elastic_net",
        paper="Friedman, Hastie and Tibshirani 2010",
        not_for="choosing anything but C and l1_ratio: use GridSearchCV",
        linear=True,
        variants=("LogisticRegressionCV(Cs=3, l1_ratios=(0.5, 1.0), cv=3)",),
        expected_failures={
            **FOLDS,
            "check_sparsify_coefficients": "it has three samples of a class, fewer than five folds need",
        },
    ),
    EstimatorRecord(
        name="LeastSquaresClassifier",
        module="least_squares",
        solver="separatrix.solvers.least_squares, separatrix.solvers.moments",
        paper="Hoerl and Kennard 1970; Allen 1974; Reinsch 1971",
        not_for="samples far beyond the boundary on the correct side: use LogisticRegression",
        linear=True,
        suite=(
            SuiteModel(
                "least-squares",
                "least squares",
                tuned={"ridge": "loo"},
                fast_if=("small factorisation",),
            ),
        ),
        playground=PlaygroundRecord(
            "least-squares",
            "Least squares",
            "A straight line through labels of -1 and +1: quick, and pulled by far points.",
            (
                choice(
                    "find", "ridge is", {"given": "set by hand", "loo": "found by leaving one out"}
                ),
                log(
                    "ridge",
                    "ridge",
                    1e-3,
                    (1e-6, 1e4),
                    "Price of large weights.",
                    when=(("find", ("given",)),),
                ),
            ),
            arguments=_least_squares_arguments,
        ),
        variants=(
            "LeastSquaresClassifier(1.0, features=PolynomialMap(2))",
            "LeastSquaresClassifier(max_norm=0.1)",
        ),
    ),
)
PERCEPTRON = EstimatorRecord(
    name="Perceptron",
    module="perceptron",
    solver="separatrix.solvers.perceptron.primal",
    paper="Rosenblatt 1958; Crammer and Singer 2003",
    not_for="overlapping classes, unless averaged; probabilities",
    linear=True,
    suite=(
        SuiteModel(
            "perceptron",
            "perceptron, averaged",
            params={"predictor": "average", "multi_class": "auto"},
            tuned={"predictor": "average", "multi_class": "auto"},
        ),
    ),
    playground=PlaygroundRecord(
        "perceptron",
        "Perceptron",
        "A straight boundary that moves at every mistake.",
        (PREDICTORS, PASSES, SHUFFLE),
        arguments=lambda values: {**_without_tolerance(values), "multi_class": "auto"},
        steps="mistakes",
        limits=("time_limit",),
    ),
    variants=(
        "Perceptron(multi_class='auto')",
        "Perceptron(multi_class='argmax')",
        "Perceptron(zero='negative')",
    ),
    endless=("Perceptron(max_iter=10**7, tol=None)",),
    expected_failures=ORDER_DEPENDENT,
)
PASSIVE_AGGRESSIVE = EstimatorRecord(
    name="PassiveAggressiveClassifier",
    module="passive_aggressive",
    solver="separatrix.solvers.perceptron.primal",
    paper="Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006",
    not_for="samples that fit into memory: use LinearSVC; noisy labels, unless C is small; probabilities",
    linear=True,
    suite=(
        SuiteModel(
            "passive-aggressive",
            "passive-aggressive, averaged",
            params={"average": True, "random_state": 0},
            tuned={"average": True, "random_state": 0, "max_iter": 100},
            grid={"C": (0.001, 0.01, 0.1, 1.0)},
        ),
    ),
    variants=(
        "PassiveAggressiveClassifier(average=10)",
        "PassiveAggressiveClassifier(loss='squared_hinge')",
    ),
    variant_failures={
        "PassiveAggressiveClassifier(loss='squared_hinge')": {
            "check_class_weight_classifiers": "a class weight of 1000 multiplies steps that have no upper "
            "limit, and they overflow, as scikit-learn's do"
        }
    },
    endless=("PassiveAggressiveClassifier(max_iter=10**7, tol=None)",),
    expected_failures=ORDER_DEPENDENT,
)
