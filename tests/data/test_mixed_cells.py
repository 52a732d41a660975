"""Cells of several kinds in one column, and sheets as spreadsheets save them."""

import datetime
import os
import sqlite3

import numpy as np
import pytest

from separatrix import TableEncoder, load, save
from separatrix.app.data_summary import MOST_COLUMNS, summarize
from separatrix.data.read_table import read_table

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=11 * i) for i in range(40)]
LABELS = ["ab"[i % 2] for i in range(40)]


def roles(data):
    return {spec.name: spec.role for spec in data.X.specs}


def write_csv(path, cells, name="when"):
    rows = "".join(f'"{cell}",{label}\n' for cell, label in zip(cells, LABELS, strict=True))
    path.write_text(f"{name},class\n{rows}")
    return path


def seconds_of(days):
    return [(day - datetime.date(1970, 1, 1)).days * 86_400.0 for day in days]


def test_dates_in_five_forms_are_dates_and_not_ids(tmp_path):
    forms = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y%m%d")
    cells = [day.strftime(forms[i % 5]) for i, day in enumerate(DAYS)]

    data = read_table(write_csv(tmp_path / "t.csv", cells))

    assert roles(data) == {"when": "date"}
    assert data.X.number_column("when").tolist() == seconds_of(DAYS)
    assert any(note.startswith("when: dates in several forms: ") for note in data.notes)


def test_forms_of_dates_are_kept_in_a_model_file(tmp_path):
    cells = [day.strftime(("%Y-%m-%d", "%d.%m.%Y")[i % 2]) for i, day in enumerate(DAYS)]
    data = read_table(write_csv(tmp_path / "t.csv", cells))
    fitted = TableEncoder().fit(data.X, data.y)
    save(fitted, tmp_path / "encoder.model")

    again = load(tmp_path / "encoder.model")

    np.testing.assert_array_equal(again.transform(data.X), fitted.transform(data.X))
    assert " or " in again.columns_[0].format


def test_days_and_months_that_could_be_either_are_not_guessed(tmp_path):
    cells = [f"2020-01-{1 + i % 28:02d}" if i % 2 else f"0{1 + i % 9}/05/2020" for i in range(40)]
    assert roles(read_table(write_csv(tmp_path / "t.csv", cells)))["when"] != "date"


def test_midnight_without_a_time_is_a_date_among_times(tmp_path):
    cells = [f"{day}" if i % 8 == 0 else f"{day} 06:30:00" for i, day in enumerate(DAYS)]
    data = read_table(write_csv(tmp_path / "t.csv", cells))
    wanted = [s + (i % 8 > 0) * 23_400.0 for i, s in enumerate(seconds_of(DAYS))]
    assert data.X.number_column("when").tolist() == wanted


def test_the_classes_of_the_first_line_are_those_that_are_learned(tmp_path):
    rows = "".join(f"{i},{('0', '1', '0.0', '1.0')[i % 4]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("x,class\n" + rows)
    data = read_table(tmp_path / "t.csv")
    assert set(data.y) == {0, 1}
    assert "2 classes (0 20, 1 20)" in data.reading


def test_integers_that_float64_rounds_are_named(tmp_path):
    data = read_table(write_csv(tmp_path / "t.csv", [2**60 + i for i in range(40)], "tweet"))
    (note,) = [note for note in data.notes if note.startswith("tweet")]
    assert "rounded" in note
    assert "--category tweet" in note
    few = read_table(write_csv(tmp_path / "t.csv", [2**52 + i for i in range(40)], "tweet"))
    assert not [note for note in few.notes if note.startswith("tweet")]


def test_blobs_of_a_database_are_left_out_and_said(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("create table t (x real, picture blob, word blob, class text)")
        rows = [
            (i / 7, bytes([255, i, 0]), b"red" if i % 3 else b"blue", LABELS[i]) for i in range(40)
        ]
        database.executemany("insert into t values (?, ?, ?, ?)", rows)
    database.close()
    data = read_table(tmp_path / "t.db")
    assert roles(data) == {"x": "number", "word": "category"}
    assert any(note.startswith("picture: binary holds no numbers") for note in data.notes)


def test_rows_that_repeat_others_are_shown(tmp_path):
    rows = "".join(f"{i % 5},{LABELS[i]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("x,class\n" + rows)
    (remark,) = [
        one for one in summarize(read_table(tmp_path / "t.csv")).remarks if "repeat" in one
    ]
    assert remark.startswith("35 of 40 rows repeat another row")


def test_a_screen_lists_some_of_very_many_columns(tmp_path):
    names = ",".join(f"g{j}" for j in range(500))
    rng = np.random.default_rng(0)
    rows = "".join(",".join(f"{v:.3f}" for v in rng.normal(size=500)) + f",{y}\n" for y in LABELS)
    (tmp_path / "t.csv").write_text(f"{names},class\n{rows}")
    found = summarize(read_table(tmp_path / "t.csv"))
    lines = str(found).splitlines()
    assert len(lines) < MOST_COLUMNS + 20
    assert f"and {500 - MOST_COLUMNS} more columns; --json lists all" in lines
    assert len(found.as_dict()["columns"]) == 500


@pytest.fixture
def sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(rows, merge=None):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        if merge:
            book.active.merge_cells(merge)
        book.save(tmp_path / "t.xlsx")
        return os.fspath(tmp_path / "t.xlsx")

    return write


def test_names_below_merged_cells_are_the_header(sheet):
    rows = [[i / 7, (i * i) % 11, LABELS[i]] for i in range(40)]
    above = [["Measurements", None, "Result"], ["x", "z", "class"]]

    data = read_table(sheet([*above, *rows], merge="A1:B1"))

    assert roles(data) == {"x": "number", "z": "number"}
    assert data.target == "class"
    assert len(data.y) == 40
    assert "1 row above the table skipped: 'Measurements'" in data.notes


def test_a_header_with_a_gap_above_words_stays_the_header(sheet):
    rows = [[f"n{i}", f"w{i % 3}", LABELS[i]] for i in range(40)]
    assert len(read_table(sheet([["name", None, "class"], *rows])).y) == 40


def test_formulas_without_stored_results_are_said(sheet):
    rows = [[i / 7, f"=A{i + 2}*2", LABELS[i]] for i in range(40)]
    notes = read_table(sheet([["x", "double", "class"], *rows])).notes
    assert any("'double'" in note and "formulas" in note for note in notes)
    plain = read_table(sheet([["x", "empty", "class"], *[[a, None, c] for a, _, c in rows]])).notes
    assert not any("formulas" in note for note in plain)


def test_midnights_of_a_sheet_are_not_missing(sheet):
    begin = datetime.datetime(2021, 1, 1)
    rows = [[begin + datetime.timedelta(hours=6 * i), LABELS[i]] for i in range(40)]
    data = read_table(sheet([["when", "class"], *rows]))
    steps = np.diff(data.X.number_column("when"))
    assert (steps == 6 * 3600).all()
