"""One-pass models on blocks that are not here: the sums, and the errors that name a block."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import dask
import dask.array as da
import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.cluster.support import CUTS, in_blocks, samples

import separatrix
from separatrix import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)
from separatrix.errors import DataError, UnsupportedError

MODELS = [
    LeastSquaresClassifier(0.5),
    LeastSquaresClassifier("loo"),
    FisherDiscriminant(),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    GaussianNB(),
    BernoulliNB(binarize=0.5),
    MultinomialNB(),
    ComplementNB(),
    CategoricalNB(),
]


def assert_same_fit(found, expected, tolerance=1e-10):
    names = [name for name in dir(expected) if name.endswith("_") and not name.startswith("_")]
    assert names
    for name in names:
        value = getattr(expected, name)
        if isinstance(value, list | np.ndarray) and not callable(value):
            own = getattr(found, name)
            for a, b in zip(own, value, strict=True):
                if np.asarray(b).dtype.kind == "f":
                    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=name)
                else:
                    np.testing.assert_array_equal(a, b, err_msg=name)


def counts(model, X):
    """Samples that the model takes."""
    return np.abs(np.rint(X)) if "NB" in type(model).__name__ else X


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{len(repr(m))}")
def test_blocks_give_the_fit_in_memory(model):
    X, y, w = samples()
    X, labels = counts(model, X), np.array(["ape", "bee", "coypu"])[y]
    expected = clone(model).fit(X, labels, sample_weight=w)

    found = clone(model).fit(*in_blocks(X, labels, w))

    assert_same_fit(found, expected)
    assert found.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "transform"])
def test_predictions_are_lazy_in_the_chunks_of_the_samples(method):
    X, y, _ = samples()
    model = LinearDiscriminantAnalysis().fit(X, y)
    (dX,) = in_blocks(X)

    found = getattr(model, method)(dX)

    expected = getattr(model, method)(X)
    assert isinstance(found, da.Array)
    assert found.chunks[0] == dX.chunks[0]
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.compute(), expected, atol=1e-12)


def test_the_score_is_that_in_memory():
    X, y, w = samples()
    model = GaussianNB().fit(X, y)
    dX, dy, dw = in_blocks(X, y, w)

    assert model.score(dX, dy) == pytest.approx(model.score(X, y), abs=1e-15)
    assert model.score(dX, dy, sample_weight=dw) == pytest.approx(model.score(X, y, w), abs=1e-15)


def test_rows_that_are_not_counted_yet():
    X, y, _ = samples()
    dX, dy = in_blocks(X, y)
    kept = dX[:, 0] < 1.5
    few = X[:, 0] < 1.5

    found = GaussianNB().fit(dX[kept], dy[kept])

    assert np.isnan(dX[kept].chunks[0]).all()
    assert_same_fit(found, GaussianNB().fit(X[few], y[few]))
    np.testing.assert_array_equal(
        found.predict(dX[kept]).compute(), GaussianNB().fit(X[few], y[few]).predict(X[few])
    )


def test_blocks_without_rows_are_left_out():
    X, y, _ = samples()
    dX, dy = in_blocks(X, y)
    kept, few = dy > 0, y > 0  # no row of the first block

    found = GaussianNB().fit(dX[kept], dy[kept])

    assert_same_fit(found, GaussianNB().fit(X[few], y[few]))
    assert found.score(dX[kept], dy[kept]) == found.score(X[few], y[few])
    assert len(found.predict(dX[kept]).compute()) == few.sum()


def test_chunks_along_features_are_joined_with_a_warning():
    X, y, _ = samples()
    pieces = da.from_array(X, chunks=(50, 2))
    expected = GaussianNB().fit(X, y)

    with pytest.warns(UserWarning, match="cut along its features, into 2 pieces"):
        found = GaussianNB().fit(pieces, da.from_array(y, chunks=50))

    assert_same_fit(found, expected)


def test_labels_in_memory_and_other_chunks_of_labels():
    X, y, _ = samples()
    (dX,) = in_blocks(X)
    expected = GaussianNB().fit(X, y)

    assert_same_fit(GaussianNB().fit(dX, y), expected)
    assert_same_fit(GaussianNB().fit(dX, da.from_array(y, chunks=60)), expected)


def test_sparse_blocks():
    X, y, _ = samples()
    X = np.where(X > 1.0, np.rint(X), 0.0)
    (dX, dy) = in_blocks(X, y)

    found = MultinomialNB().fit(dX.map_blocks(csr_array), dy)

    assert_same_fit(found, MultinomialNB().fit(csr_array(X), y))
    lazy = found.predict(dX.map_blocks(csr_array)).compute()
    np.testing.assert_array_equal(lazy, found.predict(X))


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y, _ = samples()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["x", "y", "z"])[y])
    parts = frames.from_pandas(frame, npartitions=4)
    columns = list("abcd")

    found = LinearDiscriminantAnalysis().fit(parts[columns], parts["kind"])

    assert found.feature_names_in_.tolist() == columns
    assert found.classes_.tolist() == ["x", "y", "z"]
    expected = LinearDiscriminantAnalysis().fit(frame[columns], frame["kind"])
    assert_same_fit(found, expected)
    lazy = found.predict(parts[columns])
    np.testing.assert_array_equal(lazy.compute(), expected.predict(frame[columns]))
    assert found.score(parts[columns], parts["kind"]) == expected.score(
        frame[columns], frame["kind"]
    )


def test_small_files_that_dask_joins_are_joined_alike(tmp_path):
    pd = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y, w = samples()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["x", "y", "z"])[y], w=w)
    for i, rows in enumerate(np.split(np.arange(150), [40, 41, 116])):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    table = frames.read_parquet(tmp_path / "*.parquet")
    columns = list("abcd")

    found = LinearDiscriminantAnalysis().fit(table[columns], table["kind"], table["w"])

    assert_same_fit(found, LinearDiscriminantAnalysis().fit(frame[columns], frame["kind"], w))
    assert found.score(table[columns], table["kind"]) == found.score(frame[columns], frame["kind"])
    lazy = found.predict(table[columns])
    np.testing.assert_array_equal(lazy.compute(), found.predict(frame[columns]))


def test_delayed_blocks_with_labels_inside():
    X, y, w = samples()
    cuts = np.split(np.arange(len(y)), [40, 90])
    blocks = [dask.delayed((X[rows], y[rows], w[rows])) for rows in cuts]
    expected = GaussianNB().fit(X, y, w)

    assert_same_fit(GaussianNB().fit(blocks), expected)
    lazy = expected.predict([dask.delayed(X[rows]) for rows in cuts])
    np.testing.assert_array_equal(np.concatenate(dask.compute(*lazy)), expected.predict(X))


def test_a_block_is_one_task_from_its_source_to_its_sums(monkeypatch):
    from dask.task_spec import Alias

    from separatrix.cluster import engine

    trees, compute = [], engine.compute

    def keep_trees(tree, **more):
        trees.append(dask.optimize(tree)[0])
        return compute(tree, **more)

    monkeypatch.setattr(engine, "compute", keep_trees)
    X = da.random.default_rng(0).normal(size=(4000, 3), chunks=(40, 3))

    GaussianNB().fit(X * 2.0 + 1.0, X[:, 0] > 0, sample_weight=abs(X[:, 1]))

    (tree,) = trees
    tasks = [task for task in dict(tree.__dask_graph__()).values() if not isinstance(task, Alias)]
    # one for each block, two levels of merges, and the model
    assert len(tasks) == 100 + -(-100 // engine.FAN_IN) + 1 + 1


def test_what_several_blocks_come_from_stays_a_task_of_its_own():
    X, y, _ = samples()
    made = []

    def make():
        made.append(1)
        return X

    whole = da.from_delayed(dask.delayed(make)(), X.shape, float)
    many = da.concatenate([da.from_array(X[i : i + 10], chunks=(10, 4)) for i in range(0, 150, 10)])

    for dX in (whole.rechunk((50, 4)), many.rechunk((75, 4))):  # one source of three, eight of each
        dy = da.from_array(y, chunks=dX.chunks[0])
        assert_same_fit(GaussianNB().fit(dX, dy), GaussianNB().fit(X, y))
    assert made == [1]


def test_what_samples_and_labels_come_from_is_computed_once():
    X, y, _ = samples()
    made = []

    def make(number):
        made.append(number)
        return X[50 * number : 50 * number + 50], y[50 * number : 50 * number + 50]

    blocks = [dask.delayed(make, nout=2)(number) for number in range(3)]
    dX = da.concatenate([da.from_delayed(one[0], (50, 4), float) for one in blocks])
    dy = da.concatenate([da.from_delayed(one[1], (50,), int) for one in blocks])

    found = GaussianNB().fit(dX + 0.0, dy)

    assert sorted(made) == [0, 1, 2]
    assert_same_fit(found, GaussianNB().fit(X, y))


def spoiled(X, block, row, value):
    bad = X.copy()
    bad[sum(CUTS[:block]) + row, 1] = value
    return in_blocks(bad)[0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_named_by_block_and_row(value):
    X, y, _ = samples()

    with pytest.raises(DataError, match=r"block 2, row 7: Input X contains"):
        GaussianNB().fit(spoiled(X, 2, 7, value), y)
    model = GaussianNB().fit(X, y)
    with pytest.raises(DataError, match=r"block 2: Input X contains"):
        model.predict(spoiled(X, 2, 7, value)).compute()


def test_blocks_of_another_width_or_type_are_named():
    X, y, _ = samples()
    halves = [dask.delayed((X[:80], y[:80])), dask.delayed((X[80:, :3], y[80:]))]
    with pytest.raises(DataError, match="block 1 has 3 features, but block 0 has 4"):
        GaussianNB().fit(halves)

    words = X[80:].astype(object)
    words[5, 2] = "a word"
    halves = [dask.delayed((X[:80], y[:80])), dask.delayed((words, y[80:]))]
    with pytest.raises(DataError, match=r"block 1, row 5: .*a word"):
        GaussianNB().fit(halves)

    halves = [dask.delayed((X[:80], y[:80])), dask.delayed((X[80:], y[80:].astype(str)))]
    with pytest.raises(DataError, match="all strings or all numbers; block 1"):
        GaussianNB().fit(halves)


def test_other_numbers_of_rows_and_blocks():
    X, y, _ = samples()
    (dX,) = in_blocks(X)

    with pytest.raises(DataError, match="X has 150 samples, but y has 149"):
        GaussianNB().fit(dX, y[:-1])
    with pytest.raises(DataError, match="X has 150 samples, but y has 149"):
        GaussianNB().fit(dX, da.from_array(y[:-1], chunks=50))
    with pytest.raises(DataError, match="got one class, 0"):
        LinearDiscriminantAnalysis().fit(dX, np.zeros(150, dtype=int))
    with pytest.raises(DataError, match="X has 4 blocks, but y has 1"):
        GaussianNB().fit(dX, [dask.delayed(y)])


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y, _ = samples()
    model = GaussianNB().fit(X, y)
    before = model.theta_.copy()

    with pytest.raises(DataError):
        model.fit(spoiled(X, 0, 0, np.nan), y)

    np.testing.assert_array_equal(model.theta_, before)


def test_what_is_not_supported_is_refused_with_an_alternative():
    X, y, _ = samples()
    dX, dy = in_blocks(X, y)

    with pytest.raises(UnsupportedError, match="is not fitted on a cluster; pass"):
        separatrix.NearestCentroid().fit(dX, dy)
    with pytest.raises(UnsupportedError, match="partial_fit of GaussianNB takes blocks in memory"):
        GaussianNB().partial_fit(dX, dy)
    with pytest.raises(NotFittedError):
        GaussianNB().predict(dX)
