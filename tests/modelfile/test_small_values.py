"""Parameters, shapes and sparse matrices: what is written is read, the rest is refused."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from tests.modelfile.cases import X, Y
from tests.modelfile.field_tools import said, written
from tests.modelfile.test_fields import round_trip

import separatrix as sx
from separatrix.data.data_table import ColumnSpec, DataTable
from separatrix.errors import ModelFileError
from separatrix.kernels import FromCallable, Gaussian, Linear, Spectrum
from separatrix.kernels.combination import Combination
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema, values
from separatrix.modelfile.given_code import GivenCode
from separatrix.modelfile.model_card import data_hash
from separatrix.modelfile.values import KernelObject, KernelParameter, Only, Value

VALUES = [
    None,
    True,
    3,
    "word",
    -np.inf,
    [1, (2.5, "a")],
    {"a": 1, 2: None, None: [1]},
    (),
    np.int8,
    bool,
    Gaussian(0.5) + 2.0 * Linear(),
    Combination([Linear(), "rbf"]),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_of_parameters_come_back(value):
    found = round_trip(Value(), value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3),
        KFold(4, shuffle=True, random_state=5),
        StratifiedKFold(2),
        LeaveOneOut(),
        ShuffleSplit(3, test_size=0.25, random_state=1),
    ],
    ids=repr,
)
def test_splitters_come_back(splitter):
    assert repr(round_trip(Value(), splitter)) == repr(splitter)


def test_arrays_among_parameters():
    found = round_trip(Value(), np.array([[1, 2]], np.int16))
    np.testing.assert_array_equal(found, np.array([[1, 2]], np.int16), strict=True)
    assert round_trip(Value(), np.array(["a", "b"])) == ("a", "b")
    assert round_trip(Value(), np.float32(0.5)) == 0.5
    with pytest.raises(ModelFileError, match="`at` is ndarray, which cannot be stored"):
        written(Value(), np.array([["a"]]))
    with pytest.raises(ModelFileError, match="`at` is a function or a class, which cannot"):
        written(Value(), str)


BAD_VALUES = [
    ({}, "schema: `at` must be a value; found {}"),
    ({"float": 1, "tuple": []}, "must be a value of one type"),
    ({"set": [1]}, "schema: `at` must be a value"),
    ({"tuple": 5}, "schema: `at` must be a list; found 5"),
    ({"dict": [[1]]}, "pairs of a key and a value; found [1]"),
    ({"dict": [5]}, "pairs of a key and a value; found 5"),
    ({"dict": [[1, 2], [1, 3]]}, "schema: `at[1]` must be a key that comes once; found 1"),
    ({"dict": [[[1], 2]]}, "schema: `at[0]` must be a key that comes once"),
    ({"type": "object"}, "schema: `at` must be one of bool, int"),
    ("\ud800", "text that UTF-8 can encode; found a lone surrogate"),
    ("x" * 10_001, "limit: `at` has 10001 letters"),
    ({"splitter": "KFold", "params": {}}, "schema: `at` must be an object with"),
    (
        {"splitter": "KFold", "params": {"n_splits": 1, "shuffle": False, "random_state": None}},
        "invariant: `at`: k-fold cross-validation requires at least one",
    ),
    (
        {"kernel": "Gaussian", "params": {"gamma": -1.0}},
        "invariant: `at`: `gamma` of Gaussian must",
    ),
    ({"kernel": "Gaussian", "params": {"gamma": "x"}}, "must be a number or a kernel; found x"),
    ({"kernel": "Gaussian", "params": {}}, "schema: `at` must be an object with ['gamma']"),
]


@pytest.mark.parametrize(("document", "sentence"), BAD_VALUES, ids=range(len(BAD_VALUES)))
def test_values_that_are_no_parameters_are_refused(document, sentence):
    assert sentence in said(Value(), document)


def test_parameters_with_some_values_only():
    field = Only((None, 1, "a"), "for a reason")
    for good in (None, 1, "a"):
        assert round_trip(field, good) is good
    for bad in (True, 1.0, "b"):
        sentence = f"must be None or 1 or 'a', for a reason; found {bad}"
        assert sentence in said(field, bad)


def test_kernels_of_ones_own_are_named():
    class Mine(Gaussian):
        pass

    with pytest.raises(ModelFileError, match="`at` is a kernel of your own, Mine: a file holds"):
        written(KernelObject(), Mine(1.0))
    assert "must be a Linear; found Gaussian" in said(
        KernelObject((Linear,)), {"kernel": "Gaussian", "params": {"gamma": 1.0}}
    )
    document, _ = written(KernelParameter(), len, code=GivenCode())
    assert document == {"function": "len"}
    document, _ = written(KernelParameter(), FromCallable(len), code=GivenCode())
    assert document["params"]["function"] == "len"
    assert round_trip(KernelParameter(), "rbf") == "rbf"
    assert round_trip(KernelParameter(), Spectrum(3)) == Spectrum(3)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("random_state", (None, 0, 7), (-1, 1.0, True, "x")),
        ("n_jobs", (None, -1, 1024, -1024), (1025, -1025, 2.0)),
        ("memory_limit", (None, 1, 2.5), (1e30, "x")),
        ("dtype", ("float64", np.float32), ("object", 5)),
        ("verbose", (True, 2, 0.5), ("x", None)),
    ],
)
def test_parameters_that_fit_alone_would_check(name, good, bad):
    field = values.PARAMETERS[name]
    for value in good:
        assert round_trip(field, value) == value
    for value in bad:
        assert "schema: `at` must be" in said(field, value if not isinstance(value, type) else "x")


def test_shapes_agree_on_their_letters():
    sizes = f.ShapeEnv(n=3)
    sizes.unify("at", (3, 4), "n d+1")
    assert sizes == {"n": 3, "d": 3}
    assert sizes.evaluate("d+1") == 4
    for shape, words, sentence in (
        ((3,), "n d", "an array of shape .n, d.; found shape"),
        ((3, 0), "n q+1", "at least 1 long; found shape"),
        ((2, 4), "n d+1", "of shape .n, d.1. with n=3; found"),
        ((3, 5), "n d+1", "with d=3; found"),
    ):
        with pytest.raises(ModelFileError, match=sentence):
            sizes.unify("at", shape, words)
    f.ShapeEnv().unify("at", (1,), "q+1")


def test_arrays_of_a_file_have_names():
    archive = f.Archive()
    archive.keep("at", np.ones(1))
    with pytest.raises(ModelFileError, match="two arrays of the model would be named `at`"):
        archive.keep("at", np.ones(1))
    with pytest.raises(ModelFileError, match="the file has no array `other`"):
        archive.take("other")
    assert archive.used == set()
    archive.take("at")
    assert archive.used == {"at"}
    with pytest.raises(ModelFileError, match="no model is allowed here"):
        archive.put_model(None, "at", True)
    with pytest.raises(ModelFileError, match="must be one of a, b; found 'c'"):
        f.find_in({"a": 1, "b": 2}, "c", "at")
    with pytest.raises(ModelFileError, match="must be one of a; found"):
        f.find_in({"a": 1}, ["a"], "at")


def csr(data, indices, indptr, kind=np.int32):
    return {
        ".data": np.array(data, dtype=float),
        ".indices": np.array(indices, dtype=kind),
        ".indptr": np.array(indptr, dtype=kind),
    }


MATRIX = {"csr": "array", "shape": [2, 3]}
SPARSE = [
    (csr([1, 2], [0, 3], [0, 1, 2]), "below 3; found 3"),
    (csr([1, 2], [0, -1], [0, 1, 2]), "at least 0; found -1"),
    (csr([1, 2], [0, 1], [0, 2, 1]), "must be rising"),
    (csr([1, 2], [0, 1], [1, 1, 2]), "`at.indptr` must be rising from 0 to 2"),
    (csr([1, 2], [0, 1], [0, 1, 1]), "`at.indptr` must be rising from 0 to 2"),
    (csr([1, 2], [0], [0, 1, 2]), "invariant"),
    (csr([1, 2], [0, 1], [0, 2]), "invariant"),
    (csr([1, np.nan], [0, 1], [0, 1, 2]), "must be finite; found nan"),
    (
        {**csr([1], [0], [0, 1, 1]), ".indptr": np.array([0, 1, 1])},
        "of one index type, int32 or int64; found int32",
    ),
]


@pytest.mark.parametrize(("tensors", "sentence"), SPARSE, ids=range(len(SPARSE)))
def test_sparse_matrices_that_cannot_be_are_refused(tensors, sentence):
    assert sentence in said(f.MatrixField("n d"), MATRIX, tensors)


def test_classes_of_a_search_with_argmax_of_earlier_versions():
    class Model:
        multi_class = "argmax"

    for rows, name in ((1, "auto"), (2, "argmax")):
        model = Model()
        found = {
            "coef_": np.ones((rows, 4)),
            "classes_": np.arange(2),
            "_begun": {"multi_class": "argmax"},
        }
        schema.restore_argmax(model, found, "coef_")
        assert model.multi_class == found["_begun"]["multi_class"] == name
    dual = {"alpha_": np.ones((9, 1)), "classes_": np.arange(2), "_begun": None}
    model = Model()
    schema.restore_argmax(model, dual, "alpha_")
    assert model.multi_class == "auto"
    three = {"coef_": np.ones((3, 4)), "classes_": np.arange(3), "_begun": {}}
    model = Model()
    schema.restore_argmax(model, three, "coef_")
    assert model.multi_class == "argmax"
    with pytest.raises(ModelFileError, match="of one or two boundaries; found 3"):
        schema.restore_argmax(Model(), {**three, "classes_": np.arange(2)}, "coef_")


@pytest.mark.parametrize(
    ("make", "width"),
    [
        (lambda: sx.PolynomialMap(2).fit(X), 15),
        (lambda: sx.Nystroem(n_components=5, random_state=0).fit(X), 5),
        (lambda: sx.RandomFourier(0.1, n_components=6, random_state=0).fit(X), 6),
        (lambda: sx.LinearDiscriminantAnalysis().fit(X, Y), 2),
    ],
)
def test_features_out_are_counted(make, width):
    model = make()
    assert schema.count_features_out(model) == width == model.transform(X).shape[1]


def test_the_hash_of_a_table_is_of_its_cells():
    specs = (ColumnSpec("a", "number", "", ""), ColumnSpec("b", "category", "", ""))

    def table(numbers, codes, words):
        return DataTable(specs, np.array(numbers), {"b": (np.array(codes, np.int32), words)})

    one = table([[1.0], [2.0]], [0, 1], ["x", "y"])
    same = table([[1.0], [2.0]], [2, 0], ["y", "unused", "x"])
    assert data_hash(one) == data_hash(same)
    for other in (
        table([[1.0], [3.0]], [0, 1], ["x", "y"]),
        table([[1.0], [2.0]], [1, 0], ["x", "y"]),
        table([[1.0], [2.0]], [0, -1], ["x", "y"]),
    ):
        assert data_hash(other) != data_hash(one)
