import json

import pytest

from separatrix.data.read_table import read_table
from separatrix.errors import SeparatrixError
from separatrix.workbench.preview import preview


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"a,b\n", b'"a', b"\xff\xff\xff\xff"])
def test_a_file_that_is_not_a_table_is_an_error_of_the_library(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)

    with pytest.raises(SeparatrixError):
        preview(str(path))


@pytest.mark.parametrize(
    ("ending", "content", "row"),
    [
        (".csv", b"a;b;class\n1,5;x;yes\n2;y;no\n", ["1,5", "x", "yes"]),
        (".csv", b"a,class\n" + b"9" * 200_000 + b",x\n1,y\n", ["9" * 200, "x"]),
        (".csv", "a|class\n31.12.2020|yes\n1.2.2021|nö\n".encode("utf-16"), ["31.12.2020", "yes"]),
        (".jsonl", b'{"a": 1, "class": "x"}\n{"class": "y"}\n', ["1.0", "x"]),
        (".txt", b"ham\tsee you\nspam\tyou won\n", ["ham", "see you"]),
        (".svm", b"1 1:0.5 3:2\n-1 2:1\n", ["0.5", "0", "2", "1"]),
    ],
)
def test_a_preview_shows_the_first_rows_of_any_format(tmp_path, ending, content, row):
    path = tmp_path / f"data{ending}"
    path.write_bytes(content)

    found = preview(str(path))

    assert found["rows"] == 2
    assert found["preview"][0] == row
    assert json.loads(json.dumps(found, allow_nan=False)) == found


ROWS = [(i + 1000, "ab"[i % 2], i / 7, i * i / 11) for i in range(40)]


def table(names, rows):
    lines = [
        ",".join(names),
        *(",".join(str(round(v, 4) if isinstance(v, float) else v) for v in row) for row in rows),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("names", "columns", "target", "guess"),
    [
        (["kind", "x", "w"], (1, 2, 3), "kind", "the only column of categories"),
        (["x", "kind", "w"], (2, 1, 3), "kind", "the only column of categories"),
        (["kind", "x", "class"], (1, 2, 3), "class", "by its name"),
        (["kind", "other", "w"], (1, 1, 3), "w", "the last column"),
        (["x", "w", "kind"], (2, 3, 1), "kind", "the only column of categories"),
    ],
)
def test_the_column_to_predict_is_the_only_category_unless_another_is_named(
    tmp_path, names, columns, target, guess
):
    path = tmp_path / "data.csv"
    path.write_text(table(names, [[row[c] for c in columns] for row in ROWS]))

    found = preview(str(path))

    assert (found["target"], found["guess"]) == (target, guess)


def test_whole_numbers_at_the_end_are_classes_even_beside_a_category(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(
        table(["sex", "size", "survived"], [(r[1], r[2], i % 2) for i, r in enumerate(ROWS)])
    )
    assert preview(str(path))["target"] == "survived"


def test_every_column_has_a_role_that_a_person_can_change(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(table(["id", "kind", "x", "w"], ROWS))

    kinds = {column["name"]: column["kind"] for column in preview(str(path))["columns"]}

    assert kinds == {"id": "drop", "kind": "category", "x": "number", "w": "number"}


def test_the_roles_of_the_preview_are_those_of_a_look_at_the_file(tmp_path):
    path = tmp_path / "data.csv"
    names = ["day", "time", "ok", "price", "town", "note", "row", "class"]
    words = ["likes long walks", "reads old books", "sings in the rain"]
    rows = [
        (
            *(f"2024-01-{1 + i % 28:02d}", f"{i % 24:02d}:15", ["yes", "no"][i % 2], f"${i}.5"),
            *(f"town{i}" if i % 2 else "town1", f"{words[i % 3]} {i}", 7, "ab"[i % 3 > 0]),
        )
        for i in range(120)
    ]
    path.write_text(table(names, rows))

    kinds = [column["kind"] for column in preview(str(path))["columns"]]

    roles = {spec.name: spec.role for spec in read_table(path).X.specs}
    assert kinds[:3] == ["date", "date", "boolean"]
    told = {"codes": "category", "constant": "drop"}
    assert kinds[:-1] == [told.get(roles[name], roles[name]) for name in names[:-1]]
