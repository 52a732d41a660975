"""Models of several passes on blocks that are not here, against the same models in memory."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import dask
import dask.array as da
import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from tests.cluster.support import CUTS, in_blocks, samples

from separatrix import (
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    Nystroem,
    PassiveAggressiveClassifier,
    Perceptron,
    PolynomialMap,
    RandomFourier,
    SubgradientSVC,
)
from separatrix.errors import DataError, UnsupportedError

ENDS = np.cumsum(CUTS)
ROWS = [slice(end - size, end) for end, size in zip(ENDS, CUTS, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": "newton-cholesky", "tol": 1e-8},
        {"class_weight": "balanced", "C": 0.1},
        {"class_weight": {0: 2.0}, "fit_intercept": False},
        {"C": "evidence", "posterior": "laplace"},
    ],
    ids=str,
)
def test_logistic_regression_reaches_the_objective_in_memory(parameters):
    X, y, w = samples()
    expected = LogisticRegression(**parameters).fit(X, y, w)

    found = LogisticRegression(**parameters).fit(*in_blocks(X, y, w))

    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    assert found.n_samples_seen_ == len(y)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_linear_svc_reaches_the_objective_in_memory(k, sparse):
    X, y, w = samples(k=k)
    parameters = {"C": 0.7, "class_weight": {0: 3.0}, "intercept_scaling": 2.0}
    expected = LinearSVC(tol=1e-10, **parameters).fit(X, y, w)
    dX, dy, dw = in_blocks(X, y, w)

    found = LinearSVC(**parameters).fit(dX.map_blocks(csr_array) if sparse else dX, dy, dw)

    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-5)
    assert (found.dual_gap_ < 1e-8).all()


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"dual": True}],
    ids=str,
)
def test_linear_machines_that_are_no_sum_are_refused(parameters):
    X, y, _ = samples()

    with pytest.raises(UnsupportedError, match="needs all samples in one memory; use the squared"):
        LinearSVC(**parameters).fit(*in_blocks(X, y))


@pytest.mark.parametrize("parameters", [{}, {"weights": "distance", "ties": "nearest"}, {"p": 1}])
def test_neighbours_have_the_rows_and_ties_of_one_index(parameters):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(150, 3)).astype(float)  # ties everywhere
    y, w = rng.integers(0, 3, size=150), rng.integers(0, 3, size=150).astype(float)
    Q = rng.integers(0, 3, size=(20, 3)).astype(float)
    expected = KNeighborsClassifier(7, **parameters).fit(X, y, w)

    found = KNeighborsClassifier(7, **parameters).fit(*in_blocks(X, y, w))

    queries = da.from_array(Q, chunks=(9, 3))
    for own, whole in zip(found.kneighbors(queries), expected.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(own.compute(), whole)
    np.testing.assert_array_equal(found.kneighbors(Q)[1], expected.kneighbors(Q)[1])
    np.testing.assert_array_equal(found.predict(queries).compute(), expected.predict(Q))
    np.testing.assert_array_equal(found.predict(Q), expected.predict(Q))
    lazy = found.predict_proba(queries)
    assert lazy.chunks[0] == (9, 9, 2)
    np.testing.assert_array_equal(lazy.compute(), expected.predict_proba(Q))
    labels = da.from_array(y[:20], chunks=9)
    assert found.score(queries, labels) == expected.score(Q, y[:20])


def test_neighbours_of_frames_check_the_names_of_columns():
    pd = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y, _ = samples()
    table = pd.DataFrame(X, columns=list("abcd"))
    expected = KNeighborsClassifier().fit(table, y)
    parts = frames.from_pandas(table, npartitions=3)
    labels = frames.from_pandas(pd.Series(y), npartitions=3)

    found = KNeighborsClassifier().fit(parts, labels)

    np.testing.assert_array_equal(found.predict(parts).compute(), expected.predict(table))
    np.testing.assert_array_equal(found.kneighbors(table)[1], expected.kneighbors(table)[1])
    with pytest.raises(DataError, match=r"block \d: The feature names should match"):
        found.predict(parts[list("dcba")]).compute()


def test_blocks_of_queries_without_rows_and_with_nan():
    X, y, _ = samples()
    dX, dy = in_blocks(X, y)
    found, expected = KNeighborsClassifier().fit(dX, dy), KNeighborsClassifier().fit(X, y)
    few = dX[dy > 0]  # no row of the first block

    np.testing.assert_array_equal(found.predict(few).compute(), expected.predict(X[y > 0]))
    np.testing.assert_array_equal(
        found.kneighbors(few)[1].compute(), expected.kneighbors(X[y > 0])[1]
    )
    assert found.score(few, dy[dy > 0]) == expected.score(X[y > 0], y[y > 0])
    with pytest.raises(DataError, match=r"block \d: Input X contains NaN"):
        found.predict(da.where(dX > 0, np.nan, dX)).compute()


def test_neighbours_that_need_all_samples_are_refused():
    X, y, _ = samples()

    for parameters in ({"k_max": 3}, {"kernel": "rbf"}, {"metric": "precomputed"}):
        with pytest.raises(UnsupportedError, match="needs all samples in one memory"):
            KNeighborsClassifier(**parameters).fit(*in_blocks(X, y))
    model = KNeighborsClassifier().fit(*in_blocks(X, y))
    with pytest.raises(UnsupportedError, match="pass them as X, instead of X=None"):
        model.kneighbors()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("model", [Perceptron, PassiveAggressiveClassifier])
def test_online_machines_learn_as_from_a_stream(model, shuffle):
    X, y, w = samples()
    expected = model(shuffle=shuffle)
    for _ in range(3):
        for rows in ROWS:
            expected.partial_fit(X[rows], y[rows], classes=np.arange(3), sample_weight=w[rows])

    found = model(shuffle=shuffle, max_iter=3, tol=None).fit(*in_blocks(X, y), sample_weight=w)

    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert found.n_iter_ == 3


def test_a_perceptron_stops_after_a_clean_pass_and_warns_at_the_limit():
    X, y, _ = samples(k=2)
    apart = X + 20.0 * y[:, None]

    found = Perceptron().fit(*in_blocks(apart, y))

    assert found.stop_ == "clean pass"
    assert found.mistakes_[-1] == 0
    assert found.score(apart, y) == 1.0
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        Perceptron(max_iter=1).fit(*in_blocks(X, y))


@pytest.mark.parametrize("k", [2, 3])
def test_subgradient_descent_makes_the_steps_in_memory(k):
    X, y, w = samples(k=k)
    parameters = {"alpha": 0.1, "eps": 1e-3, "class_weight": {0: 2.0}}
    expected = SubgradientSVC(**parameters).fit(X, y, w)

    found = SubgradientSVC(**parameters).fit(*in_blocks(X, y, w))

    assert found.n_iter_ == expected.n_iter_
    np.testing.assert_allclose(found.loss_curve_, expected.loss_curve_, rtol=1e-10)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)


def test_feature_maps_are_those_in_memory():
    X, y, _ = samples()
    (dX,) = in_blocks(X)
    for model in (
        Nystroem(gamma=0.3, n_components=20, random_state=1),
        RandomFourier(0.3, n_components=10, random_state=1),
        PolynomialMap(2),
    ):
        expected = model.fit_transform(X)

        found = model.fit(dX[dX[:, 0] > -9.0]).transform(dX)

        assert found.chunks[0] == CUTS
        np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
    features = Nystroem(gamma=0.3, n_components=20, random_state=1).fit_transform(dX)
    assert LinearSVC().fit(features, y).score(features, y) > 0.8
    with pytest.raises(UnsupportedError, match="gamma='scale' of RandomFourier"):
        RandomFourier("scale").fit(dX)


def test_threads_of_this_process_are_enough():
    X, y, _ = samples()
    with dask.config.set(scheduler="threads"):
        found = LogisticRegression().fit(*in_blocks(X, y))

    assert found.objective_ == pytest.approx(LogisticRegression().fit(X, y).objective_, rel=1e-8)
