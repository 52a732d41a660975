"""Files in the spirit of real sources: statistical offices, spreadsheets, R, SAS, surveys, services."""

import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from separatrix import TableEncoder
from separatrix.app.data_summary import summarize
from separatrix.app.held_out import HeldOutRows
from separatrix.app.read_data import read_for
from separatrix.data.read_table import read_table
from separatrix.errors import DataFileError
from separatrix.evaluation.data_checks import find_problems

N = 30
ROWS = [(18 + i, ("Oslo", "Ulm")[i % 2], ("no", "yes")[i % 3 > 0]) for i in range(N)]
LINES = [f"{a},{c},{y}" for a, c, y in ROWS]
TABLE = "\n".join(["age,city,bought", *LINES]) + "\n"


@pytest.fixture
def read(tmp_path):
    def table(content, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(str(path), **options)

    return table


def column(read, cells, name="x", **options):
    """A column of quoted cells beside a label."""
    rows = (f'"{cell}";{"ab"[i % 2]}' for i, cell in enumerate(cells))
    return read("\n".join([f"{name};class", *rows]) + "\n", **options)


def role_of(data):
    return data.X.specs[0].role, data.X.specs[0].format


def shown(data):
    return np.array(data.X)[:, 0].tolist()


@pytest.mark.slow
def test_lines_of_two_encodings_are_each_read_in_their_own(read):
    cells = ["Zürich", "Genève"] * 10
    lines = [f"{i},{cell},{'ab'[i % 3 > 0]}" for i, cell in enumerate(cells)]
    mixed = [line.encode("cp1252" if i % 4 == 1 else "utf-8") for i, line in enumerate(lines)]
    data = read(b"\n".join([b"n,town,class", *mixed]))
    assert np.array(data.X)[:, 1].tolist() == cells
    assert data.notes[0].startswith("lines that are not UTF-8 were read as Windows-1252")

    late = ["é".encode() * 600_000, "Genève".encode("cp1252")]  # after what detection looks at
    lines = [b"%d,%b,%b" % (i, cell, b"ab"[i % 2 : i % 2 + 1]) for i, cell in enumerate(late)]
    found = read(b"\n".join([b"n,town,class", *lines]))
    assert [text[-6:] for text in np.array(found.X)[:, 1]] == ["éééééé", "Genève"]

    german = [f"„Spaß“ {i},{'ab'[i % 2]}".encode("cp1252") for i in range(20)]
    data = read(b"\n".join([b"word,class", *german]))  # two bytes that happen to be UTF-8
    assert shown(data)[0] == "„Spaß“ 0"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Purchases,,\n,,\n", ["Purchases, ,", ", ,"]),
        ("Person,Person,Result\n", ["Person, Person, Result"]),
    ],
)
def test_titles_and_merged_cells_above_the_header_are_skipped(read, title, shown):
    data = read(title + TABLE)
    assert (data.X.columns, data.target) == (("age", "city"), "bought")
    assert len(data.X) == N
    assert [note.strip() for note in data.notes] == [
        f"row above the header skipped: {row}" for row in shown
    ]


def test_rows_of_texts_are_no_title(read):
    rows = ["b,low,y", "c,5,z", "d,6,w"]
    data = read("\n".join(["a,low,x", *rows * 3]))
    assert len(data.X) == 10


def test_a_header_without_a_name_for_the_first_or_the_last_column(read):
    R = "\n".join(['"net age" "bought"', *(f'"{i + 1}" {i * i} "{"ab"[i % 2]}"' for i in range(N))])
    data = read(R, "t.txt")
    assert [(s.name, s.role) for s in data.X.specs] == [("x1", "index"), ("net age", "number")]
    assert (data.target, len(data.X)) == ("bought", N)
    assert "one name less" in data.notes[0]

    trailing = "\n".join(["age,city,bought", *(f"{line}," for line in LINES)])
    data = read(trailing)
    assert (data.X.columns, data.target, len(data.X)) == (("age", "city"), "bought", N)
    assert data.notes == ("every row ends with a delimiter: the last column is empty",)
    assert read(trailing, target=-1).target == "bought"


