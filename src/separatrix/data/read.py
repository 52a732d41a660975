"""`read`: a file of any format that has a reader, by its name or by its first line."""

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
from separatrix.errors import DataFileError, ParameterError

_READERS = "separatrix.data.formats"


@dataclass(frozen=True)
class Format:
    """A format: what it is, which function reads it, and which options that takes."""

    what: str
    module: str
    function: str
    suffixes: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()

    def read(self, path: str, **options: Any) -> Dataset:
        """Read a file of this format."""
        found: Dataset = getattr(import_module(f"{_READERS}.{self.module}"), self.function)(
            path, **options
        )
        return found


FORMATS = {
    "csv": Format(
        "a table with commas, semicolons or tabs",
        "table",
        "read_csv",
        (".csv", ".tsv", ".tab"),
        frozenset({"target", "header", "delimiter", "features"}),
    ),
    "parquet": Format(
        "a Parquet file",
        "arrow",
        "read_arrow",
        (".parquet", ".pq"),
        frozenset({"target", "features"}),
    ),
    "arrow": Format(
        "an Arrow or Feather file",
        "arrow",
        "read_arrow",
        (".arrow", ".feather", ".ipc"),
        frozenset({"target", "features"}),
    ),
    "svmlight": Format(
        "LIBSVM's format, label index:value ...",
        "svmlight",
        "read_svmlight",
        (".svm", ".svmlight", ".libsvm"),
        frozenset({"n_features"}),
    ),
    "npz": Format("NumPy arrays X, y, X_test, y_test", "npz", "read_npz", (".npz",)),
    "npy": Format("one NumPy array, samples without labels", "npz", "read_npy", (".npy",)),
    "idx": Format("pictures in the format of MNIST", "idx", "read_images", (".idx",)),
    "esl": Format("a label, then numbers, between spaces", "esl", "read_esl", (".train", ".test")),
    "text": Format("label, tab, text", "text", "read_text"),
    "dna": Format("class, name, sequence", "dna", "read_dna"),
    "tu": Format("a folder of graphs of the TU collection", "graphs", "read_tu"),
}
_SUFFIXES = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
_MAGIC = {
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\0\0": "idx",
}
# Each number can be matched in one way only: two would be 2^n for a line of n.
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_LOOKS = {
    "svmlight": re.compile(_NUMBER + rb"(?:\s+(?:\d+|qid):" + _NUMBER + rb")+\s*(?:#.*)?"),
    "esl": re.compile(_NUMBER + rb"(?:[ \t]+" + _NUMBER + rb")+\s*"),
    "dna": re.compile(rb"[^,]+,[^,]*,[ \t]*[acgtndrsACGTNDRS]{4,}\s*"),
    "text": re.compile(rb"[^\t]{1,256}\t[^\t]*"),
    "csv": re.compile(rb".*[,;\t].*"),
}
_FIRST = 1 << 16  # bytes that are looked at


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
    """The data of a file, plain or packed with gz, bz2 or xz.

    Parameters
    ----------
    format
        One of `FORMATS`. None: the ending of the name says it, else the first line.
    target
        Column of a table with the labels, by name or position; None: there are none. Left out, or
        "auto": the one that is called target, label, class or y, else the last.
    header, delimiter, features
        Of a table: whether the first line has names, what stands between values, which columns.
    n_features
        Width of X, of an svmlight file.
    limits
        What to refuse; see `Limits`.

    An option that the format has no use for is refused.

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
    data = FORMATS[found].read(path, limits=limits, **options)
    return replace(data, name=os.path.basename(os.path.normpath(path)))


def format_of(path: str | os.PathLike[str], limits: Limits | None = None) -> str:
    """The format of a file, by the ending of its name, else by how it begins.

    >>> format_of("iris.csv.gz"), format_of("a9a.libsvm")
    ('csv', 'svmlight')
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return "tu"
    if (by_name := _SUFFIXES.get(unpacked_suffix(path))) is not None:
        return by_name
    with open_(path, limits) as source:
        head = source.read(_FIRST)
    return _looked_at(path, head)


def _looked_at(path: str, head: bytes) -> str:
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    if len(head) == _FIRST and b"\n" not in head:
        head = head[: -len(re.split(rb"[\s,;]", head)[-1]) or None]  # the last word may be cut
    lines = (line.strip(b"\r") for line in head.split(b"\n"))
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    for name, look in _LOOKS.items():
        if look.fullmatch(first):
            return name
    listed = ", ".join(FORMATS)
    raise DataFileError(
        path,
        found=f"a file that begins with {first[:40].decode('latin1')!a}",
        expected=f"one of the formats {listed}",
        hint="give its name an ending that says it, such as .csv or .svm, or read(..., format=...)",
    )
