"""DNA sequences as the UCI archive has them: `class, name, sequence`, padded by spaces or tabs.

Promoters come in lower case and splice junctions in upper case; both are read as upper case.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.streams import ByteSource

BASES = "ACGT"
AMBIGUOUS = "NDRS"  # any base; not C; A or G; C or G
_INVALID = re.compile(f"[^{BASES}{AMBIGUOUS}]", re.IGNORECASE)


def read_dna(source: ByteSource) -> Dataset:
    """Sequences as a list of strings over A, C, G, T, and N, D, R, S for ambiguous bases.

    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> name = os.path.join(tempfile.mkdtemp(), "promoters.data")
    >>> with open(name, "w") as file:
    ...     _ = file.write("+,S10,\\t\\ttacta\\n-,1019,\\t\\tgcgtn\\n")
    >>> with open_(name) as source:
    ...     found = read_dna(source)
    >>> found.X, found.y.tolist(), found.notes
    (['TACTA', 'GCGTN'], ['+', '-'], ('1 of 10 letters are ambiguous bases: N 1',))
    """
    sequences, labels, known = [], [], set[str]()
    ambiguous: Counter[str] = Counter()
    for line, raw in source.lines():
        if not raw.strip():
            continue
        label, sequence = _split_fields(source, line, raw)
        source.require_label(label, known, line)
        labels.append(label)
        sequences.append(sequence)
        source.require_limit("rows", len(sequences), line=line)
        ambiguous.update({letter: sequence.count(letter) for letter in AMBIGUOUS})
    if not sequences:
        raise source.error(found="no sequence", expected="at least one line")
    return Dataset(
        os.path.basename(source.name),
        sequences,
        np.array(labels),
        kind="sequences",
        notes=_notes(ambiguous, sum(map(len, sequences))),
    )


def _split_fields(source: ByteSource, line: int, raw: bytes) -> tuple[str, str]:
    text = raw.decode("latin1")
    fields = text.split(",")
    if len(fields) != 3 or not fields[0].strip() or not fields[2].strip():
        raise source.error(
            line,
            1,
            found=ascii(text[:40]),
            expected="a class, a name and a sequence, separated by commas",
        )
    label, sequence = fields[0].strip(), fields[2].strip()
    if not label.isascii():
        raise source.error(line, 1, found=ascii(label[:40]), expected="an ASCII class")
    if wrong := _INVALID.search(sequence):
        before = len(text) - len(fields[2].lstrip())
        raise source.error(
            line,
            before + wrong.start() + 1,
            found=ascii(sequence[wrong.start()]),
            expected=f"a letter of {BASES}, or of {AMBIGUOUS}",
        )
    return label, sequence.upper()


def _notes(ambiguous: Counter[str], letters: int) -> tuple[str, ...]:
    if not ambiguous.total():
        return ()
    listed = ", ".join(f"{letter} {count}" for letter, count in ambiguous.most_common() if count)
    return (f"{ambiguous.total():,} of {letters:,} letters are ambiguous bases: {listed}",)
