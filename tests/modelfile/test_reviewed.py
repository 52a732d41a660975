"""What a reviewer broke: each was once a crash, a hang, a lost model or a wrong one."""

import os
import stat
import threading
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.compose import make_column_selector
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from tests.modelfile.cases import BY_NAME, TENTHS, TWO, WORDS, X, Y
from tests.modelfile.hostile import signed
from tests.modelfile.test_hostile import tried

from separatrix import (
    SVC,
    BayesDecision,
    GaussianNB,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    PolynomialMap,
    describe,
    load,
    save,
)
from separatrix.errors import DataError, ModelFileError, UnsupportedError
from separatrix.estimators.base.multiclass import decision_values
from separatrix.kernels import Gaussian, Linear
from separatrix.modelfile import files
from separatrix.modelfile.container import read_container
from separatrix.modelfile.fields import Archive
from separatrix.modelfile.labels import WordList
from separatrix.solvers.decomposition import coding


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.model"


def parts(model, path):
    contents = read_container(save(model, path), versions=lambda _: None)
    return contents.document, dict(contents.tensors)


def refused(document, tensors, path):
    path.write_bytes(signed(document, tensors))
    reason = tried(path)
    assert reason is not None
    return reason


@pytest.mark.parametrize("VI", [np.eye(1), np.eye(3), np.full((4, 4), np.nan), np.ones(4), "x"])
def test_a_metric_matrix_of_another_shape_is_refused_before_it_is_read(VI, path):
    """SciPy reads past its end: once a segmentation fault."""
    model = KNeighborsClassifier(3, metric="mahalanobis", metric_params={"VI": VI})
    with pytest.raises(DataError, match="'VI' in metric_params must be a matrix of 4 x 4"):
        model.fit(X, Y)
    document, tensors = parts(BY_NAME["knn-mahalanobis"].fitted(), path)
    if isinstance(VI, np.ndarray):
        tensors["model.index_metric_params[0][1]"] = VI
        assert refused(document, tensors, path) == "invariant"


def test_a_map_is_what_its_parameters_say(path):
    """Names of its features were counted one by one, and a degree could be anything."""
    model = LeastSquaresClassifier(1.0, features=PolynomialMap(2)).fit(X[:, :1], Y)
    document, tensors = parts(model, path)
    inner = document["model"]["state"]["features_"]
    for degree in (12_000, 10**6, 2**44):
        inner["state"]["monomials_"]["degree"] = degree
        inner["state"]["n_output_features_"] = degree + 1
        assert refused(document, tensors, path) == "invariant"
        inner["params"]["degree"] = degree
        assert refused(document, tensors, path) == "invariant"
    document, tensors = parts(PolynomialMap(2).fit(X), path)
    document["model"]["params"]["memory_limit"] = 1e12
    assert refused(document, tensors, path) == "schema"


def test_models_that_hold_each_other_many_times_are_counted(path):
    inner = {"kind": "Normalizer", "params": {"norm": "l2", "copy": True}}
    state = {"state": {"n_features_in_": 4}, "slim": False}
    steps = [["0", {**inner, **state}]]
    at = "model.steps[0].steps[0].steps[0]"
    for _ in range(3):
        again = [[str(i + 1), {"same": at}] for i in range(20)]
        around = {"steps": steps + again, "memory": None, "verbose": False, "transform_input": None}
        whole = {"kind": "Pipeline", "params": around, "state": {}, "slim": False}
        steps, at = [["0", whole]], at.rpartition(".")[0]
    document, _ = parts(Normalizer().fit(X), path)
    document["model"] = whole
    path.write_bytes(signed(document, {}))
    with pytest.raises(ModelFileError, match="more than 500 models in models"):
        load(path)


def test_rows_are_indexed_when_they_are_first_searched(path):
    """An index may take more memory than its rows."""
    sparse = csr_array(np.random.default_rng(0).random((300, 20_000)) < 0.03).astype(float)
    model = KNeighborsClassifier(3).fit(sparse, np.arange(300) % 3)
    save(model, path)
    assert tried(path, sparse[:5]) is None
    again = load(path)
    np.testing.assert_array_equal(again.predict(sparse), model.predict(sparse))
    assert repr(again.index_) == repr(model.index_)


