"""Messy tables as people have them: each was refused or misread before."""

import io
import json
import sqlite3
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.data.formats.samples import ARFF, JSON_LINES, parquet

from separatrix.data.data_table import DataTable
from separatrix.data.encodings import detect_encoding
from separatrix.data.formats.cells import RecordSplitter
from separatrix.data.read import read
from separatrix.data.read_table import as_matrix, read_table, table_of
from separatrix.data.roles import RoleOverrides
from separatrix.errors import DataError, DataFileError, MissingDataError, ParameterError

ROWS = 24


def roles(data):
    return {spec.name: spec.role for spec in data.X.specs}


def shown(data):
    return np.asarray(data.X).tolist()


def rows_of(cells):
    return "x,class\n" + "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        raw = content.encode(encoding) if isinstance(content, str) else content
        (tmp_path / name).write_bytes(raw)
        return tmp_path / name

    return write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"])
def test_encodings_are_detected(write, encoding):
    data = read_table(write("stadt;class\nZürich;a\nBern;b\n", encoding=encoding))

    assert shown(data) == [["Zürich"], ["Bern"]]
    assert [note for note in data.notes if "Windows-1252" in note] == (
        ["the bytes are not UTF-8 and were read as Windows-1252; --encoding names another"]
        if encoding == "latin-1"
        else []
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("word", ["Zürich", "Łódź", "Санкт-Петербург", "Ηράκλειο"])
def test_utf16_without_a_mark_is_detected_in_any_alphabet(write, encoding, word):
    path = write("x;class\n" + f"{word};1\n{word[::-1]};2\n" * 4, encoding=encoding)

    assert shown(read_table(path))[:2] == [[word], [word[::-1]]]


@pytest.mark.parametrize(
    "head",
    [
        *(b"ha\0\ts=", b"\0\tspam", b"a\0\tb\0\tc\0\td", b"1\0", b"\0\0\0\0\0\0\0\0\0\0"),
        *(b"ham\thello\0\nspam\tbuy\0\n", b"a\0b\0c\0\x01\0d\0", b"x,y\n1\0,2\n" * 50),
    ],
)
def test_a_few_nul_bytes_do_not_make_a_text_utf16(head):
    assert detect_encoding(head) == "utf-8"


@pytest.mark.slow
def test_bytes_that_are_not_utf8_far_down_and_undefined_ones_are_read(write, monkeypatch):
    split, calls = RecordSplitter._split, []
    slowly = lambda self, *where: calls.append(where) or split(self, *where)  # noqa: E731
    monkeypatch.setattr(RecordSplitter, "_split", slowly)
    path = write(b"x,class\n" + b"a,1\n" * 400_000 + b"caf\xe9\x81,2\n")

    data = read_table(path)

    assert shown(data)[-1] == ["café\x81"]
    assert len(calls) < 10  # cell by cell only the header
    with pytest.raises(DataFileError, match=r":400002:4: found the byte 0xe9, expected UTF-8"):
        read_table(path, encoding="utf-8")


def test_an_encoding_can_be_named(write):
    path = write("имя;class\nда;a\nнет;b\n", encoding="cp1251")
    assert read_table(path, encoding="cp1251").X.columns == ("имя",)
    with pytest.raises(ParameterError, match="an encoding of text"):
        read_table(path, encoding="klingon")
    with pytest.raises(DataFileError, match="expected UTF-8 text"):
        read_table(path, encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b,class\n1.5,x,1\n2,y,0\n", "t.csv"),
        ("a;b;class\n1,5;x;1\n2;y;0\n", "t.csv"),
        ("a|b|class\n1.5|x|1\n2|y|0\n", "t.txt"),
        ("a b class\n1.5 x 1\n2 y 0\n", "t.txt"),
        ("a\tb\tclass\n1.5\tx\t1\n2\ty\t0\n", "t.txt"),
        ("sep=;\na;b;class\n1,5;x;1\n2;y;0\n", "t.csv"),
        ('"sep=|"\r\na|b|class\r\n1.5|x|1\r\n2|y|0\r\n', "t.csv"),
    ],
)
def test_delimiters_are_detected_in_any_text_file(write, content, name):
    data = read_table(write(content, name))
    assert shown(data) == [[1.5, "x"], [2.0, "y"]]
    assert data.y.tolist() == [1, 0]


