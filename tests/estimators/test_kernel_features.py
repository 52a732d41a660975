"""Features of objects: their inner products are the kernel."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from tests.kernels.gram.test_object_grams import GRAPHS, STRINGS

from separatrix import (
    SVC,
    KernelFeatures,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
)
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Gaussian,
    Normalized,
    Scaled,
    ShortestPath,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

KERNELS = [
    Spectrum(3),
    Spectrum(12),
    Normalized(Spectrum(2, shortest=1, weights=(3, 1))),
    3.0 * WeightedDegree(4),
    Scaled(Normalized(2.0 * WeightedDegree(4)), 0.5),
    Normalized(WeisfeilerLehman(2)),
    WeisfeilerLehman(0),
]


def _samples(kernel):
    return STRINGS if kernel.takes == "sequences" else GRAPHS


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_are_the_kernel_even_with_unknown_features(kernel):
    X = _samples(kernel)
    features = KernelFeatures(kernel)

    A = features.fit_transform(X[:40])
    B = features.transform(X[40:])

    np.testing.assert_allclose((A @ A.T).toarray(), kernel.block(X[:40], X[:40]), atol=1e-12)
    np.testing.assert_allclose((B @ A.T).toarray(), kernel.block(X[40:], X[:40]), atol=1e-12)
    assert abs(features.transform(X[:40]) - A).max() == 0
    assert features.n_features_out_ == A.shape[1]


def test_unknown_letters_are_left_out():
    features = KernelFeatures(Spectrum(2)).fit(["abab", "ba"])
    F = features.transform(["abé", "éé", "", "xyz"]).toarray()
    assert F.tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]


def test_unknown_tokens_are_left_out():
    features = KernelFeatures(BagOfWords()).fit([["a", 1], ["b"]])
    assert features.transform([["b", "b", 2], [1]]).toarray().tolist() == [[0, 0, 2], [0, 1, 0]]


def test_a_linear_machine_on_them_is_the_kernel_machine():
    rng = np.random.default_rng(0)
    X = [
        "".join(rng.choice(list("AC" if side else "CG"), 12)) for side in (0, 1) for _ in range(40)
    ]
    y = np.repeat([0, 1], 40)
    linear = make_pipeline(KernelFeatures(Spectrum(2)), SVC(kernel="linear", tol=1e-8))

    kernel = SVC(kernel=Spectrum(2), tol=1e-8).fit(X, y)

    np.testing.assert_allclose(
        linear.fit(X, y).decision_function(X), kernel.decision_function(X), atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), LinearSVC(), MultinomialNB(), KNeighborsClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_models_on_vectors_learn_from_sequences(model):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("AACG" if k else "CGGT"), 30)) for k in (0, 1) for _ in range(30)]
    y = np.repeat(["a", "b"], 30)
    pipeline = make_pipeline(KernelFeatures(Spectrum(2)), model)
    assert cross_val_score(pipeline, X, y, cv=5).mean() > 0.9


def test_the_kernel_inside_a_pipeline_is_searched():
    X, y = STRINGS, np.arange(60) % 2
    pipeline = make_pipeline(KernelFeatures(Spectrum(2)), MultinomialNB())
    search = GridSearchCV(pipeline, {"kernelfeatures__kernel__k": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_["kernelfeatures__kernel__k"] in (1, 2)
    assert clone(pipeline)[0].kernel == Spectrum(2)


@pytest.mark.parametrize(
    "kernel", [Subsequence(2), Gaussian(1.0), "rbf", Spectrum(1) + Spectrum(2)]
)
def test_a_kernel_that_counts_nothing_is_refused(kernel):
    with pytest.raises(ParameterError, match="a kernel that counts features"):
        KernelFeatures(kernel).fit(["ab"])


def test_no_samples_are_refused():
    with pytest.raises(DataError, match="0 sample"):
        KernelFeatures(Spectrum(2)).fit([])


def edge(labels=None, edge_label=None):
    return Graph(2, np.array([[0, 1]]), labels, None if edge_label is None else [edge_label])


@pytest.mark.parametrize("kernel", [VertexHistogram(), WeisfeilerLehman(0)], ids=repr)
def test_labels_below_0_are_named_as_they_are(kernel):
    names = KernelFeatures(kernel).fit([edge([-1, -5])]).get_feature_names_out()

    assert names.tolist() == ["-1", "-5"]


@pytest.mark.parametrize("kernel", [Spectrum(1), WeightedDegree(2), BagOfWords()], ids=repr)
@pytest.mark.parametrize(
    ("learned", "later"),
    [(["ab"], [b"ab"]), ([b"ab"], ["ab"]), ([["a", "b"]], [b"\x00"]), (["ab"], [b"\x00"])],
)
def test_samples_of_another_type_than_in_training_are_refused(kernel, learned, later):
    model = KernelFeatures(kernel).fit(learned)

    with pytest.raises(DataError, match="pass the same type as in training"):
        model.transform(later)


@pytest.mark.parametrize("kernel", [Spectrum(1), WeightedDegree(2)], ids=repr)
@pytest.mark.parametrize(("learned", "later"), [(["ab"], [["a"]]), ([["a", "b"]], ["\x00"])])
def test_tokens_and_strings_are_not_mixed(kernel, learned, later):
    model = KernelFeatures(kernel).fit(learned)

    with pytest.raises(DataError, match="pass the same type as in training"):
        model.transform(later)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [VertexHistogram(), EdgeHistogram(), WeisfeilerLehman(1), ShortestPath()], ids=repr
)
@pytest.mark.parametrize(
    ("learned", "later", "sentence"),
    [
        (edge([1, 2]), edge(), "numbers as node labels; got no labels"),
        (edge(), edge([1, 2]), "no labels as node labels; got numbers"),
        (edge(["C", "O"]), edge([1, 2]), "strings as node labels; got numbers"),
        (edge(edge_label=1), edge(edge_label="="), "numbers as edge labels; got strings"),
    ],
)
def test_graphs_with_other_label_types_than_in_training_are_refused(
    kernel, learned, later, sentence
):
    model = KernelFeatures(kernel).fit([learned])

    with pytest.raises(DataError, match=sentence):
        model.transform([later])


def test_a_graph_without_edges_has_no_edge_features():
    model = KernelFeatures(EdgeHistogram()).fit([edge(edge_label=1)])

    assert model.transform([Graph(1, np.zeros((0, 2), dtype=int))]).nnz == 0
