import csv
import gzip
import io
import random

import numpy as np
import pytest
import scipy.sparse
from tests.data.formats.samples import TABLES, from_path

from separatrix.data.formats import table
from separatrix.data.formats.layout import MISSING, is_number
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource
from separatrix.errors import DataFileError, ParameterError

read_csv = from_path(table.read_csv)

MIXED, BLANKS = TABLES[0], TABLES[2]


def test_numbers_stay_and_texts_become_a_column_a_value(write):
    found = read_csv(write(MIXED))

    assert found.features == (
        *("age", "job=clerk", "job=cook"),
        *('home, town=O"Hare', "home, town=Rome"),
    )
    np.testing.assert_array_equal(
        found.X, [[31, 1, 0, 1, 0], [45.5, 0, 1, 0, 1], [np.nan, 1, 0, 0, 0]]
    )
    assert found.y.tolist() == ["a", "b", "a"]
    assert (found.target, found.name) == ("class", "data")


def test_digits_with_the_label_first_as_they_come(write):
    rng = np.random.default_rng(0)
    pixels, labels = rng.integers(0, 256, size=(60, 784)), rng.integers(0, 10, size=60)
    lines = [",".join(["label", *(f"pixel{i}" for i in range(784))])]
    lines += [",".join(map(str, [label, *row])) for label, row in zip(labels, pixels, strict=True)]

    found = read_csv(write("\n".join(lines)))

    np.testing.assert_array_equal(found.X, pixels)
    np.testing.assert_array_equal(found.y, labels)
    assert found.y.dtype == np.intp
    assert found.X.flags.c_contiguous
    assert found.features[-1] == "pixel783"


@pytest.mark.parametrize(
    ("target", "name"),
    [("b", "b"), (0, "a"), (-1, "Label"), (2, "Label"), ("auto", "Label"), (None, "")],
)
def test_the_target_by_name_and_by_position(write, target, name):
    found = read_csv(write("a,b,Label\n1,2,3\n4,5,6\n"), target=target)

    assert found.target == name
    assert found.features == tuple(column for column in ("a", "b", "Label") if column != name)
    assert (found.y is None) == (target is None)


@pytest.mark.parametrize(
    ("names", "target"),
    [("y,a,b", "y"), ("label,y,a", "label"), ("a,b,c", "c"), ("CLASS,b,c", "CLASS")],
)
def test_the_target_that_is_likely(write, names, target):
    assert read_csv(write(names + "\n1,2,3\n")).target == target


def test_a_target_that_is_not_there(write):
    path = write("age,label\n1,2\n")
    with pytest.raises(DataFileError, match="no column named 'lable'") as refusal:
        read_csv(path, target="lable")
    assert refusal.value.hint == "did you mean 'label'?"
    with pytest.raises(DataFileError, match="found 2 columns, expected one at position 2"):
        read_csv(path, target=2)
    with pytest.raises(DataFileError, match="a single column"):
        read_csv(write("1\n2\n"))
    for wrong in (1.5, True, [1]):
        with pytest.raises(ParameterError):
            read_csv(path, target=wrong)


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("1,x\n2,y\n3,x\n", False),
        ("p,x\np,y\ne,x\n", False),
        ("kind,shape\np,x\ne,y\np,x\n", True),
        (",a\n0,1\n1,2\n", True),
        ("a,b\n?,2\n", True),
    ],
)
def test_a_header_is_seen(write, content, header):
    found = read_csv(write(content))
    rows = content.count("\n")

    assert len(found.X) == rows - header
    assert len(read_csv(write(content), header=False).X) == rows
    if rows > 1:
        assert len(read_csv(write(content), header=True).X) == rows - 1


def test_columns_without_a_name_are_named_by_position(write):
    assert read_csv(write(",b,class\n1,2,3\n")).features == ("x1", "b")


def test_two_columns_of_one_name_are_numbered(write):
    found = read_csv(write("a,a,b\n1,2,3\n"))
    assert found.features == ("a", "a_2")
    assert found.notes == ("columns of the same name were numbered: 'a' is now 'a_2'",)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b\n1.5,2\n", "t.csv"),
        ("a;b\n1.5;2\n", "t.csv"),
        ("a\tb\n1.5\t2\n", "t.csv"),
        ("a\tb\n1.5\t2\n", "t.tsv.gz"),
        ("a b\n 1.5   2 \n", "t.txt"),
        ("a,b\r\n1.5,2\r\n", "t.csv"),
        ("a,b\r1.5,2", "t.csv"),
        ("\ufeffa,b\n1.5,2", "t.csv"),
        ("\n\n  \na , b\n 1.5 ,\t2\n\n", "t.csv"),
        ('"a","b"\n"1.5"," 2 "\n', "t.csv"),
        ('a, "b"\n1.5, "2"\n', "t.csv"),
    ],
)
def test_ways_to_write_the_same_table(write, content, name):
    found = read_csv(write(gzip.compress(content.encode()) if "gz" in name else content, name))

    assert found.features == ("a",)
    assert found.X.tolist() == [[1.5]]
    assert found.y.tolist() == [2]


