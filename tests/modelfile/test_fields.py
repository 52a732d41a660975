"""Fields and containers: values at the borders of what is allowed come back, those beyond are refused."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import X, Y
from tests.modelfile.test_limits import reason

import separatrix as sx
from separatrix.errors import ModelFileError
from separatrix.modelfile import container
from separatrix.modelfile import fields as f
from separatrix.modelfile.kinds import wrappers
from separatrix.modelfile.labels import Labels


def round_trip(field, value, **sizes):
    """A value through a field and back."""
    written = f.Archive()
    document = field.put(value, "at", written)
    return field.get(document, "at", f.Archive(written.tensors).scope(**sizes))


def test_integers():
    get = f.Integer(3).get
    for good in (3, 2**53):
        assert get(good, "at", f.Archive()) == good
    for bad in (2, 2**53 + 1, 3.0, True, "3", None):
        assert reason(get, bad, "at", f.Archive()) == "schema"
    assert f.Integer(0, "n").get(5, "at", f.Archive().scope(n=5)) == 5
    assert reason(f.Integer(0, "n").get, 5, "at", f.Archive().scope(n=6)) == "invariant"


@pytest.mark.parametrize("value", [0.5, -0.0, np.inf, -np.inf, np.nan])
def test_numbers(value):
    found = round_trip(f.Real("any"), value)
    np.testing.assert_array_equal(found, value)
    assert np.signbit(found) == np.signbit(value) or np.isnan(value)
    if np.isnan(value):
        assert reason(round_trip, f.Real("ordered"), value) == "invariant"
    if not np.isfinite(value):
        assert reason(round_trip, f.Real(), value) == "invariant"
    assert reason(f.Real().get, {"float": "1"}, "at", f.Archive()) == "schema"


def test_lists_and_entries(monkeypatch):
    monkeypatch.setattr(f, "MOST_ITEMS", 3)
    monkeypatch.setattr(f, "MOST_ENTRIES", 2)
    assert round_trip(f.Listed(f.Integer()), [1, 2, 3]) == [1, 2, 3]
    for bad in ([1, 2, 3, 4], (1, 2), {"a": 1}, None):
        assert reason(f.Listed(f.Integer()).get, bad, "at", f.Archive()) == "schema"
    assert round_trip(f.Entries(f.Integer()), {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    for bad in ({"a": 1, "b": 2, "c": 3}, [1], None):
        assert reason(f.Entries(f.Integer()).get, bad, "at", f.Archive()) == "schema"
    assert round_trip(f.Maybe(f.Integer()), None) is None


def test_arrays_keep_their_memory_order():
    for value in (np.ones((2, 3)), np.ones((2, 3), order="F"), np.ones(4), np.ones((3, 1))):
        found = round_trip(f.Array("f8 ..."), value)
        assert found.flags.c_contiguous == value.flags.c_contiguous
        assert found.flags.f_contiguous == value.flags.f_contiguous
    stack = [np.arange(6.0).reshape(2, 3), np.ones((2, 3))]
    for parts in (stack, [np.asfortranarray(part) for part in stack]):
        found = round_trip(f.Stacked("f8 a b c"), parts)
        np.testing.assert_array_equal(found, stack)
        assert found[0].flags.f_contiguous == parts[0].flags.f_contiguous


def test_values_of_arrays():
    index = f.Array("i8 s >=0 <n rising")
    for good in ([0, 4], [2, 2, 3], []):
        value = np.array(good, np.int64)
        np.testing.assert_array_equal(round_trip(index, value, n=5), value)
    for bad in ([-1, 2], [0, 5], [3, 2]):
        assert reason(lambda bad=bad: round_trip(index, np.array(bad, np.int64), n=5)) == (
            "invariant"
        )
    assert reason(round_trip, index, np.array([0], np.int32)) == "schema"
    assert reason(f.Array("f8 n").get, "X", "at", f.Archive({"at": np.ones(1)})) == "schema"
    wide = f.Array("f8 d d+1")
    assert round_trip(wide, np.ones((3, 4)), d=3).shape == (3, 4)
    assert reason(round_trip, wide, np.ones((3, 3))) == "invariant"


def test_limits_of_the_whole_file():
    archive = f.Archive()
    archive.spend("words", 3, 5, "at")
    archive.spend("words", 2, 5, "at")
    archive.spend("others", 5, 5, "at")
    assert reason(archive.spend, "words", 1, 5, "at") == "limit"


def test_keys_of_objects():
    f.require_keys({"a": 1, "b": 2}, "at", {"a"}, {"b"})
    for bad in ({"b": 2}, {"a": 1, "c": 3}, ["a"], None):
        assert reason(f.require_keys, bad, "at", {"a"}, {"b"}) == "schema"


def test_labels_rise_or_differ():
    rising, distinct = Labels("k"), Labels("k", rising=False)
    for good in ([1, 2, 5], ["a", "b"], [0.5, 2.5]):
        np.testing.assert_array_equal(round_trip(rising, np.array(good)), good)
    for bad in ([2, 1], [1, 1], ["a", "a"], ["b", "a"]):
        assert reason(round_trip, rising, np.array(bad)) == "invariant"
    np.testing.assert_array_equal(round_trip(distinct, np.array([2, 1])), [2, 1])
    assert reason(round_trip, distinct, np.array([2, 2])) == "invariant"


def largest_header(path):
    return int.from_bytes(path.read_bytes()[:8], "little")


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("LARGEST_HEADER", lambda path, _: largest_header(path)),
        ("MOST_TENSORS", lambda _, tensors: len(tensors)),
        ("LONGEST_NAME", lambda _, tensors: max(map(len, tensors))),
    ],
)
def test_containers_hold_as_much_as_their_limits_say(name, least, path, monkeypatch):
    model = sx.LogisticRegression().fit(X, Y)
    sx.save(model, path)
    tensors = container.read_container(path, versions=lambda _: None).tensors
    most = least(path, tensors)
    monkeypatch.setattr(container, name, most)
    sx.save(model, path)
    sx.load(path)
    monkeypatch.setattr(container, name, most - 1)
    assert reason(sx.load, path) in ("limit", "schema")
    assert reason(sx.save, model, path) == "limit"


def test_files_that_need_more_memory_than_there_is_are_refused(path, monkeypatch):
    sx.save(sx.LogisticRegression().fit(X, Y), path)
    whole = container.read_container(path, versions=lambda _: None).tensors
    needed = sum(array.nbytes for array in whole.values())
    monkeypatch.setattr(container, "memory_of_this_machine", lambda: needed)
    sx.load(path)
    monkeypatch.setattr(container, "memory_of_this_machine", lambda: needed - 1)
    assert reason(sx.load, path) == "limit"


@pytest.mark.parametrize(
    ("more", "word"), [(b"xy", "2 bytes too long"), (None, "2 bytes too short")]
)
def test_files_of_another_length_say_by_how_much(more, word, path):
    whole = sx.save(sx.LogisticRegression().fit(X, Y), path).read_bytes()
    path.write_bytes(whole + more if more else whole[:-2])
    with pytest.raises(ModelFileError, match=word):
        sx.load(path)


def test_pipelines_have_as_many_steps_as_the_limit(path, monkeypatch):
    steps = [("a", StandardScaler()), ("b", "passthrough"), ("c", sx.LogisticRegression())]
    sx.save(Pipeline(steps).fit(X, Y), path)
    monkeypatch.setattr(wrappers, "MOST_STEPS", 3)
    assert [name for name, _ in sx.load(path).steps] == ["a", "b", "c"]
    monkeypatch.setattr(wrappers, "MOST_STEPS", 2)
    assert reason(sx.load, path) == "schema"
