"""Files as people have them: each is read, or refused in one sentence."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from separatrix.app.data_summary import summarize
from separatrix.app.doubts import problems_of
from separatrix.app.read_data import read_labelled
from separatrix.data.read_table import read_table
from separatrix.data.roles import RoleOverrides
from separatrix.errors import DataError, DataFileError
from separatrix.evaluation.samples import require_classes

ROWS = [(i / 7, ("red", "blue")[i % 3 > 0], "ab"[i % 2]) for i in range(24)]
TABLE = "size,colour,class\n" + "".join(f"{x:.3f},{c},{y}\n" for x, c, y in ROWS)


@pytest.fixture
def write(tmp_path):
    def file(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return file


def roles(data):
    return {spec.name: spec.role for spec in data.X.specs}


def numbers(cells, write):
    table = "x,class\n" + "".join(f'"{cell}",{"ab"[i % 2]}\n' for i, cell in enumerate(cells))
    return read_table(write(table)).X.number_column("x").tolist()


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst", "zip"])
def test_compressed_files_are_read_by_their_first_bytes(write, tmp_path, suffix):
    raw = TABLE.encode()
    if suffix == "zip":
        with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
            archive.writestr("t.csv", raw)
            archive.writestr("__MACOSX/t.csv", b"x")
        path = str(tmp_path / "t.csv.zip")
    else:
        pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
        pack["zst"] = lambda content: pa.compress(content, codec="zstd", asbytes=True)
        path = write(pack[suffix](raw), f"t.csv.{suffix}")
    data = read_table(path)
    assert roles(data) == {"size": "number", "colour": "category"}
    assert len(data.y) == 24


def test_an_archive_of_several_files_is_refused_with_their_names(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", TABLE)
        archive.writestr("b.csv", TABLE)
    with pytest.raises(
        DataFileError, match=r"an archive of 2 files .a\.csv, b\.csv., expected one"
    ):
        read_table(tmp_path / "two.zip")


def test_damaged_compression_is_refused(write):
    packed = pa.compress(TABLE.encode() * 50, codec="zstd", asbytes=True)
    with pytest.raises(DataFileError, match="truncated or damaged"):
        read_table(write(packed[: len(packed) // 2], "t.csv.zst"))


def test_negative_numbers_in_parentheses_with_a_real_minus_or_a_minus_behind(write):
    assert numbers(["($1,200.50)", "$3.00", "(7)"], write) == [-1200.5, 3.0, -7.0]
    assert numbers(["−1.5", "2", "3"], write) == [-1.5, 2.0, 3.0]
    assert numbers(["1.234,50-", "7,25", "0,5"], write) == [-1234.5, 7.25, 0.5]
    assert numbers(["(12%)", "50%", "3%"], write) == [-0.12, 0.5, 0.03]


@pytest.mark.parametrize(
    "written",
    [
        *("2024-05-0{} 07:30:00+02", "2024-05-0{} 07:30:00 CET", "05/0{}/2024 7:30AM"),
        *("Fri, 0{} May 2024 07:30:00 +0000", "2024050{}T073000", "0{}-05-24 07:30"),
    ],
)
def test_dates_with_zones_weekdays_and_without_blanks(write, written):
    table = "day,class\n" + "".join(f'"{written.format(i)}",{"ab"[i % 2]}\n' for i in range(1, 9))
    data = read_table(write(table))
    expected = np.datetime64("2024-05-01T07:30:00") + np.arange(8) * np.timedelta64(1, "D")
    np.testing.assert_array_equal(data.X.number_column("day"), expected.astype(float))


def test_months_are_dates(write):
    table = "day,class\nJan-21,a\nFeb-21,b\nMar-22,a\nMar-22,b\n"
    assert read_table(write(table)).X.specs[0].format == "%b-%y"


def test_dates_among_other_texts_are_not_dropped_without_a_word(write):
    days = [f"2024-05-{i:02d}" for i in range(1, 16)] + [
        f"week-{i:02d}-of-2024" for i in range(1, 16)
    ]
    table = "day,x,class\n" + "".join(f"{d},{i},{'ab'[i % 2]}\n" for i, d in enumerate(days))
    [note] = read_table(write(table)).notes
    assert note.startswith("day: 15 of 30 different texts are dates in the form %Y-%m-%d")


def test_labels_beyond_the_integers_of_floats_stay_apart(write):
    table = "x,class\n" + "".join(f"{i},{2**53 + i % 2}\n" for i in range(8))
    assert sorted(set(read_table(write(table)).y)) == ["9007199254740992", "9007199254740993"]


def test_labels_that_differ_in_case_or_blanks_are_named(write):
    table = "x,class\n1,Yes\n2.5,yes\n3,no\n4,n o\n7,maybe\n"
    words = " ".join(problems_of(read_table(write(table))))
    assert "classes 'Yes' and 'yes' differ only in case or blanks" in words
    assert "classes 'n o' and 'no' differ" in words
    assert "'maybe'" not in words


def test_a_column_without_labels_is_refused(write):
    with pytest.raises(DataError, match="no row has a label: all 2 cells of 'class'") as refusal:
        read_table(write("x,class\n1,\n2,?\n"))
    assert "--target" in refusal.value.hint


def test_one_class_is_named_in_short(write):
    with pytest.raises(DataError, match=r"only one class, 'a{59}$") as refusal:
        require_classes(read_table(write(f"x,class\n1,{'a' * 900}\n2,{'a' * 900}\n")))
    assert "--target" in refusal.value.hint


def test_a_table_without_columns_to_learn_from_is_refused(write):
    path = write("a,b,class\n" + "1,x,a\n1,x,b\n" * 9)
    with pytest.raises(DataError, match=r"no column to learn from; found a .constant., b"):
        read_labelled(path, progress=False)


def test_comments_and_units_around_a_header_are_skipped_with_a_note(write):
    body = "".join(f"{i},{2 * i},{'ab'[i % 2]}\n" for i in range(8))
    data = read_table(write("# made by a machine\n# v2\nsize,weight,class\ncm,kg,-\n" + body))
    assert data.notes == (
        "2 lines above the table skipped: '# made by a machine'; other lines that begin with # are "
        "skipped as well",
        "row of units below the header skipped: cm, kg, -",
    )
    assert roles(data) == {"size": "number", "weight": "number"}
    assert len(data.y) == 8
    np.testing.assert_array_equal(data.X.numbers[:, 1], 2.0 * np.arange(8))


def test_a_row_of_texts_that_recur_is_no_row_of_units(write):
    data = read_table(write("size,job,class\nold,cook,a\n" + "1,cook,a\n2,smith,b\n" * 15))
    assert len(data.y) == 31
    assert data.notes[0].startswith(
        "size: 1 of 31 cells is no number ('old') and counts as missing"
    )


def test_a_page_of_the_web_is_no_table(write):
    with pytest.raises(DataFileError, match="found a page of the web, HTML or XML") as refusal:
        read_table(write("<!DOCTYPE html>\n<html><body>log in, please</body></html>\n"))
    assert "download the file itself" in refusal.value.hint


def test_utf_32_is_detected(write):
    assert "UTF-32" in read_table(write(TABLE.encode("utf-32"))).reading


def test_footnotes_and_few_rows_of_another_width_are_set_aside_with_a_note(write):
    lines = TABLE.splitlines()
    footed = read_table(write("\n".join([*lines, "", "Total: 24 rows", "1) estimated"])))
    assert footed.y.tolist() == read_table(write(TABLE, "once.csv")).y.tolist()
    words = "2 lines have other than 3 cells and are set aside: 'Total: 24 rows', '1) estimated'"
    assert words in footed.notes

    long = read_table(write("\n".join([*lines[:9], lines[9] + ",more", *lines[10:]])))
    assert (len(long.X), long.notes[0][:33]) == (23, "1 line has other than 3 cells and")


def test_many_rows_of_another_width_or_some_among_rows_to_predict_are_an_error(write):
    lines = TABLE.splitlines()
    odd = [line + ",more" if i % 5 == 4 else line for i, line in enumerate(lines)]
    with pytest.raises(DataFileError, match="more than 3 cells, expected 3") as refusal:
        read_table(write("\n".join(odd)))
    assert "lines that are no rows must be deleted" in refusal.value.hint
    specs = read_table(write(TABLE)).X.specs
    footed = read_table(write(TABLE + "\nTotal: 24 rows\n"), specs=specs, target=None)
    assert len(footed.X) == 24
    inside = "\n".join([*lines[:9], "Total: 8 rows", *lines[9:]])  # would shift the predictions
    with pytest.raises(DataFileError, match="fewer than 3 cells, expected 3"):
        read_table(write(inside), specs=specs, target=None)


@pytest.mark.parametrize("indent", [None, 2])
def test_json_of_columns_of_wrapped_rows_and_of_nested_objects(write, indent):
    rows = [{"size": x, "at": {"town": c}, "class": y} for x, c, y in ROWS]
    columns = {"size": [r[0] for r in ROWS], "class": [r[2] for r in ROWS]}
    by_index = {name: dict(enumerate(values)) for name, values in columns.items()}
    split = {"columns": ["size", "class"], "index": [*range(24)], "data": [r[::2] for r in ROWS]}
    for content, how, names in (
        (rows, "an array of objects", ["size", "at.town"]),
        ({"total": 24, "data": rows}, "an array of objects in 'data'", ["size", "at.town"]),
        (columns, "one list for each column", ["size"]),
        (by_index, "one list for each column", ["size"]),
        (split, "names of columns and a list for each row", ["size"]),
    ):
        data = read_table(write(json.dumps(content, indent=indent), "t.json"))
        assert f"jsonl, {how};" in data.reading
        assert [spec.name for spec in data.X.specs] == names
        assert len(data.y) == 24


def test_nested_columns_of_parquet_are_plain_columns_and_bytes_are_left_out(tmp_path):
    table = pa.table(
        {
            "size": [r[0] for r in ROWS],
            "at": [{"x": i, "by": {"who": "ab"[i % 2]}} if i else None for i in range(24)],
            "vector": [[i, 2 * i] if i else None for i in range(24)],
            "tags": [["new"] * (i % 3) for i in range(24)],
            "raw": [b"\x00"] * 24,
            "class": [r[2] for r in ROWS],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    data = read_table(tmp_path / "t.parquet")
    numbers = dict.fromkeys(["size", "at.x", "vector.0", "vector.1"], "number")
    assert roles(data) == numbers | {"at.by.who": "category", "tags": "category"}
    assert [note.split(":")[0] for note in data.notes] == ["at", "vector", "tags", "raw"]
    assert np.array(data.X[1:3])[:, 3:5].tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert np.array(data.X[:1])[0].tolist()[1:5] == [None] * 4
    again = read_table(tmp_path / "t.parquet", specs=data.X.specs, target=None)
    np.testing.assert_array_equal(again.X.numbers, data.X.numbers)
    assert read_table(tmp_path / "t.parquet", target="at.by.who").target == "at.by.who"


def test_sheets_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.active.title = "about"
    book.active.append(["This workbook holds two tables"])
    for name, title in (("first", []), ("second", [["Report"], []])):
        sheet = book.create_sheet(name)
        for row in (*title, ["size", "colour", "class"], *ROWS[: 12 if title else 24]):
            sheet.append(list(row))
    path = tmp_path / "t.xlsx"
    book.save(path)
    data = read_table(path)
    assert data.notes == (
        "sheet 'first' is read, not the sheets 'about', 'second': FILE:SHEET names one",
    )
    assert (len(data.y), roles(data)) == (24, {"size": "number", "colour": "category"})
    data = read_table(f"{path}:second")
    assert data.notes == ("1 row above the table skipped: 'Report'",)
    assert len(data.y) == 12
    with pytest.raises(DataFileError, match="no sheet named 'third', expected one among 'about'"):
        read_table(f"{path}:third")


def test_headers_repeated_by_files_put_together_are_no_rows(write):
    once = read_table(write(TABLE))
    both = read_table(write(TABLE + TABLE, "two.csv"))
    assert "1 row repeats the header and is set aside" in both.notes
    assert roles(both) == roles(once)
    assert both.y.tolist() == 2 * once.y.tolist()
    np.testing.assert_array_equal(
        both.X.number_column("size"), np.tile(once.X.number_column("size"), 2)
    )


def test_a_value_that_is_also_the_name_of_its_column_is_kept(write):
    table = "size,class\n1,class\n2,other\nsize,class\n3,other\n"
    data = read_table(write(table))
    assert data.y.tolist() == ["class", "other", "other"]


def test_missing_values_as_databases_write_them(write):
    cells = [r"\N" if i % 3 == 0 else i for i in range(24)]
    table = "x\tclass\n" + "".join(f"{cell}\t{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    found = read_table(write(table, "t.tsv")).X.number_column("x")
    np.testing.assert_array_equal(np.isnan(found), [cell == r"\N" for cell in cells])


def test_labels_that_differ_in_case_are_pointed_out_before_a_fit(write):
    data = read_table(write("x,class\n" + "1,Ulm\n2,ulm\n3,Oslo\n" * 12))
    assert any("'Ulm' and 'ulm' differ only in case" in words for words in summarize(data).remarks)


def test_digits_of_other_scripts_are_numbers_but_codes_stay_codes(write):
    arabic = str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫")
    values = np.round(np.linspace(-3, 1200, 24), 1)
    found = numbers([f"{value:.1f}".translate(arabic) for value in values], write)
    np.testing.assert_array_equal(found, values)
    table = "zip,class\n" + "".join(
        f"{f'0{i % 5}'.translate(arabic)},{'ab'[i % 2]}\n" for i in range(24)
    )
    assert roles(read_table(write(table))) == {"zip": "category"}


def test_currencies_and_percents_that_are_mixed_are_pointed_out(write):
    table = "price,share,plain,class\n" + "".join(
        f"{'$€'[i % 2]}{i + 1},{i}{'%' * (i % 3 > 0)},${i},{'ab'[i % 2]}\n" for i in range(24)
    )
    notes = [note for note in read_table(write(table)).notes if "mixed" in note]
    assert notes == [
        "price: EUR and USD are mixed and not converted into each other",
        "share: % and plain numbers are mixed and not converted into each other",
    ]


def test_lines_of_comment_among_the_rows_are_skipped_if_the_file_begins_with_some(write):
    lines = TABLE.splitlines()
    commented = ["# a log", "# of May", *lines[:9], "# restarted", *lines[9:], "# end"]
    data = read_table(write("\n".join(commented) + "\n"))
    once = read_table(write(TABLE, "once.csv"))
    assert data.y.tolist() == once.y.tolist()
    assert roles(data) == roles(once)
    assert any("other lines that begin with # are skipped as well" in note for note in data.notes)
    aside = read_table(write("\n".join([*lines[:9], "# restarted", *lines[9:]]), "none.csv"))
    assert "1 line has other than 3 cells and is set aside: '# restarted'" in aside.notes


def test_a_workbook_whose_name_says_csv_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("size", "colour", "class"), *ROWS]:
        book.active.append(row)
    path = tmp_path / "export.csv"
    book.save(path)
    data = read_table(path)
    assert data.reading.startswith("export.csv: excel, sheet Sheet, header; 24 rows")
    assert roles(data) == {"size": "number", "colour": "category"}


def test_look_lists_dropped_columns_of_a_table_of_numbers(write):
    path = write("x,empty,class\n" + "".join(f"{i},,{'ab'[i % 2]}\n" for i in range(24)))
    columns = summarize(read_labelled(path, ask=False, by_columns=True)).columns
    assert [(c.name, c.role) for c in columns] == [("x", "number"), ("empty", "constant")]
    assert isinstance(read_labelled(path).X, np.ndarray)


SERIAL_DATES = "signup_date,size,class\n" + "".join(
    f"{44927 + 3 * i},{i % 7},{'ab'[i % 2]}\n" for i in range(40)
)


def test_serial_dates_of_excel_are_named_and_read_as_dates_when_asked(write):
    path = write(SERIAL_DATES)

    plain = read_table(path)
    dates = read_table(path, overrides=RoleOverrides(date=("signup_date",)))
    again = read_table(path, specs=dates.X.specs)

    assert roles(plain)["signup_date"] == "number"
    (note,) = [note for note in plain.notes if "serial" in note]
    assert "44927 is 2023-01-01" in note
    assert "--date signup_date" in note
    assert roles(dates)["signup_date"] == "date"
    seconds = dates.X.number_column("signup_date")
    assert str(np.datetime64(int(seconds[1]), "s")) == "2023-01-04T00:00:00"
    np.testing.assert_array_equal(again.X.number_column("signup_date"), seconds)


def test_numbers_of_that_size_are_no_dates_under_another_name(write):
    notes = read_table(write(SERIAL_DATES.replace("signup_date", "income"))).notes
    assert not any("serial" in note for note in notes)


ANSWERS = "".join(f"{20 + i % 50},{1 + i % 5},{('buy', 'leave')[i % 2]}\n" for i in range(40))


def test_questions_below_the_header_of_a_survey_are_no_rows(write):
    questions = 'How old?,"How happy, 1 to 5?",Would you buy it?\n'
    imports = '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n'
    data = read_table(write("Q1,Q2,class\n" + questions + imports + ANSWERS))
    assert set(data.y) == {"buy", "leave"}
    assert len(data.y) == 40
    assert sum("skipped" in note for note in data.notes) == 2


def test_answers_that_were_ticked_may_repeat_the_text_below_the_header(write):
    rows = "".join(f"{i},{20 + i % 9},{'Red' if i % 2 else ''},{'ab'[i % 2]}\n" for i in range(40))
    head = "Respondent,Age,Choose all,class\n,Open-Ended Response,Red,Response\n"
    data = read_table(write(head + rows))
    assert set(data.y) == {"a", "b"}


def test_a_first_row_with_a_gap_is_a_row(write):
    data = read_table(write("age,job,class\nunknown,cook,a\n" + "31,cook,b\n44,clerk,a\n" * 9))
    assert len(data.y) == 19


def test_a_table_of_words_has_a_header_that_names_its_target(write):
    rows = "".join(
        f"{('ja', 'nein')[i % 3 > 0]},{('da', 'net')[i % 2]},{'xy'[i % 2]}\n" for i in range(40)
    )
    data = read_table(write("ja,da,class\n" + rows))
    assert set(data.y) == {"x", "y"}
    assert [spec.name for spec in data.X.specs] == ["ja", "da"]


def test_codes_of_missing_answers_are_named(write):
    rows = "".join(f"{-99 if i % 7 == 0 else 20 + i},{i - 99},{'ab'[i % 2]}\n" for i in range(40))
    notes = read_table(write("age,change,class\n" + rows)).notes
    (note,) = [note for note in notes if "NA" in note]
    assert note.startswith("age: -99 in 6 rows")