def test_a_decimal_comma_without_a_header_is_no_delimiter(write):
    data = read_table(write("1,5;2,5;a\n1,6;2,7;b\n3,1;2,2;a\n"))
    assert shown(data) == [[1.5, 2.5], [1.6, 2.7], [3.1, 2.2]]
    assert data.y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["48,44", "0,5", "-3"], [48.44, 0.5, -3.0]),
        (["48,440", "1,234,567.5", "12"], [48440.0, 1234567.5, 12.0]),
        (["1.234,5", "12", "2.000.000"], [1234.5, 12.0, 2e6]),
        (["12 %", "3,5 %", "100%"], [0.12, 0.035, 1.0]),
        (["$ 1,200.50", "$3.00", "-$4"], [1200.5, 3.0, -4.0]),
        (["1 234,5", "12,0", "7"], [1234.5, 12.0, 7.0]),
        (["12 €", "-", "n.a."], [12.0, None, None]),
        (["1.5", "#DIV/0!", "NaN"], [1.5, None, None]),
    ],
)
def test_numbers_as_people_write_them(write, cells, values):
    text = "x;class\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells))
    data = read_table(write(text), delimiter=";")
    assert roles(data) == {"x": "number"}
    assert [row[0] for row in shown(data)] == values


def test_two_words_in_a_column_of_numbers_are_missing_values_with_a_note(write):
    cells = [str(20 + i % 50) for i in range(598)] + ["unknown", "old"]
    path = write("age,class\n" + "".join(f"{c},{i % 2}\n" for i, c in enumerate(cells)))

    data = read_table(path)
    assert roles(data) == {"age": "number"}
    assert data.notes[0].startswith("age: 2 of 600 cells are not numbers ('unknown', 'old')")
    assert np.isnan(data.X.numbers[-2:, 0]).all()
    forced = read_table(path, overrides=RoleOverrides(category=("age",)))
    assert roles(forced) == {"age": "codes"}
    assert shown(forced)[-1] == ["old"]


def test_an_infinite_cell_is_a_missing_value_with_a_note(write):
    data = read_table(write("x,class\n1,a\ninf,b\n-inf,a\n2,b\n"))
    assert [row[0] for row in shown(data)] == [1.0, None, None, 2.0]
    assert data.notes == ("x: 2 of 4 cells are infinite and count as missing",)


def test_signs_of_classes_are_no_missing_values(write):
    data = read_table(write("x,sign,class\n1,+,-\n2,-,+\n3,+,-\n"))
    assert data.y.tolist() == ["-", "+", "-"]
    assert [row[1] for row in shown(data)] == ["+", "-", "+"]


def messy(i):
    return {
        "": i,
        "customer_id": f"C{(i * 7919) % 100000:05d}",
        "age": 20 + (i * 13) % 40,
        "age ": i % 7 + 0.5,
        "zip": f"{1000 + (i * 37) % 45}x",
        "signup": f"{1 + i % 28:02d}.{1 + i % 12:02d}.2020",
        "seen": f"2021-03-{1 + i % 28:02d}T{i % 24:02d}:30:00Z",
        "note": f"this is note number {i} about nothing",
        "vip": ("Yes", "no", "")[i % 3],
        "source": "web",
        "color": ("red", "green", "blue")[i % 3],
        "class": ("a", "b")[i % 2],
    }


@pytest.fixture
def table():
    return pd.DataFrame([messy(i) for i in range(300)])


EXPECTED = {
    "x1": "index",
    "customer_id": "id",
    "age": "number",
    "age_2": "number",
    "zip": "codes",
    "signup": "date",
    "seen": "date",
    "note": "text",
    "vip": "boolean",
    "source": "constant",
    "color": "category",
}


def test_every_role_by_its_rule(write, table):
    data = read_table(write(table.to_csv(index=False)))
    assert roles(data) == EXPECTED
    assert data.target == "class"
    assert data.guess == "by its name"
    first = dict(zip(data.X.columns, np.asarray(data.X[:2])[1], strict=True))
    assert first["signup"] == "2020-02-02"
    assert first["seen"] == "2021-03-02 01:30:00"
    assert first["vip"] == "no"
    assert "columns of the same name were numbered: 'age' is now 'age_2'" in data.notes


