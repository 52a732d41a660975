"""One small fitted model for every kind of file and every form of it: what the tests of files go over."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn import preprocessing as skp
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from separatrix import (
    SVC,
    SVCCV,
    BayesDecision,
    BernoulliNB,
    CalibratedClassifier,
    CategoricalNB,
    ComplementNB,
    FisherDiscriminant,
    GaussianNB,
    KernelFeatures,
    KernelFisherDiscriminant,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPerceptron,
    KernelPerceptronCV,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    MultinomialNB,
    NearestCentroid,
    NuSVC,
    Nystroem,
    OneClassSVM,
    PassiveAggressiveClassifier,
    Perceptron,
    PolynomialMap,
    QuadraticDiscriminantAnalysis,
    RadiusNeighborsClassifier,
    RandomFourier,
    SubgradientSVC,
    TableEncoder,
)
from separatrix.data.graph import Graph
from separatrix.estimators.positions import PositionIndicator
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Gaussian,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    ShortestPath,
    Sigmoid,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

KNN = KNeighborsClassifier
IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = np.r_[0:50:5, 50:100:5, 100:150:5]  # ten of each class
X, Y = IRIS[ROWS], SPECIES[ROWS]
WORDS = np.array(["setosa", "versicolor", "virginica"])[Y]
TWO = Y < 2
TENTHS = np.round(10 * X)
SIX = ("aé", "long", "small", "WIDE", "thin", "petal")
TEXTS = [" ".join(SIX[number % 6] for number in row) for row in TENTHS.astype(int)]
SEQUENCES = ["".join("acgt"[number % 4] for number in row) for row in TENTHS.astype(int)]
STRANGE = ["\ud800é日" * (row % 3) + text for row, text in enumerate(SEQUENCES)]
BYTES = [text.encode() + b"\0" for text in SEQUENCES]
TOKENS = [[*text.split(), row % 5] for row, text in enumerate(TEXTS)]


def graph_of(row: Any, labels: Any = None, more: Any = None) -> Graph:
    """A graph of four to six nodes that says something about a flower."""
    nodes = 4 + int(row[0]) % 3
    edges = [[0, 1], [1, 2], [2, 3], *([0, node] for node in range(4, nodes))]
    edges += [[0, 3]] if row[2] > 30 else []
    return Graph(
        nodes,
        np.array(edges),
        None if labels is None else labels[(np.arange(nodes) + int(row[2])) % len(labels)],
        None if more is None else more[(np.arange(len(edges)) + int(row[3])) % len(more)],
    )


ATOMS, BONDS = np.array(["C", "Cl", "é"]), np.array([1, -2, 7])
MOLECULES = [graph_of(row, ATOMS, BONDS) for row in TENTHS]
NUMBERED = [graph_of(row, BONDS, ATOMS) for row in TENTHS]
BARE = [graph_of(row) for row in TENTHS]
HOLES = np.where(np.arange(120).reshape(30, 4) % 7 == 0, np.nan, X)
TWICE = np.tile(Y, 2)
MIXED = pa.table(
    {
        "width": [None if i % 9 == 0 else float(v) for i, v in enumerate(np.tile(X[:, 1], 2))],
        "price": [f"{i},{i % 7}" for i in range(60)],
        "wild": [("yes", "no", None)[i % 3] for i in range(60)],
        "picked": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2020" for i in range(60)],
        "garden": [("Kew", "Brera", "é", None)[(i + y) % 4] for i, y in enumerate(TWICE.tolist())],
        "grower": [f"g{i % 45}" for i in range(60)],
        "note": [f"{text} number {i} of many" for i, text in enumerate(2 * TEXTS)],
        "plant_id": [f"P-{i}" for i in range(60)],
        "planet": ["earth"] * 60,
    }
)
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform")


class Case(NamedTuple):
    """A model to fit, and what to fit it to."""

    name: str
    model: Any
    X: Any = X
    y: Any = Y

    def fitted(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.model.fit(self.X, self.y)


def on_rows(name: str, model: Any) -> list[Case]:
    """On three classes, on two, on words as labels, and on sparse samples."""
    return [
        Case(name, model),
        Case(f"{name}-two", model, X[TWO], Y[TWO]),
        Case(f"{name}-words", model, X, WORDS),
        Case(f"{name}-sparse", model, csr_array(TENTHS), Y),
    ]


DISTANCES = np.abs(X[:, None] - X[None]).sum(axis=-1)
EVERY_KERNEL = {
    "linear": Linear(),
    "polynomial": Polynomial(2, 0.1, 1.0),
    "gaussian": Gaussian(0.1),
    "laplacian": Laplacian(0.1),
    "sigmoid": Sigmoid(0.001, -0.1),
    "sum": Gaussian(0.1) + Linear(),
    "product": Gaussian(0.1) * Polynomial(2),
    "scaled": 0.5 * Laplacian(0.2),
    "normalized": Normalized(Polynomial(3, 0.1, 1.0)),
    "nested": 2.0 * (Normalized(Linear()) + Gaussian(0.3)) * Laplacian(0.1),
}

OBJECT_KERNELS = {
    "spectrum": (Spectrum(2), SEQUENCES),
    "spectrum-weights": (Spectrum(3, shortest=1, weights=(1.0, 2.5, 4.0)), STRANGE),
    "degree": (WeightedDegree(3, alphabet="acgté\x00日"), BYTES),
    "subsequence": (Subsequence(2, decay=0.75), TOKENS),
    "words": (BagOfWords(lowercase=False), TEXTS),
    "vertices": (VertexHistogram(), MOLECULES),
    "edges": (EdgeHistogram(), NUMBERED),
    "subtrees": (WeisfeilerLehman(2, edge_labels=True), MOLECULES),
    "paths": (ShortestPath(), BARE),
    "normalized-sequences": (2.0 * Normalized(Spectrum(2)) * Spectrum(1) + BagOfWords(), STRANGE),
    "normalized-graphs": (0.5 * Normalized(WeisfeilerLehman(1)) + ShortestPath(), NUMBERED),
}

CASES = [
    *on_rows("knn", KNN(3)),
    *on_rows("perceptron", Perceptron(max_iter=20, tol=None)),
    *on_rows("kernel-perceptron", KernelPerceptron(max_iter=5)),
    *on_rows("svc", SVC()),
    *on_rows("linear-svc", LinearSVC()),
    *on_rows("subgradient", SubgradientSVC(alpha=0.01, max_iter=20)),
    *on_rows("least-squares", LeastSquaresClassifier(1.0)),
    *on_rows("fisher", FisherDiscriminant()),
    *on_rows("lda", LinearDiscriminantAnalysis()),
    *on_rows("qda", QuadraticDiscriminantAnalysis(reg_param=0.1)),
    *on_rows("multinomial", MultinomialNB()),
    *on_rows("bernoulli", BernoulliNB(binarize=3.0)),
    *on_rows("gaussian-nb", GaussianNB()),
    *on_rows("complement", ComplementNB()),
    *on_rows("centroid", NearestCentroid(shrink_threshold=0.5)),
    *on_rows("radius", RadiusNeighborsClassifier(2.0, outlier_label="most_frequent")),
    *on_rows("logistic", LogisticRegression()),
    *on_rows("decision", BayesDecision()),
    *on_rows("polynomial-map", PolynomialMap(2)),
    *on_rows("nystroem", Nystroem(n_components=5, random_state=0)),
    *on_rows("fourier", RandomFourier(0.1, n_components=5, random_state=0)),
    Case("svc-cv", SVCCV([0.1, 1.0], cv=StratifiedKFold(2, shuffle=True, random_state=1))),
    Case("svc-cv-kernels", SVCCV([1.0], kernels=[Gaussian(0.1), Linear()], cv=2)),
    Case("perceptron-cv", KernelPerceptronCV([Gaussian(0.1), Polynomial(2)], cv=2)),
    *(Case(f"svc-{name}", SVC(kernel=kernel)) for name, kernel in EVERY_KERNEL.items()),
    *(
        Case(f"kernel-perceptron-{name}", KernelPerceptron(kernel, max_iter=3))
        for name, kernel in EVERY_KERNEL.items()
    ),
    *(
        Case(f"nystroem-{name}", Nystroem(kernel, n_components=5, random_state=0))
        for name, kernel in EVERY_KERNEL.items()
        if name != "sigmoid"  # not positive, and says so
    ),
    *(
        Case(f"knn-{name}", KNN(3, kernel=kernel))
        for name, kernel in EVERY_KERNEL.items()
        if name != "sigmoid"
    ),
    *on_rows("nu-svc", NuSVC(nu=0.3)),
    Case(
        "nu-svc-calibrated", NuSVC(nu=0.3, multi_class="ovr", calibration="sigmoid", random_state=0)
    ),
    Case("one-class", OneClassSVM(nu=0.3)),
    Case("one-class-sparse", OneClassSVM(nu=0.3), csr_array(TENTHS), Y),
    Case("one-class-precomputed", OneClassSVM(kernel="precomputed"), X @ X.T),
    Case("one-class-on-sequences", OneClassSVM(kernel=Normalized(Spectrum(2))), SEQUENCES),
    *on_rows("kernel-logistic", KernelLogisticRegression()),
    *on_rows("kernel-fisher", KernelFisherDiscriminant()),
    *(
        Case(f"{name}-{kind}", model, samples)
        for name, make in (
            ("kernel-logistic", KernelLogisticRegression),
            ("kernel-fisher", KernelFisherDiscriminant),
        )
        for kind, model, samples in (
            ("precomputed", make(kernel="precomputed"), X @ X.T),
            ("linear", make(kernel="linear"), X),
            ("on-sequences", make(kernel=Normalized(Spectrum(2))), SEQUENCES),
            ("on-graphs", make(kernel=OBJECT_KERNELS["normalized-graphs"][0]), NUMBERED),
        )
    ),
    Case("kernel-fisher-one", KernelFisherDiscriminant(1, priors="uniform")),
    Case("kernel-logistic-cv", KernelLogisticRegressionCV([0.1, 1.0], [0.1, 1.0], cv=2)),
    Case("svc-precomputed", SVC(kernel="precomputed"), X @ X.T),
    Case("svc-ovr", SVC(multi_class="ovr")),
    Case("svc-sigmoid-calibrated", SVC(calibration="sigmoid", random_state=0)),
    Case("svc-temperature", SVC(calibration="temperature", multi_class="ovr", random_state=0)),
    Case("svc-hard", SVC(C=np.inf, kernel="linear"), X[TWO], Y[TWO]),
    Case("svc-weights", SVC(class_weight={0: 2.0, 2: 0.5})),
    Case("svc-sparse-matrix", SVC(), csr_matrix(TENTHS), Y),
    Case("svc-float32", SVC(), X.astype(np.float32), Y),
    Case("svc-integers", SVC(), TENTHS.astype(np.int16), Y),
    *(
        Case(f"kernel-perceptron-{how}", KernelPerceptron(predictor=how, max_iter=4))
        for how in ("vote", "random", "average")
    ),
    Case("kernel-perceptron-ovo", KernelPerceptron(multi_class="ovo", ties="margin", max_iter=4)),
    Case("kernel-perceptron-budget", KernelPerceptron(budget=8, max_iter=4, predictor="average")),
    Case("kernel-perceptron-precomputed", KernelPerceptron("precomputed", max_iter=4), X @ X.T),
    *(
        Case(f"perceptron-{how}", Perceptron(predictor=how, max_iter=4, tol=None))
        for how in ("vote", "random", "average")
    ),
    Case(
        "perceptron-vote-sparse",
        Perceptron(predictor="vote", max_iter=4, tol=None),
        csr_array(TENTHS),
    ),
    Case("perceptron-radius", Perceptron(bias="radius", max_iter=4, tol=None)),
    Case("perceptron-ovr", Perceptron(multi_class="ovr", max_iter=4, tol=None)),
    Case("perceptron-zero", Perceptron(zero="negative", tol=None), X[TWO], Y[TWO]),
    *on_rows(
        "passive-aggressive", PassiveAggressiveClassifier(max_iter=4, tol=None, random_state=0)
    ),
    Case(
        "passive-aggressive-average",
        PassiveAggressiveClassifier(
            loss="squared_hinge", average=True, max_iter=4, tol=None, random_state=0
        ),
    ),
    Case("kernel-perceptron-bias", KernelPerceptron("linear", bias="rosenblatt", max_iter=4)),
    Case("perceptron-argmax", Perceptron(multi_class="argmax", tol=None), X[TWO], Y[TWO]),
    Case("kernel-perceptron-argmax", KernelPerceptron(multi_class="argmax"), X[TWO], Y[TWO]),
    Case("knn-distance", KNN(5, weights="distance", k_max=4)),
    Case("knn-cosine", KNN(3, metric="cosine")),
    Case("knn-cosine-zero", KNN(3, metric="cosine"), np.vstack([X[:-1], 0 * X[:1]])),
    Case("knn-manhattan", KNN(3, p=1)),
    Case("knn-minkowski", KNN(3, p=1.5, metric_params={"w": np.arange(1.0, 5)})),
    Case("knn-seuclidean", KNN(3, metric="seuclidean", metric_params={"V": X.var(axis=0)})),
    Case(
        "knn-mahalanobis",
        KNN(3, metric="mahalanobis", metric_params={"VI": np.linalg.inv(np.cov(X.T))}),
    ),
    Case("knn-canberra", KNN(3, metric="canberra")),
    Case("knn-jaccard", KNN(3, metric="jaccard"), TENTHS > 30),
    Case("knn-precomputed", KNN(3, metric="precomputed"), DISTANCES),
    Case("knn-bytes", KNN(3), TENTHS.astype(np.uint8)),
    Case(
        "knn-nan",
        KNN(3, metric="nan_euclidean"),
        np.where(np.arange(120).reshape(30, 4) % 17 == 0, np.nan, X),
    ),
    Case("knn-outputs", KNN(3), X, np.column_stack([Y, Y % 2])),
    Case("linear-svc-crammer", LinearSVC(multi_class="crammer_singer", max_iter=5000)),
    Case("linear-svc-l1", LinearSVC(penalty="l1")),
    Case("least-squares-features", LeastSquaresClassifier(1.0, features=PolynomialMap(2))),
    Case("least-squares-loo", LeastSquaresClassifier("loo")),
    Case("least-squares-norm", LeastSquaresClassifier(max_norm=0.1)),
    Case("fisher-threshold", FisherDiscriminant(threshold="midpoint"), X[TWO], Y[TWO]),
    Case("lda-lsqr", LinearDiscriminantAnalysis("lsqr", shrinkage="auto")),
    Case("lda-eigen", LinearDiscriminantAnalysis("eigen", n_components=1)),
    Case("lda-wide", LinearDiscriminantAnalysis(), np.tile(X, 20) ** np.arange(1, 81)[None] / 1e3),
    Case("qda-covariance", QuadraticDiscriminantAnalysis(store_covariance=True, reg_param=0.2)),
    Case("multinomial-zero", MultinomialNB(alpha=0.0), np.where(TENTHS > 20, TENTHS, 0)),
    Case("complement-norm", ComplementNB(norm=True, alpha=0.5), TENTHS),
    Case("categorical", CategoricalNB(min_categories=90), TENTHS),
    Case("categorical-words", CategoricalNB(), TENTHS // 10, WORDS),
    Case("categorical-zero", CategoricalNB(alpha=0.0), TENTHS // 10),
    Case("centroid-median", NearestCentroid("manhattan", priors="empirical")),
    Case(
        "radius-outputs",
        RadiusNeighborsClassifier(1.0, outlier_label=[0, 1]),
        X,
        np.column_stack([Y, Y % 2]),
    ),
    Case("radius-kernel", RadiusNeighborsClassifier(0.5, kernel=Gaussian(0.1), outlier_label=-1)),
    Case("bernoulli-none", BernoulliNB(binarize=None), (TENTHS > 30).astype(float)),
    Case("logistic-laplace", LogisticRegression(posterior="laplace", predictive="quadrature")),
    Case("logistic-laplace-two", LogisticRegression(posterior="laplace"), X[TWO], Y[TWO]),
    Case("logistic-evidence", LogisticRegression(C="evidence")),
    Case("logistic-l1", LogisticRegression(l1_ratio=1.0)),
    Case("logistic-cv", LogisticRegressionCV(Cs=2, l1_ratios=(0.0, 1.0), cv=2)),
    Case(
        "logistic-labels", LogisticRegression(), X, np.array([-1.0, 0.0, 2.0])[Y]
    ),  # numbers as labels
    Case("logistic-flags", LogisticRegression(), X[TWO], Y[TWO] == 1),
    *on_rows("calibrated", CalibratedClassifier(LinearSVC(), cv=2)),
    Case("calibrated-isotonic", CalibratedClassifier(GaussianNB(), method="isotonic", cv=2)),
    Case("decision-reject", BayesDecision(GaussianNB(), reject_cost=0.2)),
    Case("decision-reject-word", BayesDecision(GaussianNB(), reject_cost=0.2, reject_label="?")),
    Case("decision-tune", BayesDecision(GaussianNB(), threshold="tune", cv=2), X[TWO], Y[TWO]),
    Case(
        "decision-pipeline",
        BayesDecision(
            make_pipeline(skp.StandardScaler(), SVC(calibration="sigmoid", random_state=0)),
            1.0 - np.eye(3),
            reject_cost=0.3,
        ),
    ),
    Case("decision-frozen", BayesDecision(FrozenEstimator(GaussianNB().fit(X, Y)))),
    Case(
        "decision-around-search",
        BayesDecision(SVCCV([1.0], estimator=SVC(calibration="sigmoid", random_state=0), cv=2)),
    ),
    Case("map-kernel", PolynomialMap(2, kernel=True, coef0=1.0)),
    Case("standard", skp.StandardScaler()),
    Case("rescaled", skp.MinMaxScaler()),
    Case("largest", skp.MaxAbsScaler()),
    Case("normalizer", skp.Normalizer()),
    Case("one-hot", skp.OneHotEncoder(), TENTHS),
    Case("ordinal", skp.OrdinalEncoder(), TENTHS),
    Case("frozen", FrozenEstimator(GaussianNB().fit(X, Y))),
    Case("pipeline-standard", make_pipeline(skp.StandardScaler(), SVC())),
    Case("pipeline-rescaled", make_pipeline(skp.MinMaxScaler((0, 2)), MultinomialNB())),
    Case("pipeline-largest", make_pipeline(skp.MaxAbsScaler(), skp.Normalizer("l1"), LinearSVC())),
    Case(
        "pipeline-one-hot", make_pipeline(skp.OneHotEncoder(handle_unknown="ignore"), LinearSVC())
    ),
    Case(
        "pipeline-one-hot-words",
        make_pipeline(skp.OneHotEncoder(drop="first"), BernoulliNB()),
        np.column_stack([np.where(X > 3, "long", "short"), WORDS]).astype(object),
    ),
    Case("pipeline-ordinal", make_pipeline(skp.OrdinalEncoder(), SVC())),
    Case(
        "pipeline-long",
        make_pipeline(
            skp.StandardScaler(with_mean=False),
            "passthrough",
            PolynomialMap(2),
            Nystroem(n_components=6, random_state=0),
            LinearDiscriminantAnalysis(),
            KNN(3),
        ),
    ),
    Case("count", CountVectorizer(), TEXTS),
    Case("count-english", CountVectorizer(stop_words="english", binary=True, min_df=2), TEXTS),
    Case("count-pairs", CountVectorizer(ngram_range=(1, 2), max_features=7), TEXTS),
    Case("count-given", CountVectorizer(vocabulary=["petal", "long", "root"]), TEXTS),
    Case("count-edges", CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)), TEXTS),
    Case("tfidf", TfidfVectorizer(sublinear_tf=True), TEXTS),
    Case("tfidf-without", TfidfVectorizer(use_idf=False, norm="l1"), TEXTS),
    Case("tfidf-float32", TfidfVectorizer(strip_accents="unicode", dtype=np.float32), TEXTS),
    Case("weights", TfidfTransformer(), TENTHS),
    Case("positions", PositionIndicator(), SEQUENCES),
    *(
        Case(f"fill-{how}", SimpleImputer(strategy=how), HOLES)
        for how in ("mean", "median", "most_frequent", "constant")
    ),
    Case(
        "fill-sparse",
        SimpleImputer(missing_values=-1, strategy="constant", fill_value=2),
        csr_array(np.where(np.isnan(HOLES), -1, TENTHS)),
    ),
    Case(
        "fill-bytes",
        SimpleImputer(missing_values=7, strategy="constant", fill_value=3),
        TENTHS.astype(np.int8),
    ),
    Case(
        "fill-empty-column",
        SimpleImputer(strategy="median", keep_empty_features=True),
        np.column_stack([HOLES, np.full(30, np.nan)]).astype(np.float32),
    ),
    Case(
        "pipeline-texts",
        make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC(random_state=0)),
        TEXTS,
        WORDS,
    ),
    Case("pipeline-counts", make_pipeline(CountVectorizer(), MultinomialNB()), TEXTS),
    Case("pipeline-two-steps", make_pipeline(CountVectorizer(), TfidfTransformer(), SVC()), TEXTS),
    Case(
        "pipeline-triples",
        make_pipeline(
            CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False),
            skp.MaxAbsScaler(),
            KNN(3),
        ),
        SEQUENCES,
        WORDS,
    ),
    Case(
        "pipeline-positions",
        make_pipeline(PositionIndicator(), skp.MaxAbsScaler(), SVC()),
        SEQUENCES,
    ),
    Case(
        "pipeline-fill",
        make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True), skp.StandardScaler(), SVC()
        ),
        HOLES,
    ),
    Case("table", TableEncoder(), MIXED, TWICE),
    Case("table-two", TableEncoder(drop=("note",)), MIXED, TWICE == 0),
    Case("table-without-labels", TableEncoder(drop=("note",), category=("wild",)), MIXED, None),
    Case("pipeline-table", make_pipeline(TableEncoder(), LogisticRegression()), MIXED, TWICE),
    Case("decision-texts", BayesDecision(make_pipeline(CountVectorizer(), MultinomialNB())), TEXTS),
    *(
        Case(f"svc-on-{name}", SVC(kernel=kernel), samples, WORDS)
        for name, (kernel, samples) in OBJECT_KERNELS.items()
    ),
    *(
        Case(f"{kind}-on-{name}", model, OBJECT_KERNELS[name][1])
        for name in ("spectrum-weights", "subsequence", "subtrees", "normalized-graphs")
        for kind, model in (
            ("kernel-perceptron", KernelPerceptron(OBJECT_KERNELS[name][0], max_iter=4)),
            ("knn", KNN(3, kernel=OBJECT_KERNELS[name][0])),
            ("nystroem", Nystroem(OBJECT_KERNELS[name][0], n_components=5, random_state=0)),
        )
    ),
    Case(
        "svc-calibrated-on-bytes",
        SVC(kernel=Normalized(Spectrum(2)), calibration="sigmoid", random_state=0),
        BYTES,
    ),
    Case("svc-cv-on-sequences", SVCCV([1.0], kernels=[Spectrum(2), Spectrum(3)], cv=2), SEQUENCES),
    Case("svc-cv-on-graphs", SVCCV([1.0], estimator=SVC(kernel=ShortestPath()), cv=2), MOLECULES),
    Case(
        "perceptron-cv-on-graphs",
        KernelPerceptronCV([WeisfeilerLehman(1), WeisfeilerLehman(2)], cv=2),
        MOLECULES,
    ),
    *(
        Case(f"features-{name}", KernelFeatures(OBJECT_KERNELS[name][0]), OBJECT_KERNELS[name][1])
        for name in ("spectrum-weights", "degree", "words", "vertices", "subtrees", "paths")
    ),
    Case("features-tokens", KernelFeatures(Normalized(BagOfWords())), TOKENS),
    Case(
        "pipeline-subtrees",
        make_pipeline(KernelFeatures(Normalized(WeisfeilerLehman(2))), LinearSVC(random_state=0)),
        MOLECULES,
        WORDS,
    ),
    Case(
        "decision-sequences",
        BayesDecision(
            SVC(kernel=WeightedDegree(2), calibration="sigmoid", random_state=0), reject_cost=0.2
        ),
        SEQUENCES,
    ),
]
NAMES = [case.name for case in CASES]
BY_NAME = {case.name: case for case in CASES}


def answers(model: Any, samples: Any) -> dict[str, Any]:
    """What a model says about samples, by method."""
    found = {}
    for method in METHODS:
        if not hasattr(model, method) or (
            method == "transform" and getattr(model, "solver", "") == "lsqr"
        ):
            continue
        said = getattr(model, method)(samples)
        parts = said if isinstance(said, list) else [said]
        for number, part in enumerate(parts):
            found[f"{method}{number or ''}"] = part.toarray() if issparse(part) else part
    return found