def test_a_blank_as_delimiter_may_be_many(write):
    found = read_csv(write(BLANKS), target=0)

    assert found.X.tolist() == [[0.5, -2], [1000, 7], [0, 0]]
    assert found.y.tolist() == [1, 2, 1]


def test_what_is_a_number_and_what_is_not(write):
    infinite = ["inf", "-Infinity", "1e999"]
    for cell in ("+1", "007", "1e3", "-.5", "5.", '"3"', "0." + "1" * 60, "1e-400", *infinite):
        assert read_csv(write(f"{cell},0\n2,1\n"), header=False).X[0, 0] == float(cell.strip('"'))
    exact = read_csv(write("9007199254740993,0\n2,1\n"), header=False).X[0, 0]
    assert exact == float("9007199254740993")
    for cell in ("true", "2020-01-01", "12:30", "1_0", "0x10", "1e", "--1", "1 2", "１２x"):
        found = read_csv(write(f"2;0\n{cell};1\n"), header=False, delimiter=";")
        assert found.features == tuple(f"x1={value}" for value in sorted(["2", cell]))


def test_no_value_is_nan_among_numbers_and_zero_among_categories(write):
    rows = [f"{cell},{cell},0" for cell in MISSING]

    found = read_csv(write("\n".join(["1,x,0", *rows, "2,y,1"])), header=False)

    assert found.features == ("x1", "x2=x", "x2=y")
    assert np.isnan(found.X[1:-1, 0]).all()
    assert not found.X[1:-1, 1:].any()


@pytest.mark.parametrize("rows", [3, 200_000])
def test_a_text_far_down_makes_the_whole_column_a_category(write, rows):
    numbers = [f"{i % 3},{i % 2}" for i in range(rows)]

    found = read_csv(write("\n".join(["a,b", *numbers, "many,0"])))

    if rows > 3:
        assert found.features == ("a",)
        assert np.isnan(found.X[-1, 0])
        assert found.notes[0].startswith("a: 1 of 200,001 cells is no number ('many')")
        return
    assert found.features == ("a=0", "a=1", "a=2", "a=many")
    assert found.X.sum(axis=0).tolist() == [
        sum(i % 3 == k for i in range(rows)) for k in range(3)
    ] + [1]
    assert (found.X.sum(axis=1) == 1).all()


def test_labels_keep_their_kind(write):
    def labels(*cells):
        return read_csv(write("\n".join(f"0,{cell}" for cell in cells)), header=False).y

    assert labels("1", "2.0", "-3").dtype == np.intp
    assert labels("1", "2.5").tolist() == [1.0, 2.5]
    assert labels("007", "8").tolist() == ["007", "8"]
    assert labels("true", "false").tolist() == ["true", "false"]
    assert labels("1", "two").tolist() == ["1", "two"]
    assert labels("a" * 100, "b").dtype == object
    assert labels("1e300", "1").tolist() == [1e300, 1.0]


def test_a_missing_label_is_refused_with_its_place(write):
    with pytest.raises(DataFileError, match=r"data:3:3: found no label in 'class'"):
        read_csv(write("a,class\n1,x\n2,?\n"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n", r":3:2: found fewer than 2 cells, expected 2 as in the first row"),
        ("a,b\n1,2\n3,4,5\n", r":3:5: found more than 2 cells"),
        ('a,b\n1,"x"y\n', r":2:6: found text after closing quotes, expected a delimiter"),
        ('a,b\n1,"x\n2,3\n', r":2: found quotes that are opened and not closed"),
        ("a,b\n1,x\0\n", r":2:4: found a zero byte"),
        ("", r":1: found nothing, expected at least one row"),
        ("\n \n", r":1: found nothing"),
        ("a,b\n", r": found no rows"),
    ],
)
def test_a_refusal_names_the_place(write, content, message):
    with pytest.raises(DataFileError, match=r"data" + message):
        read_csv(write(content))


