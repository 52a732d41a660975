"""`read`: a file of any format of `FORMATS`, detected from its name or its beginning."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, replace
from importlib import import_module
from types import EllipsisType
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.streams import open_, split_table, unpacked_suffix
from separatrix.errors import DataError, ParameterError

if TYPE_CHECKING:  # pyarrow is loaded with the first table
    from separatrix.data.formats.columns import TableContents

_READERS = "separatrix.data.formats"


@dataclass(frozen=True)
class FileFormat:
    """A file format: its reader, a function of `module`, and how a file of it is recognised."""

    description: str
    module: str
    function: str
    suffixes: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    """Keyword arguments of the reader that `read` passes on."""
    magic: tuple[bytes, ...] = ()
    """First bytes."""
    first_line: bytes | None = None
    """Regular expression of the first line that is neither blank nor a comment."""
    folder: bool = False
    """Whether the reader takes a path and limits instead of a byte source."""
    scan: str = ""
    """Of a table: the function of `module` that returns its columns as `TableContents`."""

    def read(self, path: str, limits: Limits | None, **options: Any) -> Dataset:
        """Read a file of this format."""
        data: Dataset = self._call(self.function, path, limits, options)
        return data

    def scan_columns(self, path: str, limits: Limits | None, **options: Any) -> TableContents:
        """The columns of a file of this format, a table."""
        contents: TableContents = self._call(self.scan, path, limits, options)
        return contents

    def _call(
        self, function: str, path: str, limits: Limits | None, options: dict[str, Any]
    ) -> Any:
        reader = getattr(import_module(f"{_READERS}.{self.module}"), function)
        try:
            if self.folder:
                return reader(path, limits, **options)
            with open_(path, limits) as source:
                return reader(source, **options)
        except DataError as error:
            if type(error) is not DataError:
                raise  # it names the file, or an option
            named = DataError(f"{path}: {error}")
            named.hint = error.hint
            raise named from None


# Each number can be matched in one way only: two would take 2^n steps for a line of n.
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_TABLE_OPTIONS = frozenset({"target", "features", "missing_label"})
_TEXT_OPTIONS = _TABLE_OPTIONS | {"encoding"}

FORMATS = {
    "csv": FileFormat(
        "a table with commas, semicolons, tabs, pipes, carets, colons or blanks",
        *("table", "read_csv", (".csv", ".tsv", ".tab")),
        options=_TEXT_OPTIONS | {"header", "delimiter"},
        scan="scan_csv",
    ),
    "parquet": FileFormat(
        "a Parquet file",
        *("arrow", "read_arrow", (".parquet", ".pq")),
        options=_TABLE_OPTIONS,
        magic=(b"PAR1",),
        scan="scan_arrow",
    ),
    "arrow": FileFormat(
        "an Arrow or Feather file",
        *("arrow", "read_arrow", (".arrow", ".feather", ".ipc")),
        options=_TABLE_OPTIONS,
        magic=(b"ARROW1", b"\xff\xff\xff\xff"),
        scan="scan_arrow",
    ),
    "arff": FileFormat(
        "Weka's format",
        *("arff", "read_arff", (".arff",)),
        options=_TEXT_OPTIONS,
        first_line=rb"(?i:@relation|@attribute).*",
        scan="scan_arff",
    ),
    "excel": FileFormat(
        "a sheet of an Excel workbook",
        *("excel", "read_excel", (".xlsx", ".xlsm", ".xls", ".ods")),
        options=_TABLE_OPTIONS | {"header"},
        folder=True,
        scan="scan_excel",
    ),
    "jsonl": FileFormat(
        "one JSON object a line, or an array of them",
        *("json_lines", "read_json_lines", (".jsonl", ".ndjson", ".json")),
        options=_TEXT_OPTIONS,
        first_line=rb"\s*(?:\[\s*)?\{.*|\s*\[\s*",
        scan="scan_json_lines",
    ),
    "sqlite": FileFormat(
        "a table of an SQLite database",
        *("sqlite", "read_sqlite", (".db", ".sqlite", ".sqlite3")),
        options=_TABLE_OPTIONS,
        magic=(b"SQLite format 3\0",),
        folder=True,
        scan="scan_sqlite",
    ),
    "svmlight": FileFormat(
        "LIBSVM's format, label index:value ...",
        *("svmlight", "read_svmlight", (".svm", ".svmlight", ".libsvm")),
        options=frozenset({"n_features"}),
        first_line=_NUMBER + rb"(?:\s+(?:\d+|qid):" + _NUMBER + rb")+\s*(?:#.*)?",
    ),
    "npz": FileFormat(
        "NumPy arrays X, y, X_test, y_test",
        *("npz", "read_npz", (".npz",)),
        magic=(b"PK\x03\x04",),
    ),
    "npy": FileFormat(
        "one NumPy array, samples without labels",
        *("npz", "read_npy", (".npy",)),
        magic=(b"\x93NUMPY",),
    ),
    "idx": FileFormat(
        "images in the format of MNIST", *("idx", "read_images", (".idx",)), magic=(b"\0\0",)
    ),
    "esl": FileFormat("a label, then numbers, separated by blanks", *("esl", "read_esl")),
    "dna": FileFormat(
        "class, name, sequence",
        *("dna", "read_dna"),
        first_line=rb"[^,]+,[^,]*,[ \t]*[acgtndrsACGTNDRS]{4,}\s*",
    ),
    "text": FileFormat(
        "label, tab, text",
        *("text", "read_text"),
        options=frozenset({"encoding"}),
        first_line=rb"[^\t]{1,256}\t[^\t]*",
    ),
    "tu": FileFormat(
        "a folder of graphs of the TU collection", *("graph_folder", "read_tu"), folder=True
    ),
}
"""Every format by its name; the first whose magic or first line matches is detected, csv last.

