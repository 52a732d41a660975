"""The model card: training data, versions, certificate."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.pipeline import make_pipeline
from tests.modelfile.cases import BY_NAME, MOLECULES, SEQUENCES, TEXTS, WORDS, X, Y
from tests.modelfile.test_describe import described

import separatrix as sx
from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.kernels import Gaussian, Normalized, Polynomial, Spectrum, WeisfeilerLehman
from separatrix.modelfile.model_card import data_hash


def test_the_card_says_sequences_or_graphs(path):
    model = sx.SVC(kernel=2.0 * Normalized(Spectrum(2, alphabet="acgt")))
    text = str(sx.describe(sx.save(model.fit(SEQUENCES, WORDS), path, data=(SEQUENCES, WORDS))))
    assert "| samples | sequences |" in text
    assert "| trained on | 30 sequences |" in text
    assert "Spectrum(k=2, shortest=None, weights=None, alphabet='acgt')" in text
    assert "features |" not in text
    pipeline = make_pipeline(sx.KernelFeatures(WeisfeilerLehman(1)), sx.LinearSVC()).fit(
        MOLECULES, Y
    )
    found = sx.describe(sx.save(pipeline, path, data=(MOLECULES, Y)))
    assert found.objects == "graphs"
    assert found.as_dict()["parts"][1]["takes"] == "graphs"
    assert (found.card.data.samples, found.card.data.features) == (30, None)
    assert "| samples | graphs |" in str(found)
    assert "| trained on | 30 graphs |" in str(found)


def test_the_card_of_a_model_on_vectors_speaks_of_features(path):
    found = sx.describe(sx.save(sx.SVC().fit(X, Y), path, data=(X, Y)))
    assert found.objects is None
    assert "| features | 4 |" in str(found)


@pytest.mark.parametrize("name", ["svc-on-subsequence", "svc-on-degree", "svc-on-subtrees"])
def test_the_hash_of_objects_is_that_of_their_values(name, path):
    case = BY_NAME[name]
    model = case.fitted()
    hashes = set()
    for samples in (case.X, tuple(case.X), np.fromiter(case.X, dtype=object)):
        hashes.add(sx.describe(sx.save(model, path, data=(samples, case.y))).card.data.sha256)
    assert len(hashes) == 1
    changed = [*case.X[:-1], case.X[0]]
    assert sx.describe(sx.save(model, path, data=(changed, case.y))).card.data.sha256 not in hashes


def test_the_hash_of_a_graph_is_of_all_its_parts():
    edges, labels = np.array([[0, 1]]), np.array([1, 2])
    graphs = [
        Graph(2, edges),
        Graph(3, edges),
        Graph(2, edges[:, ::-1]),
        Graph(2, edges, labels),
        Graph(2, edges, labels[::-1]),
        Graph(2, edges, labels.astype(str)),
        Graph(2, edges, labels, labels[:1]),
        Graph(2, edges, None, labels[:1]),
    ]
    assert len({data_hash([graph]) for graph in graphs}) == len(graphs)
    assert data_hash([graphs[3]]) == data_hash([Graph(2, edges.copy(), labels.copy())])
    assert data_hash([b"a"]) != data_hash([b"a\0"])
    assert data_hash([["a"], ["b", "c"]]) != data_hash([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("svc", X, r"tuple \(X, y\); got ndarray"),
        ("svc", (X, Y[:3]), "a label for each sample"),
        ("svc", ([[1.0], [1.0, 2.0]], [0, 1]), "ragged"),
        ("svc", (X[:, :3], Y), r"4 features; X has shape \(30, 3\)"),
        ("svc", (TEXTS, Y), r"4 features; X has shape \(30,\)"),
        ("svc-on-spectrum", (X, Y), "sequences; Spectrum takes"),
        ("svc-on-spectrum", (MOLECULES, Y), "sequences; .*Graph"),
        ("svc-on-spectrum", (SEQUENCES[:3], Y), "label"),
        ("decision-texts", (TEXTS[:3], Y), "a label for each sample"),
        *(
            ("decision-texts", (samples, Y), "trained on: texts; X has shape")
            for samples in (X, [["a"], ["b"]] * 15, Y)
        ),
    ],
)
def test_other_data_than_the_model_was_trained_on_is_refused(name, data, sentence, path):
    with pytest.raises(DataError, match=sentence):
        sx.save(BY_NAME[name].fitted(), path, data=data)
    assert not path.exists()


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, lambda t: np.array(t, object)])
def test_the_card_of_a_model_of_texts_has_their_number_and_hash(form, path):
    model = BY_NAME["pipeline-texts"].fitted()
    found = sx.describe(sx.save(model, path, data=(form(TEXTS), WORDS)))
    assert (found.card.data.samples, found.card.data.features) == (30, None)
    assert found.card.data.sha256 == data_hash(TEXTS, WORDS)
    assert "| trained on | 30 texts |" in str(found)
    assert [part.kind for part in found.parts][:2] == ["Pipeline", "TfidfVectorizer"]
    assert sx.load(path).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_a_long_text_does_not_widen_the_others():
    """NumPy's words all have room for the longest: these would take 400 GB."""
    texts = ["a"] * 100_000
    texts[0] = "b" * 1_000_000
    assert data_hash(texts) != data_hash(["a"] * 100_000)


