import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.kernel_approximation as peers
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import separatrix.estimators.feature_maps as module
from separatrix import SVC, LinearSVC
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.estimators.feature_maps import Nystroem, PolynomialMap, RandomFourier
from separatrix.kernels import (
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
)

X = np.random.default_rng(0).normal(size=(40, 3))


def name_of(value):
    """What it prints as, without the address of a function."""
    return repr(value).split(" at 0x")[0]


MAPS = [
    PolynomialMap(3),
    PolynomialMap(2, kernel=True, coef0=1.0),
    Nystroem(n_components=8, random_state=0),
    RandomFourier(0.2, n_components=8, random_state=0),
]


# all of them


@pytest.mark.parametrize("transformer", MAPS, ids=name_of)
def test_sparse_samples_have_the_features_of_dense_ones(transformer):
    samples = X * (np.abs(X) > 0.5)
    dense = clone(transformer).fit_transform(samples)
    for kind in (csr_array, csr_matrix):
        sparse = clone(transformer).fit_transform(kind(samples))
        assert issparse(sparse) == isinstance(transformer, PolynomialMap)
        np.testing.assert_allclose(
            sparse.toarray() if issparse(sparse) else sparse, dense, atol=1e-9
        )


@pytest.mark.parametrize("transformer", MAPS, ids=name_of)
def test_frames_come_back_as_frames_with_names(transformer):
    names = ["width", "height", "age"]
    plain = clone(transformer).fit_transform(X)
    for frame, kind, container in (
        (pd.DataFrame(X, columns=names), pd.DataFrame, "pandas"),
        (pl.DataFrame(X, schema=names), pl.DataFrame, "polars"),
    ):
        framed = clone(transformer).set_output(transform=container).fit(frame)
        made = framed.transform(frame)
        assert isinstance(made, kind)
        assert framed.feature_names_in_.tolist() == names
        assert list(made.columns) == framed.get_feature_names_out().tolist()
        np.testing.assert_array_equal(made.to_numpy(), plain)


@pytest.mark.parametrize("transformer", MAPS, ids=name_of)
@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda t: t.fit([[1.0, np.nan]]), "NaN"),
        (lambda t: t.fit([[1.0, np.inf]]), "infinity"),
        (lambda t: t.fit(np.empty((0, 2))), r"0 sample\(s\)"),
        (lambda t: t.fit([["a", "b"]]), "convert|numeric"),
        (lambda t: t.fit(X).transform(X[:, :2]), "X has 2 features, but .* is expecting 3"),
    ],
)
def test_bad_samples_raise_a_one_line_error(transformer, use, sentence):
    with pytest.raises(ValueError, match=sentence) as raised:
        use(clone(transformer))
    assert "\n" not in str(raised.value)


# PolynomialMap


def test_a_linear_machine_on_the_scaled_monomials_is_the_kernel_machine():
    rings, labels = make_circles(120, factor=0.5, noise=0.08, random_state=0)
    F = PolynomialMap(2, kernel=True, gamma=2.0, coef0=1.0).fit_transform(rings)
    mapped = SVC(kernel=Linear(), tol=1e-8).fit(F, labels)
    kernel = SVC(kernel=Polynomial(2, 2.0, 1.0), tol=1e-8).fit(rings, labels)
    np.testing.assert_allclose(
        mapped.decision_function(F), kernel.decision_function(rings), atol=1e-5
    )
    np.testing.assert_array_equal(mapped.support_, kernel.support_)


@pytest.mark.parametrize("include_bias", [True, False])
@pytest.mark.parametrize("interaction_only", [True, False])
def test_plain_monomials_and_their_names_are_those_of_scikit_learn(include_bias, interaction_only):
    how = {"include_bias": include_bias, "interaction_only": interaction_only}
    ours, theirs = PolynomialMap(3, **how).fit(X), PolynomialFeatures(3, **how).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-13)
    assert ours.n_output_features_ == theirs.n_output_features_
    words = ["a", "b", "c"]
    assert (
        ours.get_feature_names_out(words).tolist() == theirs.get_feature_names_out(words).tolist()
    )


def test_without_a_constant_only_the_full_degree_is_left():
    names = PolynomialMap(2, kernel=True).fit(X).get_feature_names_out().tolist()
    assert names == ["x0^2", "x0 x1", "x0 x2", "x1^2", "x1 x2", "x2^2"]


def test_too_many_monomials_are_refused_before_they_are_computed():
    wide = np.ones((2, 2000))
    with pytest.raises(
        MemoryBudgetError, match=r"1337337001 monomials of 2000 .*lower `degree`.*or use Nystroem"
    ):
        PolynomialMap(3, memory_limit=4096).fit(wide)
    with pytest.raises(MemoryBudgetError, match=r"more than 2\^62 monomials of 2000 features"):
        PolynomialMap(10**6).fit(csr_array(wide))
    with pytest.raises(MemoryBudgetError, match=r"of 2 samples need 30.6 MiB; the limit is 20.0"):
        PolynomialMap(2, memory_limit=20).fit_transform(wide)
    with pytest.raises(MemoryBudgetError, match="monomials of 2000 features up to degree 3 of"):
        PolynomialMap(3, memory_limit=20).fit_transform(csr_array(wide))


