import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from separatrix import (
    SVC,
    SVCCV,
    KernelFeatures,
    KernelPerceptron,
    KNeighborsClassifier,
    LinearSVC,
    MultinomialNB,
)
from separatrix.app.explain import ModelExplanation, explain
from separatrix.app.predict_from_file import require_samples
from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.kernels import (
    BagOfWords,
    Normalized,
    Spectrum,
    Subsequence,
    WeightedDegree,
    WeisfeilerLehman,
)

TABLE = Dataset("table", np.eye(6), np.array([0, 1] * 3))
SITES = ["AAGTAA", "CCGTCC", "TCGTAA", "AACCAA", "CCTTCC", "TCAAGA"] * 2
LABELS = np.array(["site", "site", "site", "none", "none", "none"] * 2)


def ring(n):
    return Graph(n, np.array([[a, (a + 1) % n] for a in range(n)]), np.array(["C"] * n))


def chain(n):
    return Graph(n, np.array([[a, a + 1] for a in range(n - 1)]), np.array(["C"] * n))


def sequences(X=None, **more):
    return Dataset("sites", list(X or SITES), LABELS, **{"kind": "sequences", **more})


def molecules():
    X = [ring(n) for n in (4, 5, 6)] + [chain(n) for n in (4, 5, 6)]
    return Dataset("molecules", X, np.array([1, 1, 1, 0, 0, 0]), kind="graphs")


def fitted(model, data):
    return model.fit(data.X, data.y)


@pytest.mark.slow
@pytest.mark.parametrize("around", [lambda m: m, lambda m: Pipeline([("model", m)])])
def test_a_sequence_is_explained_by_its_words_and_letters(around):
    data = sequences()
    model = around(fitted(SVC(kernel=Normalized(WeightedDegree(2))), data))

    found = explain(model, data, row=1, count=3)

    assert found.caption.startswith(
        "Row 1 of sites is predicted as 'site'. Its score against 'none' is "
    )
    assert found.columns == ("feature", "count", "weight", "term")
    assert {row[0] for row in found.rows} == {"G at 3", "T at 4", "GT at 3"}
    assert found.shares["object"] == "CCGTCC"
    assert found.shares["against"] == "none"
    assert np.argsort(found.shares["values"])[-2:].tolist() in ([2, 3], [3, 2])
    value = model.decision_function(["CCGTCC"])[0]
    assert f"{value:.4g}:" in found.caption


@pytest.mark.slow
def test_a_graph_is_explained_by_its_subtrees_and_nodes():
    data = molecules()
    model = fitted(SVC(kernel=WeisfeilerLehman(1), C=10.0), data)

    found = explain(model, data, row=3)

    assert "is predicted as 0" in found.caption
    assert {row[0] for row in found.rows} == {"C", "C(C)", "C(C,C)"}
    values = np.array(found.shares["values"])
    np.testing.assert_allclose(values, values[::-1], atol=1e-12)
    plain = {"n_nodes": 4, "edges": [[0, 1], [1, 2], [2, 3]]}
    plain |= {"node_labels": ["C"] * 4, "edge_labels": None}
    assert json.loads(json.dumps(found.as_dict()))["shares"]["object"] == plain


@pytest.mark.parametrize(
    ("item", "plain"), [("ab", "ab"), (b"a\xe9", "a\xe9"), (["x", 7], ["x", 7])]
)
def test_shares_are_plain_values_for_json(item, plain):
    data = sequences([item, item[::-1]] * 6)
    model = fitted(SVC(kernel=Spectrum(2)), data)

    found = json.loads(json.dumps(explain(model, data, row=0).as_dict()))

    assert found["shares"]["object"] == plain
    assert len(found["shares"]["values"]) == 2


def test_a_table_has_no_shares():
    assert "shares" not in explain(fitted(LinearSVC(), TABLE), TABLE, row=0).as_dict()


@pytest.mark.slow
def test_subsequences_are_explained_by_letters():
    data = sequences()
    model = fitted(SVC(kernel=Normalized(Subsequence(2))), data)

    found = explain(model, data, row=0, count=20)

    assert len(found.rows) == 6
    assert sum(row[3] for row in found.rows) == pytest.approx(sum(found.shares["values"]))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(KernelFeatures(WeightedDegree(2)), LinearSVC()),
        SVCCV(kernels=[WeightedDegree(2)], cv=2),
    ],
    ids=["counted features", "search"],
)
def test_counted_features_and_a_search_are_explained_alike(model):
    data = sequences()
    model = fitted(model, data)

    found = explain(model, data, row=1, count=1)

    assert found.rows[0][0] == "G at 3"
    assert len(found.shares["values"]) == 6
    assert explain(model, count=1).rows[0][1] == "G at 3"


