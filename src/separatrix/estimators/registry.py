"""Every estimator: where its algorithm is, who wrote it down, when not to use it.

The contract tests run over this table; the command line and the documentation print it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

ORDER = "corrections depend on the order in which samples are met; a weight is a step size"
ORDER_DEPENDENT = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}

AT_ITS_TOLERANCE = (
    "equal to the tolerance of the fit, and gamma='scale' does not see weights; passes at tol=1e-10 "
    "with a given gamma"
)
TO_TOLERANCE = dict.fromkeys(ORDER_DEPENDENT, AT_ITS_TOLERANCE)
VOTES = dict.fromkeys(ORDER_DEPENDENT, "weights are votes; a repeated row is another neighbour")
IN_FOLDS = dict.fromkeys(ORDER_DEPENDENT, "folds are of rows, and a repeated row may lie in two")


@dataclass(frozen=True)
class Entry:
    """One estimator of separatrix."""

    name: str
    module: str
    solver: str
    paper: str
    not_for: str
    kind: str = "classifier"  # or "transformer", or "around": a classifier around another
    expected_failures: dict[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """The estimator class."""
        return getattr(import_module(self.module), self.name)


REGISTRY = (
    Entry(
        name="KNeighborsClassifier",
        module="separatrix.estimators.neighbors",
        solver="separatrix.solvers.nearest",
        paper="Fix and Hodges 1951; Cover and Hart 1967",
        not_for="features of different sizes: scale them; many features that say nothing",
        expected_failures=VOTES,
    ),
    Entry(
        name="Perceptron",
        module="separatrix.estimators.perceptron",
        solver="separatrix.solvers.perceptron.primal",
        paper="Rosenblatt 1958; Crammer and Singer 2003",
        not_for="overlapping classes, unless averaged; probabilities",
        expected_failures=ORDER_DEPENDENT,
    ),
    Entry(
        name="KernelPerceptron",
        module="separatrix.estimators.kernel_perceptron",
        solver="separatrix.solvers.perceptron.kernel_perceptron, separatrix.solvers.perceptron.projectron",
        paper="Freund and Schapire 1999; Orabona, Keshet and Caputo 2009",
        not_for="the last per cent of accuracy; noisy labels, unless averaged",
        expected_failures=ORDER_DEPENDENT,
    ),
    Entry(
        name="KernelPerceptronCV",
        module="separatrix.estimators.kernel_perceptron_cv",
        solver="separatrix.solvers.perceptron.kernel_perceptron",
        paper="Freund and Schapire 1999",
        not_for="choosing anything but the kernel: use GridSearchCV",
    ),
    Entry(
        name="SVC",
        module="separatrix.estimators.svc",
        solver="separatrix.solvers.svm.smo, separatrix.solvers.svm.working_set",
        paper="Cortes and Vapnik 1995; Fan, Chen and Lin 2005",
        not_for="millions of samples: use LinearSVC",
        expected_failures=TO_TOLERANCE,
    ),
    Entry(
        name="SVCCV",
        module="separatrix.estimators.svc_cv",
        solver="separatrix.solvers.svm.smo",
        paper="DeCoste and Wagstaff 2000",
        not_for="choosing anything but C and the kernel: use GridSearchCV",
        expected_failures=IN_FOLDS,
    ),
    Entry(
        name="LinearSVC",
        module="separatrix.estimators.linear_svc",
        solver="separatrix.solvers.linear_svm.dual_descent, separatrix.solvers.linear_svm.primal_newton, "
        "separatrix.solvers.linear_svm.l1_penalty, separatrix.solvers.linear_svm.crammer_singer",
        paper="Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Keerthi and DeCoste 2005; "
        "Yuan, Chang, Hsieh and Lin 2010; Crammer and Singer 2001",
        not_for="curved boundaries: use SVC",
        expected_failures=TO_TOLERANCE,
    ),
    Entry(
        name="SubgradientSVC",
        module="separatrix.estimators.subgradient_svc",
        solver="separatrix.solvers.subgradient",
        paper="Shor 1985",
        not_for="the minimum itself: use LinearSVC; features scaled to about 1, with the default step",
    ),
    Entry(
        name="LeastSquaresClassifier",
        module="separatrix.estimators.least_squares",
        solver="separatrix.solvers.least_squares, separatrix.solvers.moments",
        paper="Hoerl and Kennard 1970; Allen 1974; Reinsch 1971",
        not_for="samples far on their right side: use LogisticRegression",
    ),
    Entry(
        name="FisherDiscriminant",
        module="separatrix.estimators.fisher",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Fisher 1936; Rao 1948",
        not_for="classifying: it is an embedding; use LinearDiscriminantAnalysis",
        kind="transformer",
    ),
    Entry(
        name="LinearDiscriminantAnalysis",
        module="separatrix.estimators.discriminant",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Fisher 1936; Ledoit and Wolf 2004",
        not_for="classes that spread differently: use QuadraticDiscriminantAnalysis",
    ),
    Entry(
        name="QuadraticDiscriminantAnalysis",
        module="separatrix.estimators.discriminant",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Smith 1946; Friedman 1989",
        not_for="few samples a class: its covariance needs more than d; shrink it",
    ),
    Entry(
        name="MultinomialNB",
        module="separatrix.estimators.naive_bayes",
        solver="separatrix.solvers.naive_bayes",
        paper="Maron 1961; McCallum and Nigam 1998",
        not_for="probabilities to rely on: words are not independent; negative values",
    ),
    Entry(
        name="BernoulliNB",
        module="separatrix.estimators.naive_bayes",
        solver="separatrix.solvers.naive_bayes",
        paper="McCallum and Nigam 1998",
        not_for="counts that matter beyond 0 or more: use MultinomialNB",
    ),
    Entry(
        name="GaussianNB",
        module="separatrix.estimators.naive_bayes",
        solver="separatrix.solvers.naive_bayes, separatrix.solvers.moments",
        paper="Duda and Hart 1973",
        not_for="features that move together: use QuadraticDiscriminantAnalysis",
    ),
    Entry(
        name="LogisticRegression",
        module="separatrix.estimators.logistic_regression",
        solver="separatrix.solvers.logistic.newton, separatrix.solvers.logistic.laplace",
        paper="Berkson 1944; MacKay 1992",
        not_for="curved boundaries, unless on features that bend them; sparse weights",
    ),
    Entry(
        name="BayesDecision",
        module="separatrix.estimators.decision",
        solver="separatrix.estimators.decision",
        paper="Wald 1950; Chow 1970",
        not_for="probabilities that are wrong: calibrate them first",
        kind="around",
    ),
    Entry(
        name="PolynomialMap",
        module="separatrix.estimators.feature_maps",
        solver="separatrix.kernels.features",
        paper="Boser, Guyon and Vapnik 1992",
        not_for="many features or a high degree: use a polynomial kernel",
        kind="transformer",
    ),
    Entry(
        name="Nystroem",
        module="separatrix.estimators.feature_maps",
        solver="separatrix.kernels.features",
        paper="Williams and Seeger 2001",
        not_for="exact answers: it approximates; use SVC while samples are few",
        kind="transformer",
    ),
    Entry(
        name="RandomFourier",
        module="separatrix.estimators.feature_maps",
        solver="separatrix.kernels.features",
        paper="Rahimi and Recht 2007",
        not_for="exact answers; kernels other than the Gaussian: use Nystroem",
        kind="transformer",
    ),
)

COUNTED = ("MultinomialNB", "BernoulliNB")  # take counts as they are