def test_a_wide_sparse_sample_is_mapped_without_names():
    wide = csr_array((np.ones(2), (np.zeros(2, int), np.array([3, 90_000]))), shape=(1, 100_000))
    mapped = PolynomialMap(2).fit(wide)
    assert mapped.transform(wide).nnz == 6
    with pytest.raises(MemoryBudgetError, match="5000150001 monomials"):
        mapped.get_feature_names_out()


# Nystroem


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.5),
        Polynomial(2, 0.5, 1.0),
        Linear(),
        Laplacian(0.3),
        Normalized(Polynomial(3, coef0=1.0)),
        Gaussian(0.1) + 2.0 * Linear(),
    ],
    ids=name_of,
)
def test_with_all_samples_as_landmarks_inner_products_are_the_kernel(kernel):
    mapped = Nystroem(kernel, n_components=len(X)).fit(X)
    F = mapped.transform(X)
    np.testing.assert_allclose(F @ F.T, kernel.block(X, X), atol=1e-9)
    np.testing.assert_array_equal(mapped.components_, X)


def test_with_fewer_landmarks_values_with_a_landmark_are_exact():
    mapped = Nystroem(Gaussian(0.5), n_components=9, random_state=1).fit(X)
    F = mapped.transform(X)
    chosen = mapped.component_indices_
    np.testing.assert_allclose(F @ F[chosen].T, Gaussian(0.5).block(X, X[chosen]), atol=1e-10)
    np.testing.assert_array_equal(mapped.components_, X[chosen])


@pytest.mark.parametrize("side", [1, 7, 2048])
def test_blocks_do_not_change_the_features(side, monkeypatch):
    expected = Nystroem(n_components=15, random_state=0).fit_transform(X)
    monkeypatch.setattr(module, "SIDE", side)
    blocks = Nystroem(n_components=15, random_state=0).fit_transform(X)
    np.testing.assert_allclose(blocks, expected, atol=1e-9)


def test_duplicate_landmarks_are_harmless():
    twice = np.vstack([X, X])
    mapped = Nystroem(Gaussian(0.5), n_components=80).fit(twice)
    F = mapped.transform(twice)
    assert mapped.rank_ == 40
    np.testing.assert_allclose(F @ F.T, Gaussian(0.5).block(twice, twice), atol=1e-10)
    assert Nystroem("linear", n_components=20).fit(X).rank_ == 3


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"kernel": "rbf", "gamma": 0.7},
        {"kernel": "laplacian"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "polynomial", "degree": 4, "kernel_params": {"coef0": 0.5, "degree": 9}},
        {"kernel": "linear"},
        {"kernel": "cosine"},
        {
            "kernel": lambda x, z, power: np.minimum(x, z).sum() ** power,
            "kernel_params": {"power": 1},
        },
    ],
    ids=name_of,
)
def test_given_the_same_landmarks_features_are_those_of_scikit_learn(how):
    samples = np.random.default_rng(1).random((30, 6))
    ours = Nystroem(n_components=6, random_state=0, **how).fit(samples)
    theirs = peers.Nystroem(n_components=6, **how).fit(ours.components_)
    back = np.argsort(theirs.component_indices_)
    np.testing.assert_allclose(
        ours.transform(samples), theirs.transform(samples)[:, back], atol=1e-6
    )
    np.testing.assert_allclose(
        ours.normalization_, theirs.normalization_[np.ix_(back, back)], rtol=1e-6, atol=1e-6
    )


def test_sigmoid_matches_scikit_learn_and_warns_of_negative_eigenvalues():
    with pytest.warns(
        UserWarning, match="Sigmoid.* is not positive semi-definite on the landmarks"
    ):
        mapped = Nystroem("sigmoid", gamma=2.0, coef0=-1.0, n_components=10).fit(X)
    F = mapped.transform(mapped.components_)
    K = pairwise_kernels(mapped.components_, metric="sigmoid", gamma=2.0, coef0=-1.0)
    values, vectors = np.linalg.eigh(K)
    nearest = vectors @ np.diag(values.clip(0.0)) @ vectors.T
    np.testing.assert_allclose(F @ F.T, nearest, atol=1e-9)


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()])
def test_a_precomputed_kernel_gives_the_features_of_its_samples(kernel):
    K = Gaussian(0.5).block(X, X)
    direct = Nystroem(Gaussian(0.5), n_components=9, random_state=2).fit(X[:30])
    given = Nystroem(kernel, n_components=9, random_state=2).fit(K[:30, :30])
    np.testing.assert_array_equal(given.component_indices_, direct.component_indices_)
    np.testing.assert_allclose(given.transform(K[30:, :30]), direct.transform(X[30:]), atol=1e-10)
    with pytest.raises(DataError, match="must be a square kernel matrix"):
        Nystroem(kernel).fit(K[:, :30])


