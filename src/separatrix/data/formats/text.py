"""Texts with labels: `label<TAB>words`, one text a line, in UTF-8."""

from __future__ import annotations

import os

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.formats.numbers import numbered_lines
from separatrix.data.limits import Limits
from separatrix.data.streams import Source, open_
from separatrix.errors import DataFileError

LONGEST_LABEL = 256  # letters; an array of labels is as wide as its longest


def read_text(path: str | os.PathLike[str], limits: Limits | None = None) -> Dataset:
    """Texts as a list of strings, and their labels.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "mails.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("ham\\tsee you at noon\\nspam\\tyou have won\\n")
    >>> read_text(name).X, read_text(name).y.tolist()
    (['see you at noon', 'you have won'], ['ham', 'spam'])
    """
    texts, labels, known = [], [], set[str]()
    with open_(path, limits) as source:
        for line, raw in numbered_lines(source):
            if not raw:
                continue
            label, tab, words = _decoded(source, line, raw).partition("\t")
            if not tab or not label:
                raise DataFileError(
                    source.name,
                    line,
                    1,
                    found=f"{label[:40]!r}" + ("" if tab else " and no tab"),
                    expected="a label, a tab, then the text",
                )
            require_label(source, line, label, known)
            texts.append(words)
            labels.append(label)
            require_rows(source, line, len(texts))
    if not texts:
        raise DataFileError(source.name, found="no text", expected="at least one line")
    return Dataset(os.path.basename(source.name), texts, np.array(labels), kind="text")


def require_label(source: Source, line: int, label: str, known: set[str]) -> None:
    """Refuse a label that is too long, or one too many; `known` gets the new one."""
    if len(label) > LONGEST_LABEL:
        raise DataFileError(
            source.name,
            line,
            1,
            found=f"a label of {len(label):,} letters",
            expected=f"at most {LONGEST_LABEL}",
        )
    known.add(label)
    if len(known) > source.limits.categories:
        raise DataFileError(
            source.name,
            line,
            1,
            found=f"more than {source.limits.categories:,} different labels",
            expected="fewer",
            hint="raise `categories` of Limits if this is right",
        )


def require_rows(source: Source, line: int, rows: int) -> None:
    """Refuse one row too many."""
    if rows > source.limits.rows:
        raise DataFileError(
            source.name,
            line,
            found=f"more than {source.limits.rows:,} rows",
            expected="fewer",
            hint="raise `rows` of Limits if this is right",
        )


def _decoded(source: Source, line: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataFileError(
            source.name,
            line,
            error.start + 1,
            found=f"the byte {raw[error.start]:#04x}",
            expected="UTF-8",
            hint="save the file as UTF-8",
        ) from None