`esl` is never detected: numbers between blanks are a table.
"""

TABLES = frozenset(name for name, format in FORMATS.items() if format.scan)
"""Formats of tables."""

_SUFFIXES = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
_HEAD_BYTES = 1 << 16
_OLD_WORKBOOK = bytes.fromhex("d0cf11e0a1b11ae1")  # .xls


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | EllipsisType | None = ...,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_label: str | None = None,
    n_features: int | None = None,
    features: Any = None,
    limits: Limits | None = None,
) -> Dataset:
    """The data of a file, plain or compressed with gz, bz2, xz, zst or zip.

    An option that the format does not have is refused. `read_table` keeps categories, dates and texts of
    a table as columns, for a `TableEncoder`.

    Parameters
    ----------
    path
        The file.
    format
        One of `FORMATS`. None: detected from the suffix of the name, else from the first line.
    target
        Column of a table with the labels, by name or position; None for no labels. By default, or
        "auto": the column named target, label, class or y, else the last.
    header, delimiter, encoding, missing_label, features
        Of a table: whether the first line is a header, the delimiter, the encoding, what becomes of rows
        without a label, and the features of X; see `read_csv`.
    n_features
        Width of X, of an svmlight file.
    limits
        What to refuse; see `Limits`.

    Examples
    --------
    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "mails.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("ham\\tsee you at noon\\nspam\\tyou have won\\n")
    >>> read(name).kind, read(name).y.tolist()
    ('text', ['ham', 'spam'])
    """
    path = os.fspath(path)
    found = require_format(path, format, limits)
    given = {
        "header": header,
        "delimiter": delimiter,
        "encoding": encoding,
        "missing_label": missing_label,
        "n_features": n_features,
        "features": features,
    }
    options = {name: value for name, value in given.items() if value is not None}
    if target not in (..., "auto"):
        options["target"] = target
    for name in sorted(set(options) - FORMATS[found].options):
        raise ParameterError("read", name, f"left out for the format {found}", options[name])
    data = FORMATS[found].read(path, limits, **options)
    return replace(data, name=os.path.basename(os.path.normpath(path)))


def require_format(path: str, format: str | None, limits: Limits | None = None) -> str:
    """The given format if it exists, else the one of the file."""
    if format is not None and format not in FORMATS:
        raise ParameterError("read", "format", f"one of {', '.join(FORMATS)}, or None", format)
    return format or format_of(path, limits)


def format_of(path: str | os.PathLike[str], limits: Limits | None = None) -> str:
    """The format of a file, from the suffix of its name, else from its beginning.

    >>> format_of("iris.csv.gz"), format_of("a9a.libsvm")
    ('csv', 'svmlight')
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return "tu"
    if not os.path.exists(path) and path != "-":
        path = split_table(path)[0]
    if (by_name := _SUFFIXES.get(unpacked_suffix(path))) is not None:
        return "excel" if by_name == "csv" and _is_workbook(path) else by_name
    with open_(path, limits) as source:
        raw = bytes(source.read_up_to(_HEAD_BYTES))
        for name, format in FORMATS.items():
            if raw.startswith(format.magic):
                return name
        if raw.startswith(b"ORC") and b"\0" in raw:
            hint = "convert it: pyarrow.parquet.write_table(pyarrow.orc.read_table(FILE), NEW)"
            raise source.error(found="an ORC file", expected="Parquet", hint=hint)
        source.use_encoding()
        head = bytes(source.read_up_to(_HEAD_BYTES)).removeprefix(codecs.BOM_UTF8)
        first = _first_line(head)
        for name, format in FORMATS.items():
            matches = format.first_line and re.fullmatch(format.first_line, first)
            if matches and (name != "text" or _holds_texts(head)):
                return name
        if re.search(rb"[,;\t|]", first) or _is_table_of_blanks(head):
            return "csv"
        from separatrix.data.formats.layout import splits_evenly  # loads pyarrow

        if splits_evenly(head[: head.rfind(b"\n") + 1].decode(errors="replace")):
            return "csv"
        raise source.error(
            found=f"a file that begins with {first[:40].decode('latin1')!a}",
            expected=f"one of the formats {', '.join(FORMATS)}",
            hint="use a suffix such as .csv or .svm, or pass the format: read(..., format=...)",
        )