def test_the_card_says_what_the_model_was_trained_on(path):
    model = sx.SVC(C=10, kernel=Normalized(Polynomial(2)) + Gaussian(0.1), random_state=7).fit(
        X, WORDS
    )
    found = described(model, path, data=(X, WORDS), note="for the greenhouse")
    card = found.card
    assert (card.data.samples, card.data.features) == (30, 4)
    assert card.data.sha256 == data_hash(X, WORDS)
    assert card.seed == 7
    assert card.versions["numpy"] == np.__version__
    assert card.certificate["violation"] == model.violation_.max() <= card.certificate["tol"]
    text = str(found)
    for part in (
        "for the greenhouse",
        "| classes | 3: setosa, versicolor, virginica |",
        "| trained on | 30 samples of 4 features |",
        f"`{card.data.sha256}`",
        "`Sum(left=Normalized(kernel=Polynomial(degree=2, gamma=1.0, coef0=0.0)), "
        "right=Gaussian(gamma=0.1))`",
        "| C | `10` |",
        "| seed | 7 |",
        "| dual_gap |",
    ):
        assert part in text


def test_the_certificate_of_each_kind_is_a_number(path):
    for model, name in (
        (sx.Perceptron(), "mistakes in the last pass"),
        (sx.LinearSVC(), "dual_gap"),
        (sx.SVC(), "violation"),
    ):
        card = described(model.fit(X, Y), path).card
        assert np.isfinite(card.certificate[name])
    assert described(sx.KNeighborsClassifier().fit(X, Y), path).card.certificate == {}


def test_the_hash_is_of_the_values_and_not_of_how_they_lie():
    assert data_hash(X, Y) == data_hash(np.asfortranarray(X), Y.copy())
    assert data_hash(X, Y) == data_hash(X.astype(">f8"), Y)
    assert data_hash(X, Y) == data_hash(pd.DataFrame(X), pd.Series(Y))
    assert data_hash(csr_array(X), Y) == data_hash(csc_array(X), Y)
    assert data_hash(X, WORDS) == data_hash(X, list(WORDS))


def test_the_hash_is_another_for_other_values():
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    hashes = {
        data_hash(X),
        data_hash(X, Y),
        data_hash(changed, Y),
        data_hash(X[:, ::-1], Y),
        data_hash(X.T),
        data_hash(X.astype(np.float32), Y),
        data_hash(X, Y.astype(str)),
        data_hash(X, ["a", "bc"]),
        data_hash(X, ["ab", "c"]),
        data_hash(csr_array(X), Y),
    }
    assert len(hashes) == 10
