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
from separatrix.evaluation.profile import KINDS, Look
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
class Terms:
    """What a classifier is built for."""

    look: Look
    folds: int  # that choose parameters
    seed: int

    def behind(self, model: Any, *, counted: bool = False) -> Pipeline:
        """The model behind what prepares samples for it; `counted`, they stay the counts they are."""
        look = self.look
        steps: list[tuple[str, Any]] = []
        if look.kind == "text":
            words = CountVectorizer() if counted else TfidfVectorizer(sublinear_tf=True)
            steps.append(("words", words))
        elif look.kind == "sequences":
            triples = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)
            steps.append(("letters", PositionIndicator() if look.aligned else triples))
        elif look.kind == "graphs":
            subtrees = WeisfeilerLehman(ROUNDS)
            steps.append(
                ("subtrees", KernelFeatures(subtrees if counted else Normalized(subtrees)))
            )
        if look.missing:
            steps.append(("fill", SimpleImputer(strategy="median", keep_empty_features=True)))
        if not counted and look.kind not in ("text", "graphs"):
            near_zero = look.sparse or look.one_unit
            steps.append(("scale", MaxAbsScaler() if near_zero else StandardScaler()))
        return Pipeline([*steps, ("model", model)])

    def tuned(self, model: Any, *, counted: bool = False, **values: Sequence[Any]) -> Pipeline:
        """The model behind what prepares samples, with parameters chosen by cross-validation."""
        grid = {name: list(choices) for name, choices in values.items()}
        return self.behind(GridSearchCV(model, grid, cv=self.folds), counted=counted)

    def widths(self) -> list[float]:
        """Values of gamma, of the size of one over the squared distance of two samples."""
        if self.look.kind in ("text", "graphs"):  # of length 1
            return [0.3, 1.0, 3.0]
        near_zero = self.look.one_unit or self.look.sparse
        factors = (1.0, 4.0, 16.0) if near_zero else (0.1, 0.3, 1.0, 3.0)
        return [factor / max(1, self.look.d) for factor in factors]

    def object_kernels(self) -> list[Kernel]:
        """Kernels on the objects themselves, families together; each normalised."""
        kernels: list[Kernel]
        if self.look.kind == "graphs":
            kernels = [*(WeisfeilerLehman(rounds) for rounds in range(7)), ShortestPath()]
        else:
            kernels = [Spectrum(length) for length in (3, 4, 5, 6)]
            if self.look.aligned:
                kernels += [WeightedDegree(length) for length in (2, 4, 8, 16)]
        return [Normalized(kernel) for kernel in kernels]


def _never(_look: Look) -> str:
    return ""


@dataclass(frozen=True)
class Candidate:
    """A classifier that may be compared."""

    key: str
    name: str
    build: Callable[[Terms], Any]
    cannot: Callable[[Look], str] = _never  # why not, or nothing
    too_slow: Callable[[Look], str] = _never  # why not, unless it is asked for
    kinds: tuple[str, ...] = KINDS  # of samples; on others it is not spoken of unless asked for


def _svm(terms: Terms) -> Any:
    return terms.behind(SVCCV(Cs=(0.1, 1.0, 10.0), gammas=terms.widths(), cv=terms.folds))


def _polynomial_svm(terms: Terms) -> Any:
    gamma = terms.widths()[1]
    kernels = [Polynomial(degree, gamma=gamma, coef0=1.0) for degree in (2, 3)]
    return terms.behind(SVCCV(Cs=(0.1, 1.0, 10.0), kernels=kernels, cv=terms.folds))


def _object_svm(terms: Terms) -> Any:
    search = SVCCV(Cs=(0.1, 1.0, 10.0, 100.0), kernels=terms.object_kernels(), cv=terms.folds)
    return Pipeline([("model", search)])


def _kernel_perceptron(terms: Terms) -> Any:
    inner = KernelPerceptron(
        predictor="average", max_iter=20, min_gain=0.001, min_iter=3, random_state=terms.seed
    )
    if terms.look.kind == "graphs":
        search = KernelPerceptronCV(terms.object_kernels(), cv=terms.folds, estimator=inner)
        return Pipeline([("model", search)])
    return terms.behind(KernelPerceptronCV(cv=terms.folds, estimator=inner))


def _logistic(terms: Terms) -> Any:
    if terms.look.k == 2 and 0 < terms.look.d <= MOST_FOR_EVIDENCE:
        return terms.behind(LogisticRegression(C="evidence"))
    model = LogisticRegression(solver="lbfgs", max_iter=1000)
    return terms.tuned(model, C=(0.01, 0.1, 1.0, 10.0, 100.0))


