"""R7: what is read of drawn and damaged tables is what an independent parser reads in them.

A reader may refuse what the parser reads; it may not read what the parser refuses, nor read it otherwise,
unless a note says so. Numbers and texts are compared cell by cell, before categories become columns of X.
"""

import csv
import io
import json
import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
from tests.data.formats import fuzz
from tests.data.formats.samples import feather, parquet

from separatrix.data.formats.arff import scan_arff
from separatrix.data.formats.arrow import scan_arrow
from separatrix.data.formats.json_lines import scan_json_lines
from separatrix.data.formats.table import scan_csv
from separatrix.data.limits import Limits
from separatrix.data.numerals import MISSING
from separatrix.data.streams import ByteSource
from separatrix.errors import SeparatrixError

LIMITS = Limits()
BLANKS = " \t\u00a0\u200b\u2060\ufeff"
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)", re.I | re.A)
WORDS = (
    "a",
    "b",
    "red",
    "heat pump",
    "Zürich",
    "1st",
    "x=1",
    "-",
    "+",
    "e5",
    "0x1F",
    "1_000",
    "１２",
)
QUOTED = ("a,b", 'say "no"', "two\nlines", " padded ", "", "'", "1,5", "#", "\r\n", '"')


def scan(scanner, content, **options):
    """What a scanner finds in these bytes; None if it refuses them."""
    try:
        return scanner(ByteSource("drawn", io.BytesIO(content), LIMITS), **options)
    except SeparatrixError:
        return None


def drawn_number(rng):
    """A decimal number in one of the ways in which programs and people write them."""
    value = rng.gauss(0, 1) * 10.0 ** rng.choice((0, 0, 0, 1, 5, -5, 15, 300, -300, -320))
    style = rng.randrange(8)
    if style < 2:
        return repr(value)
    if style == 2:
        return f"{value:.{rng.choice((3, 17, 40))}e}"
    if style == 3:
        return str(rng.randrange(-9, 9))
    if style == 4:
        return rng.choice(("007", "1.", ".5", "+3", "-0", "1E5", "1e999", "-1e-999", "inf", "-Inf"))
    if style == 5:
        return str(rng.randrange(10 ** rng.randrange(1, 40)))
    return f"{rng.gauss(0, 1):.{rng.randrange(1, 18)}f}"


def damaged(content, rng, seeds):
    """Every second time as drawn, else after one or two changes."""
    content = bytearray(content)
    for _ in range(rng.choice((0, 0, 1, 2))):
        rng.choice(fuzz.CHANGES)(content, rng, seeds)
    return bytes(content)


def as_cell(value):
    """A cell as it is compared: None for a missing one."""
    value = value.strip(BLANKS)
    return None if value in MISSING else value


def columns_of(contents):
    """Numbers, or texts with None, of each column, in the order of the file."""
    table = contents.table
    found = dict(zip(table.number_names, table.numbers.T, strict=True))
    for name, (codes, values) in table.categories.items():
        found[name] = [None if code < 0 else values[code] for code in codes.tolist()]
    return [found[name] for name in contents.choice.used]


def require_equal(found, cells, content, target=None):
    """Compare a column with the cells of the parser: texts or None, or numbers."""
    shown = f"{content[:300]!r}: {found} and {cells}"
    if isinstance(found, list):
        assert found == cells, shown
        return
    assert target is not found, "a target is no column of numbers"
    assert all(cell is None or NUMBER.fullmatch(cell) for cell in cells), shown
    expected = np.array([np.nan if cell is None else float(cell) for cell in cells])
    assert np.array_equal(found, expected, equal_nan=True), shown


# --------------------------------------------------------------------------------------- delimited


def drawn_csv(rng):
    width, delimiter = rng.randrange(2, 6), rng.choice(",,,;\t|")
    ways = [rng.choice((drawn_number, drawn_number, drawn_text)) for _ in range(width)]
    out = io.StringIO()
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    end = rng.choice(("\n", "\n", "\r\n"))
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow([*(f"x{j}" for j in range(width)), "class"])
    for _ in range(rng.randrange(1, 8)):
        row = [rng.choice(MISSING) if rng.random() < 0.1 else way(rng) for way in ways]
        writer.writerow([*row, rng.choice("ab")])
    return out.getvalue().encode(), delimiter


def drawn_text(rng):
    return rng.choice(rng.choice((WORDS, WORDS, QUOTED)))


def csv_rows(content, delimiter):
    """The rows of the csv module, all quotes closed; lines of blanks and of a byte order mark are none."""
    text = content.decode().removeprefix("\ufeff")
    try:
        rows = _csv_rows(text, delimiter, strict=True)
    except csv.Error as error:
        if "expected after" not in str(error):
            raise
        rows = _csv_rows(text, delimiter, strict=False)  # 'a ' of '"a" ,', and 'ab' of '"a"b,'
    return [row for row in rows if len(row) > 1 or any(cell.strip(BLANKS) for cell in row)]


