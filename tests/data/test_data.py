import numpy as np
import pytest

from separatrix.data import catalogue
from separatrix.data.catalogue import load
from separatrix.data.splits import fold_splits, random_splits
from separatrix.errors import DataError, MissingDataError, ParameterError


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), 3),
        ("digits", (1797, 64), 10),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
    ],
)
def test_what_scikit_learn_ships_is_there(name, shape, classes):
    found = load(name)
    assert found.X.shape == shape
    assert len(np.unique(found.y)) == classes


def test_usps_is_whole(usps):
    assert usps.X.shape == (9298, 256)
    assert np.bincount(usps.y).tolist() == [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821]
    assert (usps.X.min(), usps.X.max()) == (-1.0, 1.0)


def test_mnist_is_whole(mnist):
    assert mnist.X.shape == (60000, 784)
    assert mnist.X_test.shape == (10000, 784)
    assert mnist.X.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


def test_adult_has_its_full_width(a4a):
    assert a4a.X.shape == (4781, 123)
    assert a4a.X_test.shape == (27780, 123)


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(MissingDataError, match="no data set is called 'cifar'; there are a4a, a9a"):
        load("cifar")


def test_a_set_that_is_not_here_says_what_to_do(monkeypatch, tmp_path):
    def nobody(files, folder, *, progress):
        raise MissingDataError("zip.train.gz could not be downloaded")

    monkeypatch.setattr(catalogue, "fetch", nobody)
    monkeypatch.setattr(catalogue, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    with pytest.raises(MissingDataError, match="set SEPARATRIX_DATA to that folder"):
        load("usps")
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"there is no file zipcombo\.dat\.gz in it"):
        load("usps")


def test_folds_hold_out_every_row_once():
    rows = np.array([2, 3, 5, 7, 11, 13, 17])
    splits = fold_splits(rows, folds=3, seed=1)
    assert sorted(np.concatenate([split.test for split in splits])) == rows.tolist()
    for split in splits:
        assert sorted([*split.train, *split.test]) == rows.tolist()
        assert (np.diff(split.train) > 0).all()


def test_the_same_seed_draws_the_same_splits():
    first, second = (random_splits(50, repeats=3, test_size=0.2, seed=4) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.test, two.test)
    assert not np.array_equal(first[0].test, first[1].test)


def test_impossible_splits_are_refused():
    with pytest.raises(DataError, match="leaves 0 to test"):
        random_splits(3, repeats=1, test_size=0.1, seed=0)
    with pytest.raises(ParameterError, match="`test_size`"):
        random_splits(10, repeats=1, test_size=1.5, seed=0)
    with pytest.raises(DataError, match="9 folds need at least 9 samples; got 4"):
        fold_splits(np.arange(4), folds=9, seed=0)
