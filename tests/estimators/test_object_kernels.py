"""Estimators over lists of sequences and graphs: as over the ready kernel matrix."""

import threading

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from tests.kernels.gram.test_object_grams import GRAPHS

from separatrix import (
    SVC,
    SVCCV,
    KernelPerceptron,
    KernelPerceptronCV,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    NeighborIndex,
    Nystroem,
)
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.kernels import (
    Gaussian,
    Normalized,
    ShortestPath,
    Spectrum,
    Subsequence,
    WeightedDegree,
    WeisfeilerLehman,
    graphs_from_networkx,
)

RNG = np.random.default_rng(3)
Y = np.repeat(["left", "right", "up"], 25)
STRINGS = [
    "".join(RNG.choice(list(letters), RNG.integers(8, 14)))
    for letters in ("AACG", "CGGT", "TTTA")
    for _ in range(25)
]
ORDER = RNG.permutation(75)
STRINGS, Y = [STRINGS[row] for row in ORDER], Y[ORDER]
PATH = Graph(2, np.array([[0, 1]]))
TEXTS, TEXT_LABELS = ["GATTACA", "TACTAC", "GGGG", "CGGC", "GATT", "CCGG"], [1, 1, 0, 0, 1, 0]
KERNELS = [
    Normalized(Spectrum(2)),
    Spectrum(2, shortest=1),
    Normalized(Subsequence(2)),
    WeightedDegree(3) + Spectrum(1),
]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: SVC(kernel=kernel, tol=1e-8),
        lambda kernel: SVC(kernel=kernel, tol=1e-8, multi_class="ovr"),
        lambda kernel: KernelPerceptron(kernel, random_state=0, max_iter=30, min_gain=0.0),
        lambda kernel: KernelPerceptron(kernel, random_state=0, budget=20, max_iter=3),
    ],
    ids=["SVC", "SVC one-vs-rest", "perceptron", "projectron"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objects_and_their_precomputed_matrix_give_the_same_model(make, kernel):
    train, test = STRINGS[:50], STRINGS[50:]

    direct = make(kernel).fit(train, Y[:50])
    ready = make("precomputed").fit(kernel.block(train, train), Y[:50])

    np.testing.assert_allclose(
        direct.decision_function(test),
        ready.decision_function(kernel.block(test, train)),
        atol=1e-6,
    )
    assert direct.support_.tolist() == ready.support_.tolist()


def test_neighbours_are_those_by_distance_in_the_feature_space():
    kernel = Normalized(Spectrum(2))
    train, test = STRINGS[:50], STRINGS[50:]
    K = kernel.block(test, train)
    distances = np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0))

    model = KNeighborsClassifier(3, kernel=kernel, k_max=10).fit(train, Y[:50])
    found, rows = model.kneighbors(test)

    expected = np.argsort(
        np.where(distances < 1e-6, 0.0, distances.round(12)), axis=1, kind="stable"
    )
    assert rows.tolist() == expected[:, :3].tolist()
    np.testing.assert_allclose(found, np.take_along_axis(distances, rows, axis=1), atol=1e-7)
    assert model.best_k_ >= 1
    assert model.predict_by_k(None, 5).shape == (50, 5)


def test_an_index_of_objects_finds_the_same_object_at_distance_0():
    index = NeighborIndex(STRINGS, kernel=Normalized(Subsequence(3)))
    distances, rows = index.search(STRINGS[5:8], 1)
    assert rows[:, 0].tolist() == [5, 6, 7]
    assert distances.tolist() == [[0.0], [0.0], [0.0]]
    assert "75 sequences" in repr(index)


def test_a_search_over_levels_scores_as_a_grid_search_does():
    kernels = [Normalized(WeightedDegree(k)) for k in (1, 3, 2)]
    cv = StratifiedKFold(3)

    ours = SVCCV(Cs=[0.1, 1.0], kernels=kernels, cv=cv, estimator=SVC(tol=1e-6)).fit(STRINGS, Y)
    grid = GridSearchCV(SVC(tol=1e-6), {"C": [0.1, 1.0], "kernel": kernels}, cv=cv).fit(STRINGS, Y)

    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-12
    )
    assert (ours.predict(STRINGS) == grid.predict(STRINGS)).all()


def test_searches_over_kernels_take_objects():
    kernels = [Spectrum(k) for k in (1, 2)]
    perceptron = KernelPerceptron(max_iter=5, min_gain=0.001, random_state=0)
    found = KernelPerceptronCV(kernels, cv=3, estimator=perceptron).fit(STRINGS, Y)
    assert found.best_kernel_ in kernels
    neighbors = KNeighborsCV(5, estimator=KNeighborsClassifier(kernel=Spectrum(2)))
    assert neighbors.fit(STRINGS, Y).best_k_ <= 5
    assert found.predict(STRINGS).shape == neighbors.predict(STRINGS).shape


def test_nested_parameters_of_a_kernel_are_searched():
    grid = {"kernel__kernel__k": [1, 2, 3], "C": [0.1, 10]}
    search = GridSearchCV(SVC(kernel=Normalized(Spectrum(2))), grid, cv=3).fit(STRINGS, Y)
    assert search.best_score_ > 0.7


def test_cross_validation_and_pipelines_take_graphs():
    y = np.array([graph.n_nodes > 4 for graph in GRAPHS]).astype(int)
    model = SVC(kernel=WeisfeilerLehman(1), C=10)
    assert cross_val_score(model, GRAPHS, y, cv=3).mean() > 0.8
    landmarks = Nystroem(kernel=Normalized(ShortestPath()), n_components=20, random_state=0)
    assert (
        cross_val_score(make_pipeline(landmarks, LogisticRegression()), GRAPHS, y, cv=3).mean()
        > 0.6
    )


