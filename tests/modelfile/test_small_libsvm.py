"""Models of LIBSVM at tiny sizes: each line that is written, and each attribute of what is read."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from tests.modelfile.test_libsvm_parser import GOOD, PRECOMPUTED, TWO

from separatrix import SVC, NuSVC, OneClassSVM
from separatrix.errors import ModelFileError
from separatrix.modelfile import libsvm_parser, libsvm_text
from separatrix.modelfile.libsvm_text import (
    _first_sign,
    _PairBoundaries,
    _platt_in_order,
    _sign,
    load_libsvm,
    save_libsvm,
)

ONE_CLASS = """svm_type one_class
kernel_type linear
nr_class 2
total_sv 2
rho 0.75
SV
0.5 1:1
0.25 2:-2
"""


def read(text, path, **more):
    path.write_text(text)
    return load_libsvm(path, **more)


def test_attributes_of_two_classes(path):
    model = read(TWO, path)
    assert type(model) is SVC
    assert model.classes_.tolist() == [-3, 4]
    assert model.support_.tolist() == [0, 1, 2]
    assert model.support_.dtype == np.int32
    assert model.shape_fit_ == (3, 3)
    assert model.n_features_in_ == 3
    assert model.n_support_.tolist() == [1, 2]
    np.testing.assert_array_equal(
        model.support_vectors_, [[0, 0.5, 0], [0.25, 0, -1], [1e-3, 0.5, 0]]
    )
    np.testing.assert_array_equal(model.dual_coef_, [[-1.25, 0.5, 0.75]])
    np.testing.assert_array_equal(model.intercept_, [-0.125])
    assert model._ties.tolist() == [1, 0]
    assert model._slim
    assert not model._support.paired
    assert model._support.cuts.tolist() == [0, 1, 3]
    assert model._support.classes.tolist() == [0, 1, 1]


def test_attributes_of_three_classes(path):
    model = read(GOOD, path, n_features=5)
    assert model.classes_.tolist() == [-3, 2, 7]
    assert model._support.paired
    assert model._support.cuts.tolist() == [0, 2, 3, 4]
    assert model._ties.tolist() == [2, 0, 1]  # 7, -3, 2 among the sorted ones
    assert model.shape_fit_ == (4, 5)
    # pairs of sorted classes are (-3, 2), (-3, 7), (2, 7); of the file (7, -3), (7, 2), (-3, 2)
    np.testing.assert_array_equal(model.intercept_, [-0.3, 0.1, -0.2])


def test_a_model_of_a_ready_matrix_has_rows_and_no_vectors(path):
    model = read(PRECOMPUTED, path)
    assert model.support_.tolist() == [0, 3, 1, 2]
    assert model.support_vectors_.shape == (0, 0)
    assert model.shape_fit_ == (4, 4)
    assert read(PRECOMPUTED, path, n_features=9).shape_fit_ == (9, 9)


def test_attributes_of_a_one_class_machine(path):
    model = read(ONE_CLASS, path)
    assert type(model) is OneClassSVM
    np.testing.assert_array_equal(model.dual_coef_, [[0.5, 0.25]])
    np.testing.assert_array_equal(model.intercept_, [-0.75])
    assert model._support.cuts.tolist() == [0, 2]
    assert model._support.classes.tolist() == [0, 0]
    np.testing.assert_array_equal(model.decision_function([[2.0, 0.0], [0.0, 1.0]]), [0.25, -1.25])
    assert save_libsvm(model, path).read_text() == (
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.75\nSV\n"
        "0.5 1:1.0\n0.25 2:-2.0\n"
    )


@pytest.mark.parametrize("text", [TWO, GOOD, PRECOMPUTED], ids=["two", "three", "ready"])
def test_a_file_is_written_as_it_was_read(text, path):
    model = read(text, path)
    lines = save_libsvm(model, path).read_text().splitlines()

    def numbers(line):
        """The words of a line, numbers as numbers."""
        words = line.replace(":", " ").split()
        return [word if word[0].isalpha() else float(word) for word in words]

    assert sorted(map(numbers, lines), key=repr) == sorted(
        map(numbers, text.splitlines()), key=repr
    )


def test_machines_of_both_kinds_are_named(path):
    for name, make in (("c_svc", SVC), ("nu_svc", NuSVC)):
        model = read(TWO.replace("c_svc", name), path)
        assert type(model) is make
        assert (
            save_libsvm(model, path).read_text().startswith(f"svm_type {name}\nkernel_type rbf\n")
        )


def test_probabilities_are_those_of_the_sorted_classes(path):
    text = TWO.replace("nr_sv", "probA -2\nprobB 0.5\nnr_sv")
    model = read(text, path)
    assert model.calibration == "platt"
    assert model._calibration.n_classes == 2
    np.testing.assert_array_equal(model._calibration.slopes, [[-2.0, 0.5]])
    lines = save_libsvm(model, path).read_text().splitlines()
    assert {"probA -2.0", "probB 0.5"} <= set(lines)
    three = GOOD.replace("nr_sv", "probA -1 -2 -3\nprobB 0.1 0.2 0.3\nnr_sv")
    model = read(three, path)
    np.testing.assert_array_equal(
        model._calibration.slopes, [[-3.0, 0.3], [-1.0, -0.1], [-2.0, -0.2]]
    )
    lines = save_libsvm(model, path).read_text().splitlines()
    assert {"probA -1.0 -2.0 -3.0", "probB 0.1 0.2 0.3"} <= set(lines)


def test_boundaries_in_another_order_and_back():
    own = _PairBoundaries(
        np.array([1, 2, 1]), np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), np.array([10.0, 20.0, 30.0])
    )
    order = np.array([2, 0, 1])
    turned, rows = own.in_order(order)
    assert rows.tolist() == [3, 0, 1, 2]
    assert turned.counts.tolist() == [1, 1, 2]
    assert turned.intercept.tolist() == [-20.0, -30.0, 10.0]
    back, again = turned.in_order(np.argsort(order))
    assert again[np.argsort(rows)].shape == (4,)
    np.testing.assert_array_equal(back.coef, own.coef)
    np.testing.assert_array_equal(back.intercept, own.intercept)
    assert _sign(2) == -1.0
    assert _sign(3) == 1.0
    np.testing.assert_array_equal(_first_sign(np.array([0, 1]), 3), [[-1, 1, 1], [-1, -1, 1]])
    slopes = np.array([[-1.0, 0.1], [-2.0, 0.2], [-3.0, 0.3]])
    found = _platt_in_order(slopes, order)
    np.testing.assert_array_equal(found, [[-2.0, -0.2], [-3.0, -0.3], [-1.0, 0.1]])


@pytest.mark.parametrize(("values", "sparse"), [(2, True), (3, False)])
def test_vectors_are_sparse_below_a_quarter_of_stored_values(values, sparse, path):
    entries = " ".join(f"{index}:1" for index in range(1, values + 1))
    text = ONE_CLASS.replace("1:1", entries).replace("2:-2", "")
    model = read(text, path, n_features=6)
    assert issparse(model.support_vectors_) == sparse
    np.testing.assert_array_equal(
        csr_array(model.support_vectors_).toarray()[0], [1.0] * values + [0.0] * (6 - values)
    )


@pytest.mark.parametrize("size", [1, 2, 3])
def test_blocks_of_vectors_and_of_entries_change_nothing(size, path, monkeypatch):
    model = read(GOOD, path)
    expected = save_libsvm(model, path).read_text()
    monkeypatch.setattr(libsvm_text, "BLOCK_BYTES", 8 * 3 * size)
    monkeypatch.setattr(libsvm_parser, "ENTRIES_AT_ONCE", size)
    assert save_libsvm(model, path).read_text() == expected
    np.testing.assert_array_equal(load_libsvm(path).support_vectors_, model.support_vectors_)


def test_lines_have_at_most_their_longest_length(path, monkeypatch):
    model = read(TWO, path)
    text = save_libsvm(model, path).read_text()
    longest = max(len(line) for line in text.splitlines(keepends=True))
    monkeypatch.setattr(libsvm_parser, "LONGEST_LINE", longest)
    monkeypatch.setattr(libsvm_text, "LONGEST_LINE", longest)
    load_libsvm(save_libsvm(model, path))
    monkeypatch.setattr(libsvm_text, "LONGEST_LINE", longest - 1)
    with pytest.raises(ModelFileError, match=r"a line of .* would have") as refusal:
        save_libsvm(model, path)
    assert refusal.value.reason == "limit"
    monkeypatch.setattr(libsvm_parser, "LONGEST_LINE", longest - 1)
    with pytest.raises(ModelFileError, match="found a longer line, expected at most"):
        load_libsvm(path)


def test_header_lines_have_at_most_their_longest_length(path, monkeypatch):
    path.write_text(GOOD)
    head = GOOD.partition("SV\n")[0].splitlines(keepends=True)
    longest = max(len(line) for line in head if not line.startswith(("rho", "prob")))
    monkeypatch.setattr(libsvm_parser, "LONGEST_HEADER_LINE", longest)
    load_libsvm(path)
    monkeypatch.setattr(libsvm_parser, "LONGEST_HEADER_LINE", longest - 1)
    with pytest.raises(ModelFileError, match="found a longer line of"):
        load_libsvm(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "nr_class 2",
            "nr_class 2\nlabel 1 2",
            "4: found label of a one-class machine, expected none",
        ),
        (
            "nr_class 2",
            "nr_class 2\nprobA 1",
            "4: found probA of a one-class machine, expected none",
        ),
        ("rho 0.75", "rho 1 2", "5: found 2 values of rho, expected 1"),
        ("rho 0.75", "rho " + "1 " * 30, "5: found more values of rho, expected 1"),
        ("rho 0.75", "rho 0.75\nprob_density_marks x", "6: found 'x', expected numbers"),
        ("total_sv 2", "total_sv 3", "8: found the end after 2 support vectors, expected 3"),
        ("total_sv 2", "total_sv 1", "8: found one more line, expected the end after 1 support"),
    ],
)
def test_one_class_machines_that_cannot_be_are_refused(old, new, said, path):
    with pytest.raises(ModelFileError, match=said):
        read(ONE_CLASS.replace(old, new), path)


@pytest.mark.parametrize(("blanks", "refused"), [(10, False), (11, True)])
def test_values_are_counted_before_they_are_split(blanks, refused, path):
    text = ONE_CLASS.replace("rho 0.75", "rho 0.75" + " " * blanks)
    if refused:
        with pytest.raises(ModelFileError, match="5: found more values of rho, expected 1"):
            read(text, path)
    else:
        assert read(text, path).intercept_.tolist() == [-0.75]


@pytest.mark.parametrize("k", [2, 10_000, 10_001])
def test_classes_have_a_limit(k, path):
    text = TWO.replace("nr_class 2", f"nr_class {k}")
    if k == 2:
        assert len(read(text, path).classes_) == 2
        return
    with pytest.raises(ModelFileError) as refusal:
        read(text, path)
    assert refusal.value.reason == ("limit" if k > 10_000 else "invariant")