def test_features_of_a_model_are_found_in_another_file(write):
    train = read_csv(write(MIXED))
    path = write('"home, town",id,age,job\nOslo,7,50,cook\nRome,8,NA,smith\n,9,1,\n', "new.csv")

    found = read_csv(path, features=train.features, target=None)

    assert found.features == train.features
    np.testing.assert_array_equal(
        found.X, [[50, 0, 1, 0, 0], [np.nan, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    )
    assert found.y is None
    assert found.notes == (
        "job: 1 rows have values the model has not seen: 'smith'",
        "home, town: 1 rows have values the model has not seen: 'Oslo'",
    )


def test_a_table_read_by_its_own_features_is_the_same(write):
    path = write(MIXED)
    first = read_csv(path)
    again = read_csv(path, features=first.features)

    np.testing.assert_array_equal(again.X, first.X)
    np.testing.assert_array_equal(again.y, first.y)
    assert again.target == "class"
    assert again.notes == ()


def test_features_in_another_order_and_not_all(write):
    found = read_csv(write("a,b,c\n1,2,x\n3,4,y\n"), features=["c=y", "b"], target=None)

    assert found.X.tolist() == [[0, 2], [1, 4]]


def test_with_features_only_what_is_left_over_can_be_the_target(write):
    assert read_csv(write("a,b\n1,2\n"), features=["a", "b"]).y is None
    assert read_csv(write("a,b\n1,2\n"), features=["a"]).y.tolist() == [2]
    assert read_csv(write("a,y,b\n1,2,3\n"), features=["a"]).target == "y"


def test_an_equals_sign_in_a_name(write):
    path = write("a=b,a,c\n1,u,0\n2,b,1\n")

    assert read_csv(path, features=["a=b"], target=None).X.tolist() == [[1], [2]]
    assert read_csv(path, features=["a=u"], target=None).X.tolist() == [[1], [0]]
    assert read_csv(path, features=["a=b=1"], target=None).X.tolist() == [[1], [0]]


def test_a_file_that_a_model_cannot_read_is_refused(write):
    path = write("a,b\n1,x\n2,y\n")
    with pytest.raises(DataFileError, match="no column for the feature 'age'"):
        read_csv(path, features=["a", "age"])
    with pytest.raises(DataFileError, match=r"data:2:3: found 'x' in 'b', expected a number"):
        read_csv(path, features=["a", "b"])
    with pytest.raises(DataFileError, match="both as a number and as a category"):
        read_csv(path, features=["a", "a=1"])


def test_numbers_are_categories_where_the_model_says_so(write):
    found = read_csv(write("zip,y\n12,0\n34,1\n"), features=["zip=12", "zip=x"])

    assert found.X.tolist() == [[1, 0], [0, 0]]


def test_many_categories_make_a_sparse_matrix_of_the_same_values(write, monkeypatch):
    path = write("\n".join(["n,v,c,y", *(f"{i % 5},0,k{i},{i % 2}" for i in range(30))]))
    dense = read_csv(path)
    monkeypatch.setattr("separatrix.data.formats.one_hot.SPARSE_WIDTH", 10)
    monkeypatch.setattr("separatrix.data.formats.one_hot.SPARSE_TIMES", 3)
    sparse = read_csv(path)
    again = read_csv(path, features=dense.features)

    assert isinstance(sparse.X, scipy.sparse.csr_array)
    assert sparse.X.indices.dtype == np.int32
    np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    np.testing.assert_array_equal(again.X.toarray(), dense.X)


def test_limits_are_kept(write):
    path = write("\n".join(["a,b,c", *(f"{i},k{i},{i % 2}" for i in range(30))]))
    for limits, words in (
        (Limits(categories=29), "more than 29 different texts in 'b'"),
        (Limits(rows=29), "more than 29 rows"),
        (Limits(values=89), "more than 89 values"),
        (Limits(values=929), "30 rows that become 31 columns"),
        (Limits(columns=2), "3 columns, expected at most 2"),
        (Limits(line_bytes=4), "a line of more than 4 bytes"),
    ):
        with pytest.raises(DataFileError, match=words):
            read_csv(path, limits=limits)
    assert (
        read_csv(path, limits=Limits(rows=30, categories=30, columns=3, values=930)).X.size == 930
    )


@pytest.mark.slow
def test_bombs_are_refused(write):
    with pytest.raises(DataFileError, match="bytes for each compressed byte"):
        read_csv(write(gzip.compress(b"1,1,1\n" * 5_000_000), "bomb.csv.gz"))
    with pytest.raises(DataFileError, match=":1: found a line of more than"):
        read_csv(write(b"1" * 100_000_000))
    with pytest.raises(DataFileError, match=":1: found 1,000,000 columns"):
        read_csv(write(b"1," * 999_999 + b"1\n"))
    with pytest.raises(DataFileError, match="more than 10,000 different texts in 'b'"):
        read_csv(write("\n".join(["a,b,c", *(f"1,k{i},2" for i in range(10_001))])))


def test_a_quote_that_never_closes_is_refused_soon(write):
    content = b'a,b\n1,"x\n' + b"1,2\n" * 500_000
    with pytest.raises(DataFileError, match=r":2: found quotes"):
        read_csv(write(content), limits=Limits(line_bytes=1 << 18))


@pytest.mark.parametrize("block", [1, 3, 10, 1 << 20])
def test_where_a_file_is_cut_into_blocks_makes_no_difference(write, monkeypatch, block):
    whole = ByteSource.read
    path = write('a,"b\nc",y\n' + '1,"x\n\ny",0\n2,"z",1\n3,w,0\n' * 20)
    expected = read_csv(path)
    monkeypatch.setattr(ByteSource, "read", lambda self, size=0: whole(self, block))

    found = read_csv(path, header=True, delimiter=",")

    assert found.features == expected.features == ("a", "b\nc=w", "b\nc=x\n\ny", "b\nc=z")
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)


def test_a_place_is_counted_through_all_blocks(write, monkeypatch):
    whole = ByteSource.read
    monkeypatch.setattr(ByteSource, "read", lambda self, size=0: whole(self, 50))
    rows = [f"{i},{i % 3}" for i in range(500)]

    for line in (3, 40, 333, 501):
        wrong = ["a,b", *rows]
        wrong[line - 1] = "1,2,3"
        with pytest.raises(DataFileError, match=rf":{line}:5: found more than 2 cells"):
            read_csv(write("\n".join(wrong)), header=True, delimiter=",")


@pytest.mark.parametrize(
    ("content", "features"),
    [
        (b'x;y\r\n1"2";0\r\n2,5;1\r\n\r\n', ('x=1"2"', "x=2,5")),
        (b'a, b\n"1" , 0\n2,\t1 \n \n', ("a",)),
        (b'v,w\r 1 , "p"\r2,q', ("v",)),
        (b"a,b\nNAN,1\n2,0\n", ("a",)),
        (b"a,b\n nan ,1\n2,0\n", ("a",)),
    ],
)
def test_tables_that_pyarrow_alone_reads_in_another_way(write, content, features):
    found = read_csv(write(content))

    assert found.features == features
    assert len(found.X) == len(found.y) == 2


def by_the_book(text):
    """Columns as Python's csv module and float see them."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    return list(zip(*rows, strict=True))


@pytest.mark.slow
def test_random_tables_read_as_the_csv_module_reads_them(write):
    rng = random.Random(0)
    words = ["x", "a,b", 'say ""hi""', "two\nlines", "", "NA", "1", "-2.5", "é", "1e5", "0x1"]
    for _ in range(150):
        width, height = rng.randint(2, 5), rng.randint(1, 12)
        pools = [rng.sample(words, rng.randint(1, 4)) for _ in range(width)]
        rows = [[rng.choice(pool) for pool in pools] for _ in range(height)]
        text = "".join(",".join(_quoted(cell, rng) for cell in row) + "\n" for row in rows)

        found = read_csv(write(text), header=False, target=None, delimiter=",")

        for i, column in enumerate(by_the_book(text), start=1):
            _require_column(found, f"x{i}", column)


def _quoted(cell, rng):
    return f'"{cell}"' if rng.random() < 0.3 or set(cell) & set(',"\n') else cell


def _require_column(found, name, column):
    present = [cell for cell in column if cell not in MISSING]
    if all(map(is_number, present)):
        expected = [np.nan if cell in MISSING else float(cell) for cell in column]
        np.testing.assert_array_equal(found.X[:, found.features.index(name)], expected)
        return
    for value in set(present):
        ones = found.X[:, found.features.index(f"{name}={value}")]
        np.testing.assert_array_equal(ones, [cell == value for cell in column])


def test_parameters_are_checked(write):
    path = write(MIXED)
    for wrong in ({"header": "yes"}, {"delimiter": "#"}, {"encoding": "klingon"}):
        with pytest.raises(ParameterError):
            read_csv(path, **wrong)


def test_texts_that_nearly_all_differ_are_noted_and_plain_categories_are_not(write):
    rows = "".join(f'"{i},5x",{"ab"[i % 2]},{i % 2}\n' for i in range(40))
    (note,) = read_csv(write("length,job,class\n" + rows)).notes
    assert note.startswith("length: 40 different texts in 40 rows, such as '0,5x', are read as")


def test_a_column_named_as_a_value_of_another_is_refused(write):
    with pytest.raises(DataFileError, match="both become 'job=cook'"):
        read_csv(write("job=cook,job,class\n1,cook,x\n2,clerk,y\n3,cook,x\n"))
