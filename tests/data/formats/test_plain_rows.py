import numpy as np
import pytest

from separatrix.data.formats import records
from separatrix.data.formats.plain_rows import parse_plain
from separatrix.data.read_table import read_table
from separatrix.errors import DataFileError

NUMBERS = (
    *(
        "0",
        "-0",
        "7",
        "-12.50",
        ".5",
        "3.",
        "1e3",
        "-2.5E-7",
        "123456789012345",
        "0.1234567890123456",
    ),
    *("9007199254740993", "1e400", " 4", "5 ", "", "NA", "NaN", "-nan", "?", "null"),
)
PLAIN = ("1", "-2.25", "", "0.001", "4711")
TEXTS = ("red", "dark blue", "grün", "", "NA", "a", "b")


def columns(table):
    return {name: table.column(name).to_pylist() for name in table.column_names}


def test_numbers_are_those_of_python_and_texts_those_of_the_file():
    rng = np.random.default_rng(0)
    rows = [
        (
            rng.choice(NUMBERS + 9 * PLAIN),
            rng.choice(TEXTS),
            "x",
            f"{rng.normal() * 10.0 ** rng.integers(-6, 7):.5f}",
        )
        for _ in range(3000)
    ]
    text = "\r\n".join(",".join(row) for row in rows).encode()
    found = columns(parse_plain(text, ",", ["n", "t", "skipped", "m"], ["n", "m"], ["t"]))
    missing = ("", "NA", "NaN", "-nan", "?", "null")
    assert found["n"] == [None if row[0] in missing else float(row[0]) for row in rows]
    assert found["m"] == [float(row[3]) for row in rows]
    assert found["t"] == [row[1] for row in rows]
    assert np.signbit(found["n"][[row[0] for row in rows].index("-0")])


@pytest.mark.parametrize(
    "text",
    [
        *("1,x\nabc,y\n", "1,x\n1.2.3,y\n", "1,x\n2\n", "1,x\n2,y,z\n", "1,x\r2,y\n", '1,"x"\n'),
        *(
            "1,x\n--2,y\n",
            "1,x\n+2,y\n",
            "1,x\n1e,y\n",
            "1,x\n0x10,y\n",
            "1,x\nmissingvalue,y\n",
            "1,x\n-,y\n",
        ),
    ],
)
def test_what_is_not_plain_is_left_to_another_reader(text):
    assert parse_plain(text.encode(), ",", ["n", "t"], ["n"], ["t"]) is None


def test_very_many_texts_or_long_numbers_are_left_to_another_reader():
    texts = "".join(f"1,t{i}\n" for i in range(20_000)).encode()
    assert parse_plain(texts, ",", ["n", "t"], ["n"], ["t"]) is None
    assert parse_plain(texts, ",", ["n", "t"], ["n"], []).num_rows == 20_000
    numbers = "".join(f"{np.pi * i},a\n" for i in range(1, 100)).encode()
    assert parse_plain(numbers, ",", ["n", "t"], ["n"], ["t"]) is None


@pytest.mark.slow
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_is_the_same_by_compiled_code_and_by_pyarrow(tmp_path, monkeypatch, delimiter):
    rng = np.random.default_rng(1)
    path = tmp_path / "t.csv"
    rows = [
        (
            f"{rng.normal():.4f}",
            str(i % 11 or ""),
            rng.choice(TEXTS[:3]),
            f"20{i % 30 + 10}-01-02",
            "ab"[i % 2],
        )
        for i in range(4000)
    ]
    lines = [delimiter.join(row) for row in [("x", "gaps", "colour", "day", "class"), *rows]]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    found = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(records, "_COMPILED_BYTES", least)
        found.append(read_table(path))
    ours, arrow = found
    assert ours.X.specs == arrow.X.specs
    assert ours.reading == arrow.reading
    np.testing.assert_array_equal(ours.X.numbers, arrow.X.numbers)
    np.testing.assert_array_equal(ours.y, arrow.y)
    assert np.asarray(ours.X).tolist() == np.asarray(arrow.X).tolist()
    path.write_text(delimiter.join(("1", "2", "a")) + "\n" + "\n".join(lines), encoding="utf-8")
    for least in (0, 1 << 60):
        monkeypatch.setattr(records, "_COMPILED_BYTES", least)
        with pytest.raises(DataFileError, match="more than 3 cells"):
            read_table(path, header=False)


def test_each_text_has_one_code():
    """In the order of their first rows."""
    words = [f"word{i % 700}" for i in range(3000)]
    text = "".join(f"{i},{word}\n" for i, word in enumerate(words)).encode()
    column = parse_plain(text, ",", ["n", "t"], ["n"], ["t"]).column("t").combine_chunks()
    assert column.dictionary.to_pylist() == list(dict.fromkeys(words))
    assert column.to_pylist() == words