def _is_workbook(path: str) -> bool:
    """Whether a file is a workbook of Excel, whatever its name says."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(8)
        if head == _OLD_WORKBOOK:
            return True
        if not head.startswith(b"PK\x03\x04"):
            return False
        try:
            return "xl/workbook.xml" in ZipFile(file).namelist()
        except (BadZipFile, ValueError, OSError, NotImplementedError):
            return False


def _holds_texts(head: bytes) -> bool:
    """Whether lines are a label and several words, and not two columns of a table."""
    lines = [line for line in head.split(b"\n")[:-1] or [head] if line.strip()][:50]
    texts = [line.partition(b"\t")[2].strip() for line in lines]
    words = sum(len(text.split()) for text in texts if b"\t" not in text)
    return words >= 1.5 * len(texts)


def _is_table_of_blanks(head: bytes) -> bool:
    """Whether the first lines have equally many words, more than one."""
    lines = [line.split() for line in head.split(b"\n")[:-1] or [head] if line.strip()]
    sizes = {len(line) for line in lines[:20]}
    if len(lines) > 2 and {len(line) - len(lines[0]) for line in lines[1:20]} == {1}:
        return True  # the first column, of names of rows, has no name itself
    words = lines[0][: -1 if len(head) == _HEAD_BYTES else None] if lines else []
    if len(lines) == 1 and not all(re.fullmatch(_NUMBER, word) for word in words):
        return False  # a sentence
    return len(sizes) == 1 and sizes.pop() > 1


def _first_line(head: bytes) -> bytes:
    if len(head) == _HEAD_BYTES and b"\n" not in head:
        head = head[
            : -len(re.split(rb"[\s,;]", head)[-1]) or None
        ]  # the last word may be incomplete
    lines = (line.strip(b"\r") for line in head.split(b"\n"))
    return next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