def test_invisible_characters_around_names_and_cells_are_removed(read):
    dirty = TABLE.replace("age", "\u200bage\ufeff", 1).replace("Ulm", "Ulm\u200b", 3)
    dirty = "\ufeff" + dirty.replace("18,", "\u00a018,", 1)
    data = read(dirty)
    assert data.X.columns == ("age", "city")
    assert sorted(data.X.texts["city"].values) == ["Oslo", "Ulm"]
    assert data.X.numbers[0, 0] == 18.0
    assert data.notes == ("invisible characters were removed from the names 'age'",)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["4. März 2020", "1. Mai 2020", "24. August 2021"], "2020-03-04"),
        (["4 mars 2020", "1er août 2020", "24 févr. 2021"], "2020-03-04"),
        (["4 de marzo de 2020", "1 de enero de 2020", "24 de agosto de 2021"], "2020-03-04"),
        (["2020年3月4日", "2020年12月31日", "2021年01月01日"], "2020-03-04"),
        (["04MAR2020", "31DEC2020", "01JAN2021"], "2020-03-04"),
        (["2020.03.04", "2020.12.31", "2021.01.01"], "2020-03-04"),
        (["March 4th, 2020", "May 1st, 2020", "June 22nd, 2021"], "2020-03-04"),
    ],
)
def test_dates_of_other_languages_and_programs(read, cells, first):
    data = column(read, cells * 10)
    assert role_of(data)[0] == "date"
    assert shown(data)[0] == first
    assert not np.isnan(data.X.numbers).any()


def test_times_of_the_day_have_no_date(read):
    data = column(read, ["08:15", "23:59", "00:00"] * 10)
    assert (role_of(data), shown(data)[:3]) == (("date", "%H:%M"), ["08:15", "23:59", "00:00"])
    assert data.X.numbers[:3, 0].tolist() == [29_700.0, 86_340.0, 0.0]
    assert summarize(data).columns[0].fit == "the hour, on a circle"
    encoder = TableEncoder().fit(data.X)
    assert encoder.get_feature_names_out().tolist() == ["x hour sin", "x hour cos"]