def test_a_function_of_two_samples_must_return_a_number():
    wrapped = Nystroem(FromCallable(lambda A, B: A @ B.T), n_components=5, random_state=0)
    named = Nystroem("linear", n_components=5, random_state=0)
    np.testing.assert_allclose(wrapped.fit_transform(X), named.fit_transform(X), atol=1e-10)
    pairs = Nystroem(lambda x, z: (x @ z.T).sum(), n_components=5, random_state=0)
    np.testing.assert_allclose(
        pairs.fit_transform(csr_array(X)), named.fit_transform(X), atol=1e-10
    )
    with pytest.raises(DataError, match=r"must return a number.*returned shape \(3,\)"):
        Nystroem(lambda x, z: x * z, n_components=5).fit(X)


def test_a_function_of_two_objects_is_a_kernel_of_objects():
    def shared(a, b, power=1):
        return float(len(a & b)) ** power

    sets = [{1, 2}, {2, 3}, {1, 3, 4}, {5}, {5, 6}, {1}]
    pairs = Nystroem(shared, n_components=4, random_state=0, kernel_params={"power": 1})
    wrapped = Nystroem(FromCallable(shared), n_components=4, random_state=0)
    np.testing.assert_array_equal(
        pairs.fit(sets).transform(sets), wrapped.fit(sets).transform(sets)
    )


def test_more_landmarks_than_samples_are_all_samples_and_a_warning():
    with pytest.warns(UserWarning, match="is 100, but there are 40 samples; all of them are"):
        mapped = Nystroem().fit(X)
    assert mapped.component_indices_.tolist() == list(range(40))
    assert len(mapped.get_feature_names_out()) == 40


@pytest.mark.slow
def test_large_kernel_values_are_not_rounded_to_float32():
    many = np.random.default_rng(3).normal(size=(2100, 2))
    mapped = Nystroem(Gaussian(1e-4), n_components=2100).fit(many)  # 2100^2 > 2^22
    F = mapped.transform(many[:20])
    assert np.abs(F @ F.T - Gaussian(1e-4).block(many[:20], many[:20])).max() < 1e-9


def test_too_many_landmarks_are_refused_before_their_matrix_is_computed(monkeypatch):
    monkeypatch.setattr(module, "default_budget", lambda: 1000)
    with pytest.raises(MemoryBudgetError, match=r"30 landmarks need 28.1 KiB; the limit is 1000 b"):
        Nystroem(n_components=30).fit(X)


def test_parameters_of_the_kernel_can_be_searched_by_name():
    rings, labels = make_circles(80, factor=0.5, noise=0.08, random_state=0)
    curved = make_pipeline(Nystroem(Gaussian(1.0), n_components=20, random_state=0), LinearSVC())
    search = GridSearchCV(curved, {"nystroem__kernel__gamma": [1e-6, 1.0]}, cv=3)
    search.fit(rings, labels)
    assert search.best_params_ == {"nystroem__kernel__gamma": 1.0}
    assert search.best_score_ > 0.95


# RandomFourier


@pytest.mark.parametrize("gamma", [0.3, "scale"])
def test_fourier_features_match_scikit_learn_for_the_same_draws(gamma):
    ours = RandomFourier(gamma, n_components=25, random_state=0).fit(X)
    theirs = peers.RBFSampler(gamma=gamma, n_components=25).fit(X)
    assert ours.gamma_ == pytest.approx(theirs._gamma)
    theirs.random_weights_, theirs.random_offset_ = ours.random_weights_, ours.random_offset_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-13)


def test_frequencies_have_the_variance_of_the_kernel():
    weights = RandomFourier(0.3, n_components=20_000, random_state=0).fit(X).random_weights_
    # the variance of 60000 normal values is off by sqrt(2 / 60000) = 0.6 % (one standard error)
    assert weights.var() == pytest.approx(0.6, rel=0.03)
    assert abs(weights.mean()) < 5 * np.sqrt(0.6 / weights.size)


def test_float32_samples_have_float32_features_computed_in_float64():
    far = (X + 5e4).astype(np.float32)
    single = RandomFourier(0.3, random_state=0).fit(far).transform(far)
    double = RandomFourier(0.3, random_state=0).fit(far.astype(float)).transform(far.astype(float))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-7)


def test_too_many_frequencies_are_refused_before_they_are_drawn():
    with pytest.raises(
        MemoryBudgetError, match=r"frequencies of 3 features need .*lower `n_components`"
    ):
        RandomFourier(n_components=10**12).fit(X)