def test_many_names_are_refused_before_they_are_words(path):
    document, tensors = parts(LogisticRegression().fit(X, Y), path)
    document["model"]["state"]["feature_names_in_"] = "objects"
    tensors["model.feature_names_in_"] = np.full(7 * 10**6, ord("x"), dtype=np.uint8)
    tensors["model.feature_names_in_.ends"] = np.arange(7, 7 * 10**6 + 1, 7, dtype=np.int64)
    assert refused(document, tensors, path) == "limit"


def test_empty_passes_of_a_perceptron_are_not_kept_and_not_taken(path):
    model = BY_NAME["perceptron-vote-sparse"].fitted()
    model.partial_fit(csr_array(TENTHS), Y)
    document, tensors = parts(model, path)
    for name in ("sample_ends", "log_ends"):
        ends = tensors[f"model._past.{name}"]
        assert (np.diff(ends) > 0).all()
        tensors[f"model._past.{name}"] = np.concatenate([np.zeros(60_000, dtype=np.int64), ends])
    assert refused(document, tensors, path) == "invariant"


def test_votes_of_many_classes_take_no_matrix_of_classes_by_pairs():
    rng = np.random.default_rng(0)
    for k in (3, 64, 65, 90):
        S = rng.integers(-2, 3, size=(7, k * (k - 1) // 2)).astype(float)
        sides = coding(k, "ovo").T.astype(float)
        expected = 1.0 * (S > 0) @ (sides > 0) + 1.0 * (S <= 0) @ (sides < 0)
        np.testing.assert_array_equal(decision_values(S, k, "ovo"), expected)
        summed = S @ sides
        margin = expected + summed / (3.0 * (np.abs(summed) + 1.0))
        np.testing.assert_allclose(decision_values(S, k, "ovo", "margin"), margin, rtol=1e-12)
    S = np.ones((1, 300 * 299 // 2))
    tracemalloc.start()
    votes = decision_values(S, 300, "ovo")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(votes[0], np.arange(299, -1, -1))  # the first of each pair wins
    assert peak < S.size * 300  # not one byte for each class and pair; 1500 classes took 25 GB


def test_a_description_takes_no_more_models_and_keys_than_there_can_be(path):
    document, tensors = parts(LogisticRegression().fit(X, Y), path)
    small = {
        "kind": "Normalizer",
        "params": {"norm": "l2", "copy": True},
        "state": {},
        "slim": False,
    }
    document["model"]["params"]["k" * 100_000] = {str(i): small for i in range(3000)}
    path.write_bytes(signed(document, tensors))
    with pytest.raises(ModelFileError, match="must be an object with"):
        describe(path)


@pytest.mark.parametrize("config", [5, {"transform": 5}, {"transform": [1]}, {"x": "pandas"}, []])
def test_the_output_of_transform_is_one_of_three(config, path):
    document, tensors = parts(StandardScaler().fit(X), path)
    document["model"]["state"]["_sklearn_output_config"] = config
    assert refused(document, tensors, path) == "schema"


def test_flags_are_0_or_1(path):
    document, tensors = parts(LogisticRegression().fit(X[TWO], Y[TWO] == 1), path)
    tensors["model.classes_"] = np.array([0, 7], dtype=np.uint8).view(bool)
    assert refused(document, tensors, path) == "schema"


@pytest.mark.parametrize("k_max", [2.5, "x", {"dict": []}, 0])
def test_every_parameter_is_checked(k_max, path):
    document, tensors = parts(KNeighborsClassifier().fit(X, Y), path)
    document["model"]["params"]["k_max"] = k_max
    assert refused(document, tensors, path) == "invariant"


def test_steps_whose_names_look_like_places_are_kept_apart(path):
    inner = Pipeline([("b", StandardScaler())])
    model = Pipeline([("a", inner), ("a.steps.b", StandardScaler()), ("x" * 300, SVC())])
    model.fit(100 * X, Y)
    again = load(save(model, path))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]


def altered(model, **params):
    """Set params after the fit."""
    return lambda: model.fit(X, Y).set_params(**params)


def nested(depth):
    return SVC() if not depth else make_pipeline(StandardScaler(), nested(depth - 1))


@pytest.mark.parametrize(
    "model",
    [
        altered(SVC(), C=-1.0),
        altered(SVC(), multi_class="ovr"),
        altered(SVC(), kernel="precomputed"),
        altered(SVC(), n_jobs=2000),
        altered(Perceptron(), predictor="vote"),
        altered(LinearDiscriminantAnalysis("lsqr"), solver="svd"),
        altered(SVC(kernel=sum([Gaussian(1.0 + i) for i in range(40)], Linear()))),
        altered(nested(9)),
        altered(make_pipeline(*[StandardScaler() for _ in range(65)], SVC())),
        altered(SVC(class_weight={(0, 1): 2.0})),
    ],
    ids=range(10),
)
def test_what_could_not_be_read_again_is_not_written(model, path):
    fitted = model()
    with pytest.raises(ModelFileError, match="cannot be saved") as raised:
        save(fitted, path)
    assert raised.value.reason in ("unsupported", "limit")
    assert not path.exists()


@pytest.mark.parametrize("kind", [int, bool, np.uint8, np.float32, "float32", float])
def test_encoders_of_every_type_are_kept(kind, path):
    model = make_pipeline(OneHotEncoder(dtype=kind), LinearSVC()).fit(X, Y)
    again = load(save(model, path))
    assert again[0].transform(X).dtype == model[0].transform(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_missing_values_are_categories_too(encoder, path):
    table = np.empty((30, 3), dtype=object)
    table[:, 0], table[:, 1], table[:, 2] = WORDS, Y, X[:, 0].round()
    table[3, 0], table[5, 2] = None, np.nan
    numbers = X.round()
    numbers[4, 1] = np.nan
    for samples in (table, numbers):
        model = encoder.fit(samples)
        again = load(save(model, path))
        found, expected = (m.transform(samples) for m in (again, model))
        if hasattr(found, "toarray"):
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)
        assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_an_encoder_of_a_thousand_columns_is_kept(path):
    table = np.tile(WORDS.astype(object)[:, None], (1, 1200))
    table[:, ::3] = Y[:, None]
    model = OneHotEncoder().fit(table)
    again = load(save(model, path))
    assert (again.transform(table) != model.transform(table)).nnz == 0


def test_words_that_repeat_are_written_once():
    file, words = Archive(), ["tol", "max_iter"] * 100_000
    document = WordList("p").put(words, "stop_", file)
    assert document == ["max_iter", "tol"]
    assert WordList("p").get(document, "stop_", file) == words


def test_the_cache_of_a_pipeline_is_not_kept(path, tmp_path):
    model = make_pipeline(StandardScaler(), SVC(), memory=str(tmp_path / "cache")).fit(X, Y)
    again = load(save(model, path))
    assert again.memory is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_new_files_get_the_permissions_of_new_files_and_old_ones_keep_theirs(path):
    model = LogisticRegression().fit(X, Y)
    before = os.umask(0o027)
    try:
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_saving_never_touches_the_mask_of_the_process(path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    save(LogisticRegression().fit(X, Y), path)


def test_a_link_stays_a_link(path, tmp_path):
    link = tmp_path / "latest.model"
    link.symlink_to(path)
    save(LogisticRegression().fit(X, Y), link)
    assert link.is_symlink()
    load(path)


def test_a_folder_that_cannot_be_synced_is_no_failure(path, monkeypatch):
    opened = os.open

    def locked(name, *rest, **more):
        if os.path.isdir(name):
            raise PermissionError(13, "Permission denied")
        return opened(name, *rest, **more)

    monkeypatch.setattr(os, "open", locked)
    save(LogisticRegression().fit(X, Y), path)


def test_paths_of_every_kind(tmp_path):
    model = LogisticRegression().fit(X, Y)
    for name in ("x" * 250, "日本.model", "a b\tc.model"):
        load(save(model, tmp_path / name))
    for bad in ("\ud800", os.fsencode("x")):
        with pytest.raises(ModelFileError, match="path"):
            load(bad)
    with pytest.raises(ModelFileError, match="there is no file") as raised:
        load(str(tmp_path / "a\nb"))
    assert "\n" not in str(raised.value)


def test_the_data_of_a_card_is_samples_and_their_labels(path):
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(DataError, match="a label for each sample"):
        save(model, path, data=(X, Y[:3]))
    with pytest.raises(DataError, match="ragged"):
        save(model, path, data=([[1.0], [1.0, 2.0]], [0, 1]))
    save(model, path, data=(X, Y), note="von der 👩‍🔬")
    assert "von der 👩‍🔬" in str(describe(path))


def test_a_card_has_no_links_and_pictures_in_it(path):
    note = "[click](javascript:alert(1)) ![x](http://evil/x.png) **b** <img src=x> \\"
    labels = np.array(["[x](y)", "a\\|b", "![i](http://e/x)"])[Y]
    found = str(describe(save(LogisticRegression().fit(X, labels), path, note=note)))
    for bad in ("[click](", "![x](", "**b**", "<img", "[x](y)", "![i]("):
        assert bad not in found.replace("\\[", "<").replace("\\*", "-")
    for row in found.splitlines():
        assert not row.startswith("| classes") or row.replace("\\|", "").count("|") == 3


def test_a_description_shows_the_labels_that_the_document_speaks_of(path):
    document, tensors = parts(LogisticRegression().fit(X, Y), path)
    for said in (5, {"mixed": 5}, {"mixed": [[[]], {"a": 1}]}, "words"):
        document["model"]["state"]["classes_"] = said
        path.write_bytes(signed(document, tensors))
        with pytest.raises(ModelFileError):
            describe(path)


def test_loading_in_threads(path):
    save(make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, Y), path)
    said = []
    threads = [
        threading.Thread(target=lambda: said.append(load(path).predict(X))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.tobytes() for answer in said}) == 1


def test_what_nobody_foresaw_is_a_refusal_too(path, monkeypatch):
    save(LogisticRegression().fit(X, Y), path)
    monkeypatch.setattr(files, "read_card", lambda _: {}["nothing"])
    with pytest.raises(ModelFileError, match="'nothing'") as raised:
        load(path)
    assert isinstance(raised.value.__cause__, KeyError)


def test_functions_in_other_places_are_refused(path):
    model = BayesDecision(LogisticRegression()).fit(X, Y)
    model.set_params(loss_matrix=make_column_selector())
    with pytest.raises(ModelFileError, match="no place in a file"):
        save(model, path)


# the second round


def test_words_take_no_more_room_than_their_letters(path):
    document, tensors = parts(OneHotEncoder().fit(np.array([["a"] * 30])), path)
    document["model"]["state"]["categories_"] = [["words", {"words": 2**23}, 1]] * 30
    assert refused(document, tensors, path) == "schema"
    document["model"]["state"]["categories_"] = [["words", {"words": 10_000}, 1]] * 30
    path.write_bytes(signed(document, tensors))
    assert tried(path, np.array([["a"] * 30])) is None
    document, tensors = parts(LogisticRegression().fit(X, WORDS), path)
    document["model"]["state"]["classes_"] = {"words": 2**21}
    assert refused(document, tensors, path) == "schema"


def test_saving_leaves_the_model_and_its_rows_alone(path):
    rows = X.copy()
    rows[0, 0] = np.nan
    model = KNeighborsClassifier(1, metric="nan_euclidean").fit(rows, Y)
    load(save(model, path)).predict(rows)
    assert np.isnan(rows).sum() == np.isnan(model.index_.rows).sum() == 1
    for name in ("copy", "out", "squared"):
        model = KNeighborsClassifier(1, metric="nan_euclidean", metric_params={name: False})
        with pytest.raises(ValueError, match=rf"without \['{name}'\] for metric='nan_euclidean'"):
            model.fit(rows, Y)


def test_an_encoder_of_very_many_columns_is_refused_quickly(path):
    document, _ = parts(OneHotEncoder().fit(np.array([[1]], np.uint8)), path)
    columns = 60_000
    document["model"]["state"] |= {
        "categories_": [["u1", "numbers", 1]] * columns,
        "n_features_in_": columns,
    }
    tensors = {"model.categories_.u1": np.ones(columns, np.uint8)}
    assert refused(document, tensors, path) == "limit"
    document["model"]["state"] |= {"categories_": [["u1", 0, 1]], "n_features_in_": 1}
    assert refused(document, {"model.categories_.u1": np.ones(1, np.uint8)}, path) == "schema"


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.int64, bool])
def test_rows_of_neighbours_lie_as_they_are_searched(kind, path):
    model = KNeighborsClassifier(3).fit(np.tile(TENTHS, 250), Y)
    document, tensors = parts(model, path)
    rows = tensors["model.rows"]
    tensors["model.rows"] = rows.astype(kind)
    assert refused(document, tensors, path) == "invariant"
    document["model"]["state"]["rows"] = "F"
    tensors["model.rows"] = np.ascontiguousarray(rows.T)
    assert refused(document, tensors, path) == "invariant"


def test_boundaries_are_counted_from_the_classes(path):
    document, tensors = parts(SVC().fit(X, Y), path)
    many = 150_000
    for name, array in tensors.items():
        if array.shape == (3,) and name != "model.classes_":
            tensors[name] = np.zeros(many, array.dtype)
    assert refused(document, tensors, path) == "invariant"


def test_features_that_do_not_transform_are_refused(path):
    document, tensors = parts(
        LeastSquaresClassifier(1.0, features=StandardScaler()).fit(X, Y), path
    )
    other, more = parts(GaussianNB().fit(X, Y), path)
    document["model"]["state"]["features_"] = other["model"]
    tensors = {name: array for name, array in tensors.items() if ".features_" not in name}
    tensors |= {name.replace("model.", "model.features_.", 1): more[name] for name in more}
    assert refused(document, tensors, path) == "invariant"


def test_a_perceptron_may_have_met_dense_and_sparse_samples(path):
    model = Perceptron(predictor="vote").partial_fit(X, Y, classes=[0, 1, 2])
    model.partial_fit(csr_array(X), Y)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), model.predict(X))


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    model = LogisticRegression().fit(X, Y)
    os.mkfifo(tmp_path / "pipe")
    for position in (tmp_path / "pipe", "/"):
        with pytest.raises(ModelFileError, match="no plain file") as raised:
            save(model, position)
        assert raised.value.reason == "unwritable"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("note", ["~~~", "# Verified", "    code", "---", "1. x"])