@pytest.mark.slow
def test_the_same_roles_from_frames(table):
    table.columns = [*EXPECTED, "class"]
    frame = table.drop(columns="class")
    for made in (frame, pl.DataFrame(frame.to_dict("list")), pa.Table.from_pandas(frame)):
        found = table_of(made).table
        assert {spec.name: spec.role for spec in found.specs} == EXPECTED
        assert (
            np.asarray(found[:2])[1].tolist() == np.asarray(table_of(frame).table[1:2])[0].tolist()
        )


def test_what_is_no_frame_is_refused():
    with pytest.raises(DataError, match="expected a table of pandas, polars or pyarrow; got list"):
        table_of([[1, 2]])


@pytest.mark.parametrize(("name", "text"), [("b", "x\udf11"), ("x\udf11", "b")])
def test_half_of_a_surrogate_pair_in_a_frame_is_refused(name, text):
    names = pd.Index(["a", name], dtype=object)
    frame = pd.DataFrame([[1, "u"], [2, text]], columns=names, dtype=object)
    with pytest.raises(DataError, match=r"surrogate pair in the text 'x\\udf11', expected text"):
        table_of(frame)


def test_roles_can_be_given(write, table):
    path = write(table.to_csv(index=False))
    given = RoleOverrides(drop=("note",), text=("color",), date=("signup",), category=("age",))
    found = roles(read_table(path, overrides=given))
    assert (found["note"], found["color"], found["age"]) == ("dropped", "text", "category")
    with pytest.raises(DataError, match="given two roles, dropped and text"):
        read_table(path, overrides=RoleOverrides(drop=("note",), text=("note",)))
    with pytest.raises(DataError, match="no column named 'nots'"):
        read_table(path, overrides=RoleOverrides(drop=("nots",)))
    with pytest.raises(DataError, match="'class' is the target"):
        read_table(path, overrides=RoleOverrides(drop=("class",)))
    with pytest.raises(DataError, match="'color' holds no dates"):
        read_table(path, overrides=RoleOverrides(date=("color",)))


def test_roles_of_a_model_hold_for_a_file_of_one_row(write, table):
    whole = read_table(write(table.to_csv(index=False)))
    one = write(table.iloc[[7]].drop(columns="class").to_csv(index=False), "one.csv")
    data = read_table(one, specs=whole.X.specs, target=None)
    assert data.X.specs == whole.X.specs
    assert shown(data)[0] == np.asarray(whole.X[7:8]).tolist()[0]
    with pytest.raises(DataFileError, match="no column named 'age_2'"):
        read_table(write("age\n1\n", "other.csv"), specs=whole.X.specs, target=None)


def test_the_convention_of_a_model_holds_for_a_single_number(write):
    whole = read_table(write("x;class\n0,125;a\n1,250;b\n3,500;a\n"))
    assert [row[0] for row in shown(whole)] == [0.125, 1.25, 3.5]
    one = read_table(
        write("x\n48,440\n", "one.csv"), specs=whole.X.specs, target=None, delimiter=";"
    )
    assert shown(one) == [[48.44]]


def test_rows_without_a_label_are_set_aside_or_refused(write):
    path = write("x,class\n1,a\n2,\n3,b\n4,?\n")
    data = read_table(path)
    assert shown(data) == [[1.0], [3.0]]
    assert data.notes == ("2 of 4 rows have no label in 'class' and are set aside",)
    with pytest.raises(DataFileError, match=r"data.csv:3:3: found no label in 'class'") as refusal:
        read_table(path, missing_label="error")
    assert refusal.value.hint == "--missing-label drop sets such rows aside"


def test_the_first_column_is_the_target_if_only_it_holds_texts(write):
    data = read_table(write("T,2,8\nI,5,12\nD,4,11\nT,7,3\n", "letter.data"), format="csv")
    assert (data.target, data.guess) == ("x1", "the only column of texts")


def test_numbers_between_blanks_are_a_table_and_not_esl(write):
    path = write("1 2 0\n3 4 1\n5 6 0\n", "numbers.txt")
    assert read_table(path).y.tolist() == [0, 1, 0]
    assert read_table(path, target=0).y.tolist() == [1, 3, 5]
    assert read(path, format="esl").y.tolist() == [1, 3, 5]


def test_how_a_file_was_read_is_one_line(write):
    data = read_table(write("sep=;\nage;job;class\n31;cook;a\n45;clerk;b\n"))
    assert data.reading == (
        "data.csv: csv, UTF-8, semicolons, header; 2 rows; target class, by its name: 2 classes "
        "(a 1, b 1); 1 number, 1 category"
    )


