import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from separatrix.data.read_table import read_table
from separatrix.errors import DataError
from separatrix.evaluation.data_checks import find_leaks, find_problems, find_repeated
from separatrix.evaluation.ordered_splits import ordered_splits


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_an_honest_table_has_no_problems(load):
    assert find_problems(*load(return_X_y=True)) == []


def test_a_column_that_is_the_class_in_disguise_is_found_and_noise_is_not():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    X = np.column_stack([rng.normal(size=500), 10 * y + rng.normal(size=500), rng.permutation(500)])
    found = find_leaks(dict(zip(["noise", "leak", "serial"], X.T, strict=True)), y)
    assert [name for name, _ in found] == ["leak"]
    X[::50, 1] = np.nan  # a missing value gives nothing away
    assert find_leaks(dict(zip(["noise", "leak", "serial"], X.T, strict=True)), y) == []


def test_repeated_rows_are_counted_in_any_form():
    X, y = load_iris(return_X_y=True)
    twice, labels = np.concatenate([X, X[:15]]), np.concatenate([y, (y[:15] + 1) % 3])
    words = "16 of 165 rows repeat another row"
    for samples in (twice, csr_array(twice)):
        assert find_problems(samples, labels)[0].startswith(words)
        assert "15 of them have another class" in find_problems(samples, labels)[0]
    texts = np.array(["win cash", "see you", "win cash"], dtype=object)
    assert find_problems(texts, np.array([1, 0, 1]))[0].startswith("1 of 3 rows")


def test_the_columns_of_a_mixed_table_are_checked(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    lines = ["n,town,paid,x,class"]
    for i in range(300):
        town = f"town {rng.integers(90)}"
        lines.append(f"{i + 5},{town},{['on time', 'late'][y[i]]},{rng.normal():.6f},{y[i]}")
    path = tmp_path / "a.csv"
    path.write_text("\n".join([*lines, *lines[1:31]]))
    data = read_table(path)
    found = find_problems(data.X, data.y, data.features)
    assert found[0].startswith("30 of 330 rows repeat another row")
    assert [words.split()[1] for words in found[1:]] == ["paid"]
    path.write_text("\n".join(lines))
    data = read_table(path)
    found = find_problems(data.X, data.y, data.features)
    assert [words.split()[1] for words in found] == ["n", "paid"]


def test_rows_of_one_class_have_no_column_that_gives_it_away():
    X = np.random.default_rng(0).integers(0, 2, (100, 2)).astype(float)
    assert find_leaks({"a": X[:, 0]}, np.ones(100)) == []


def test_test_rows_are_later_than_training_rows():
    times = np.random.default_rng(0).integers(0, 20, 200)
    splits = ordered_splits(times, folds=4)
    assert len(splits) == 4
    for train, test in splits:
        assert times[train].max() < times[test].min()
    tested = np.concatenate([test for _, test in splits])
    assert len(set(tested)) == len(tested)
    assert 120 < len(tested) < 190
    with pytest.raises(DataError, match="5 test periods need at least 6 different times; got 2"):
        ordered_splits([1, 2, 1, 2], folds=5)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool"])
def test_rows_are_repeated_if_and_only_if_all_their_values_are(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(3000, 8)).astype(dtype)  # at most 256 different rows
    (words,) = find_repeated(X, np.zeros(3000))
    different = len(np.unique(X, axis=0))
    assert words.startswith(f"{3000 - different} of 3000 rows repeat another row")
