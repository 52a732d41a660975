import numpy as np
import pytest

from separatrix.errors import DataError
from separatrix.estimators.least_squares import LeastSquaresClassifier

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
PARTS = [(X[60:], Y[60:]), (X[:30], Y[:30]), (X[30:60], Y[30:60])]  # labels are not met in order


def fit(source, **more):
    return LeastSquaresClassifier(1.0).fit(source, **more)


def test_labels_may_be_met_in_any_order():
    whole = LeastSquaresClassifier(1.0).fit(X, Y)
    for source in (PARTS, tuple(PARTS), iter(PARTS), (part for part in PARTS)):
        found = fit(source)
        assert found.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-12)


class Begins:
    def __init__(self):
        self.readings = 0

    def __iter__(self):
        self.readings += 1
        return iter(PARTS)


def test_a_sum_reads_its_blocks_once_and_a_path_twice():
    source = Begins()
    fit(source)
    assert source.readings == 1
    LeastSquaresClassifier("loo").fit(source)
    assert source.readings <= 4  # it is also asked whether it begins anew


def test_a_memory_map_is_read_as_an_array_is(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fit(mapped, y=Y).coef_, fit(X, y=Y).coef_)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (iter([]), "held no sample at all"),
        (iter([(X[:5], Y[:5])]), "at least 2 classes; got one class, 'a'"),
        (iter([X]), r"must yield blocks \(X, y\) or \(X, y, sample_weight\); block 0 is ndarray"),
        (iter([(X, Y), (X[:, :2], Y)]), "X has 2 features, but .* is expecting 3 features"),
        (iter([(X * np.nan, Y)]), "NaN"),
        (iter([(X, Y, -np.ones(90))]), "`sample_weight` must be finite and at least 0"),
        (iter([(X, Y), (X, np.arange(90) % 3)]), "strings or all numbers; block 1 holds the other"),
        (iter([(X, Y[:4])]), "inconsistent numbers of samples"),
    ],
)
def test_a_bad_block_is_named(source, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(source)


def test_weights_go_into_the_blocks():
    with pytest.raises(DataError, match=r"yield \(X, y, weights\)"):
        fit(iter(PARTS), sample_weight=np.ones(90))