def test_times_since_1970_are_dates_if_the_name_says_so(read, tmp_path):
    from separatrix.modelfile.files import load, save

    stamps = [1_577_836_800_000 + 86_400_000 * i for i in range(N)]
    lines = [json.dumps({"created_at": t, "class": "ab"[i % 2]}) for i, t in enumerate(stamps)]
    data = read("\n".join(lines), "t.jsonl")
    assert role_of(data) == ("date", "milliseconds since 1970")
    assert shown(data)[:2] == ["2020-01-01", "2020-01-02"]
    assert data.notes[0].startswith(
        "created_at: milliseconds since 1970: 1577836800000 is 2020-01-01"
    )

    encoder = load(save(TableEncoder().fit(data.X), tmp_path / "e.model"))
    later = read(f"created_at\n{stamps[5]}\n", specs=encoder.columns_, target=None)
    assert shown(later) == ["2020-01-06"]
    assert role_of(column(read, stamps, "amount"))[0] == "number"
    assert role_of(column(read, [t // 1000 for t in stamps], "ts"))[0] == "date"


def test_many_ways_to_write_true_and_false_are_a_boolean(read):
    data = column(read, ["TRUE", "no", "1", "False", "yes", "0"] * 5)
    assert role_of(data) == ("boolean", "false/true")
    assert data.X.numbers[:6, 0].tolist() == [1, 0, 1, 0, 1, 0]
    assert data.notes == ("x: 6 ways to write false and true are read as these two",)
    assert role_of(column(read, ["y", "t", "n"] * 10))[0] == "category"  # letters may be codes


def test_classes_true_and_false_in_any_case_are_two(read, tmp_path):
    words = ["TRUE", "False", "true", "FALSE", "True", "false"]
    data = read("\n".join(["x,churn", *(f"{i},{words[i % 6]}" for i in range(N))]))
    assert np.unique(data.y).tolist() == ["false", "true"]
    assert data.notes[0].endswith("are two classes, false and true")
    other = read("\n".join(["x,size", *(f"{i},{'aAb'[i % 3]}" for i in range(N))]))
    assert len(np.unique(other.y)) == 3  # nobody says that these are one

    class Model:
        classes_ = np.array(["false", "true"])
        feature_names_in_ = np.array(["x"])

    path = tmp_path / "new.csv"
    path.write_text("x,churn\n1,TRUE\n2,FALSE\n")
    found = read_for(Model(), str(path), labelled=True)
    assert found.y.tolist() == ["true", "false"]
    assert "labels 'TRUE' count as the class 'true' of the model" in found.notes


def test_phone_numbers_are_no_texts_and_pairs_of_numbers_are_noted(read):
    phones = [f"+47 {10 + i} {100 + 7 * i} {900 - i}" for i in range(60)]
    assert role_of(column(read, phones))[0] == "id"
    places = column(read, [f"{59 + i / 7:.4f}, {10 - i / 9:.4f}" for i in range(60)])
    assert places.notes[0].startswith("x: cells hold 2 numbers, such as '59.0000, 10.0000'")


def test_a_high_code_of_no_answer_is_noted_and_counts(read):
    data = column(read, [1, 5, 99] * 10)
    assert data.notes[0].startswith("x: 99 in 10 rows, and no other value above 5")
    assert not column(read, [1, 60, 99] * 10).notes


def test_spellings_of_a_value_are_noted(read):
    data = column(read, ["Oslo", "oslo", "Ulm"] * 10)
    remark = summarize(data).columns[0].remark
    assert remark.startswith("values 'Oslo' and 'oslo' differ only in case")


def test_quotes_of_arff_must_close(read):
    arff = "@relation t\n@attribute n string\n@attribute c {a,b}\n@data\n'it''s',a\nLAST,b\n"
    assert shown(read(arff.replace("LAST", r"'\'no\''"), "t.arff")) == ["it's", "'no'"]
    with pytest.raises(DataFileError, match='found "\'open,b", expected 2 cells, quotes around'):
        read(arff.replace("LAST", "'open"), "t.arff")


def test_an_orc_file_is_refused_with_what_to_do(read):
    with pytest.raises(DataFileError, match="found an ORC file, expected Parquet") as refusal:
        read(b"ORC\n\x08\x00\x12", "t.orc")
    assert "pyarrow.orc.read_table" in refusal.value.hint


def test_lists_of_numbers_in_json_are_columns(read):
    rows = [{"v": [i, i / 2], "tags": ["x"] * (i % 3), "class": "ab"[i % 2]} for i in range(N)]
    data = read("\n".join(map(json.dumps, rows)), "t.jsonl")
    assert data.X.columns == ("v.0", "v.1", "tags")
    assert data.notes[0] == "v: nested values are the columns v.0, v.1"


def test_the_encoder_warns_of_cells_that_it_cannot_read():
    frame = pd.DataFrame({"age": [31.5, 40.0, 28.0], "job": ["cook", "clerk", "cook"]})
    encoder = TableEncoder().fit(frame)
    with pytest.warns(UserWarning, match="age: 1 of 1 cells is no number"):
        encoder.transform(pd.DataFrame({"age": ["old"], "job": ["cook"]}))


def test_polars_tables_give_the_features_of_pandas_tables():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = pd.DataFrame(
        {
            "age": [31.5, None, 28.0, 40.0] * 6,
            "job": ["cook", "clerk", None, "cook"] * 6,
            "day": pd.date_range("2024-01-30", periods=24),
            "member": [True, False, None, True] * 6,
            "who": [{"town": "Ulm", "age": i} for i in range(24)],
        }
    )
    table = polars.DataFrame(frame.to_dict("list"), strict=False)
    y = ["a", "b"] * 12
    ours, theirs = TableEncoder().fit(frame, y), TableEncoder().fit(table, y)
    names = theirs.get_feature_names_out().tolist()
    assert names == ours.get_feature_names_out().tolist()
    assert "who.age" in names
    np.testing.assert_array_equal(theirs.transform(table), ours.transform(frame))
    np.testing.assert_array_equal(theirs.transform(table.lazy().collect()), ours.transform(frame))


def test_a_frame_without_a_stream_of_arrow_keeps_nested_columns():
    """As polars 1.0, whose cells would be read one by one."""

    class Frame:
        columns: ClassVar = ["who"]
        table = pa.table({"who": [{"town": "Ulm", "age": i} for i in range(24)]})

        def __getitem__(self, name):
            return self.table[name].to_pylist()

        def to_arrow(self):
            return self.table

    names = TableEncoder().fit(Frame(), ["a", "b"] * 12).get_feature_names_out()
    assert names.tolist() == ["who.age"]


def test_a_frequent_value_that_gives_the_class_away_is_found():
    rng = np.random.default_rng(0)
    y = rng.permutation(300) % 3 > 0
    paid = np.where(y, rng.integers(100, 999, 300), 0).astype(float)
    words = find_problems(np.column_stack([paid, rng.normal(size=300)]), y, ["paid", "size"])
    assert [sentence[:40] for sentence in words] == ["column paid alone gives the class of 100"]


def test_periods_before_the_second_class_appears_are_not_held_out():
    y = np.array(["up"] * 30 + ["down", "up"] * 45)
    splits, how = HeldOutRows(folds=5, times=np.arange(120.0)).draw(y, 0)
    assert how == f"{len(splits)} later periods"
    assert 0 < len(splits) < 5
    assert all(len(np.unique(y[split.train])) == 2 for split in splits)