def test_a_kernel_that_has_no_parts_is_explained_by_support_vectors():
    data = sequences([("A", "B"), ("C",)] * 6)
    kernel = Spectrum(1) + BagOfWords()

    found = explain(fitted(SVC(kernel=kernel), data), data, row=0)

    assert found.columns == ("training row", "similarity")
    assert found.rows[0][1] == 4.0


def test_neighbours_by_kernel_are_shown():
    data = molecules()
    model = fitted(
        KNeighborsClassifier(n_neighbors=2, kernel=Normalized(WeisfeilerLehman(1))), data
    )

    found = explain(model, data, row=1)

    assert found.columns == ("training row", "class", "distance")
    assert [row[1] for row in found.rows] == [1, 1]


def test_without_data_the_largest_weights_are_listed_by_name():
    data = sequences()
    for model in (SVC(kernel=WeightedDegree(2)), KernelPerceptron(WeightedDegree(2))):
        found = explain(fitted(model, data), count=2)

        assert found.columns == ("boundary", "feature", "weight")
        assert found.rows[0][:2] == ("site against none", "G at 3")
        assert found.rows[0][2] > 0


def test_without_data_words_of_naive_bayes_or_support_vectors_are_listed():
    data = sequences()
    bayes = make_pipeline(KernelFeatures(Spectrum(2)), MultinomialNB())

    assert ("site", "GT") in {row[:2] for row in explain(fitted(bayes, data), count=1).rows}
    found = explain(fitted(SVC(kernel=Subsequence(2)), data))  # which has no list of weights
    assert found.columns == ("class", "support vectors")


def test_names_that_would_not_be_seen_are_in_quotes():
    data = sequences(["a b", "a\nb", " ab"] * 4)
    model = fitted(SVC(kernel=Spectrum(2, shortest=2)), data)

    names = {row[0] for row in explain(model, data, row=0).rows}

    assert names == {"'a '", "' b'"}
    assert "'\\nb'" in str(explain(model, data, row=1))


STRINGS = SVC(kernel=Spectrum(2))
TEXTS = make_pipeline(TfidfVectorizer(), LinearSVC())
COUNTED = make_pipeline(KernelFeatures(Spectrum(2)), LinearSVC())
GRAPHS = SVC(kernel=Normalized(WeisfeilerLehman(1)))
VECTORS = LinearSVC()


@pytest.mark.slow
@pytest.mark.parametrize("model", [STRINGS, COUNTED, TEXTS])
@pytest.mark.parametrize("kind", ["sequences", "text"])
def test_texts_are_sequences_too(model, kind):
    data = sequences(kind=kind)

    require_samples(fitted(model, sequences()), data)


@pytest.mark.parametrize(
    ("model", "trained", "given", "caption"),
    [
        (STRINGS, sequences(), molecules(), "molecules holds graphs, .* fitted to sequences"),
        (STRINGS, sequences(), TABLE, "table holds vectors, .* fitted to sequences"),
        (COUNTED, sequences(), molecules(), "molecules holds graphs, .* fitted to sequences"),
        (TEXTS, sequences(), molecules(), "molecules holds graphs, .* fitted to texts"),
        (GRAPHS, molecules(), sequences(), "sites holds sequences, .* fitted to graphs"),
        (GRAPHS, molecules(), TABLE, "table holds vectors, .* fitted to graphs"),
        (VECTORS, TABLE, molecules(), "molecules holds graphs, .* fitted to 6 features"),
    ],
)
def test_samples_of_another_kind_are_refused(model, trained, given, caption):
    with pytest.raises(DataError, match=caption):
        explain(fitted(model, trained), given, row=0)


def test_a_category_of_several_lines_is_one_line_of_the_table():
    words = ModelExplanation("weights", ("feature", "weight"), [("note=one\ntwo", 0.5)])
    assert str(words).splitlines()[-1].split() == ["note=one", "two", "0.5"]
