"""Kernel machines on objects of any type, with a function of two of them as the kernel.

The oracle is the same machine on the kernel matrix, made by two loops over the definition; and
scikit-learn's on that matrix.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier as PeerNeighbors
from sklearn.svm import SVC as PeerSVC

from separatrix import SVC, SVCCV, KernelPerceptron, KernelPerceptronCV, KNeighborsClassifier
from separatrix.errors import DataError
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.kernels import FromCallable, Normalized, Precomputed, Spectrum

RNG = np.random.default_rng(7)
Y = RNG.integers(0, 3, size=70)
TRAIN, TEST = slice(0, 50), slice(50, 70)


@dataclass(frozen=True)
class Tree:
    label: str
    children: tuple = ()


def grow(depth, c):
    children = tuple(grow(depth - 1, c) for _ in range(2)) if depth else ()
    return Tree("abc"[c] if RNG.random() < 0.5 else str(RNG.choice(list("abcd"))), children)


def nodes(tree):
    return [tree, *(inner for child in tree.children for inner in nodes(child))]


def rooted(a, b):
    """Common subtrees with these roots (Collins and Duffy 2001)."""
    same = a.label == b.label and len(a.children) == len(b.children)
    if not same:
        return 0.0
    product = 1.0
    for x, z in zip(a.children, b.children, strict=True):
        product *= 1.0 + 0.5 * rooted(x, z)
    return product


def subtrees(a, b):
    return sum(rooted(x, z) for x in nodes(a) for z in nodes(b))


def jaccard(a, b):
    return len(a & b) / len(a | b)


def shared_keys(a, b):
    return float(sum(a[key] * b.get(key, 0) for key in a))


def letters(a, b):
    return float(sum(a.count(letter) * b.count(letter) for letter in "abcd"))


def series(a, b):
    return float(np.exp(-((a.mean() - b.mean()) ** 2)))


def some_letters(c):
    return RNG.choice(list("abcd"), size=6, p=np.roll([0.55, 0.2, 0.15, 0.1], c)).tolist()


OBJECTS = {
    "sets": ([set(RNG.choice(9, 4).tolist()) | {20 + c, 30 + c} for c in Y], jaccard),
    "strings": (["".join(some_letters(c)) for c in Y], letters),
    "dicts": ([dict.fromkeys(some_letters(c), 1.0) for c in Y], shared_keys),
    "trees": ([grow(2, c) for c in Y], subtrees),
    "arrays": ([RNG.normal(c, 0.5, size=RNG.integers(3, 7)) for c in Y], series),
    "nested": ([("S", tuple(some_letters(c))) for c in Y], lambda a, b: letters(a[1], b[1])),
}


def matrix(name):
    X, function = OBJECTS[name]
    return np.array([[function(a, b) for b in X] for a in X])


SLOW = pytest.param("trees", marks=pytest.mark.slow)


@pytest.fixture(params=[SLOW if name == "trees" else name for name in OBJECTS])
def case(request):
    X, function = OBJECTS[request.param]
    K = matrix(request.param)
    return X[TRAIN], X[TEST], FromCallable(function), K[TRAIN, TRAIN], K[TEST, TRAIN]


MACHINES = {
    "svc": lambda kernel: SVC(kernel=kernel, C=3.0),
    "svc-ovr": lambda kernel: SVC(kernel=kernel, multi_class="ovr"),
    "svc-sigmoid": lambda kernel: SVC(kernel=kernel, calibration="sigmoid", random_state=0),
    "perceptron": lambda kernel: KernelPerceptron(kernel, max_iter=5, predictor="average"),
    "perceptron-vote": lambda kernel: KernelPerceptron(kernel, multi_class="ovo", predictor="vote"),
    "budget": lambda kernel: KernelPerceptron(kernel, budget=10, max_iter=3),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_it_is_the_machine_on_the_kernel_matrix(make, case):
    X, new, kernel, K, K_new = case
    own, oracle = make(kernel).fit(X, Y[TRAIN]), make("precomputed").fit(K, Y[TRAIN])

    np.testing.assert_allclose(
        own.decision_function(new), oracle.decision_function(K_new), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(own.predict(new), oracle.predict(K_new))
    np.testing.assert_array_equal(own.support_, oracle.support_)
    assert [own.support_vectors_[0]] == [X[own.support_[0]]] or not np.isscalar(X[0])
    assert not hasattr(own, "n_features_in_")


def test_the_svm_is_that_of_scikit_learn(case):
    X, new, kernel, K, K_new = case
    own = SVC(kernel=kernel, tol=1e-8).fit(X, Y[TRAIN])
    peer = PeerSVC(kernel="precomputed", tol=1e-8).fit(K, Y[TRAIN])
    np.testing.assert_allclose(
        own.decision_function(new), peer.decision_function(K_new), rtol=1e-5, atol=1e-5
    )


def test_neighbors_are_those_in_the_feature_space(case):
    X, new, kernel, K, K_new = case
    diagonal = np.array([kernel.function(x, x) for x in new])
    D = np.sqrt(np.maximum(np.diagonal(K) + diagonal[:, None] - 2 * K_new, 0.0))
    own = KNeighborsClassifier(3, kernel=kernel, weights="distance").fit(X, Y[TRAIN])
    square = np.sqrt(np.maximum(np.diagonal(K) + np.diagonal(K)[:, None] - 2 * K, 0.0))
    peer = PeerNeighbors(3, metric="precomputed").fit(square, Y[TRAIN])

    distances, _ = own.kneighbors(new)

    np.testing.assert_allclose(distances, peer.kneighbors(D)[0], rtol=1e-6, atol=1e-7)
    index = NeighborIndex(X, kernel=kernel)
    np.testing.assert_array_equal(index.search(new, 3).distances, distances)


def test_leave_one_out_evaluates_each_pair_once():
    X, _ = OBJECTS["trees"]
    calls = []

    def counted(a, b):
        calls.append(1)
        return subtrees(a, b)

    model = KNeighborsClassifier(1, kernel=FromCallable(counted), k_max=5).fit(X, Y)
    assert len(calls) <= len(X) * (len(X) + 1) // 2
    assert len(model.accuracy_by_k_) == 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cv", [2, 3])
def test_searches_are_those_over_the_kernel_matrix(case, cv):
    X, new, kernel, K, _ = case
    Cs = [0.1, 1.0, 10.0]
    exact = SVC(kernel=kernel, tol=1e-8)
    own = SVCCV(Cs, kernels=[kernel], cv=cv, estimator=exact).fit(X, Y[TRAIN])
    oracle = SVCCV(Cs, cv=cv, estimator=SVC(kernel="precomputed", tol=1e-8)).fit(K, Y[TRAIN])
    np.testing.assert_array_equal(
        own.cv_results_["mean_test_score"], oracle.cv_results_["mean_test_score"]
    )
    by_estimator = SVCCV(Cs, cv=cv, estimator=exact).fit(X, Y[TRAIN])
    np.testing.assert_array_equal(
        by_estimator.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"]
    )
    assert own.best_estimator_.kernel_.takes == "objects"
    perceptrons = KernelPerceptronCV([kernel, Normalized(kernel)], cv=cv).fit(X, Y[TRAIN])
    assert perceptrons.predict(new).shape == (20,)


def test_a_search_evaluates_each_pair_once():
    X, _ = OBJECTS["sets"]
    calls = []

    def counted(a, b):
        calls.append(1)
        return jaccard(a, b)

    kernel = FromCallable(counted)
    SVCCV([0.1, 1.0, 10.0], kernels=[kernel], cv=3).fit(X, Y)
    once = len(calls)
    assert once <= len(X) * (len(X) + 1) // 2 + 6
    GridSearchCV(SVC(kernel=kernel), {"C": [1.0, 5.0]}, cv=3).fit(X, Y)
    KernelPerceptron(kernel).fit(X, Y).predict(X)
    assert len(calls) == once


def test_a_function_alone_is_a_kernel_as_well():
    X, function = OBJECTS["dicts"]
    wrapped = SVC(kernel=FromCallable(function)).fit(X, Y)
    np.testing.assert_array_equal(
        SVC(kernel=function).fit(X, Y).decision_function(X), wrapped.decision_function(X)
    )
    np.testing.assert_array_equal(
        KNeighborsClassifier(kernel=function).fit(X, Y).predict(X),
        KNeighborsClassifier(kernel=FromCallable(function)).fit(X, Y).predict(X),
    )


def test_a_function_of_matrices_keeps_its_meaning_for_numbers():
    X = RNG.normal(size=(70, 3)) + Y[:, None]

    def products(A, B):
        return A @ B.T

    for samples in (X, X.tolist(), list(X)):
        model = SVC(kernel=products).fit(samples, Y)
        peer = PeerSVC(kernel=products).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), peer.predict(X))
        assert model.n_features_in_ == 3
    with pytest.raises(DataError, match=r"Expected 2D array of numbers, but X is a list of set"):
        model.predict([{1}, {2}])


def test_arrays_and_series_of_objects_are_taken():
    pandas = pytest.importorskip("pandas")
    X, function = OBJECTS["sets"]
    as_array = np.array(X, dtype=object)
    expected = SVC(kernel=FromCallable(function)).fit(X, Y).decision_function(X)
    for samples in (as_array, pandas.Series(X), tuple(X)):
        model = SVC(kernel=FromCallable(function)).fit(samples, Y)
        np.testing.assert_array_equal(model.decision_function(samples), expected)


def test_tools_of_scikit_learn_take_the_lists():
    X, function = OBJECTS["sets"]
    model = SVC(kernel=FromCallable(function))
    oracle = SVC(kernel="precomputed")
    np.testing.assert_array_equal(
        cross_val_score(model, X, Y, cv=3), cross_val_score(oracle, matrix("sets"), Y, cv=3)
    )
    grid = {"kernel": [FromCallable(function), Normalized(FromCallable(function))]}
    assert GridSearchCV(model, grid, cv=3).fit(X, Y).best_score_ > 0.9


def test_a_perceptron_learns_from_a_stream_of_objects():
    X, function = OBJECTS["trees"]
    kernel = FromCallable(function)
    stream = KernelPerceptron(kernel, shuffle=False)
    for start in range(0, 70, 10):
        part = slice(start, start + 10)
        stream.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    whole = KernelPerceptron(kernel, shuffle=False, max_iter=1)
    with pytest.warns(Warning, match="still made"):
        whole.fit(X, Y)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X))


def test_samples_of_another_kind_are_refused():
    X, function = OBJECTS["sets"]
    for model in (
        SVC(kernel=FromCallable(function)),
        KernelPerceptron(FromCallable(function)),
        KNeighborsClassifier(kernel=FromCallable(function)),
        SVCCV([1.0], kernels=[FromCallable(function)], cv=2),
    ):
        model.fit(X, Y)
        with pytest.raises(DataError, match=r"takes a list of objects, .*; got ndarray of shape"):
            model.predict(np.eye(3))
    for model in (SVC(), KernelPerceptron(), KNeighborsClassifier()):
        with pytest.raises(DataError, match="X is a list of set: pass a function k"):
            model.fit(X, Y)
    with pytest.raises(DataError, match="at least 1"):
        SVC(kernel=FromCallable(function, objects=True)).fit([], [])
    with pytest.raises(DataError, match="X has 70 samples, but y has 3 labels"):
        SVC(kernel=FromCallable(function)).fit(X, Y[:3])


def test_kernels_of_one_search_take_the_same_samples():
    X, _ = OBJECTS["strings"]
    found = SVCCV([1.0], kernels=[FromCallable(letters), Spectrum(1)], cv=2).fit(X, Y)
    first, second = found.cv_results_["mean_test_score"]
    assert first == pytest.approx(second)  # both count letters
    with pytest.raises(DataError, match=r"X is a list of str: .* as kernel=FromCallable\(k\)"):
        SVCCV([1.0], kernels=["rbf"], cv=2, estimator=SVC(kernel=letters)).fit(
            np.array(X, dtype=object), Y
        )


def worse(a, b):
    return float(len(a & b) - 3 * len(a ^ b))


def test_an_indefinite_kernel_is_warned_of_and_shifted_on_request():
    X, _ = OBJECTS["sets"]
    K = np.array([[worse(a, b) for b in X] for a in X])
    lowest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(UserWarning, match=f"smallest eigenvalue of its matrix is {lowest:.4g}"):
        SVC(kernel=FromCallable(worse)).fit(X, Y)

    shifted = SVC(kernel=FromCallable(worse, check_psd="shift"), tol=1e-8).fit(X, Y)

    oracle = PeerSVC(kernel="precomputed", tol=1e-8).fit(K - lowest * np.eye(len(K)), Y)
    np.testing.assert_allclose(
        shifted.dual_coef_ @ np.ones(len(shifted.support_)),
        oracle.dual_coef_ @ np.ones(len(oracle.support_)),
        atol=1e-5,
    )
    assert shifted.violation_.max() < 1.1e-8
    assert np.isnan(shifted.dual_gap_).all()
    with pytest.raises(DataError, match="not positive semi-definite on these 70 samples"):
        SVC(kernel=FromCallable(worse, check_psd="error")).fit(X, Y)


def test_neighbors_name_a_negative_square():
    X, _ = OBJECTS["sets"]

    def distance(a, b):
        return float(len(a ^ b))

    with pytest.warns(UserWarning, match=r"k\(z, z\) - 2 k\(x, z\) is -.* taken as 0"):
        KNeighborsClassifier(kernel=FromCallable(distance)).fit(X, Y).predict(X)
    strict = KNeighborsClassifier(kernel=FromCallable(distance, check_psd="error")).fit(X, Y)
    with pytest.raises(DataError, match="is not positive semi-definite: a squared distance"):
        strict.predict(X)


def test_precomputed_matrices_are_not_checked():
    K = -np.eye(4)
    assert SVC(kernel=Precomputed()).fit(K, [0, 1, 0, 1]).predict(K).shape == (4,)