def test_a_note_stays_in_its_cell(note, path):
    lines = str(describe(save(LogisticRegression().fit(X, Y), path, note=note))).splitlines()
    assert f"| note | {note} |" in lines


def test_an_array_without_a_name_is_refused(path):
    document, tensors = parts(LogisticRegression().fit(X, Y), path)
    assert refused(document, {**tensors, "": np.zeros(1000)}, path) == "schema"


@pytest.mark.parametrize(
    "params", [{"min_frequency": 1}, {"max_categories": 2}, {"drop": [7.0] * 4}]
)
def test_encoders_are_let_in_as_they_are_let_out(params, path):
    document, tensors = parts(OneHotEncoder().fit(TENTHS), path)
    document["model"]["params"] |= params
    refused(document, tensors, path)


def test_labels_of_numpys_own_types_are_labels(path):
    for label in (np.str_("?"), np.int64(-7)):
        model = BayesDecision(GaussianNB(), reject_cost=0.1, reject_label=label)
        model.fit(X, Y if isinstance(label, str) else WORDS)
        assert load(save(model, path)).actions_.tolist() == model.actions_.tolist()


def test_a_pipeline_may_end_with_nothing(path):
    model = make_pipeline(StandardScaler(), "passthrough").fit(X)
    np.testing.assert_array_equal(load(save(model, path)).transform(X), model.transform(X))
    half = MinMaxScaler().fit(X.astype(np.float16))
    assert load(save(half, path)).scale_.dtype == half.scale_.dtype


def test_a_threshold_is_between_two_classes(path):
    """The 125,973rd hostile file."""
    contents = read_container(
        save(BY_NAME["fisher-threshold"].fitted(), path, slim=True), versions=lambda _: None
    )
    document, tensors = contents.document, dict(contents.tensors)
    tensors["model.classes_"] = tensors["model.classes_"][:1]
    assert refused(document, tensors, path) == "invariant"


def test_a_search_and_its_best_agree_on_probabilities(path):
    """The 145,329th."""
    document, tensors = parts(BY_NAME["decision-around-search"].fitted(), path)
    search = document["model"]["state"]["estimator_"]
    search["state"]["best_estimator_"]["params"]["calibration"] = None
    assert refused(document, tensors, path) == "invariant"


def test_a_memory_budget_may_be_as_large_as_a_number_can(path):
    """The 52,875th."""
    model = SVC(cache_size=1e308).fit(X, Y)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), SVC().fit(X, Y).predict(X))


def test_a_fit_that_is_refused_leaves_a_slim_model_slim(path):
    model = load(save(Perceptron().fit(X, Y), path, slim=True))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    with pytest.raises(UnsupportedError, match="slim model file"):
        model.partial_fit(X, Y)
