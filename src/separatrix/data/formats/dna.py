"""DNA sequences as the UCI archive has them: `class, name, sequence`, padded by spaces or tabs.

Promoters come in small letters and splice junctions in capitals; here all are capitals.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.formats.numbers import numbered_lines
from separatrix.data.formats.text import require_label, require_rows
from separatrix.data.limits import Limits
from separatrix.data.streams import Source, open_
from separatrix.errors import DataFileError

BASES = "ACGT"
AMBIGUOUS = "NDRS"  # any base; not C; A or G; C or G
_ELSE = re.compile(f"[^{BASES}{AMBIGUOUS}]", re.IGNORECASE)


def read_dna(path: str | os.PathLike[str], limits: Limits | None = None) -> Dataset:
    """Sequences as a list of strings over A, C, G, T, and N, D, R, S where the base is not sure.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "promoters.data")
    >>> with open(name, "w") as file:
    ...     _ = file.write("+,S10,\\t\\ttacta\\n-,1019,\\t\\tgcgtn\\n")
    >>> found = read_dna(name)
    >>> found.X, found.y.tolist(), found.notes
    (['TACTA', 'GCGTN'], ['+', '-'], ('1 of 10 letters stand for more than one base: N 1',))
    """
    sequences, labels, known = [], [], set[str]()
    unsure: Counter[str] = Counter()
    with open_(path, limits) as source:
        for line, raw in numbered_lines(source):
            if not raw.strip():
                continue
            label, sequence = _fields(source, line, raw)
            require_label(source, line, label, known)
            labels.append(label)
            sequences.append(sequence)
            require_rows(source, line, len(sequences))
            unsure.update({letter: sequence.count(letter) for letter in AMBIGUOUS})
    if not sequences:
        raise DataFileError(source.name, found="no sequence", expected="at least one line")
    return Dataset(
        os.path.basename(source.name),
        sequences,
        np.array(labels),
        kind="sequences",
        notes=_notes(unsure, sum(map(len, sequences))),
    )


def _fields(source: Source, line: int, raw: bytes) -> tuple[str, str]:
    text = raw.decode("latin1")
    fields = text.split(",")
    if len(fields) != 3 or not fields[0].strip() or not fields[2].strip():
        raise DataFileError(
            source.name,
            line,
            1,
            found=ascii(text[:40]),
            expected="a class, a name and a sequence, with commas between",
        )
    label, sequence = fields[0].strip(), fields[2].strip()
    if not label.isascii():
        raise DataFileError(source.name, line, 1, found=ascii(label[:40]), expected="a plain class")
    if wrong := _ELSE.search(sequence):
        before = len(text) - len(fields[2].lstrip())
        raise DataFileError(
            source.name,
            line,
            before + wrong.start() + 1,
            found=ascii(sequence[wrong.start()]),
            expected=f"a letter of {BASES}, or of {AMBIGUOUS}",
        )
    return label, sequence.upper()


def _notes(unsure: Counter[str], letters: int) -> tuple[str, ...]:
    if not unsure.total():
        return ()
    listed = ", ".join(f"{letter} {count}" for letter, count in unsure.most_common() if count)
    return (f"{unsure.total():,} of {letters:,} letters stand for more than one base: {listed}",)