def test_arff_dense_and_sparse(write):
    data = read_table(write(ARFF, "houses.arff"))
    assert data.X.columns == ("floor area", "heating", "note", "sold")
    assert data.y.tolist() == [0, 1, 0]
    assert shown(data)[1][:3] == [None, "heat pump", "two, words"]
    assert shown(data)[2][:2] == [70.0, "oil"]
    for bad, words in (
        (ARFF.replace(b"81.5", b"much"), "found 'much' in 'floor area', expected a number"),
        (ARFF.replace(b"81.5,gas", b"81.5,coal"), "found 'coal' in 'heating', expected one of its"),
        (ARFF.replace(b",2020-01-31,0", b",0"), "found 4 cells, expected 5"),
        (ARFF.replace(b"@data", b"@date"), "expected @attribute NAME"),
    ):
        with pytest.raises(DataFileError, match=words):
            read_table(write(bad, "bad.arff"))


def test_arff_reads_as_scipy_does(write):
    from scipy.io import arff

    rng = np.random.default_rng(0)
    rows = [
        f"{a:.6f},{b:.3f},{'xyz'[c]}"
        for a, b, c in zip(
            rng.normal(size=50), rng.normal(size=50), rng.integers(0, 3, 50), strict=True
        )
    ]
    head = "@relation r\n@attribute a real\n@attribute b numeric\n@attribute class {x,y,z}\n@data\n"
    path = write(head + "\n".join(rows), "r.arff")
    expected, _ = arff.loadarff(path)
    data = read_table(path)
    np.testing.assert_array_equal(data.X.numbers, np.column_stack([expected["a"], expected["b"]]))
    assert data.y.tolist() == [label.decode() for label in expected["class"]]


def test_json_lines(write):
    data = read_table(write(JSON_LINES, "people.jsonl"))
    assert data.X.columns == ("age", "job", "smokes", "more.0", "more.1")
    assert shown(data)[0] == [31.0, "clerk", "true", None, None]
    with pytest.raises(DataFileError, match=r":2:1: found '\[1\]', expected an object"):
        read_table(write('{"a": 1}\n[1]\n', "bad.jsonl"))


def test_sqlite(tmp_path, table):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        table.columns = [*EXPECTED, "class"]
        table.to_sql("customers", database, index=False)
        assert roles(read_table(path))["color"] == "category"
        table.head(3).to_sql("few", database, index=False)
    database.close()
    assert len(read_table(f"{path}:few").X) == 3
    with pytest.raises(DataFileError, match="found 2 tables, expected one among") as refusal:
        read_table(path)
    assert refusal.value.hint.endswith("shop.db:TABLE")
    with pytest.raises(DataFileError, match="no table named 'none'"):
        read_table(f"{path}:none")
    (tmp_path / "no.db").write_bytes(b"x" * 100)
    with pytest.raises(DataFileError, match="expected an SQLite database"):
        read_table(tmp_path / "no.db")


def test_excel(tmp_path, table):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    days = [pd.Timestamp("2020-01-02"), pd.Timestamp("2020-05-02")]
    book.active.append(["age", "day", "job", "class"])
    book.active.append([31, days[0], "cook", "a"])
    book.active.append([None, days[1], "clerk", "b"])
    book.save(path)
    data = read_table(path)
    assert shown(data) == [[31.0, "2020-01-02", "cook"], [None, "2020-05-02", "clerk"]]


def test_excel_without_a_package_says_what_to_install(write, monkeypatch):
    from separatrix.data.formats import excel

    monkeypatch.setattr(excel, "find_spec", lambda name: None)
    content = io.BytesIO()
    import zipfile

    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(ImportError, match="pip install 'separatrix\\[excel\\]'"):
        read_table(write(content.getvalue(), "t.xlsx"))


