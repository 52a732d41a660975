"""The classifiers of a suite: how each is built for some data, and when it is not.

A pipeline learns whatever prepares samples, such as means to subtract or the words of texts, where it
is trained, and there its parameters are chosen too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.positions import PositionIndicator
from separatrix.estimators.svc_cv import SVCCV
from separatrix.evaluation.profile import KINDS, DataProfile
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import Normalized
from separatrix.kernels.graphs.graph_kernels import ShortestPath, WeisfeilerLehman
from separatrix.kernels.strings.string_kernels import Spectrum, WeightedDegree
from separatrix.kernels.vector_kernels import Polynomial

MOST_FOR_KERNELS = 10_000  # rows; a Gram matrix of more is slow to learn from, many times over
MOST_FOR_NEIGHBOURS = 50_000  # rows; every one is compared with every other
MOST_SQUARE = 3_000  # features, or rows if these are fewer, of a matrix that is factorised
MOST_FOR_EVIDENCE = 200  # features; a posterior is found at every step
ROUNDS = 3  # of labels around a node, where features of graphs are counted


@dataclass(frozen=True)
class BuildContext:
    """What a classifier is built for."""

    profile: DataProfile
    folds: int  # that choose parameters
    seed: int

    def pipeline(self, model: Any, *, counted: bool = False) -> Pipeline:
        """The model behind what prepares samples for it; `counted`, they stay the counts they are."""
        profile = self.profile
        steps: list[tuple[str, Any]] = []
        if profile.kind == "text":
            words = CountVectorizer() if counted else TfidfVectorizer(sublinear_tf=True)
            steps.append(("words", words))
        elif profile.kind == "sequences":
            triples = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)
            steps.append(("letters", PositionIndicator() if profile.aligned else triples))
        elif profile.kind == "graphs":
            subtrees = WeisfeilerLehman(ROUNDS)
            steps.append(
                ("subtrees", KernelFeatures(subtrees if counted else Normalized(subtrees)))
            )
        if profile.missing:
            steps.append(("fill", SimpleImputer(strategy="median", keep_empty_features=True)))
        if not counted and profile.kind not in ("text", "graphs"):
            near_zero = profile.sparse or profile.one_unit
            steps.append(("scale", MaxAbsScaler() if near_zero else StandardScaler()))
        return Pipeline([*steps, ("model", model)])

    def tuned(self, model: Any, *, counted: bool = False, **values: Sequence[Any]) -> Pipeline:
        """The model behind what prepares samples, with parameters chosen by cross-validation."""
        grid = {name: list(choices) for name, choices in values.items()}
        return self.pipeline(GridSearchCV(model, grid, cv=self.folds), counted=counted)

    def widths(self) -> list[float]:
        """Values of gamma, of the size of one over the squared distance of two samples."""
        if self.profile.kind in ("text", "graphs"):  # of length 1
            return [0.3, 1.0, 3.0]
        near_zero = self.profile.one_unit or self.profile.sparse
        factors = (1.0, 4.0, 16.0) if near_zero else (0.1, 0.3, 1.0, 3.0)
        return [factor / max(1, self.profile.d) for factor in factors]

    def object_kernels(self) -> list[Kernel]:
        """Kernels on the objects themselves, families together; each normalised."""
        kernels: list[Kernel]
        if self.profile.kind == "graphs":
            kernels = [*(WeisfeilerLehman(rounds) for rounds in range(7)), ShortestPath()]
        else:
            kernels = [Spectrum(length) for length in (3, 4, 5, 6)]
            if self.profile.aligned:
                kernels += [WeightedDegree(length) for length in (2, 4, 8, 16)]
        return [Normalized(kernel) for kernel in kernels]


def _never(_look: DataProfile) -> str:
    return ""


@dataclass(frozen=True)
class Candidate:
    """A classifier that may be compared."""

    key: str
    name: str
    build: Callable[[BuildContext], Any]
    cannot: Callable[[DataProfile], str] = _never  # why not, or nothing
    too_slow: Callable[[DataProfile], str] = _never  # why not, unless it is asked for
    kinds: tuple[str, ...] = KINDS  # of samples; on others it is not spoken of unless asked for


def _svm(terms: BuildContext) -> Any:
    return terms.pipeline(SVCCV(Cs=(0.1, 1.0, 10.0), gammas=terms.widths(), cv=terms.folds))


def _polynomial_svm(terms: BuildContext) -> Any:
    gamma = terms.widths()[1]
    kernels = [Polynomial(degree, gamma=gamma, coef0=1.0) for degree in (2, 3)]
    return terms.pipeline(SVCCV(Cs=(0.1, 1.0, 10.0), kernels=kernels, cv=terms.folds))


def _object_svm(terms: BuildContext) -> Any:
    search = SVCCV(Cs=(0.1, 1.0, 10.0, 100.0), kernels=terms.object_kernels(), cv=terms.folds)
    return Pipeline([("model", search)])


def _kernel_perceptron(terms: BuildContext) -> Any:
    inner = KernelPerceptron(
        predictor="average", max_iter=20, min_gain=0.001, min_iter=3, random_state=terms.seed
    )
    if terms.profile.kind == "graphs":
        search = KernelPerceptronCV(terms.object_kernels(), cv=terms.folds, estimator=inner)
        return Pipeline([("model", search)])
    return terms.pipeline(KernelPerceptronCV(cv=terms.folds, estimator=inner))


def _logistic(terms: BuildContext) -> Any:
    if terms.profile.k == 2 and 0 < terms.profile.d <= MOST_FOR_EVIDENCE:
        return terms.pipeline(LogisticRegression(C="evidence"))
    model = LogisticRegression(solver="lbfgs", max_iter=1000)
    return terms.tuned(model, C=(0.01, 0.1, 1.0, 10.0, 100.0))


def _linear_svm(terms: BuildContext) -> Any:
    model = LinearSVC(random_state=terms.seed, max_iter=5000)
    return terms.tuned(model, C=(0.01, 0.1, 1.0, 10.0))


def _neighbours(terms: BuildContext) -> Any:
    if terms.profile.kind == "graphs":
        by_kernel = KNeighborsClassifier(kernel=Normalized(WeisfeilerLehman(ROUNDS)))
        return Pipeline([("model", KNeighborsCV(k_max=30, estimator=by_kernel))])
    return terms.pipeline(KNeighborsCV(k_max=30))


def _least_squares(terms: BuildContext) -> Any:
    return terms.pipeline(LeastSquaresClassifier("loo"))


def _linear_discriminant(terms: BuildContext) -> Any:
    return terms.pipeline(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))


def _quadratic_discriminant(terms: BuildContext) -> Any:
    return terms.tuned(QuadraticDiscriminantAnalysis(), reg_param=(0.001, 0.01, 0.1, 0.5))


def _gaussian_bayes(terms: BuildContext) -> Any:
    return terms.tuned(GaussianNB(), var_smoothing=(1e-9, 1e-3, 0.01, 0.1))


def _multinomial_bayes(terms: BuildContext) -> Any:
    return terms.tuned(MultinomialNB(), counted=True, alpha=(0.01, 0.1, 1.0))


def _bernoulli_bayes(terms: BuildContext) -> Any:
    return terms.tuned(BernoulliNB(), counted=True, alpha=(0.01, 0.1, 1.0))


def _perceptron(terms: BuildContext) -> Any:
    return terms.pipeline(Perceptron(predictor="average", random_state=terms.seed))


def _too_many_rows(most: int) -> Callable[[DataProfile], str]:
    def reason(profile: DataProfile) -> str:
        return f"is slow beyond {most:,} rows; here are {profile.n:,}" if profile.n > most else ""

    return reason


def _too_square(profile: DataProfile) -> str:
    """For a factorisation of features by features, or of rows by rows."""
    if profile.d == 0 and profile.n > MOST_SQUARE:
        return f"is slow with many words and beyond {MOST_SQUARE:,} rows; here are {profile.n:,}"
    if min(profile.n, profile.d) > MOST_SQUARE:
        return f"is slow beyond {MOST_SQUARE:,} features; here are {profile.d:,}"
    return ""


def _not_a_table(profile: DataProfile) -> str:
    if profile.kind != "vectors" and not profile.aligned:
        things = "subtrees" if profile.kind == "graphs" else "words"
        return f"needs a table with few columns; {things} make thousands"
    if profile.d > MOST_SQUARE:
        return f"has d x d covariances, too large beyond {MOST_SQUARE:,} features"
    return ""


def _few_rows_a_class(profile: DataProfile) -> str:
    if profile.smallest <= profile.d:
        return (
            f"needs more rows of each class than features; here are {profile.smallest} of the rarest "
            f"and {profile.d} features"
        )
    return ""


def _no_counts(profile: DataProfile) -> str:
    return "" if profile.counts else "needs counts: whole numbers of at least 0"


def _words(profile: DataProfile) -> str:
    things = {"text": "words", "graphs": "subtrees"}.get(profile.kind)
    return f"is left out on {things}, where a linear one does as well" if things else ""


def _not_strings(profile: DataProfile) -> str:
    return "" if profile.kind in ("text", "sequences") else "needs strings"


def _not_graphs(profile: DataProfile) -> str:
    return "" if profile.kind == "graphs" else "needs graphs"


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("svm", "SVM, Gaussian", _svm, too_slow=_too_many_rows(MOST_FOR_KERNELS)),
    Candidate(
        "svm-poly",
        "SVM, polynomial",
        _polynomial_svm,
        too_slow=lambda profile: _words(profile) or _too_many_rows(MOST_FOR_KERNELS)(profile),
    ),
    Candidate(
        "svm-string",
        "SVM, string kernel",
        _object_svm,
        cannot=_not_strings,
        kinds=("text", "sequences"),
        too_slow=lambda profile: _words(profile) or _too_many_rows(MOST_FOR_KERNELS)(profile),
    ),
    Candidate(
        "svm-graph",
        "SVM, graph kernel",
        _object_svm,
        cannot=_not_graphs,
        kinds=("graphs",),
        too_slow=_too_many_rows(MOST_FOR_KERNELS),
    ),
    Candidate(
        "kernel-perceptron",
        "kernel perceptron",
        _kernel_perceptron,
        too_slow=_too_many_rows(MOST_FOR_KERNELS),
    ),
    Candidate(
        "knn", "nearest neighbours", _neighbours, too_slow=_too_many_rows(MOST_FOR_NEIGHBOURS)
    ),
    Candidate("linear-svm", "linear SVM", _linear_svm),
    Candidate("logistic", "logistic regression", _logistic),
    Candidate("least-squares", "least squares", _least_squares, too_slow=_too_square),
    Candidate("lda", "linear discriminant", _linear_discriminant, cannot=_not_a_table),
    Candidate(
        "qda",
        "quadratic discriminant",
        _quadratic_discriminant,
        cannot=lambda profile: _not_a_table(profile) or _few_rows_a_class(profile),
    ),
    Candidate(
        "gaussian-nb",
        "naive Bayes, Gaussian",
        _gaussian_bayes,
        cannot=lambda profile: _not_a_table(profile) if profile.kind != "vectors" else "",
    ),
    Candidate("multinomial-nb", "naive Bayes, multinomial", _multinomial_bayes, cannot=_no_counts),
    Candidate("bernoulli-nb", "naive Bayes, Bernoulli", _bernoulli_bayes, cannot=_no_counts),
    Candidate("perceptron", "perceptron, averaged", _perceptron),
)