def _csv_rows(text, delimiter, strict):
    options = {"delimiter": delimiter, "skipinitialspace": True, "strict": strict}
    return list(csv.reader(io.StringIO(text, newline=""), **options))


def delimited(number):
    """Tables of numbers and texts, in quotes or not, against the csv module and `float`."""
    rng = random.Random(7_000_003 * 13 + number)
    whole, delimiter = drawn_csv(rng)
    content = damaged(whole, rng, [whole])
    options = {"header": True, "delimiter": delimiter, "target": -1, "encoding": "utf-8"}
    if content == whole and rng.random() < 0.5:
        options = {}  # the layout is detected
    found = scan(scan_csv, content, missing_label="drop", **options)
    if found is None or found.notes:
        return
    header, *rows = csv_rows(content, delimiter)
    assert {len(row) for row in rows} == {len(header)}, f"{content[:300]!r}"
    for column, cells in zip(columns_of(found), zip(*rows, strict=True), strict=True):
        require_equal(column, [as_cell(cell) for cell in cells], content)


# ------------------------------------------------------------------------------------------- JSON


def drawn_json(rng):
    keys = rng.sample(("a", "b", "class", "c d", "ä", "a.b", ""), rng.randrange(2, 6))
    ways = {key: rng.choice((drawn_float, drawn_word, drawn_value)) for key in keys}
    rows = [
        {key: ways[key](rng) for key in keys if rng.random() < 0.9}
        for _ in range(rng.randrange(1, 7))
    ]
    rows = [{**row, "class": rng.choice("pq")} for row in rows]
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in rows]
    if rng.random() < 0.2:
        return ("[" + ",\n".join(lines) + "]").encode()
    return "\n".join(lines).encode()


def drawn_float(rng):
    return rng.choice(
        (rng.gauss(0, 1), rng.gauss(0, 1) * 1e300, rng.randrange(-9, 9), 10**400, None)
    )


def drawn_word(rng):
    return rng.choice((*WORDS, *QUOTED, "NA", None))


def drawn_value(rng):
    other = (True, False, [1, 2], [], {"x": 1}, {}, "1.5", [[1]], {"y": {"z": None}})
    return rng.choice((*other, drawn_float(rng), drawn_word(rng)))


def json_records(content):
    """The objects of the json module: of an array, one over several lines, or one a line (RFC 7464)."""
    text = content.decode().removeprefix("\ufeff")
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, list | dict):
        return whole if isinstance(whole, list) else [whole]
    return [json.loads(line.removeprefix("\x1e")) for line in text.split("\n") if line.strip()]


def json_lines(number):
    """Objects of numbers, texts and others, against the json module; keys of one kind are compared."""
    rng = random.Random(7_000_003 * 14 + number)
    content = drawn_json(rng)
    content = damaged(content, rng, [content])
    found = scan(scan_json_lines, content, missing_label="drop", target="class", encoding="utf-8")
    if found is None or found.notes or not found.how.endswith(("a line", "an array of objects")):
        return
    records = json_records(content)
    assert found.table.rows == len(records), f"{content[:300]!r}"
    columns = dict(zip(found.choice.used, columns_of(found), strict=True))
    for key in {key for record in records for key in record if key in columns}:
        values = [record.get(key) for record in records]
        types = {type(value) for value in values} - {type(None)}
        if types == {str}:
            cells = [None if value is None else as_cell(value) for value in values]
            require_equal(columns[key], cells, content)
        elif types and types <= {int, float} and key != "class":
            expected = [np.nan if value is None else _nearest(value) for value in values]
            assert np.array_equal(columns[key], expected, equal_nan=True), f"{content[:300]!r}"


def _nearest(value):
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


# ------------------------------------------------------------------------------------------- ARFF


def drawn_arff(rng):
    types = (
        "numeric",
        "real",
        "string",
        "{a, b}",
        "{red,'heat pump',x}",
        "{'a,b', \"c\", 'd\\'e'}",
    )
    kinds = [rng.choice(types) for _ in range(3)]
    names = ("x", "'floor area'", "y2")
    lines = ["% drawn", "@relation r"]
    lines += [f"@attribute {n} {k}" for n, k in zip(names, kinds, strict=True)]
    lines += [rng.choice(("@attribute class {p,q}", "@ATTRIBUTE class {p, q}")), "@data"]
    for _ in range(rng.randrange(1, 6)):
        cells = ["?" if rng.random() < 0.1 else _arff_cell(rng, kind) for kind in kinds]
        lines.append(rng.choice((",", ", ")).join([*cells, rng.choice("pq")]))
    return ("\n".join(lines) + "\n").encode()


