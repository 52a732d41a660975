"""What is just within a limit of model files is read; one more is refused with the reason."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import BY_NAME, X, Y
from tests.modelfile.hostile import change, signed, split_file

import separatrix as sx
from separatrix.errors import ModelFileError, ParameterError
from separatrix.modelfile import (
    container,
    describe,
    fields,
    files,
    labels,
    objects,
    plain_objects,
    values,
)
from separatrix.modelfile.fields import Archive
from separatrix.modelfile.given_code import _function_of
from separatrix.modelfile.kinds import preprocessing


def reason(call, *arguments):
    with pytest.raises(ModelFileError) as refusal:
        call(*arguments)
    return refusal.value.reason


def test_levels_of_a_kernel():
    assert values._check_levels(values.MOST_LEVELS, "k") == values.MOST_LEVELS
    assert reason(values._check_levels, values.MOST_LEVELS + 1, "k") == "limit"
    for rounds, refused in ((values.MOST_ROUNDS, False), (values.MOST_ROUNDS + 1, True)):
        field = values.KERNEL_PARAMETERS["iterations"]
        if refused:
            assert reason(field.get, rounds, "iterations", Archive()) == "limit"
        else:
            assert field.get(rounds, "iterations", Archive()) == rounds
    for other in (2.0, True, "3"):
        assert reason(values._check_levels, other, "k") == "schema"


def test_lines_of_text():
    get = fields.Text().get
    line = "x" * fields.LONGEST_TEXT
    assert get(line, "at", None) == line
    for bad in (line + "x", "two\nlines", "\u2028", "\ud800", 5):
        assert reason(get, bad, "at", None) == "schema"
    assert fields.Text(("a", "b")).get("b", "at", None) == "b"
    assert reason(fields.Text(("a", "b")).get, "c", "at", None) == "schema"


def test_mixed_labels_are_a_flat_list():
    assert labels._get_mixed([1, "a", None], "at").tolist() == [1, "a", None]
    for bad in ({"a": 1}, "ab", 5, [1, ["a"]], [[]]):
        assert reason(labels._get_mixed, bad, "at") == "schema"


def test_sizes_of_arrays_are_whole_numbers_up_to_the_longest_axis():
    are = container._are_sizes
    assert are([], 2)
    assert are([0, container.LONGEST_AXIS], 2)
    for bad in ([1, 2, 3], [-1], [container.LONGEST_AXIS + 1], [1.0], [True], (1,), None):
        assert not are(bad, 2)


@pytest.mark.parametrize(("name", "most"), [("MOST_MODELS", 3), ("DEEPEST", 2)])
def test_models_in_models(name, most, path, monkeypatch):
    """A pipeline holds two models: three in all, in two levels."""
    sx.save(make_pipeline(StandardScaler(), sx.LogisticRegression()).fit(X, Y), path)
    monkeypatch.setattr(files, name, most)
    assert sx.load(path).score(X, Y) > 0
    monkeypatch.setattr(files, name, most - 1)
    assert reason(sx.load, path) == "limit"


def plain_reader(codes, arguments, words=(), floats=(), arrays=()):
    parts = (list(codes), list(arguments), list(words), list(floats), list(arrays))
    return plain_objects.PlainReader(*parts, {}, "samples")


def test_a_container_says_how_many_values_are_left():
    p = plain_objects
    with pytest.raises(ModelFileError, match="at most 2 values"):
        plain_reader([p.TUPLE, p.NONE, p.NONE], [3, 0, 0]).read()
    with pytest.raises(ModelFileError, match="at most 0 values"):
        plain_reader([p.TUPLE, p.NONE, p.LIST], [2, 0, 1]).read()


def test_plain_objects_refer_to_what_there_is():
    p = plain_objects
    assert plain_reader([p.WORD], [1], ["a", "b"]).read() == "b"
    assert plain_reader([p.LIST, p.FLOAT, p.NONE], [2, 0, 0], floats=[0.5]).read() == [0.5, None]
    assert plain_reader([p.DICT, p.WORD, p.TRUE], [2, 0, 0], ["a"]).read() == {"a": True}
    for bad in (
        plain_reader([p.WORD], [2], ["a", "b"]),
        plain_reader([p.FLOAT], [0]),
        plain_reader([p.LIST, p.NONE], [2, 0]),
        plain_reader([p.DICT, p.WORD], [1, 0], ["a"]),
        plain_reader([p.RECORD], [0]),
        plain_reader([p.SET, p.LIST], [1, 0]),
        plain_reader([], []),
    ):
        with pytest.raises(ModelFileError, match=r"plain objects: .* found") as refusal:
            bad.read()
        assert refusal.value.reason == "schema"


@pytest.mark.parametrize("shape", [(3,), (0,), (2, 3), (1,) * 8])
def test_arrays_among_plain_objects_come_back(shape):
    writer = plain_objects.PlainWriter()
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    writer.add(array, "samples")
    parts = writer.codes, writer.arguments, [key[1] for key in writer.words]
    reader = plain_reader(*parts, writer.floats, writer.arrays)
    np.testing.assert_array_equal(reader.read(), array, strict=True)


SIX = np.arange(6, dtype=np.uint8).tobytes()
SHAPES = {
    "the type of an array": ([6, 1, 6], [-1, 1, 6], ["x", 1, 6], [1, "x", 6], [1, 1.5, 6]),
    "the shape of an array": ([1, 1, 7], [1, 1, -6], [1, 2, -2, -3], [1, 1, "6"], [1, 1, 6.0]),
    "an array of that shape": ([1, 1, 5], [1, 0], [1, 9], [1, -1], [2, 1, 6], [1, 2, 2, 2]),
}


@pytest.mark.parametrize(
    ("said", "words"), [(said, one) for said in SHAPES for one in SHAPES[said]]
)
def test_arrays_among_plain_objects_have_a_type_and_a_shape(said, words):
    """The words are the number of the type, the number of axes, and the lengths."""
    p = plain_objects
    codes, arguments = [p.ARRAY, *[p.WORD] * len(words)], [0, *range(len(words))]
    reader = plain_reader(codes, arguments, words, arrays=[SIX])
    with pytest.raises(ModelFileError, match=f"plain objects: {said}; found something else"):
        reader.read()


@pytest.mark.parametrize("shape", [[6], [2, 3], [1, 6, 1]])
def test_arrays_among_plain_objects_are_read_in_their_shape(shape):
    p = plain_objects
    words = [1, len(shape), *shape]
    codes, arguments = [p.ARRAY, *[p.WORD] * len(words)], [0, *range(len(words))]
    found = plain_reader(codes, arguments, words, arrays=[SIX]).read()
    np.testing.assert_array_equal(found, np.arange(6, dtype=np.uint8).reshape(shape), strict=True)


def test_samples_nest_as_deep_as_the_limit_both_ways():
    def nested(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return value

    writer = plain_objects.PlainWriter()
    writer.add(nested(plain_objects.DEEPEST), "samples")
    assert plain_reader(writer.codes, writer.arguments).read() == nested(plain_objects.DEEPEST)
    deeper = [plain_objects.LIST, *writer.codes], [1, *writer.arguments]
    assert reason(plain_reader(*deeper).read) == "limit"
    add = plain_objects.PlainWriter().add
    assert reason(add, nested(plain_objects.DEEPEST + 1), "samples") == "limit"


def test_the_function_of_a_kernel_is_a_function_or_none():
    assert _function_of(None) is None
    assert _function_of(len) is len
    with pytest.raises(ParameterError, match="`kernel` of load must be a function"):
        _function_of(5)


def test_a_header_must_be_long_enough_and_begin_as_such_files_do(path):
    whole = sx.save(sx.LogisticRegression().fit(X, Y), path).read_bytes()
    short = (container.DIGEST.stop - 9).to_bytes(8, "little") + whole[8:]
    for raw in (short, whole[:8] + b"x" + whole[9:], b"", whole[:7]):
        path.write_bytes(raw)
        assert reason(sx.load, path) == "format"
    longer = (len(whole) - 7).to_bytes(8, "little") + whole[8:]
    path.write_bytes(longer)
    assert reason(sx.load, path) == "size"


@pytest.mark.parametrize("how", ["argmax", "ovo"])
def test_perceptrons_of_earlier_versions_have_one_curve(how, path):
    """Theirs was that of the boundaries; with argmax it is that of the predictions as well."""
    model = sx.KernelPerceptron(multi_class=how, max_iter=3).fit(X, Y)
    document, tensors = split_file(model, path)
    same = sx.load(path)
    np.testing.assert_array_equal(same.learning_curve_, model.learning_curve_)
    np.testing.assert_array_equal(same.boundary_curve_, model.boundary_curve_)
    state = document["model"]["state"]
    old = tensors["model.boundary_curve_"]
    change(document, tensors, "@.learning_curve_", old)
    del state["boundary_curve_"], tensors["model.boundary_curve_"]
    path.write_bytes(signed(document, tensors))
    earlier = sx.load(path)
    np.testing.assert_array_equal(earlier.boundary_curve_, old)
    expected = old if how == "argmax" else np.full(len(old), np.nan)
    np.testing.assert_array_equal(earlier.learning_curve_, expected)


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_vectorizers_come_back_with_the_attributes_they_had(analyzer, path):
    model = CountVectorizer(analyzer=analyzer, stop_words="english" if analyzer == "word" else None)
    model.fit_transform(["a petal", "two roots"])
    sx.save(model, path)
    assert set(vars(sx.load(path))) == set(vars(model))


def test_tokens_have_at_most_64_bits():
    tensors = {}
    archive = fields.Archive(tensors)
    tokens = [-(2**63), 2**63 - 1, "a", b"b"]
    objects._put_tokens(tokens, "at", archive)
    assert objects._get_tokens("at", fields.Archive(tensors)) == tokens
    for number in (2**63, -(2**63) - 1):
        assert reason(objects._put_tokens, [number], "at", fields.Archive({})) == "schema"


def test_a_posterior_has_a_factor_with_a_positive_diagonal(path):
    model = sx.LogisticRegression(posterior="laplace").fit(X, Y)
    document, tensors = split_file(model, path)
    (name,) = [key for key in tensors if key.endswith("factor")]
    factor = tensors[name]

    def loads(diagonal):
        changed = factor.copy()
        np.fill_diagonal(changed, diagonal)
        path.write_bytes(signed(document, {**tensors, name: changed}))
        return sx.load(path)

    np.testing.assert_array_equal(np.diag(loads(0.5)._posterior.factor), 0.5)
    for bad in (0.0, -1.0):
        assert reason(loads, bad) == "invariant"


def test_a_decision_by_a_threshold_has_one_and_two_classes(path):
    model = BY_NAME["decision-tune"].fitted()
    document, tensors = split_file(model, path)
    del document["model"]["state"]["threshold_"]
    path.write_bytes(signed(document, tensors))
    assert reason(sx.load, path) == "invariant"


def test_runs_of_words_are_two_numbers_in_order():
    longest = preprocessing.LONGEST_RUN
    assert preprocessing._check_run([1, longest], "at") == (1, longest)
    assert preprocessing._check_run([2, 2], "at") == (2, 2)
    for bad in ([2, 1], [1, longest + 1], [1], [1, 2, 3], []):
        assert reason(preprocessing._check_run, bad, "at") == "invariant"


def test_parameters_of_a_description_hold_models_at_any_depth_or_none():
    model = {"kind": "SVC", "params": {}}
    for holds in (model, [["svc", model]], {"dict": [["a", model]]}):
        assert describe._holds_model(holds)
    for none in ({"dict": [["a", 1.0]]}, [1, [2]], [], {}, 5, None, "kind"):
        assert not describe._holds_model(none)


def test_flags_are_0_or_1():
    item = {"dtype": "BOOL", "shape": [3]}
    view = container._view("file", "key", item, np.array([0, 1, 1], np.uint8))
    assert view.tolist() == [False, True, True]
    for bad in (2, 255):
        raw = np.array([0, bad, 1], np.uint8)
        assert reason(container._view, "file", "key", item, raw) == "schema"
    assert not container._view("file", "key", item, None).any()


@pytest.mark.parametrize("length", [0, 1, container.LONGEST_NAME, container.LONGEST_NAME + 1])
def test_arrays_have_names_that_are_not_too_long(length):
    table = {"x" * length: {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}
    if 0 < length <= container.LONGEST_NAME:
        container._check_table("file", table, 8)
    else:
        with pytest.raises(ModelFileError, match="the name of an array is empty or too long"):
            container._check_table("file", table, 8)
