"""A model from a file answers as the one that was saved, bit for bit, and goes on where it was."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn import preprocessing as skp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.modelfile.cases import (
    CASES,
    EVERY_KERNEL,
    HOLES,
    IRIS,
    MOLECULES,
    NAMES,
    OBJECT_KERNELS,
    SEQUENCES,
    TENTHS,
    TEXTS,
    TWO,
    WORDS,
    X,
    Y,
    answers,
)

import separatrix as sx
from separatrix import kernels
from separatrix.data.graph import Graph
from separatrix.errors import UnsupportedError
from separatrix.estimators.base.tuned import KNeighborsCV, best_model
from separatrix.estimators.decision import CostCurve
from separatrix.estimators.positions import PositionIndicator
from separatrix.estimators.registry import REGISTRY
from separatrix.kernels import Gaussian, Linear
from separatrix.kernels.vocabulary import PairTable, Vocabulary
from separatrix.modelfile.kinds import KINDS
from separatrix.modelfile.values import KERNELS

SLIM = pytest.mark.parametrize("slim", [False, True], ids=["whole", "slim"])


def kept(model, tmp_path, **more):
    return sx.load(sx.save(model, tmp_path / "kept.model", **more))


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, strict=True)


@pytest.mark.slow
@SLIM
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_answers_are_the_same_bit_for_bit(case, slim, tmp_path):
    model = case.fitted()
    again = kept(model, tmp_path, slim=slim)
    assert type(again) is type(model)
    same(answers(again, case.X), answers(model, case.X))
    assert repr(clone(again)) == repr(clone(model))
    if hasattr(model, "classes_") and not isinstance(model.classes_, list):
        np.testing.assert_array_equal(again.classes_, model.classes_, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_all_that_a_fit_gives_comes_back(case, tmp_path):
    model = case.fitted()
    again = kept(model, tmp_path)
    assert vars(again).keys() == vars(model).keys()
    for name in vars(model):
        if name.endswith("_") and name not in ("index_", "estimator_", "best_estimator_"):
            assert_like(getattr(again, name), getattr(model, name))


def assert_like(found, expected):
    assert type(found) is type(expected) or isinstance(expected, np.generic)
    if isinstance(expected, CostCurve):
        assert_like(vars(found), vars(expected))
    elif isinstance(expected, Graph):
        assert_like(plain_graph(found), plain_graph(expected))
    elif isinstance(expected, Vocabulary):
        assert_like(vars(found), vars(expected))
    elif isinstance(expected, PairTable):
        assert_like(found.keys, expected.keys)
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        assert_like(found.tolist(), expected.tolist())
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, strict=True)
    elif hasattr(expected, "toarray"):
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
        assert found.indices.dtype == expected.indices.dtype
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_like(found[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_like(one, other)
    elif not hasattr(expected, "get_params"):
        assert found == expected or (found != found and expected != expected)


def plain_graph(graph):
    """Its parts; strings without the room that NumPy leaves for the longest."""
    return {
        name: part.tolist() if getattr(part, "dtype", np.dtype(int)).kind == "U" else part
        for name, part in vars(graph).items()
    }


TABLE = np.column_stack([WORDS.astype(object), Y, X[:, 0].round()])
TABLE[3, 0], TABLE[5, 2] = None, np.nan
WIDE = np.tile(WORDS.astype(object)[:, None], (1, 1200))
WIDE[:, ::3] = Y[:, None]
GAPS = np.where(np.arange(120).reshape(30, 4) == 17, np.nan, X.round())
GRID = GridSearchCV(sx.LinearSVC(), {"C": [0.1, 1]}, cv=2)
POSITIONS = (PositionIndicator(), skp.MaxAbsScaler())
ROUND_TRIPS = [
    *(
        (skp.OneHotEncoder(dtype=kind), X)
        for kind in (int, bool, np.uint8, np.float32, "float32", float)
    ),
    *(
        (encoder, samples)
        for encoder in (skp.OneHotEncoder(), skp.OrdinalEncoder())
        for samples in (TABLE, GAPS, WIDE)
    ),
    *(
        (SimpleImputer(missing_values=51, strategy=how, fill_value=5), (10 * X).astype(kind))
        for how in ("most_frequent", "constant")
        for kind in (np.float16, np.float32, np.int8, np.int64)
    ),
    (PositionIndicator(), [*SEQUENCES[2:], "\n\ud800", "日"]),
    (sx.LeastSquaresClassifier(1.0, features=SimpleImputer()), X),
    (sx.SVC(cache_size=1e308), X),
    (make_pipeline(skp.StandardScaler(), "passthrough"), X),
    (skp.MinMaxScaler(), X.astype(np.float16)),
    (sx.SVC(kernel=kernels.Spectrum(2)), np.array(SEQUENCES)),
    (make_pipeline(TfidfVectorizer(), GRID), TEXTS),
    (make_pipeline(*POSITIONS, KNeighborsCV(5)), SEQUENCES),
    (make_pipeline(*POSITIONS, sx.SVCCV([1.0], cv=2)), SEQUENCES),
    (make_pipeline(SimpleImputer(), skp.StandardScaler(), KNeighborsCV(5)), HOLES),
    (sx.SVCCV([0.1, 1.0], kernels=[kernels.WeisfeilerLehman(d) for d in (1, 2)], cv=2), MOLECULES),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "samples"), ROUND_TRIPS, ids=lambda v: type(v).__name__)
def test_unusual_types_and_best_models_of_searches_are_kept(model, samples, tmp_path):
    model = best_model(clone(model).fit(samples, Y))
    again = kept(model, tmp_path)
    same(answers(again, samples), answers(model, samples))
    if hasattr(model, "categories_"):
        assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_every_estimator_and_every_kernel_has_a_kind_and_a_case():
    made = {type(case.model).__name__ for case in CASES}
    assert {entry.name for entry in REGISTRY} <= set(KINDS)
    made.add("NearestNeighbors")  # makes no predictions: has tests of its own
    assert made == set(KINDS)
    kernels = [*EVERY_KERNEL.values(), *(kernel for kernel, _ in OBJECT_KERNELS.values())]
    used = {name for kernel in kernels for name in kernel_names(kernel)}
    assert used <= set(KERNELS)


def kernel_names(kernel):
    yield type(kernel).__name__
    for inner in kernel.get_params(deep=False).values():
        if hasattr(inner, "block"):
            yield from kernel_names(inner)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 2, 7, 150])
@pytest.mark.parametrize(
    "model",
    [
        sx.SVC(),
        sx.LinearDiscriminantAnalysis(),
        sx.QuadraticDiscriminantAnalysis(),
        sx.LogisticRegression(),
    ],
)
def test_small_batches_are_the_same_too(model, batch, tmp_path):
    """Sums of a few rows take other ways through BLAS than those of many."""
    model = clone(model).fit(IRIS, np.repeat([0, 1, 2], 50))
    again = kept(model, tmp_path)
    for start in range(0, 150 - batch + 1, batch):
        rows = IRIS[start : start + batch]
        same(answers(again, rows), answers(model, rows))


@pytest.mark.slow
def test_another_process_gives_the_same_answers(tmp_path):
    model = make_pipeline(skp.StandardScaler(), sx.SVC()).fit(X, Y)
    sx.save(model, tmp_path / "there.model")
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys, numpy as np, separatrix\n"
        "folder = sys.argv[1]\n"
        "model = separatrix.load(folder + '/there.model')\n"
        "np.save(folder + '/said.npy', model.decision_function(np.load(folder + '/X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "said.npy"), model.decision_function(X))


@pytest.mark.slow
def test_saving_what_was_loaded_gives_the_same_file(tmp_path):
    for case in CASES:
        model = case.fitted()
        first, second = tmp_path / "first.model", tmp_path / "second.model"
        sx.save(model, first)
        sx.save(sx.load(first), second)
        assert first.read_bytes() == second.read_bytes(), case.name


def test_a_slim_file_is_smaller_and_stays_slim(tmp_path):
    model = sx.SVC().fit(IRIS, np.repeat([0, 1, 2], 50))
    whole, slim = sx.save(model, tmp_path / "whole"), sx.save(model, tmp_path / "slim", slim=True)
    assert slim.stat().st_size < 0.6 * whole.stat().st_size
    sx.save(sx.load(slim), tmp_path / "again")
    assert not hasattr(sx.load(tmp_path / "again"), "_fits")


ONLINE = [
    *(sx.Perceptron(), sx.Perceptron(predictor="vote"), sx.KernelPerceptron(max_iter=3)),
    sx.KernelPerceptron(max_iter=3, predictor="vote"),
    sx.KernelPerceptron(max_iter=3, budget=5),
    sx.KernelPerceptron(kernels.Spectrum(2), max_iter=3),
    *(sx.LinearDiscriminantAnalysis(), sx.QuadraticDiscriminantAnalysis(reg_param=0.1)),
    *(sx.GaussianNB(), sx.MultinomialNB(), sx.BernoulliNB(binarize=3.0)),
    sx.ComplementNB(norm=True),
    *(sx.LeastSquaresClassifier(0.1), sx.LogisticRegression()),
    sx.PassiveAggressiveClassifier(average=True),
]


@pytest.mark.filterwarnings("ignore:KernelPerceptron still made")
@pytest.mark.parametrize("model", ONLINE)
def test_learning_goes_on_from_a_whole_file_and_not_from_a_slim_one(model, tmp_path):
    samples = X if getattr(model, "kernel", None) != kernels.Spectrum(2) else np.array(SEQUENCES)
    model = clone(model).partial_fit(samples[::2], Y[::2], classes=[0, 1, 2])
    again, slim = kept(model, tmp_path), kept(model, tmp_path, slim=True)
    same(answers(slim, samples), answers(model, samples))
    with pytest.raises(UnsupportedError, match="partial_fit needs what a slim model file leaves"):
        slim.partial_fit(samples, Y)
    for one in (model, again):
        one.partial_fit(samples[1::2], Y[1::2])
    same(answers(again, samples), answers(model, samples))
    slim.fit(samples, Y).partial_fit(samples, Y)


def test_merging_needs_a_whole_model(tmp_path):
    model = sx.GaussianNB().fit(X, Y)
    for merge in (kept(model, tmp_path, slim=True).merge, clone(model).fit(X, Y).merge):
        with pytest.raises(UnsupportedError, match="merge needs what a slim"):
            merge(kept(model, tmp_path, slim=True))
    kept(model, tmp_path).merge(kept(model, tmp_path))


def test_certificates_come_back_and_a_slim_file_has_none(tmp_path):
    model = sx.SVC(C=10).fit(X, Y)
    again = kept(model, tmp_path)
    assert str(sx.kkt_report(again)) == str(sx.kkt_report(model))
    np.testing.assert_array_equal(again.training_margins()[0], model.training_margins()[0])
    assert again.explain(X[:1]).rows.tolist() == model.explain(X[:1]).rows.tolist()
    slim = kept(model, tmp_path, slim=True)
    for ask in (slim.training_margins, lambda: sx.kkt_report(slim)):
        with pytest.raises(UnsupportedError, match="slim model file"):
            ask()
    assert slim.explain(X[:1]).rows.tolist() == model.explain(X[:1]).rows.tolist()


@pytest.mark.parametrize("make", [sx.SVC, sx.Perceptron, sx.LogisticRegression])
def test_a_warm_start_begins_from_the_file(make, tmp_path):
    model = make(warm_start=True).fit(X, Y)
    again = kept(model, tmp_path)
    same(answers(again.fit(X, Y), X), answers(model.fit(X, Y), X))


def test_names_of_features_and_frames_come_back(tmp_path):
    names = ["sepal length", "sepal width", "Blütenlänge", "Blütenbreite"]
    frame = pd.DataFrame(X, columns=names)
    model = make_pipeline(skp.StandardScaler().set_output(transform="pandas"), sx.SVC()).fit(
        frame, WORDS
    )
    again = kept(model, tmp_path)
    assert again.feature_names_in_.tolist() == names
    assert isinstance(again[:1].transform(frame), pd.DataFrame)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[names[::-1]])


def test_a_frozen_model_is_one_object_in_two_places(tmp_path):
    inner = sx.PolynomialMap(2).fit(X)
    model = sx.LeastSquaresClassifier(0.1, features=FrozenEstimator(inner))
    model.partial_fit(X, Y, classes=[0, 1, 2])
    again = kept(model, tmp_path)
    assert again.features is again.features_
    again.partial_fit(X, Y)
    same(answers(again, X), answers(model.partial_fit(X, Y), X))


@pytest.mark.parametrize("form", [csr_array, csr_matrix])
def test_sparse_rows_keep_their_class_and_their_indices(form, tmp_path):
    samples = form(TENTHS)
    samples.indices, samples.indptr = (
        part.astype(np.int64) for part in (samples.indices, samples.indptr)
    )
    model = sx.SVC().fit(samples, Y)
    again = kept(model, tmp_path)
    assert type(again.support_vectors_) is type(model.support_vectors_)
    np.testing.assert_array_equal(
        again.decision_function(samples), model.decision_function(samples)
    )


def test_weights_that_were_made_sparse_stay_sparse(tmp_path):
    model = sx.LinearSVC(penalty="l1", C=0.1).fit(X, Y).sparsify()
    again = kept(model, tmp_path)
    assert type(again.coef_) is type(model.coef_)
    same(answers(again, X), answers(model, X))


def test_labels_of_every_kind_come_back(tmp_path):
    for labels in (
        Y.astype(np.int8),
        Y.astype(np.uint16),
        Y.astype(float),
        np.array(["", "ä", "日本"])[Y],
        np.array(["a", "b", "c"], dtype=object)[Y],
    ):
        model = sx.LogisticRegression().fit(X, labels)
        again = kept(model, tmp_path)
        np.testing.assert_array_equal(again.predict(X), model.predict(X), strict=True)
    model = sx.LogisticRegression().fit(X[TWO], Y[TWO] == 1)
    assert kept(model, tmp_path).predict(X).dtype == bool


def test_a_search_keeps_its_table(tmp_path):
    search = sx.SVCCV([0.1, 1.0], kernels=[Gaussian(0.1), Linear()], cv=2).fit(X, Y)
    again = kept(search, tmp_path)
    assert again.best_params_ == search.best_params_
    assert again.cv_results_["params"] == search.cv_results_["params"]
    assert not hasattr(kept(search, tmp_path, slim=True), "cv_results_")


def test_subgradient_iterates_and_landmarks_come_back(tmp_path):
    model = sx.SubgradientSVC(alpha=0.01, max_iter=20, keep_iterates=True).fit(X, Y)
    np.testing.assert_array_equal(kept(model, tmp_path).iterates_, model.iterates_)
    nystroem = sx.Nystroem(n_components=4, random_state=0).fit(X)
    again = kept(nystroem, tmp_path)
    np.testing.assert_array_equal(again.component_indices_, nystroem.component_indices_)