def test_several_files_and_folders_are_one_table(tmp_path):
    (tmp_path / "part-1.csv").write_text("x,job,class\n1,cook,a\n2,clerk,b\n")
    (tmp_path / "part-2.csv").write_text("class,x,job\nb,old,cook\na,4,nurse\n")
    expected = [[1.0, "cook"], [2.0, "clerk"], ["old", "cook"], [4.0, "nurse"]]
    for path in (str(tmp_path / "part-*.csv"), sorted(map(str, tmp_path.glob("part-*")))):
        data = read_table(path)
        assert [[str(c).removesuffix(".0") for c in row] for row in shown(data)] == [
            [str(c).removesuffix(".0") for c in row] for row in expected
        ]
        assert data.y.tolist() == ["a", "b", "b", "a"]
    folder = tmp_path / "lake"
    folder.mkdir()
    for i in range(2):
        (folder / f"{i}.parquet").write_bytes(parquet({"x": [1.0 + i], "class": ["a"]}))
    assert shown(read_table(folder)) == [[1.0], [2.0]]
    with pytest.raises(MissingDataError, match="there is no file"):
        read_table(str(tmp_path / "none-*.csv"))


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"x,class\n1,a\n2,b\n")

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert shown(read_table("-", format="csv")) == [[1.0], [2.0]]
    assert len(read_table("-").X) == 2  # again: it is kept


def test_complete_numbers_become_a_matrix(write):
    whole = as_matrix(read_table(write("a,b,class\n1,2,x\n3,4,y\n")))
    assert whole.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert whole.kind == "vectors"
    assert isinstance(as_matrix(read_table(write("a,b,class\n1,,x\n3,4,y\n"))).X, DataTable)
    assert isinstance(as_matrix(read_table(write("a,b,class\n1,x,x\n3,y,y\n"))).X, DataTable)


def test_ambiguous_days_and_months(write):
    text = "d,class\n" + "".join(
        f"{m:02d}/{d:02d}/2020,{d % 2}\n" for m in (1, 2) for d in range(1, 29)
    )
    data = read_table(write(text))
    assert data.X.specs[0].format == "%m/%d/%Y"
    assert np.ptp(data.X.numbers) == 58 * 86400


