"""Records of the kernel machines and of nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.estimators.registry.record import (
    FOLDS,
    INFEASIBLE,
    ON_THE_BOUNDARY,
    ORDER_DEPENDENT,
    VOTES,
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
    linear,
    log,
    switch,
)

KERNELS = {
    "rbf": "Gaussian",
    "linear": "linear",
    "poly": "polynomial",
    "laplacian": "Laplacian",
    "sigmoid": "sigmoid",
}
KERNEL = choice("kernel", "kernel", KERNELS, "What similar means.")
CONVEX_KERNEL = choice(
    "kernel",
    "kernel",
    {name: title for name, title in KERNELS.items() if name != "sigmoid"},
    "What similar means.",
)
KERNEL_PARAMETERS = (
    log(
        "gamma",
        "gamma",
        1.0,
        (0.01, 100.0),
        "How fast similarity falls with distance.",
        when=(("kernel", tuple(name for name in KERNELS if name != "linear")),),
    ),
    integer("degree", "degree", 3, (1, 8), "Of the polynomial.", when=(("kernel", ("poly",)),)),
    linear(
        "coef0",
        "constant",
        1.0,
        (0.0, 4.0),
        "Added before the power is taken.",
        when=(("kernel", ("poly", "sigmoid")),),
    ),
)


def _svc_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    arguments = dict(values)
    if arguments.pop("hard"):
        arguments["C"] = float("inf")
    return arguments


RECORDS = (
    EstimatorRecord(
        name="SVC",
        module="svc",
        solver="separatrix.solvers.svm.smo, separatrix.solvers.svm.working_set",
        paper="Cortes and Vapnik 1995; Fan, Chen and Lin 2005",
        not_for="millions of samples: use LinearSVC",
        suite=(
            SuiteModel("svm", "SVM, Gaussian", build="gaussian_svm", fast_if=("kernel rows",)),
            SuiteModel(
                "svm-poly",
                "SVM, polynomial",
                params={"kernel": "poly"},
                build="polynomial_svm",
                fast_if=("no words", "kernel rows"),
            ),
            SuiteModel(
                "svm-string",
                "SVM, string kernel",
                params={"kernel": "Normalized(Spectrum(4))"},
                build="object_svm",
                requires=("strings",),
                fast_if=("no words", "kernel rows"),
                data_kinds=("text", "sequences"),
            ),
            SuiteModel(
                "svm-graph",
                "SVM, graph kernel",
                params={"kernel": "Normalized(WeisfeilerLehman(3))"},
                build="object_svm",
                requires=("graphs",),
                fast_if=("kernel rows",),
                data_kinds=("graphs",),
            ),
        ),
        playground=PlaygroundRecord(
            "svm",
            "Support vector machine",
            "The boundary with the widest margin, straight or curved by a kernel.",
            (
                KERNEL,
                switch("hard", "hard margin", False, "No point may be inside the margin."),
                C(when=(("hard", (False,)),)),
                *KERNEL_PARAMETERS,
                cost(when=(("hard", (False,)),)),
            ),
            arguments=_svc_arguments,
            steps="pairs",
            limits=("time_limit", "n_jobs", "device"),
            margins=True,
        ),
        variants=(
            "SVC(multi_class='ovr', stop='gap')",
            "SVC(kernel='precomputed')",
            "SVC(calibration='sigmoid', random_state=0)",
        ),
        exact_variants=(
            "SVC(gamma=0.1, tol=1e-10)",
            "SVC(kernel='linear', multi_class='ovr', tol=1e-10)",
        ),
        endless=(
            "SVC(C=1e4, tol=1e-6)",
            "SVC(C=1e4, tol=1e-6, cache_size=40)",
        ),
        expected_failures=WITHIN_TOLERANCE,
    ),
    EstimatorRecord(
        name="NuSVC",
        module="nu_svc",
        solver="separatrix.solvers.svm.nu, separatrix.solvers.svm.working_set",
        paper="Schölkopf, Smola, Williamson and Bartlett 2000; Chang and Lin 2001",
        not_for="classes of very different sizes, or choosing from many values: use SVC, SVCCV",
        variants=(
            "NuSVC(nu=0.3, multi_class='ovr', stop='gap')",
            "NuSVC(nu=0.3, kernel='precomputed')",
            "NuSVC(calibration='sigmoid', random_state=0)",
        ),
        exact_variants=("NuSVC(nu=0.3, gamma=0.5, tol=1e-10)",),
        expected_failures=INFEASIBLE,
    ),
    EstimatorRecord(
        name="OneClassSVM",
        module="one_class_svm",
        solver="separatrix.solvers.svm.nu",
        paper="Schölkopf, Platt, Shawe-Taylor, Smola and Williamson 2001",
        not_for="labels of both kinds of samples: use a classifier",
        kind="novelty",
        # not kernel='precomputed': scikit-learn's checks of outlier detectors pass no square matrix
        variants=("OneClassSVM(nu=0.2, kernel='linear')",),
        expected_failures=ON_THE_BOUNDARY,
    ),
    EstimatorRecord(
        name="SVCCV",
        module="svc_cv",
        solver="separatrix.solvers.svm.smo",
        paper="DeCoste and Wagstaff 2000",
        not_for="choosing anything but C and the kernel: use GridSearchCV",
        endless=("SVCCV([1e4], estimator=SVC(kernel='linear', tol=1e-6))",),
        expected_failures=FOLDS,
    ),
    EstimatorRecord(
        name="KernelPerceptron",
        module="kernel_perceptron",
        solver="separatrix.solvers.perceptron.kernel_perceptron, separatrix.solvers.perceptron.projectron",
        paper="Freund and Schapire 1999; Orabona, Keshet and Caputo 2009",
        not_for="the last per cent of accuracy; noisy labels, unless averaged",
        suite=(
            SuiteModel(
                "kernel-perceptron",
                "kernel perceptron",
                build="kernel_perceptron",
                fast_if=("kernel rows",),
            ),
        ),
        playground=PlaygroundRecord(
            "kernel-perceptron",
            "Kernel perceptron",
            "The perceptron with a curved boundary: every mistake adds a point to a sum.",
            (KERNEL, *KERNEL_PARAMETERS, PREDICTORS, PASSES, SHUFFLE),
            steps="mistakes",
            limits=("time_limit", "n_jobs", "device"),
        ),
        variants=(
            "KernelPerceptron(multi_class='ovo', ties='margin')",
            "KernelPerceptron('precomputed', predictor='average')",
            "KernelPerceptron('poly', multi_class='ovr', predictor='vote')",
            "KernelPerceptron(budget=30, predictor='average')",
        ),
        endless=(
            "KernelPerceptron(Linear(), max_iter=10**7)",
            "KernelPerceptron(Linear(), max_iter=10**7, cache_size=40)",
            "KernelPerceptron(Linear(), max_iter=10**7, budget=100)",
        ),
        expected_failures=ORDER_DEPENDENT,
    ),
    EstimatorRecord(
        name="KernelPerceptronCV",
        module="kernel_perceptron_cv",
        solver="separatrix.solvers.perceptron.kernel_perceptron",
        paper="Freund and Schapire 1999",
        not_for="choosing anything but the kernel: use GridSearchCV",
        endless=("KernelPerceptronCV([Linear()] * 5, estimator=KernelPerceptron(max_iter=10**7))",),
    ),
    EstimatorRecord(
        name="KernelLogisticRegression",
        module="kernel_logistic",
        solver="separatrix.solvers.logistic.kernel_newton",
        paper="Zhu and Hastie 2005; Keerthi, Duan, Shevade and Poo 2005",
        not_for="labels alone: use SVC; more than 20,000 samples: use Nystroem and LogisticRegression",
        suite=(
            SuiteModel(
                "kernel-logistic",
                "logistic regression, Gaussian",
                build="kernel_logistic",
                fast_if=("kernel rows",),
                by_default=False,
            ),
        ),
        playground=PlaygroundRecord(
            "kernel-logistic",
            "Kernel logistic regression",
            "Probabilities from a kernel: the log odds are a smooth function.",
            (CONVEX_KERNEL, C(), *KERNEL_PARAMETERS),
            limits=("time_limit", "n_jobs", "device"),
        ),
        variants=("KernelLogisticRegression(C=100.0, class_weight='balanced')",),
        exact_variants=(
            "KernelLogisticRegression(gamma=0.1, tol=1e-20)",
            "KernelLogisticRegression(kernel='linear', tol=1e-20)",
        ),
        endless=("KernelLogisticRegression(C=1e8, tol=1e-300, max_iter=10**7)",),
        expected_failures=WITHIN_TOLERANCE,
    ),
    EstimatorRecord(
        name="KernelLogisticRegressionCV",
        module="kernel_logistic_cv",
        solver="separatrix.solvers.logistic.kernel_newton",
        paper="Zhu and Hastie 2005",
        not_for="choosing anything but C and the kernel: use GridSearchCV",
        expected_failures=FOLDS,
    ),
    EstimatorRecord(
        name="KernelFisherDiscriminant",
        module="kernel_fisher",
        solver="separatrix.solvers.kernel_discriminant",
        paper="Mika, Rätsch, Weston, Schölkopf and Müller 1999; Baudat and Anouar 2000",
        not_for="probabilities: use KernelLogisticRegression; more than 20,000 samples",
        suite=(
            SuiteModel(
                "kernel-fisher",
                "discriminant, Gaussian kernel",
                build="kernel_fisher",
                fast_if=("kernel rows",),
                by_default=False,
            ),
        ),
        playground=PlaygroundRecord(
            "kernel-fisher",
            "Kernel Fisher discriminant",
            "Gaussian classes in the feature space of a kernel.",
            (
                CONVEX_KERNEL,
                log("ridge", "ridge", 1.0, (0.001, 100.0), "Added to the scatter."),
                *KERNEL_PARAMETERS,
            ),
            limits=("n_jobs", "device"),
        ),
        variants=("KernelFisherDiscriminant(kernel='poly', coef0=1.0, priors='uniform')",),
        exact_variants=("KernelFisherDiscriminant(gamma=0.1)",),
        expected_failures=WITHIN_TOLERANCE,
    ),
    EstimatorRecord(
        name="KNeighborsClassifier",
        module="neighbors",
        solver="separatrix.solvers.nearest",
        paper="Fix and Hodges 1951; Cover and Hart 1967",
        not_for="features on different scales: scale them; many irrelevant features",
        suite=(
            SuiteModel(
                "knn", "nearest neighbours", build="nearest_neighbors", fast_if=("neighbour rows",)
            ),
        ),
        playground=PlaygroundRecord(
            "knn",
            "k nearest neighbours",
            "Every position takes the class of most of its nearest points.",
            (
                integer("n_neighbors", "k", 5, (1, 50), "How many neighbours vote."),
                choice(
                    "metric",
                    "distance",
                    {
                        "euclidean": "Euclidean",
                        "manhattan": "city block",
                        "chebyshev": "largest side",
                    },
                ),
                choice("weights", "votes", {"uniform": "all alike", "distance": "1 / distance"}),
            ),
            limits=("device",),
        ),
        variants=(
            "KNeighborsClassifier(5, metric='manhattan')",
            "KNeighborsClassifier(weights='distance', ties='lowest')",
            "KNeighborsClassifier(metric='cosine')",
            "KNeighborsClassifier(9, metric='precomputed')",
            "KNeighborsClassifier(5, kernel=Polynomial(3, coef0=1.0))",
        ),
        expected_failures=VOTES,
    ),
    EstimatorRecord(
        name="RadiusNeighborsClassifier",
        module="radius_neighbors",
        solver="separatrix.solvers.nearest",
        paper="Fix and Hodges 1951",
        not_for="many features, where all distances are alike: use KNeighborsClassifier",
        suite=(
            SuiteModel(
                "radius",
                "neighbours within a radius",
                params={"outlier_label": "most_frequent"},
                build="radius_neighbors",
                fast_if=("neighbour rows",),
                data_kinds=("vectors", "text", "sequences"),
                by_default=False,
            ),
        ),
        variants=(
            "RadiusNeighborsClassifier(1.5, outlier_label='most_frequent')",
            "RadiusNeighborsClassifier(2.0, weights='distance', metric='manhattan', ties='nearest')",
        ),
    ),
)