def _arff_cell(rng, kind):
    if kind.startswith("{"):
        return rng.choice(re.findall(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\w+", kind))
    if kind == "string":
        text = rng.choice((*WORDS, *QUOTED)).replace("\n", " ").replace("\r", " ")
        return rng.choice((repr(text), "'" + text.replace("'", "''") + "'"))
    return drawn_number(rng)


def arff_cells(line):
    """The cells of a line, character by character; commas or tabs end them, backslashes escape."""
    cells, at = [], 0
    while True:
        while line[at : at + 1].isspace():
            at += 1
        quote, text = line[at : at + 1], ""
        if quote and quote in "'\"":
            at += 1
            while line[at] != quote or line[at + 1 : at + 2] == quote:
                at += line[at] in ("\\", quote)
                text += line[at]
                at += 1
            at += 1
        else:
            while line[at : at + 1] not in ("", ",", "\t"):
                text += line[at]
                at += 1
            text = text.strip()
        cells.append(text)
        blanks = re.compile(r"\s*").match(line, at)[0]
        at += len(blanks)
        if at == len(line):
            return cells
        if line[at] == ",":
            at += 1
        else:
            assert "\t" in blanks, f"{line[at:]!r} after a cell"


def plain_arff(content):
    """The declared types, and the cells of dense rows."""
    lines = [line.strip() for line in content.decode().removeprefix("\ufeff").split("\n")]
    lines = [line for line in lines if line and not line.startswith("%")]
    begin = next(i for i, line in enumerate(lines) if line.split()[0].lower() == "@data")
    kinds = []
    for line in lines[:begin]:
        word, rest = [*line.split(None, 1), ""][:2]
        if word.lower() != "@relation":
            assert word.lower() == "@attribute", line
            kinds.append(re.fullmatch(ARFF_NAME + r"\s*(.+)", rest, re.DOTALL)[1].strip())
    rows = [arff_cells(line) for line in lines[begin + 1 :]]
    assert {len(row) for row in rows} == {len(kinds)}, f"{content[:300]!r}"
    return kinds, rows


ARFF_NAME = r"""(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[^\s{]+)"""


def arff(number):
    """Declared numbers, texts and nominal values, against a parser of characters."""
    rng = random.Random(7_000_003 * 15 + number)
    content = drawn_arff(rng)
    content = damaged(content, rng, [content])
    found = scan(scan_arff, content, missing_label="drop", target=-1, encoding="utf-8")
    if found is None or found.notes or re.search(rb"^\s*\{", content, re.MULTILINE):
        return  # sparse rows are in the part read_arff
    kinds, rows = plain_arff(content)
    for column, kind, cells in zip(columns_of(found), kinds, zip(*rows, strict=True), strict=True):
        values = [as_cell(cell) for cell in cells]
        if kind.startswith("{"):
            known = arff_cells(kind[1:-1])
            assert all(c in known or c in ("?", "") for c in cells), f"{content[:300]!r}"
        elif kind.split()[0].lower() not in ("string", "date"):
            assert not isinstance(column, list), f"{content[:300]!r}"
        require_equal(column, values, content)


# ------------------------------------------------------------------------------------------ Arrow


def drawn_table(rng):
    rows = rng.randrange(1, 5)
    ways = {
        "f": (pa.float64(), lambda: rng.choice((None, rng.gauss(0, 1), 1e300, np.inf))),
        "h": (pa.float32(), lambda: rng.gauss(0, 1)),
        "i": (pa.int64(), lambda: rng.choice((None, rng.randrange(-(2**62), 2**62)))),
        "u": (pa.uint8(), lambda: rng.randrange(256)),
        "t": (pa.string(), lambda: rng.choice((None, *WORDS, *QUOTED))),
        "d": (pa.dictionary(pa.int8(), pa.string()), lambda: rng.choice(("p", "q", None))),
    }
    chosen = rng.sample(sorted(ways), rng.randrange(1, 5))
    columns = {key: pa.array([ways[key][1]() for _ in range(rows)], ways[key][0]) for key in chosen}
    columns["class"] = pa.array([rng.choice("ab") for _ in range(rows)])
    if rng.random() < 0.5:
        return parquet(
            columns, compression=rng.choice(("none", "snappy", "gzip")), row_group_size=2
        )
    return feather(columns, compression=rng.choice(("uncompressed", "lz4")), chunksize=2)


def arrow(number):
    """Typed columns in Parquet and Arrow files, against pyarrow's own tables."""
    rng = random.Random(7_000_003 * 16 + number)
    content = drawn_table(rng)
    content = damaged(content, rng, [content])
    found = scan(scan_arrow, content, missing_label="drop", target="class")
    if found is None or found.notes:
        return
    file = pa.BufferReader(content)
    if content.startswith(b"PAR1"):
        table = pyarrow.parquet.ParquetFile(file).read()
    else:
        table = pyarrow.ipc.open_file(file).read_all()
    table.validate(full=True)
    for name, column in zip(found.choice.used, columns_of(found), strict=True):
        values = table.column(name).to_pylist()
        if isinstance(column, list):
            cells = [None if value is None else as_cell(_spelled(value)) for value in values]
            assert column == cells, f"{name}: {column} and {cells}"
        else:
            expected = [np.nan if value is None else float(value) for value in values]
            assert np.array_equal(column, expected, equal_nan=True), f"{name}: {column}, {values}"


def _spelled(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


PARTS = {
    "csv against the csv module": delimited,
    "json lines against json": json_lines,
    "arff against a plain parser": arff,
    "arrow against pyarrow": arrow,
}