def test_codes_with_leading_zeros_are_no_numbers(write):
    rows = [f"{i},{z},{i % 2}" for i, z in enumerate(["90210", "01005", "10001", "00501"] * 6)]
    data = read_table(write("\n".join(["age,zip,class", *rows])))
    assert roles(data) == {"age": "number", "zip": "category"}
    assert shown(data)[1] == [1.0, "01005"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_title_above_the_table_is_skipped_with_a_note(write, encoding):
    table = "a;b;class\n" + "1,5;2;x\n3;4,5;y\n" * 3
    data = read_table(write("Umsätze 2024, geprüft\n\n" + table, encoding=encoding))
    assert data.X.columns == ("a", "b")
    assert shown(data)[:2] == [[1.5, 2.0], [3.0, 4.5]]
    assert data.notes[0] == "1 line above the table skipped: 'Umsätze 2024, geprüft'"


@pytest.mark.parametrize(
    ("header", "row"),
    [("a b class", "1,5 2,5 {}"), ("a;b;class", "1,5;2,5;{}"), ("class;note", '{};"x;y,z"')],
)
def test_a_header_is_no_title(write, header, row):
    lines = [header, *(row.format("xy"[i % 2]) for i in range(8))]
    data = read_table(write("\n".join(lines) + "\n", "data.txt"))
    assert data.target == "class"
    assert len(data.X) == 8


def test_an_array_of_json_objects_is_read_as_lines_are(write):
    rows = [
        {"age": 31 + i, "job": "cook" if i % 3 else None, "class": "ab"[i % 2]} for i in range(6)
    ]
    array = read_table(write(json.dumps(rows, indent=1), "rows.json"))
    lines = read_table(write("\n".join(map(json.dumps, rows)), "rows.jsonl"))
    assert shown(array) == shown(lines)
    assert array.y.tolist() == lines.y.tolist()
    assert "an array of objects" in array.reading
    for damaged in ("[1, 2]", '[{"a": 1}', "[{}]"):
        with pytest.raises(DataFileError, match=r"an object such as|damaged JSON"):
            read_table(write(damaged, "rows.json"))


def test_times_of_half_a_day(write):
    rows = [
        f"{m:02d}/15/2021 {h:02d}:30 {half}"
        for m in range(1, 13)
        for h, half in [(12, "AM"), (1, "pm")]
    ]
    data = read_table(write("\n".join(["d,class", *(f"{r},{i % 2}" for i, r in enumerate(rows))])))
    assert data.X.specs[0].format == "%m/%d/%Y %I:%M %p"
    assert (data.X.numbers[:4, 0] // 60 % 1440).tolist() == [30, 13 * 60 + 30] * 2


def test_long_labels_are_one_short_line_of_the_reading(write):
    data = read_table(write('a,class\n1,"two\nlines of a label that is far too long"\n2,b\n'))
    assert "\n" not in data.reading
    assert "two lines of a label that is … 1" in data.reading


def test_numbers_with_a_unit_are_numbers_of_that_unit(write):
    cells = [f"{170 + i} cm" for i in range(ROWS)]
    data = read_table(write(rows_of(cells)))
    assert (roles(data), data.X.specs[0].format) == ({"x": "number"}, "plain [cm]")
    assert data.notes == ("x: numbers in cm: '170 cm' is 170",)

    later = read_table(write(rows_of(["1.5cm", "<2 cm", "2 m", "2 kg"])), specs=data.X.specs)
    np.testing.assert_array_equal(later.X.numbers[:, 0], [1.5, 2.0, 200.0, np.nan])
    assert as_matrix(data).X is data.X  # a matrix would forget the unit


def test_units_of_one_quantity_are_converted_with_a_note_and_others_are_not(write):
    cells = [f"{i} kg" if i % 3 else f"{1000 * i}g" for i in range(1, ROWS + 1)]
    data = read_table(write(rows_of(cells)))
    assert data.X.numbers[:, 0].tolist() == list(range(1, ROWS + 1))
    assert data.notes == ("x: numbers in kg: '3000g' is 3",)

    terms = [f"{i} months" if i % 3 else f"{i // 3} years" for i in range(1, ROWS + 1)]
    found = read_table(write(rows_of(terms))).X.numbers[:, 0]
    np.testing.assert_allclose(found[:6], [1, 2, 12, 4, 5, 24])

    apples = [f"{i} {'cm' if i % 2 else 'kg'}" for i in range(ROWS)]
    assert roles(read_table(write(rows_of(apples)))) == {"x": "category"}


def test_limits_among_numbers_are_numbers_and_a_few_classes_are_words(write):
    cells = ["<0.5" if i % 3 else f"{i / 10 + 1}" for i in range(3 * ROWS)]
    cells[1::3] = [f"{i}.25" for i in range(ROWS)]
    data = read_table(write(rows_of(cells)))
    assert roles(data) == {"x": "number"}
    assert data.X.numbers[2, 0] == 0.5
    assert data.notes == ("x: 24 of 72 cells, such as '<0.5', are limits and count as numbers",)

    assert roles(read_table(write(rows_of(["<18", ">18", "18"] * ROWS)))) == {"x": "category"}


@pytest.mark.parametrize(("delimiter", "name"), [("^", "caret"), (":", "colon")])
def test_carets_and_colons_are_found_in_any_text_file(write, delimiter, name):
    rows = "".join(f"{i}.5{delimiter}w{i % 3}{delimiter}{i % 2}\n" for i in range(ROWS))
    path = write(delimiter.join(["a", "b", "class"]) + "\n" + rows, name="t.txt")
    data = read_table(path)
    assert (data.X.columns, data.X.shape) == (("a", "b"), (ROWS, 2))
    assert f"{name}s, header" in data.reading
    assert shown(read_table(path, delimiter=name)) == shown(data)


def test_a_column_of_times_is_not_split_at_its_colons(write):
    times = "".join(f"{i}:30\n" for i in range(10, 24))
    with pytest.raises(DataFileError, match="expected one of the formats"):
        read_table(write("time\n" + times, name="t.txt"))


@pytest.mark.parametrize("row", ["1,a, {2.5}", "{0 1, 1 a}, {3}"])
def test_weights_of_arff_rows_are_said_to_be_ignored(write, row):
    head = "@relation r\n@attribute x numeric\n@attribute class {b,a}\n@data\n"
    data = read_table(write(f"{head}{row}\n2,b\n", name="t.arff"))
    assert (data.X.numbers.tolist(), list(data.y)) == ([[1.0], [2.0]], ["a", "b"])
    assert "the weights of 1 row, such as {2}, are not used" in data.notes


def test_a_model_remembers_how_its_numbers_are_written(write):
    """48,440 alone is 48440; the column was 48.44 when the model was fitted."""
    header = "x;y;class\n"
    rows = "".join(f"{i},5;{i};{'ab'[i % 2]}\n" for i in range(ROWS))
    data = as_matrix(read_table(write(header + rows)))
    assert data.X.specs[0].format == "1.234,5"
    later = read_table(write(header + "48,440;1;a\n51,250;2;b\n"), specs=data.X.specs)
    assert later.X.numbers[:, 0].tolist() == [48.44, 51.25]
