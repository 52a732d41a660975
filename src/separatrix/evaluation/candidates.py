"""How the classifiers of a suite are built for given data, and the conditions that the data must meet.

A classifier is a pipeline: preprocessing (means to subtract, the words of texts) is learned, and
parameters are chosen, on the training rows only. Titles, grids and names of conditions are in
`separatrix.estimators.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from separatrix.estimators.base.grid_widening import (
    GAMMA_FACTORS,
    LINEAR_SEARCH_TOL,
    SEARCH_TOL,
    WIDEN,
    WideningSearchCV,
)
from separatrix.estimators.base.nystroem_search import NystroemSVCCV
from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.estimators.categorical_bayes import CategoricalNB
from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.estimators.kernel_fisher import KernelFisherDiscriminant
from separatrix.estimators.kernel_logistic_cv import KernelLogisticRegressionCV
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.positions import PositionIndicator
from separatrix.estimators.radius_neighbors import RadiusNeighborsClassifier
from separatrix.estimators.registry import EstimatorRecord, SuiteModel
from separatrix.estimators.svc_cv import SVCCV
from separatrix.evaluation.profile import DataProfile
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import Normalized
from separatrix.kernels.graphs.graph_kernels import ShortestPath, WeisfeilerLehman
from separatrix.kernels.strings.string_kernels import Spectrum, WeightedDegree
from separatrix.kernels.vector_kernels import Gaussian, Polynomial

MAX_KERNEL_ROWS = 10_000  # every fold of every candidate reads the Gram matrix
MAX_NEIGHBOR_ROWS = 50_000  # every row is compared with every other
MAX_TIMED_ROWS = 100_000  # at which a time budget decides instead
MAX_FACTORISED = 3_000  # features, or rows if these are fewer, of a factorised matrix
MAX_EVIDENCE_FEATURES = 200  # every step computes a posterior
MIN_EVIDENCE_ROWS = 20  # of the rarer class
CS = (0.1, 1.0, 10.0)  # before a grid is widened
WL_ITERATIONS = 3  # of the Weisfeiler-Lehman features of graphs
_SVC_SEARCH: dict[str, Any] = {"widen": WIDEN, "search_tol": SEARCH_TOL, "race": True}


@dataclass(frozen=True)
class BuildContext:
    """The data and the search that a classifier is built for."""

    profile: DataProfile
    folds: int  # of the cross-validation that chooses parameters
    seed: int

    def pipeline(self, model: Any, *, counts: bool = False) -> Pipeline:
        """Put the preprocessing that suits the data before the model; with `counts`, without scaling."""
        profile = self.profile
        steps: list[tuple[str, Any]] = []
        if profile.kind == "text":
            words = CountVectorizer() if counts else TfidfVectorizer(sublinear_tf=True)
            steps.append(("words", words))
        elif profile.kind == "sequences":
            triples = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)
            steps.append(("letters", PositionIndicator() if profile.aligned else triples))
        elif profile.kind == "graphs":
            subtrees = WeisfeilerLehman(WL_ITERATIONS)
            steps.append(("subtrees", KernelFeatures(subtrees if counts else Normalized(subtrees))))
        if profile.missing:
            steps.append(("fill", SimpleImputer(strategy="median", keep_empty_features=True)))
        if not counts and profile.kind not in ("text", "graphs"):
            near_zero = profile.sparse or profile.one_unit
            steps.append(("scale", MaxAbsScaler() if near_zero else StandardScaler()))
        return Pipeline([*steps, ("model", model)])

    def search(self, model: Any, **values: Sequence[Any]) -> WideningSearchCV:
        """Choose parameters by folds; a grid of numbers widens while the best lies on its edge."""
        grid = {
            name: sorted(some) if all(isinstance(v, int | float) for v in some) else list(some)
            for name, some in values.items()
        }
        loose = isinstance(model, LinearSVC | LogisticRegression)
        tol = LINEAR_SEARCH_TOL if loose else None
        return WideningSearchCV(model, grid, cv=self.folds, search_tol=tol, race=True)

    def object_kernels(self) -> list[Kernel]:
        """Normalised kernels on strings or graphs; kernels of one family are neighbours."""
        kernels: list[Kernel]
        if self.profile.kind == "graphs":
            kernels = [*(WeisfeilerLehman(rounds) for rounds in range(7)), ShortestPath()]
        else:
            kernels = [Spectrum(length) for length in (3, 4, 5, 6)]
            if self.profile.aligned:
                kernels += [WeightedDegree(length) for length in (2, 4, 8, 16)]
        return [Normalized(kernel) for kernel in kernels]


def build(model: SuiteModel, record: EstimatorRecord, context: BuildContext) -> Pipeline:
    """Build the pipeline of a suite model, not fitted."""
    if model.build:
        return _BUILDERS[model.build](context)
    estimator = record.load()(**model.tuned)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=context.seed)
    if model.grid:
        estimator = context.search(estimator, **model.grid)
    return context.pipeline(estimator, counts=record.counts)


def obstacle(
    model: SuiteModel, profile: DataProfile, *, requested: bool, timed: bool = False
) -> str:
    """Why the data does not suit the model, or "": only `requested` and `timed` models may be slow."""
    conditions = model.requires if requested else (*model.requires, *model.fast_if)
    if timed and profile.n <= MAX_TIMED_ROWS:
        conditions = tuple(name for name in conditions if name not in _SPEED)
    return next(filter(None, (_CONDITIONS[name](profile) for name in conditions)), "")


def is_too_slow(model: SuiteModel, profile: DataProfile) -> bool:
    """Whether the data suits the model but has too many rows or features for a quick comparison."""
    if any(_CONDITIONS[name](profile) for name in model.requires):
        return False
    return any(_CONDITIONS[name](profile) for name in model.fast_if if name in _SPEED)


def _gaussian_svm(context: BuildContext) -> Pipeline:
    return context.pipeline(SVCCV(CS, "scale", cv=context.folds, **_SVC_SEARCH))


def _polynomial_svm(context: BuildContext) -> Pipeline:
    kernels = [Polynomial(degree, coef0=1.0) for degree in (2, 3)]
    # one gamma at first; one more step at either end gives the range of the Gaussian kernel
    how: dict[str, Any] = {"cv": context.folds, **_SVC_SEARCH, "widen": WIDEN + 1}
    return context.pipeline(SVCCV(CS, ["scale"], kernels=kernels, **how))


def _nystroem_svm(context: BuildContext) -> Pipeline:
    return context.pipeline(NystroemSVCCV(Cs=CS, cv=context.folds, random_state=context.seed))


def _object_svm(context: BuildContext) -> Pipeline:
    kernels = context.object_kernels()
    search = SVCCV((*CS, 100.0), kernels=kernels, cv=context.folds, **_SVC_SEARCH)
    return Pipeline([("model", search)])


def _kernel_perceptron(context: BuildContext) -> Pipeline:
    estimator = KernelPerceptron(
        predictor="average", max_iter=20, min_gain=0.001, min_iter=3, random_state=context.seed
    )
    if context.profile.kind == "graphs":
        kernels = context.object_kernels()
        search = KernelPerceptronCV(kernels, cv=context.folds, estimator=estimator)
        return Pipeline([("model", search)])
    how: dict[str, Any] = {"cv": context.folds, "widen": WIDEN, "estimator": estimator}
    return context.pipeline(KernelPerceptronCV([Gaussian()], gammas="scale", **how))


def _kernel_logistic(context: BuildContext) -> Pipeline:
    return context.pipeline(KernelLogisticRegressionCV(CS, "scale", cv=context.folds))


def _kernel_fisher(context: BuildContext) -> Pipeline:
    unit = 1.0 / max(1, context.profile.d) if context.profile.kind == "vectors" else 1.0
    gammas = [unit * factor for factor in GAMMA_FACTORS]
    search = context.search(KernelFisherDiscriminant(), ridge=(0.01, 0.1, 1.0), gamma=gammas)
    return context.pipeline(search)


def _logistic_regression(context: BuildContext) -> Pipeline:
    profile = context.profile
    # else the Laplace approximation is rough
    enough = profile.smallest >= max(MIN_EVIDENCE_ROWS, profile.d)
    if profile.k == 2 and 0 < profile.d <= MAX_EVIDENCE_FEATURES and enough:
        return context.pipeline(LogisticRegression(C="evidence"))
    model = LogisticRegression(solver="lbfgs", max_iter=1000)
    return context.pipeline(context.search(model, C=CS))


def _nearest_neighbors(context: BuildContext) -> Pipeline:
    if context.profile.kind == "graphs":
        model = KNeighborsClassifier(kernel=Normalized(WeisfeilerLehman(WL_ITERATIONS)))
        return Pipeline([("model", KNeighborsCV(k_max=30, widen=WIDEN, estimator=model))])
    return context.pipeline(KNeighborsCV(k_max=30, widen=WIDEN))


def _radius_neighbors(context: BuildContext) -> Pipeline:
    profile = context.profile
    # of two samples: of length 1, within [0, 1], or with features of variance 1
    near_zero = profile.one_unit or profile.sparse
    unit = 1.0 if profile.d == 0 else (0.25 if near_zero else 1.0) * profile.d**0.5
    model = RadiusNeighborsClassifier(outlier_label="most_frequent")
    return context.pipeline(context.search(model, radius=[unit * 2.0**i for i in (-1, 0, 1)]))


def _categorical_bayes(context: BuildContext) -> Pipeline:
    model = CategoricalNB(min_categories=max(1, context.profile.categories))  # of all folds
    return context.pipeline(context.search(model, alpha=(0.01, 0.1, 1.0)), counts=True)


_BUILDERS: dict[str, Callable[[BuildContext], Pipeline]] = {
    "gaussian_svm": _gaussian_svm,
    "polynomial_svm": _polynomial_svm,
    "nystroem_svm": _nystroem_svm,
    "object_svm": _object_svm,
    "kernel_fisher": _kernel_fisher,
    "kernel_logistic": _kernel_logistic,
    "kernel_perceptron": _kernel_perceptron,
    "logistic_regression": _logistic_regression,
    "nearest_neighbors": _nearest_neighbors,
    "radius_neighbors": _radius_neighbors,
    "categorical_bayes": _categorical_bayes,
}


def _at_most_rows(most: int) -> Callable[[DataProfile], str]:
    def condition(profile: DataProfile) -> str:
        return f"slow above {most:,} rows; got {profile.n:,}" if profile.n > most else ""

    return condition


def _small_factorisation(profile: DataProfile) -> str:
    """For a factorisation of a features by features or rows by rows matrix."""
    if profile.d == 0 and profile.n > MAX_FACTORISED:
        return f"slow with many words and more than {MAX_FACTORISED:,} rows; got {profile.n:,}"
    if min(profile.n, profile.d) > MAX_FACTORISED:
        return f"slow above {MAX_FACTORISED:,} features; got {profile.d:,}"
    return ""


def _table(profile: DataProfile) -> str:
    if profile.kind != "vectors" and not profile.aligned:
        features = "subtrees" if profile.kind == "graphs" else "words"
        return f"needs a table with few columns; {features} give thousands"
    if profile.d > MAX_FACTORISED:
        return f"its d x d covariances are too large above {MAX_FACTORISED:,} features"
    return ""


def _rows_per_class(profile: DataProfile) -> str:
    if profile.smallest <= profile.d:
        return (
            f"needs more rows of each class than features; the rarest class has {profile.smallest} "
            f"rows, X has {profile.d} features"
        )
    return ""


def _no_words(profile: DataProfile) -> str:
    features = {"text": "words", "graphs": "subtrees"}.get(profile.kind)
    return f"a linear model is as good on {features}" if features else ""


# conditions of a quick comparison
_SPEED = ("kernel rows", "neighbour rows", "small factorisation")
_CONDITIONS: dict[str, Callable[[DataProfile], str]] = {  # each returns what is wrong, or ""
    "counts": lambda profile: "" if profile.counts else "needs counts: integers of at least 0",
    "dense columns": lambda profile: "" if profile.kind == "vectors" else _table(profile),
    "graphs": lambda profile: "" if profile.kind == "graphs" else "needs graphs",
    "kernel rows": _at_most_rows(MAX_KERNEL_ROWS),
    "neighbour rows": _at_most_rows(MAX_NEIGHBOR_ROWS),
    "no words": _no_words,
    "rows per class": _rows_per_class,
    "small factorisation": _small_factorisation,
    "vectors": lambda profile: "" if profile.kind == "vectors" else "needs a table of numbers",
    "strings": lambda profile: "" if profile.kind in ("text", "sequences") else "needs strings",
    "table": _table,
}
