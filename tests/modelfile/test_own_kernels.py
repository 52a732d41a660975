"""Models whose kernel is a function of the user's: the file names it, and `load` is given it again."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.modelfile.hostile import signed, split_file

import separatrix as sx
from separatrix.errors import DataError, ModelFileError, ParameterError
from separatrix.kernels import FromCallable, Normalized
from separatrix.modelfile.model_card import data_hash

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 12)


@dataclass(frozen=True)
class Tree:
    label: str
    children: tuple = ()


class Plain:
    """No dataclass."""

    def __init__(self, value):
        self.value = value


def size(tree):
    return 1 + sum(map(size, tree.children))


def trees(a, b):
    return float(size(a) * size(b) + (a.label == b.label))


def jaccard(a, b):
    return len(a & b) / len(a | b)


def overlap(a, b):
    return float(len(a & b))


def equal_start(a, b):
    return 1.0 + (a[0] == b[0])


def products(A, B):
    return A @ B.T


def means(a, b):
    return float(a.mean() * b.mean())


def count(a, b):
    return float(sum(value * b.get(key, 0) for key, value in a.items()))


SETS = [set(RNG.choice(9, 4).tolist()) | {20 + c} for c in Y.tolist()]
TREES = [Tree("ab"[c], (Tree("x"),) * (1 + row % 3)) for row, c in enumerate(Y)]
CASES = {
    "sets": (SETS, jaccard, None),
    "frozensets": ([frozenset(x) for x in SETS], jaccard, None),
    "strings": (["ab" if c else "ba" for c in Y], equal_start, None),
    "tuples": ([("a", 1) if c else ("b", (2, None)) for c in Y], equal_start, None),
    "dicts": ([{"a": 1.5 + c, "b": int(c)} for c in Y], count, None),
    "arrays": ([RNG.normal(c, 1, size=2 + row % 3) for row, c in enumerate(Y)], means, None),
    "dataclasses": (TREES, trees, [Tree]),
    "matrix": (RNG.normal(size=(24, 3)) + Y[:, None], products, None),
}
MODELS = {
    "svc": lambda k: sx.SVC(kernel=Normalized(FromCallable(k))),
    "svc-function": lambda k: sx.SVC(kernel=k),
    "perceptron": lambda k: sx.KernelPerceptron(FromCallable(k), max_iter=3, predictor="vote"),
    "knn": lambda k: sx.KNeighborsClassifier(3, kernel=FromCallable(k)),
    "svc-cv": lambda k: sx.SVCCV([1.0], kernels=[FromCallable(k, check_psd="shift")], cv=2),
    "perceptron-cv": lambda k: sx.KernelPerceptronCV([FromCallable(k)], cv=2),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("name", CASES)
def test_a_model_comes_back_with_its_function(name, make, slim, path):
    X, function, classes = CASES[name]
    model = make(function).fit(X, Y)
    sx.save(model, path, slim=slim, data=(X, Y))

    again = sx.load(path, kernel=function, classes=classes)

    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    wrapped = sx.load(path, kernel=FromCallable(function), classes=classes)
    np.testing.assert_array_equal(wrapped.predict(X), model.predict(X))
    assert again.fit(X, Y).predict(X).shape == (24,)


def refusal(path, **given):
    with pytest.raises(ModelFileError) as raised:
        sx.load(path, **given)
    assert "\n" not in str(raised.value)
    return raised.value.reason, str(raised.value)


def test_without_the_function_the_file_says_what_to_do(path):
    sx.save(sx.SVC(kernel=FromCallable(jaccard)).fit(SETS, Y), path)
    reason, message = refusal(path)
    assert reason == "function"
    assert "is a function of yours, jaccard" in message
    assert message.endswith("give it again, load(path, kernel=jaccard)")


def test_several_functions_are_given_by_name(path):
    kernel = FromCallable(jaccard) + FromCallable(overlap)
    model = sx.SVC(kernel=kernel).fit(SETS, Y)
    sx.save(model, path)
    both = {"jaccard": jaccard, "overlap": overlap}
    again = sx.load(path, kernel=both)
    np.testing.assert_array_equal(again.decision_function(SETS), model.decision_function(SETS))
    for given in (jaccard, {"jaccard": jaccard}):
        reason, message = refusal(path, kernel=given)
        assert reason == "function"
        assert "load(path, kernel={'jaccard': ..., 'overlap': ...})" in message
    reason, message = refusal(path, kernel={**both, "other": overlap})
    assert "`kernel` has other, but the functions that the model needs are: jaccard" in message


def test_two_functions_of_one_name_have_two_names_in_a_file(path):
    kernel = FromCallable(lambda a, b: jaccard(a, b)) + FromCallable(lambda a, b: overlap(a, b))
    model = sx.SVC(kernel=kernel).fit(SETS, Y)
    sx.save(model, path)
    again = sx.load(path, kernel={"<lambda>": jaccard, "<lambda>-2": overlap})
    np.testing.assert_array_equal(again.decision_function(SETS), model.decision_function(SETS))


def test_a_function_that_is_not_needed_is_refused(path):
    sx.save(sx.SVC().fit(CASES["matrix"][0], Y), path)
    assert "`kernel` has jaccard, but" in refusal(path, kernel=jaccard)[1]
    with pytest.raises(ParameterError, match="`kernel` of load must be a function, or a dict"):
        sx.load(path, kernel="rbf")
    with pytest.raises(ParameterError, match="`classes` of load must be a list of dataclasses"):
        sx.load(path, classes=[Plain])


def test_a_dataclass_is_given_again(path):
    sx.save(sx.SVC(kernel=FromCallable(trees)).fit(TREES, Y), path)
    reason, message = refusal(path, kernel=trees)
    assert reason == "function"
    assert message.endswith("give the class again, load(path, kernel=..., classes=[Tree])")
    again = sx.load(path, kernel=trees, classes=[Tree])
    assert all(type(x) is Tree and x in TREES for x in again.support_vectors_)

    @dataclass
    class Other:
        label: str

    Other.__name__ = "Tree"
    assert "the fields of Tree" in refusal(path, kernel=trees, classes=[Other])[1]


def test_objects_of_other_classes_cannot_be_saved(path):
    objects = [Plain(row + 10 * c) for row, c in enumerate(Y)]
    model = sx.SVC(kernel=FromCallable(lambda a, b: float(a.value * b.value))).fit(objects, Y)
    with pytest.raises(
        ModelFileError, match="are objects of type Plain: a file holds sets"
    ) as raised:
        sx.save(model, path)
    assert raised.value.reason == "unsupported"
    assert not path.exists()


def test_a_description_names_the_function_and_needs_none(path):
    sx.save(sx.SVC(kernel=FromCallable(jaccard)).fit(SETS, Y), path, data=(SETS, Y))
    found = sx.describe(path)
    assert found.functions == ["jaccard"]
    assert found.objects == "objects"
    assert "| function | `jaccard`: give it to `load(path, kernel=...)` |" in str(found)
    assert found.as_dict()["functions"] == ["jaccard"]


def test_the_hash_of_objects_depends_on_their_values_alone():
    assert data_hash([{1, 9}], [0]) == data_hash([{9, 1}], [0]) != data_hash([{1, 8}], [0])
    a, b = {"x": 1, "y": {2}}, {"y": {2}, "x": 1}
    arrays = [np.array([part, None], dtype=object)[:1] for part in (a, b)]
    assert data_hash(arrays[0]) == data_hash(arrays[1])
    with pytest.raises(DataError, match="objects of type Plain have no hash that lasts"):
        data_hash(np.array([Plain(1), None], dtype=object)[:1])


def nested(depth):
    value = ()
    for _ in range(depth):
        value = (value,)
    return value


def test_samples_that_are_nested_too_deep_are_refused(path):
    deep = [nested(300 + row) for row in range(24)]
    model = sx.SVC(kernel=FromCallable(lambda a, b: float(a is b), objects=True)).fit(deep, Y)
    with pytest.raises(ModelFileError, match="nested more than 200 deep"):
        sx.save(model, path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["sets", "tuples", "dicts", "arrays", "dataclasses"])
def test_changed_samples_are_refused_or_are_samples(name, path):
    """Codes, arguments, words and shapes that somebody changed, with the right checksum."""
    X, function, classes = CASES[name]
    document, tensors = split_file(sx.SVC(kernel=FromCallable(function)).fit(X, Y), path)
    names = [
        key for key in tensors if key.startswith("model.support_vectors_.") and tensors[key].size
    ]
    rng, reasons = np.random.default_rng(5), []
    for number in range(120):
        changed = dict(tensors)
        key = names[number % len(names)]
        array = changed[key] = tensors[key].copy()
        array[rng.integers(len(array))] = (
            rng.choice([0, 1, 2, 5, 11, 100, 255]) * (number % 3 + 1) % 256
        )
        path.write_bytes(signed(document, changed))
        try:
            sx.load(path, kernel=function, classes=classes)
        except ModelFileError as error:
            reasons.append(error.reason)
    assert set(reasons) <= {"schema", "invariant", "limit", "function"}
    assert reasons


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("function", 3),
        ("function", None),
        ("function", "two\nlines"),
        ("objects", "yes"),
        ("check_psd", "never"),
        ("workers", "os.system"),
        ("n_jobs", 10**6),
        ("cache_size", -1),
        ("cache_size", "much"),
        ("verbose", []),
    ],
)
def test_changed_parameters_of_the_kernel_are_refused(key, value, path):
    document, tensors = split_file(sx.SVC(kernel=FromCallable(jaccard)).fit(SETS, Y), path)
    for holder in (document["model"]["params"]["kernel"], document["model"]["state"]["kernel_"]):
        holder["params"][key] = value
    path.write_bytes(signed(document, tensors))
    assert refusal(path, kernel=jaccard)[0] in ("schema", "invariant")
