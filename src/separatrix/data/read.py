"""`read`: a file of any format of `FORMATS`, detected from its name or its beginning."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from importlib import import_module
from types import EllipsisType
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.streams import open_, unpacked_suffix
from separatrix.errors import ParameterError

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
    """Whether the reader takes a folder and limits instead of a byte source."""

    def read(self, path: str, limits: Limits | None, **options: Any) -> Dataset:
        """Read a file of this format."""
        reader = getattr(import_module(f"{_READERS}.{self.module}"), self.function)
        data: Dataset
        if self.folder:
            data = reader(path, limits, **options)
            return data
        with open_(path, limits) as source:
            data = reader(source, **options)
        return data


# Each number can be matched in one way only: two would take 2^n steps for a line of n.
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_TABLE_OPTIONS = frozenset({"target", "features"})

FORMATS = {
    "csv": FileFormat(
        "a table with commas, semicolons or tabs",
        *("table", "read_csv", (".csv", ".tsv", ".tab")),
        options=_TABLE_OPTIONS | {"header", "delimiter"},
    ),
    "parquet": FileFormat(
        "a Parquet file",
        *("arrow", "read_arrow", (".parquet", ".pq")),
        options=_TABLE_OPTIONS,
        magic=(b"PAR1",),
    ),
    "arrow": FileFormat(
        "an Arrow or Feather file",
        *("arrow", "read_arrow", (".arrow", ".feather", ".ipc")),
        options=_TABLE_OPTIONS,
        magic=(b"ARROW1", b"\xff\xff\xff\xff"),
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
    "esl": FileFormat(
        "a label, then numbers, separated by blanks",
        *("esl", "read_esl", (".train", ".test")),
        first_line=_NUMBER + rb"(?:[ \t]+" + _NUMBER + rb")+\s*",
    ),
    "dna": FileFormat(
        "class, name, sequence",
        *("dna", "read_dna"),
        first_line=rb"[^,]+,[^,]*,[ \t]*[acgtndrsACGTNDRS]{4,}\s*",
    ),
    "text": FileFormat(
        "label, tab, text", *("text", "read_text"), first_line=rb"[^\t]{1,256}\t[^\t]*"
    ),
    "tu": FileFormat(
        "a folder of graphs of the TU collection", *("graph_folder", "read_tu"), folder=True
    ),
}
"""Every format by its name; the first whose magic or first line matches is detected, csv last."""

_SUFFIXES = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
_HEAD_BYTES = 1 << 16


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | EllipsisType | None = ...,
    header: bool | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    features: Any = None,
    limits: Limits | None = None,
) -> Dataset:
    """The data of a file, plain or compressed with gz, bz2 or xz.

    Parameters
    ----------
    format
        One of `FORMATS`. None: detected from the suffix of the name, else from the first line.
    target
        Column of a table with the labels, by name or position; None for no labels. By default, or
        "auto": the column named target, label, class or y, else the last.
    header, delimiter, features
        Of a table: whether the first line is a header, the delimiter, and the features of X.
    n_features
        Width of X, of an svmlight file.
    limits
        What to refuse; see `Limits`.

    An option that the format does not have is refused.

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
    if format is not None and format not in FORMATS:
        raise ParameterError("read", "format", f"one of {', '.join(FORMATS)}, or None", format)
    found = format or format_of(path, limits)
    given = {
        "header": header,
        "delimiter": delimiter,
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


def format_of(path: str | os.PathLike[str], limits: Limits | None = None) -> str:
    """The format of a file, from the suffix of its name, else from its beginning.

    >>> format_of("iris.csv.gz"), format_of("a9a.libsvm")
    ('csv', 'svmlight')
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return "tu"
    if (by_name := _SUFFIXES.get(unpacked_suffix(path))) is not None:
        return by_name
    with open_(path, limits) as source:
        head = source.read(_HEAD_BYTES)
        first = _first_line(head)
        for name, format in FORMATS.items():
            if head.startswith(format.magic):
                return name
        for name, format in FORMATS.items():
            if format.first_line is not None and re.fullmatch(format.first_line, first):
                return name
        if re.search(rb"[,;\t]", first):
            return "csv"
        raise source.error(
            found=f"a file that begins with {first[:40].decode('latin1')!a}",
            expected=f"one of the formats {', '.join(FORMATS)}",
            hint="use a suffix such as .csv or .svm, or pass the format: read(..., format=...)",
        )


def _first_line(head: bytes) -> bytes:
    if len(head) == _HEAD_BYTES and b"\n" not in head:
        head = head[
            : -len(re.split(rb"[\s,;]", head)[-1]) or None
        ]  # the last word may be incomplete
    lines = (line.strip(b"\r") for line in head.split(b"\n"))
    return next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
