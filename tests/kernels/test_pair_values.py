"""Values of pairs: what is kept, what is evaluated, in which order, and what is refused."""

import numpy as np
import pytest

from separatrix.errors import DataError
from separatrix.kernels import pair_values
from separatrix.kernels.pair_values import (
    TRANSIENT,
    PairCache,
    PairEvaluator,
    evaluate,
    evaluate_rows,
    name_of,
)


def times(a, b):
    return a * b


class Unpicklable:
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        raise TypeError


def numbers(*values):
    return np.array(values, dtype=np.intp)


def test_a_cache_knows_pairs_in_both_orders():
    cache = PairCache(10**6)
    cache.keep(numbers(0, 1), numbers(2, 4), np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(cache.find(numbers(0, 1), numbers(2, 4)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(cache.find(numbers(4, 2), numbers(1, 0)), [[4, 2], [3, 1]])
    found = cache.find(numbers(0, 3), numbers(1, 2, 5))
    np.testing.assert_array_equal(found, [[np.nan, 1.0, np.nan], [np.nan] * 3])
    cache.keep(numbers(0), numbers(0), np.array([[7.0]]))
    np.testing.assert_array_equal(cache.find_own(numbers(0, 1, 9)), [7.0, np.nan, np.nan])
    np.testing.assert_array_equal(cache.find(numbers(0), numbers(2, 4)), [[1, 2]])


def test_a_cache_keeps_as_many_bytes_as_it_may_and_forgets_the_oldest_rows():
    cache = PairCache(48)  # six values
    cache.keep(numbers(0), numbers(1), np.array([[1.0]]))  # two long
    cache.keep(numbers(2), numbers(3), np.array([[2.0]]))  # four long
    np.testing.assert_array_equal(
        cache.find(numbers(0, 2), numbers(1, 3)), [[1, np.nan], [np.nan, 2]]
    )
    cache.keep(numbers(4), numbers(0), np.array([[3.0]]))  # one more: the oldest row goes
    assert np.isnan(cache.find(numbers(0), numbers(1))[0, 0])
    assert cache.find(numbers(2), numbers(3))[0, 0] == 2.0
    assert cache.find(numbers(4), numbers(0))[0, 0] == 3.0
    cache.keep(numbers(5), numbers(6), np.array([[4.0]]))  # longer than all that there is room for
    assert np.isnan(cache.find(numbers(5), numbers(6))[0, 0])
    assert cache.find(numbers(4), numbers(0))[0, 0] == 3.0  # and nothing goes for it
    cache.keep(numbers(6), numbers(5), np.array([[5.0]]))  # exactly all
    assert cache.find(numbers(6), numbers(5))[0, 0] == 5.0
    assert np.isnan(cache.find(numbers(4), numbers(0))[0, 0])


def test_a_row_that_grows_keeps_its_values_and_is_counted_once():
    cache = PairCache(32)
    cache.keep(numbers(0), numbers(0), np.array([[1.0]]))
    cache.keep(numbers(0), numbers(2), np.array([[3.0]]))
    cache.keep(numbers(1), numbers(0), np.array([[2.0]]))
    np.testing.assert_array_equal(cache.find(numbers(0), numbers(0, 1, 2)), [[1.0, 2.0, 3.0]])


def test_a_cache_of_no_bytes_keeps_nothing():
    cache = PairCache(0)
    cache.keep(numbers(0), numbers(0), np.array([[1.0]]))
    assert np.isnan(cache.find(numbers(0), numbers(0))[0, 0])
    cache = PairCache(100)
    cache.keep(numbers(0), numbers(), np.empty((1, 0)))
    assert cache.find(numbers(0), numbers()).shape == (1, 0)


def test_objects_are_known_by_their_pickle_and_others_within_a_call():
    cache = PairCache(10**6)
    first, second = Unpicklable(1), Unpicklable(1)
    a, b = cache.numbers(["x", "y", first], ["y", "z", second, first])
    assert a.tolist() == [0, 1, TRANSIENT]
    assert b.tolist() == [1, 2, TRANSIENT + 1, TRANSIENT]
    assert cache.numbers(["z", second])[0].tolist() == [2, TRANSIENT]
    K = np.arange(12.0).reshape(3, 4)
    cache.keep(a, b, K)
    found = cache.find(a, b)
    np.testing.assert_array_equal(found[:2, :2], K[:2, :2])
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2:]).all()


def test_a_cache_of_too_many_objects_begins_anew(monkeypatch):
    monkeypatch.setattr(pair_values, "MOST_OBJECTS", 2)
    cache = PairCache(10**6)
    assert cache.numbers(["a", "b"])[0].tolist() == [0, 1]
    cache.keep(numbers(0), numbers(1), np.array([[5.0]]))
    assert cache.numbers(["b", "c"])[0].tolist() == [1, 2]
    assert cache.find(numbers(0), numbers(1))[0, 0] == 5.0
    assert cache.numbers(["c"])[0].tolist() == [3]
    assert np.isnan(cache.find(numbers(0), numbers(1))[0, 0])


def test_values_of_objects_that_were_forgotten_meanwhile_are_not_those_of_others(monkeypatch):
    monkeypatch.setattr(pair_values, "MOST_OBJECTS", 2)
    cache = PairCache(10**6)
    (mine,) = cache.numbers(["a", "b", "c"])
    (others,) = cache.numbers(["x", "y"])  # another thread, which begins anew
    cache.keep(mine, mine, np.full((3, 3), 5.0))
    assert np.isnan(cache.find(others, others)).all()
    cache.keep(others, others, np.full((2, 2), 7.0))
    assert np.isnan(cache.find(mine, mine)).all()
    assert (cache.find(others, others) == 7.0).all()
    assert (cache.find_own(others) == 7.0).all()


def evaluator(function, threads=1, limit=10**6, processes=False):
    return PairEvaluator(function, PairCache(limit), threads, processes, False)


@pytest.mark.parametrize("limit", [0, 10**6])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("strip", [1, 7, 2**20])
def test_each_unordered_pair_is_evaluated_once(strip, threads, limit, monkeypatch):
    monkeypatch.setattr(pair_values, "STRIP_PAIRS", strip)
    calls = []

    def recorded(a, b):
        calls.append((min(a, b), max(a, b)))
        return a * b + 1

    X = [3, 1, 4, 1, 5]
    own = evaluator(recorded, threads, limit)
    expected = np.outer(X, X) + 1
    np.testing.assert_array_equal(own.matrix(X, check=False), expected)
    if limit:
        assert sorted(calls) == [(a, b) for a in (1, 3, 4, 5) for b in (1, 3, 4, 5) if a <= b]
    else:
        assert len(calls) <= 15
    calls.clear()
    np.testing.assert_array_equal(own.diagonal(X), expected.diagonal())
    np.testing.assert_array_equal(own.block(X[:2], X), expected[:2])
    assert (calls == []) == bool(limit)
    calls.clear()
    np.testing.assert_array_equal(own.block([9, 3], [1]), [[10], [4]])
    if limit:
        assert calls == [(1, 9)]


def test_the_diagonal_is_kept_for_later():
    calls = []
    own = evaluator(lambda a, b: calls.append(a) or a * b)
    assert own.diagonal([2, 5]).tolist() == [4.0, 25.0]
    assert calls == [2, 5]
    assert own.block([5], [5]).tolist() == [[25.0]]
    assert calls == [2, 5]


@pytest.mark.parametrize(("count", "checked"), [(1, 0), (2, 1), (3, 1), (4, 2), (7, 3), (9, 3)])
def test_a_few_pairs_are_evaluated_in_both_orders(count, checked):
    calls = []
    own = evaluator(lambda a, b: calls.append((a, b)) or a * b)
    own.matrix(list(range(count)), check=True)
    pairs = count * (count + 1) // 2
    last = count - 1
    asked = [both for i in range(checked) for both in ((i, last - i), (last - i, i))]
    assert calls[pairs:] == asked
    calls.clear()
    own.matrix(list(range(count)), check=True)
    assert calls == []


def test_a_function_that_is_not_symmetric_is_refused_with_the_samples():
    def off(by):
        return lambda a, b: 1.0 + (by if a > b else 0.0)

    said = r"gave 1 for samples 0 and 2, and 1.5 for 2 and 0"
    with pytest.raises(DataError, match=said):
        evaluator(off(0.5)).matrix([1, 2, 3], check=True)
    evaluator(off(0.5)).matrix([1, 2, 3], check=False)
    evaluator(off(0.9e-8)).matrix([1, 2, 3], check=True)
    with pytest.raises(DataError, match="must be symmetric"):
        evaluator(off(1.1e-8)).matrix([1, 2, 3], check=True)


def test_rows_of_a_task_have_the_columns_that_are_wanted():
    found = evaluate_rows(times, [2, 3], [5, 7, 11], [numbers(2, 0), numbers()])
    assert [row.tolist() for row in found] == [[22.0, 10.0], []]


@pytest.mark.parametrize("value", [np.nan, np.inf, "word", None, [1, 2]])
def test_a_value_must_be_a_finite_number(value):
    said = r"must return a finite number; .* returned .* for 'a' and 'b'"
    with pytest.raises(DataError, match=said):
        evaluate(lambda a, b: value, "a", "b")


def test_values_of_every_type_of_number_are_floats():
    for value in (2, 2.0, np.float32(2), np.array(2.0), True + 1):
        assert evaluate(lambda a, b, value=value: value, 0, 0) == 2.0
    with pytest.raises(DataError, match=r"for 'x{59} and 1$"):
        evaluate(lambda a, b: None, "x" * 100, 1)
    assert name_of(times) == "times"
    assert name_of(Unpicklable(1)) == "Unpicklable"


def test_parameters_of_a_kernel_say_how_it_is_called():
    made = PairEvaluator.of(times, PairCache(1), 3, "processes", 2)
    assert (made.threads, made.processes, made.verbose) == (3, True, True)
    made = PairEvaluator.of(times, PairCache(1), 1, "threads", 0)
    assert (made.threads, made.processes, made.verbose) == (1, False, False)