def _linear_svm(terms: Terms) -> Any:
    model = LinearSVC(random_state=terms.seed, max_iter=5000)
    return terms.tuned(model, C=(0.01, 0.1, 1.0, 10.0))


def _neighbours(terms: Terms) -> Any:
    if terms.look.kind == "graphs":
        by_kernel = KNeighborsClassifier(kernel=Normalized(WeisfeilerLehman(ROUNDS)))
        return Pipeline([("model", KNeighborsCV(k_max=30, estimator=by_kernel))])
    return terms.behind(KNeighborsCV(k_max=30))


def _least_squares(terms: Terms) -> Any:
    return terms.behind(LeastSquaresClassifier("loo"))


def _linear_discriminant(terms: Terms) -> Any:
    return terms.behind(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))


def _quadratic_discriminant(terms: Terms) -> Any:
    return terms.tuned(QuadraticDiscriminantAnalysis(), reg_param=(0.001, 0.01, 0.1, 0.5))


def _gaussian_bayes(terms: Terms) -> Any:
    return terms.tuned(GaussianNB(), var_smoothing=(1e-9, 1e-3, 0.01, 0.1))


def _multinomial_bayes(terms: Terms) -> Any:
    return terms.tuned(MultinomialNB(), counted=True, alpha=(0.01, 0.1, 1.0))


def _bernoulli_bayes(terms: Terms) -> Any:
    return terms.tuned(BernoulliNB(), counted=True, alpha=(0.01, 0.1, 1.0))


def _perceptron(terms: Terms) -> Any:
    return terms.behind(Perceptron(predictor="average", random_state=terms.seed))


def _too_many_rows(most: int) -> Callable[[Look], str]:
    def reason(look: Look) -> str:
        return f"is slow beyond {most:,} rows; here are {look.n:,}" if look.n > most else ""

    return reason


def _too_square(look: Look) -> str:
    """For a factorisation of features by features, or of rows by rows."""
    if look.d == 0 and look.n > MOST_SQUARE:
        return f"is slow with many words and beyond {MOST_SQUARE:,} rows; here are {look.n:,}"
    if min(look.n, look.d) > MOST_SQUARE:
        return f"is slow beyond {MOST_SQUARE:,} features; here are {look.d:,}"
    return ""


def _not_a_table(look: Look) -> str:
    if look.kind != "vectors" and not look.aligned:
        things = "subtrees" if look.kind == "graphs" else "words"
        return f"needs a table with few columns; {things} make thousands"
    if look.d > MOST_SQUARE:
        return f"has d x d covariances, too large beyond {MOST_SQUARE:,} features"
    return ""


def _few_rows_a_class(look: Look) -> str:
    if look.smallest <= look.d:
        return (
            f"needs more rows of each class than features; here are {look.smallest} of the rarest "
            f"and {look.d} features"
        )
    return ""


def _no_counts(look: Look) -> str:
    return "" if look.counts else "needs counts: whole numbers of at least 0"


def _words(look: Look) -> str:
    things = {"text": "words", "graphs": "subtrees"}.get(look.kind)
    return f"is left out on {things}, where a linear one does as well" if things else ""


def _not_strings(look: Look) -> str:
    return "" if look.kind in ("text", "sequences") else "needs strings"


def _not_graphs(look: Look) -> str:
    return "" if look.kind == "graphs" else "needs graphs"


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("svm", "SVM, Gaussian", _svm, too_slow=_too_many_rows(MOST_FOR_KERNELS)),
    Candidate(
        "svm-poly",
        "SVM, polynomial",
        _polynomial_svm,
        too_slow=lambda look: _words(look) or _too_many_rows(MOST_FOR_KERNELS)(look),
    ),
    Candidate(
        "svm-string",
        "SVM, string kernel",
        _object_svm,
        cannot=_not_strings,
        kinds=("text", "sequences"),
        too_slow=lambda look: _words(look) or _too_many_rows(MOST_FOR_KERNELS)(look),
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
        cannot=lambda look: _not_a_table(look) or _few_rows_a_class(look),
    ),
    Candidate(
        "gaussian-nb",
        "naive Bayes, Gaussian",
        _gaussian_bayes,
        cannot=lambda look: _not_a_table(look) if look.kind != "vectors" else "",
    ),
    Candidate("multinomial-nb", "naive Bayes, multinomial", _multinomial_bayes, cannot=_no_counts),
    Candidate("bernoulli-nb", "naive Bayes, Bernoulli", _bernoulli_bayes, cannot=_no_counts),
    Candidate("perceptron", "perceptron, averaged", _perceptron),
)