def test_tags_describe_the_input():
    strings, graphs, vectors = SVC(kernel=Spectrum(2)), SVC(kernel=WeisfeilerLehman()), SVC()
    for model, string, matrix in (
        (strings, True, False),
        (graphs, False, False),
        (vectors, False, True),
    ):
        tags = clone(model).__sklearn_tags__().input_tags
        assert (tags.string, tags.two_d_array, tags.sparse) == (string, matrix, matrix)
    assert not SVCCV(kernels=[Spectrum(2)]).__sklearn_tags__().input_tags.two_d_array
    assert not KernelPerceptronCV([Spectrum(2)]).__sklearn_tags__().input_tags.two_d_array


def test_networkx_graphs_are_accepted():
    rings = [nx.cycle_graph(n) for n in range(3, 13)]
    paths = [nx.path_graph(n) for n in range(3, 13)]
    for graph in rings + paths:
        nx.set_node_attributes(graph, "C", "label")
        nx.set_node_attributes(graph, "C", "atom")
    y = np.repeat([0, 1], 10)

    model = SVC(kernel=Normalized(WeisfeilerLehman(2)), C=100).fit(rings + paths, y)

    assert model.score(rings + paths, y) == 1.0
    ours = graphs_from_networkx(rings, node_label="atom")
    assert model.predict(ours).tolist() == [0] * 10


def test_letters_outside_the_alphabet_are_counted_and_kept():
    kernel = WeightedDegree(2, alphabet="ACGT")
    with pytest.warns(UserWarning, match=r"3 letters outside the alphabet 'ACGT' .* 'N' 2, 'R' 1"):
        model = SVC(kernel=kernel).fit(["ACGN", "ACGT", "RNGT", "TTTT"], [0, 0, 1, 1])
    same = WeightedDegree(2).block(["ACGN"], ["ACGN", "ACGT"])
    np.testing.assert_array_equal(kernel.block(["ACGN"], ["ACGN", "ACGT"]), same)
    assert model.predict(["ACGN"]).tolist() == [0]


def test_sequences_too_short_for_any_word_are_refused_in_training():
    with pytest.raises(DataError, match="no sequence has 5 letters"):
        SVC(kernel=Spectrum(5)).fit(["abcd", "abc"], [0, 1])


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([1, 2], "item 0 is int 1"),
        (["ab", None], "item 1 is NoneType"),
        (["ab", b"ab"], "sequences of one type; got bytes and str"),
        (np.eye(2), r"got ndarray of shape \(2, 2\)"),
        ("ab", "a single str: put it into a list"),
        ([["a"], [1.5]], "item 1 has 1.5"),
    ],
)
def test_input_other_than_a_list_of_sequences_is_refused(X, sentence):
    with pytest.raises(DataError, match=sentence):
        SVC(kernel=Spectrum(1)).fit(X, [0, 1])


def test_a_model_of_strings_refuses_bytes():
    model = SVC(kernel=Spectrum(1)).fit(["ab", "cd"], [0, 1])
    with pytest.raises(DataError, match="one type; got bytes and str"):
        model.predict([b"ab"])


def test_a_wrong_number_of_labels_is_refused():
    with pytest.raises(DataError, match="X has 2 samples, but y has 3 labels"):
        SVC(kernel=Spectrum(1)).fit(["ab", "cd"], [0, 1, 1])


def test_neighbors_of_objects_have_several_outputs():
    both = np.column_stack([TEXT_LABELS, np.arange(6) // 3])
    model = KNeighborsClassifier(1, kernel=Spectrum(2)).fit(TEXTS, both)

    np.testing.assert_array_equal(model.predict(TEXTS), both)


@pytest.mark.parametrize(
    "model", [SVC(kernel=Spectrum(2)), KNeighborsClassifier(kernel=Spectrum(2))]
)
def test_invalid_labels_are_refused_with_objects(model):
    with pytest.raises(ValueError, match="1d array"):
        model.fit(TEXTS, "ab")
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(TEXTS, [np.nan, 1, 0, 0, 1, 0])


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), KNeighborsClassifier(), SVCCV()])
def test_lists_of_objects_are_refused_by_a_model_on_vectors_with_a_hint(model):
    with pytest.raises(DataError, match=r"X is a list of str: .*KernelFeatures\(Spectrum\(3\)\)"):
        model.fit(TEXTS, TEXT_LABELS)
    with pytest.raises(DataError, match=r"X is a list of Graph: .*kernel=WeisfeilerLehman\(3\)"):
        model.fit([PATH] * 6, TEXT_LABELS)


@pytest.mark.parametrize(
    "search",
    [
        SVCCV(kernels=[Spectrum(2), "rbf"]),
        SVCCV(kernels=[Spectrum(2), WeisfeilerLehman(1)]),
        KernelPerceptronCV([Spectrum(2), Gaussian(1.0)]),
    ],
)
def test_kernels_of_one_search_must_take_the_same_samples(search):
    with pytest.raises(ParameterError, match="must be all kernels on sequences"):
        search.set_params(cv=2).fit(TEXTS, TEXT_LABELS)


def test_distances_of_objects_are_computed_in_the_calling_thread(monkeypatch):
    threads, block = set(), Spectrum.block

    def watched(self, X, Z):
        threads.add(threading.current_thread())
        return block(self, X, Z)

    monkeypatch.setattr(Spectrum, "block", watched)
    model = KNeighborsClassifier(kernel=Spectrum(2), n_jobs=2).fit(TEXTS * 40, TEXT_LABELS * 40)

    model.predict(TEXTS * 40)

    assert threads == {threading.current_thread()}  # where Ctrl-C arrives
