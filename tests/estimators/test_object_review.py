"""What a reader with fresh eyes broke in models on sequences and graphs: each of these failed once."""

import threading

import numpy as np
import pytest

from separatrix import (
    SVC,
    SVCCV,
    KernelFeatures,
    KernelPerceptronCV,
    KNeighborsClassifier,
    LinearSVC,
    evaluate,
)
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Gaussian,
    ShortestPath,
    Spectrum,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

TEXTS = ["GATTACA", "TACTAC", "GGGG", "CGGC", "GATT", "CCGG"]
Y = [1, 1, 0, 0, 1, 0]


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
def test_features_of_one_type_are_not_looked_for_in_another(kernel, learned, later):
    model = KernelFeatures(kernel).fit(learned)

    with pytest.raises(DataError, match="pass the same type as in training"):
        model.transform(later)


@pytest.mark.parametrize("kernel", [Spectrum(1), WeightedDegree(2)], ids=repr)
@pytest.mark.parametrize(("learned", "later"), [(["ab"], [["a"]]), ([["a", "b"]], ["\x00"])])
def test_letters_are_not_taken_for_tokens(kernel, learned, later):
    model = KernelFeatures(kernel).fit(learned)

    with pytest.raises(DataError, match="pass the same type as in training"):
        model.transform(later)


@pytest.mark.parametrize(
    "kernel", [VertexHistogram(), EdgeHistogram(), WeisfeilerLehman(1), ShortestPath()], ids=repr
)
@pytest.mark.parametrize(
    ("learned", "later", "said"),
    [
        (edge([1, 2]), edge(), "numbers as node labels; got no labels"),
        (edge(), edge([1, 2]), "no labels as node labels; got numbers"),
        (edge(["C", "O"]), edge([1, 2]), "strings as node labels; got numbers"),
        (edge(edge_label=1), edge(edge_label="="), "numbers as edge labels; got strings"),
    ],
)
def test_features_of_labelled_graphs_are_not_looked_for_in_others(kernel, learned, later, said):
    model = KernelFeatures(kernel).fit([learned])

    with pytest.raises(DataError, match=said):
        model.transform([later])


def test_a_graph_without_edges_has_features_beside_labelled_edges():
    model = KernelFeatures(EdgeHistogram()).fit([edge(edge_label=1)])

    assert model.transform([Graph(1, np.zeros((0, 2), dtype=int))]).nnz == 0


def test_neighbours_of_objects_have_several_outputs():
    both = np.column_stack([Y, np.arange(6) // 3])
    model = KNeighborsClassifier(1, kernel=Spectrum(2)).fit(TEXTS, both)

    np.testing.assert_array_equal(model.predict(TEXTS), both)


@pytest.mark.parametrize(
    "model", [SVC(kernel=Spectrum(2)), KNeighborsClassifier(kernel=Spectrum(2))]
)
def test_labels_that_are_no_labels_are_refused_beside_objects(model):
    with pytest.raises(ValueError, match="1d array"):
        model.fit(TEXTS, "ab")
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(TEXTS, [np.nan, 1, 0, 0, 1, 0])


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), KNeighborsClassifier(), SVCCV()])
def test_lists_of_objects_for_a_model_on_vectors_are_told_what_takes_them(model):
    with pytest.raises(DataError, match=r"X is a list of str: .*KernelFeatures\(Spectrum\(3\)\)"):
        model.fit(TEXTS, Y)
    with pytest.raises(DataError, match=r"X is a list of Graph: .*kernel=WeisfeilerLehman\(3\)"):
        model.fit([edge()] * 6, Y)


@pytest.mark.parametrize(
    "search", [SVCCV(kernels=[Spectrum(2), "rbf"]), KernelPerceptronCV([Spectrum(2), "rbf"])]
)
def test_a_kernel_on_vectors_by_name_is_no_candidate_beside_one_on_sequences(search):
    with pytest.raises(ParameterError, match="must be all kernels on sequences"):
        search.set_params(cv=2).fit(TEXTS, Y)


@pytest.mark.parametrize(
    ("kernel", "X", "said"),
    [
        ("rbf", TEXTS, "'rbf' takes vectors; got a list of str"),
        (Gaussian(), [edge()] * 6, "takes vectors; got a list of Graph"),
        (Spectrum(2), np.eye(6), "Spectrum takes a list of strings"),
        (WeisfeilerLehman(1), TEXTS, "WeisfeilerLehman takes a list of Graph"),
        (Spectrum(2), [*TEXTS[:5], b"CCGG"], "got bytes and str in one list"),
    ],
)
def test_an_evaluation_refuses_samples_that_the_kernel_does_not_take(kernel, X, said):
    with pytest.raises(DataError, match=said):
        evaluate(SVC(kernel=kernel), X, Y)


@pytest.mark.parametrize(
    "model", [SVC(kernel=Spectrum(2)), KNeighborsClassifier(1, kernel=Spectrum(2))]
)
@pytest.mark.parametrize("turned", [str.encode, list, tuple])
def test_an_evaluation_takes_bytes_and_tokens(model, turned):
    X, y = TEXTS * 4, Y * 4
    wanted = evaluate(model, X, y, repeats=2).test_error

    found = evaluate(model, [turned(text) for text in X], y, repeats=2).test_error

    np.testing.assert_array_equal(found, wanted)


def test_distances_of_objects_are_computed_in_the_calling_thread(monkeypatch):
    threads, block = set(), Spectrum.block

    def watched(self, X, Z):
        threads.add(threading.current_thread())
        return block(self, X, Z)

    monkeypatch.setattr(Spectrum, "block", watched)
    model = KNeighborsClassifier(kernel=Spectrum(2), n_jobs=2).fit(TEXTS * 40, Y * 40)

    model.predict(TEXTS * 40)

    assert threads == {threading.current_thread()}  # where Ctrl-C arrives
