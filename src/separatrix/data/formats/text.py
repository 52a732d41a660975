"""Texts with labels: `label<TAB>words`, one text a line, in UTF-8."""

from __future__ import annotations

import os

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.encodings import note_encoding
from separatrix.data.streams import ByteSource

PADDED = "blanks around labels were removed"
_HEADERS = frozenset({"label", "class", "target", "category", "y", "labels", "v1"})


def read_text(source: ByteSource, *, encoding: str | None = None) -> Dataset:
    """Texts as a list of strings, and their labels; a first line such as label, tab, text is a header.

    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> name = os.path.join(tempfile.mkdtemp(), "mails.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("ham\\tsee you at noon\\nspam\\tyou have won\\n")
    >>> with open_(name) as source:
    ...     data = read_text(source)
    >>> data.X, data.y.tolist()
    (['see you at noon', 'you have won'], ['ham', 'spam'])
    """
    texts, labels, known = list[str](), list[str](), set[str]()
    source.use_encoding(encoding)
    notes = note_encoding(source.encoding, encoding)
    for line, raw in source.lines():
        if not raw:
            continue
        label, tab, words = source.decode(raw, line).partition("\t")
        padded, label = label, label.strip()
        if not tab or not label:
            raise source.error(
                line,
                1,
                found=f"{padded[:40]!r}" + ("" if tab else " and no tab"),
                expected="a label, a tab, then the text",
            )
        if not texts and line == 1 and label.strip("\ufeff").casefold() in _HEADERS:
            notes.append(f"the first line, {label[:40]!r}, is taken for a header")
            continue
        if label != padded and PADDED not in notes:
            notes.append(PADDED)
        source.require_label(label, known, line)
        texts.append(words)
        labels.append(label)
        source.require_limit("rows", len(texts), line=line)
    if not texts:
        raise source.error(found="no text", expected="at least one line")
    name = os.path.basename(source.name)
    return Dataset(name, texts, np.array(labels), kind="text", notes=tuple(notes))
