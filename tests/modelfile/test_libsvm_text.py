"""LIBSVM's own programs are the oracle: what we write they read, and what they write we read."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from tests.modelfile.cases import BY_NAME
from tests.modelfile.libsvm_tools import (
    DATA,
    SVM_PREDICT,
    halves,
    needs_svm_predict,
    run,
    svm_predict,
    write_samples,
)

from separatrix import SVC, LinearSVC, NuSVC, OneClassSVM
from separatrix.errors import ModelFileError, UnsupportedError
from separatrix.estimators.base.multiclass import decision_values
from separatrix.kernels import Gaussian, Laplacian, Linear
from separatrix.modelfile import libsvm_text as libsvm
from separatrix.modelfile.files import load, save
from separatrix.modelfile.libsvm_text import load_libsvm, save_libsvm

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


PARAMETERS = {
    "linear": {},
    "poly": {"degree": 3, "gamma": 0.07, "coef0": 0.3},
    "rbf": {"gamma": 0.03},
    "sigmoid": {"gamma": 0.01, "coef0": -0.2},
    "precomputed": {},
}


def as_kernel_values(kernel, X, Z):
    return Gaussian(0.03).block(X, Z) if kernel == "precomputed" else X


def svm_train(folder, X, y, *options, precomputed=False):
    write_samples(folder / "train", X, y, precomputed=precomputed)
    run("svm-train", "-q", *options, folder / "train", folder / "theirs.model")
    return folder / "theirs.model"


@needs_svm_predict
@pytest.mark.parametrize("form", [csr_array, csr_matrix])
def test_svm_predict_reads_sparse_and_narrow_support_vectors(form, tmp_path):
    X, y, others, _ = halves("digits")
    ours = SVC().fit(form(X), y)
    narrow = SVC(kernel=Linear()).fit((16 * X).astype(np.uint8), y.astype(np.float32))

    for model, new in ((ours, form(others)), (narrow, 16 * others)):
        path = save_libsvm(model, tmp_path / "ours.model")
        np.testing.assert_array_equal(svm_predict(path, new), model.predict(new))


def test_a_sparse_row_out_of_order_is_written_in_order(tmp_path):
    X = csr_array(([3.0, 1.0, 2.0, 0.0, 5.0], [2, 0, 0, 1, 1], [0, 3, 5]), shape=(2, 3))
    model = SVC(kernel="linear").fit(X, [0, 1])
    model.support_vectors_ = X  # a fit may sort them

    lines = save_libsvm(model, tmp_path / "m").read_text().splitlines()

    assert [line.split()[1:] for line in lines[-2:]] == [["1:3.0", "3:3.0"], ["2:5.0"]]


def far_clouds(offset, k=2):
    rng, y = np.random.default_rng(0), np.arange(300) % k
    return rng.normal(size=(300, 4)) + 1.5 * y[:, None] + offset, y


@needs_svm_predict
@pytest.mark.parametrize("make", [SVC, NuSVC])
@pytest.mark.parametrize("k", [2, 3])
def test_svm_predict_has_our_labels_far_from_the_origin(make, k, tmp_path):
    X, y = far_clouds(1e7, k)
    model = make(kernel="linear").fit(X, y)
    path = save_libsvm(model, tmp_path / "far.model")
    np.testing.assert_array_equal(svm_predict(path, X), model.predict(X))
    again = load_libsvm(path)
    scale = np.abs(model.decision_function(X)).max()
    np.testing.assert_allclose(
        again.decision_function(X), model.decision_function(X), atol=1e-6 * scale
    )


def test_vectors_near_the_origin_are_written_as_they_are(tmp_path):
    X, y = far_clouds(1.0)
    model = SVC(kernel="linear").fit(X, y)
    again = load_libsvm(save_libsvm(model, tmp_path / "near.model"))
    np.testing.assert_array_equal(again.support_vectors_, model.support_vectors_)


@pytest.mark.parametrize(
    ("make", "options", "form"),
    [
        (SVC, {"kernel": "poly", "degree": 2, "gamma": 1.0}, np.asarray),
        (SVC, {"kernel": "linear"}, csr_array),
    ],
)
@pytest.mark.filterwarnings("ignore:SVC")
def test_scores_that_svm_predict_would_round_away_are_counted(make, options, form, tmp_path):
    X, y = far_clouds(1e9)
    model = make(max_iter=200, **options).fit(form(X), y)
    with pytest.warns(UserWarning, match=r"cannot tell the side of \d+ of \d+ support vectors"):
        save_libsvm(model, tmp_path / "far.model")


def train_options(kernel):
    numbers = {name: str(value) for name, value in PARAMETERS[kernel].items()}
    flags = {"degree": "-d", "gamma": "-g", "coef0": "-r"}
    return ["-t", KERNELS.index(kernel)] + [
        part for name in numbers for part in (flags[name], numbers[name])
    ]


@pytest.mark.slow
@needs_svm_predict
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_we_predict_what_svm_predict_does_also_from_a_file_of_ours(data, kernel, tmp_path):
    X, y, others, _ = halves(data)
    K, new = as_kernel_values(kernel, X, X), as_kernel_values(kernel, others, X)
    path = svm_train(tmp_path, K, y, *train_options(kernel), precomputed=kernel == "precomputed")

    model = load_libsvm(path, n_features=K.shape[1])

    assert header(path)["label"] != sorted(header(path)["label"])
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    np.testing.assert_array_equal(model.predict(new), svm_predict(path, new))
    np.testing.assert_array_equal(model.n_support_.sum(), header(path)["total_sv"])
    again = load(save(model, tmp_path / "ours"))
    assert sorted(vars(again)) == sorted(vars(model))
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@needs_svm_predict
@pytest.mark.parametrize(
    "labels", [(7, -3, 2), (2, 7, -3), (-3, 2, 7), (7, 2, -3), (5, -1), (-1, 5)]
)
@pytest.mark.parametrize("options", [(), ("-w7", "2", "-w-1", "2", "-c", "0.5")])
def test_labels_come_in_any_order(labels, options, tmp_path):
    rng = np.random.default_rng(0)
    codes = np.r_[: len(labels), rng.integers(0, len(labels), 90)]  # labels first met in this order
    X = np.eye(3)[codes] + rng.normal(size=(len(codes), 3))
    path = svm_train(tmp_path, X, np.array(labels)[codes], "-g", "0.5", *options)
    new = rng.normal(size=(300, 3))

    model = load_libsvm(path)

    assert tuple(header(path)["label"]) == labels
    assert len(set(model.predict(new))) == len(labels)
    np.testing.assert_array_equal(model.predict(new), svm_predict(path, new))


@needs_svm_predict
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equal_votes_go_to_the_class_that_libsvm_chooses(kernel, tmp_path):
    rng = np.random.default_rng(1)
    labels = np.array([4, 9, -2, 0, 3])
    codes = np.r_[:5, rng.integers(0, 5, 115)]
    around = 2 * np.pi * codes / 5
    X, y = np.c_[np.cos(around), np.sin(around)] + rng.normal(size=(120, 2)), labels[codes]
    path = svm_train(tmp_path, X, y, "-t", KERNELS.index(kernel), "-c", "10")
    new = 0.3 * rng.normal(size=(500, 2))
    theirs = svm_predict(path, new)

    model = load_libsvm(path)
    found = model.predict(new)

    votes = decision_values(model.boundary_scores(new), 5, "ovo")
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.sum() > 20
    np.testing.assert_array_equal(found, theirs)
    del model._ties
    assert (model.predict(new) != theirs).any()  # the order of the file decided some


def svm_predict_probabilities(model, X):
    """Labels and probabilities that svm-predict -b 1 prints, columns in the order of the labels."""
    folder = Path(model).parent
    write_samples(folder / "test", X, np.zeros(len(X)))
    run("svm-predict", "-b", "1", folder / "test", model, folder / "out")
    head, *lines = (folder / "out").read_text().splitlines()
    order = np.argsort([int(word) for word in head.split()[1:]])
    numbers = np.array([line.split() for line in lines], dtype=float)
    return numbers[:, 0].astype(int), numbers[:, 1:][:, order]


@needs_svm_predict
@pytest.mark.parametrize("machine", ["0", "1"])
@pytest.mark.parametrize("data", ["iris", "cancer"])
def test_probabilities_of_a_file_are_those_of_svm_predict(data, machine, tmp_path):
    X, y, others, _ = halves(data)
    path = svm_train(tmp_path, X, y, "-b", "1", "-s", machine, "-n", "0.125")

    model = load_libsvm(path)
    again = load_libsvm(save_libsvm(model, tmp_path / "again"))

    assert type(model).__name__ == ["SVC", "NuSVC"][int(machine)]
    labels, P = svm_predict_probabilities(path, others)
    np.testing.assert_allclose(
        model.predict_proba(others), P, atol=5e-3
    )  # they iterate to 0.005 / k
    np.testing.assert_array_equal(again.predict_proba(others), model.predict_proba(others))
    most = model.classes_[model.predict_proba(others).argmax(axis=1)]
    assert np.mean(most == labels) > 0.98
    np.testing.assert_array_equal(model.predict(others), svm_predict(path, others))
    np.testing.assert_allclose(
        svm_predict_probabilities(tmp_path / "again", others)[1], P, atol=1e-5
    )


@needs_svm_predict
def test_platts_probabilities_of_ours_are_written_and_read_by_svm_predict(tmp_path):
    X, y, others, _ = halves("iris")
    model = SVC(calibration="platt", random_state=0).fit(X, y)

    _, P = svm_predict_probabilities(save_libsvm(model, tmp_path / "m"), others)

    np.testing.assert_allclose(model.predict_proba(others), P, atol=5e-3)


@needs_svm_predict
@pytest.mark.parametrize("kernel", ["0", "2"])
def test_one_class_machines_go_both_ways(kernel, tmp_path):
    X, y, others, _ = halves("digits")
    path = svm_train(tmp_path, X, y, "-s", "2", "-n", "0.25", "-t", kernel)
    theirs = load_libsvm(path)
    np.testing.assert_array_equal(theirs.predict(others), svm_predict(path, others))

    ours = OneClassSVM(nu=0.25, kernel=("linear", "", "rbf")[int(kernel)]).fit(X)
    written = save_libsvm(ours, tmp_path / "ours")

    np.testing.assert_array_equal(ours.predict(others), svm_predict(written, others))
    again = load_libsvm(written)
    np.testing.assert_allclose(
        again.decision_function(others), ours.decision_function(others), atol=1e-6
    )
    assert (
        load(save(theirs, tmp_path / "kept")).predict(others).tolist()
        == theirs.predict(others).tolist()
    )


def test_marks_of_a_density_are_left_out_with_a_warning(tmp_path):
    X, _, others, _ = halves("iris")
    model = OneClassSVM().fit(X)
    path = save_libsvm(model, tmp_path / "m")
    path.write_text(path.read_text().replace("SV\n", "prob_density_marks 1 2 3\nSV\n", 1))

    with pytest.warns(UserWarning, match="of a density .* left out"):
        again = load_libsvm(path)

    np.testing.assert_array_equal(again.predict(others), model.predict(others))


@needs_svm_predict
def test_a_file_goes_through_us_unchanged(tmp_path):
    X, y, others, _ = halves("iris")
    path = svm_train(tmp_path, X, y)

    again = save_libsvm(load_libsvm(path), tmp_path / "again.model")

    assert header(again) == header(path)
    np.testing.assert_array_equal(svm_predict(again, others), svm_predict(path, others))
    assert load_libsvm(again)._ties.tolist() == load_libsvm(path)._ties.tolist()


def header(path):
    """What a file says before its support vectors, numbers as numbers."""
    found = {}
    for line in Path(path).read_text().split("\nSV\n")[0].splitlines():
        key, *words = line.split()
        found[key] = words if words[0].isalpha() or "_" in words[0] else [float(w) for w in words]
    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_a_model_comes_back_from_its_file_and_svm_predict_reads_it(data, kernel, tmp_path):
    X, y, others, _ = halves(data)
    K, new = as_kernel_values(kernel, X, X), as_kernel_values(kernel, others, X)
    model = SVC(kernel=kernel, **PARAMETERS[kernel]).fit(K, y)

    path = save_libsvm(model, tmp_path / "m")
    again = load_libsvm(path, n_features=K.shape[1])

    if SVM_PREDICT is not None:
        np.testing.assert_array_equal(svm_predict(path, new), model.predict(new))
    assert again.kernel_ == model.kernel_
    assert again.classes_.dtype == np.int64
    assert not hasattr(again, "_ties")
    np.testing.assert_array_equal(again._support.coef, model._support.coef)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.n_support_, model.n_support_)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_allclose(
        again.decision_function(new), model.decision_function(new), rtol=1e-12, atol=1e-12
    )
    if kernel == "precomputed":
        np.testing.assert_array_equal(again.support_, model.support_)
    else:
        np.testing.assert_array_equal(again.support_vectors_, model.support_vectors_)


def test_sparse_support_vectors_come_back_sparse(tmp_path):
    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(80, 40)) * (rng.random((80, 40)) < 0.1))
    model = SVC().fit(X, rng.integers(0, 3, 80))

    again = load_libsvm(save_libsvm(model, tmp_path / "m"), n_features=40)

    assert issparse(again.support_vectors_)
    assert issparse(again.dual_coef_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(
        again.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-12
    )


def test_a_model_without_support_vectors_predicts(tmp_path):
    path = written(tmp_path, "svm_type c_svc", "kernel_type linear", "nr_class 2", "total_sv 0",
                   "rho 0", "label 1 2", "nr_sv 0 0", "SV")  # fmt: skip

    model = load_libsvm(path, n_features=3)

    assert model.predict(np.ones((2, 3))).tolist() == [2, 2]  # as LIBSVM: 0 is the second's
    assert load(save(model, tmp_path / "ours")).predict(np.ones((2, 3))).tolist() == [2, 2]


def test_rows_of_a_kernel_matrix_may_come_twice(tmp_path):
    lines = ("svm_type c_svc", "kernel_type precomputed", "nr_class 2", "total_sv 3", "rho 0",
             "label 1 2", "nr_sv 1 2", "SV", "1 0:2", "-0.5 0:1", "-0.5 0:1")  # fmt: skip
    model = load_libsvm(written(tmp_path, *lines))

    assert model.predict([[1.0, 2.0], [2.0, 1.0]]).tolist() == [1, 2]
    assert load(save(model, tmp_path / "ours")).predict([[1.0, 2.0]]).tolist() == [1]


def fitted(y=(0, 1, 2), **params):
    X = np.array([[0.0, 0.1], [1.0, 0.0], [0.0, 1.0]] * 4)
    return SVC(**params).fit(X, np.array(list(y) * 4))


def fitted_to_fractions():
    model = fitted()
    model.classes_ = np.array([0.0, 0.5, 1.0])  # no fit takes them
    return model


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: LinearSVC().fit([[0.0], [1.0]], [0, 1]),
            "NuSVC or OneClassSVM; got LinearSVC",
        ),
        (lambda: type("Mine", (SVC,), {})().fit([[0.0], [1.0]], [0, 1]), "got Mine"),
        (lambda: None, "or OneClassSVM; got NoneType"),
        (SVC, "is not fitted: call `fit` first"),
        (lambda: fitted(kernel=Laplacian(0.5)), r"no kernel Laplacian\(gamma=0.5\); it has linear"),
        (lambda: fitted(kernel=Linear() + Gaussian(1.0)), "no kernel Sum"),
        (lambda: fitted(kernel=2.0 * Gaussian(1.0)), "no kernel Scaled"),
        (lambda: fitted(kernel=lambda X, Z: X @ Z.T), "no kernel FromCallable"),
        (lambda: fitted(multi_class="ovr"), "against the rest; fit it with multi_class='ovo'"),
        (lambda: fitted("abc"), "labels of LIBSVM are whole numbers.*encode them"),
        (fitted_to_fractions, r"these are \[0.0, 0.5, 1.0\]; encode them"),
        (lambda: fitted((False, True, True)), r"these are \[False, True\]; encode them"),
        (lambda: fitted((0, 2**31, 1)), "have 32 bits, and 2147483648 has more; encode them"),
        (lambda: fitted((0, -(2**31) - 1, 1)), "have 32 bits, and -2147483649"),
    ],
)
def test_a_model_without_a_place_in_the_format_is_refused(make, sentence, tmp_path):
    model = make()

    with pytest.raises(ModelFileError, match=sentence) as caught:
        save_libsvm(model, tmp_path / "m")

    assert caught.value.reason == "unsupported"
    assert not list(tmp_path.iterdir())


def test_two_classes_against_the_rest_are_a_pair(tmp_path):
    model = fitted((0, 1, 1), multi_class="ovr")

    again = load_libsvm(save_libsvm(model, tmp_path / "m"))

    np.testing.assert_array_equal(again.intercept_, model.intercept_)


def test_whole_floats_are_labels_and_the_extremes_of_32_bits_too(tmp_path):
    model = fitted((-(2.0**31), 0.0, 2.0**31 - 1))

    again = load_libsvm(save_libsvm(model, tmp_path / "m"))

    assert again.classes_.tolist() == [-(2**31), 0, 2**31 - 1]


def test_probabilities_and_margins_that_break_ties_are_left_out_with_a_warning(tmp_path):
    X, y, _, _ = halves("iris")
    model = SVC(calibration="sigmoid", random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="cannot store the probabilities of this SVC") as told:
        save_libsvm(model, tmp_path / "m")
    assert len(told) == 1
    assert told[0].filename == __file__

    with pytest.warns(UserWarning, match="cannot store break_ties=True"):
        save_libsvm(SVC(break_ties=True).fit(X, y), tmp_path / "m")


@pytest.mark.parametrize("call", ["modelfile.libsvm_text._format", "runtime.atomic_files.os.fsync"])
def test_a_failure_of_the_disk_leaves_what_was_there(call, tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_text("before")

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"separatrix.{call}", fails)
    with pytest.raises(ModelFileError, match="cannot be written: No space left") as caught:
        save_libsvm(fitted(), path)

    assert caught.value.reason == "unwritable"
    assert [file.name for file in tmp_path.iterdir()] == ["m"]
    assert path.read_text() == "before"
    with pytest.raises(ModelFileError, match="cannot be written: No such file"):
        save_libsvm(fitted(), tmp_path / "nowhere" / "m")


def test_a_line_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(libsvm, "LONGEST_LINE", 30)

    with pytest.raises(ModelFileError, match="reads at most 30 bytes; use `save`") as caught:
        save_libsvm(fitted(), tmp_path / "m")

    assert caught.value.reason == "limit"
    assert not list(tmp_path.iterdir())


def written(folder, *lines):
    path = folder / "m"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@needs_svm_predict
@pytest.mark.parametrize("labels", [*itertools.permutations((7, -3, 2)), (1, 2), (2, 1)])
def test_a_score_of_0_is_the_later_classs(labels, tmp_path):
    k = len(labels)
    path = written(
        tmp_path,
        *("svm_type c_svc", "kernel_type linear", f"nr_class {k}", "total_sv 0"),
        "rho " + "0 " * (k * (k - 1) // 2),
        "label " + " ".join(map(str, labels)),
        "nr_sv " + "0 " * k,
        "SV",
    )
    samples = np.ones((2, 1))
    np.testing.assert_array_equal(load_libsvm(path).predict(samples), svm_predict(path, samples))


@pytest.mark.slow
@needs_svm_predict
@pytest.mark.parametrize(("name", "gamma", "C"), [("a4a", 0.01, 5), ("usps", 0.0078125, 10)])
def test_both_ways_on_real_data(name, gamma, C, request, tmp_path):
    """Sparse, two classes; dense, 45 boundaries: theirs read by us, and ours by them."""
    data = request.getfixturevalue(name)
    X, y = data.X[:1500], data.y[:1500]
    asked = data.X_test[:3000] if name == "a4a" else data.X[7000:8500]
    path = svm_train(tmp_path, X, y, "-g", str(gamma), "-c", str(C))
    theirs = load_libsvm(path, n_features=X.shape[1])
    np.testing.assert_array_equal(theirs.predict(asked), svm_predict(path, asked))
    ours = SVC(C=C, gamma=gamma).fit(X, y)
    path = save_libsvm(ours, tmp_path / "ours.model")
    np.testing.assert_array_equal(ours.predict(asked), svm_predict(path, asked))
    whole = load(save(ours, tmp_path / "whole.model", slim=True))
    np.testing.assert_array_equal(whole.decision_function(asked), ours.decision_function(asked))


@pytest.mark.parametrize("name", ["svc-on-spectrum", "svc-on-normalized-graphs"])
def test_libsvm_has_no_place_for_objects(name, path):
    model = BY_NAME[name].fitted()
    with pytest.raises(UnsupportedError, match=r"trained on (sequences|graphs); `save`"):
        save_libsvm(model, path)
    assert not path.exists()
