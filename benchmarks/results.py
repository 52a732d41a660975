"""Read RESULTS.md by one grammar: what does not follow it raises ValueError.

A section is a heading of its own title, prose, one table of five columns, notes, and as its last line the
sentence of `measured`. A figure is of that run on that machine: only a peer's cell may say that it was
scaled, and from what ("12 s (scaled from a part)", "12 s from 100"); prose says it of no other figures.
"""

import re
from typing import NamedTuple

MEASURED = re.compile(
    r"Measured on (20\d\d-(?:0[1-9]|1[0-2])-(?:[0-2]\d|3[01])): (x86_64|aarch64), \d+ cores, "
    r"Python 3\.\d+\.\d+, numpy [\d.]+\d, scipy [\d.]+\d, scikit-learn [\d.]+\d, numba [\d.]+\d([;,] .+)?\."
)
SCALED = re.compile(r"\b(scaled )?from \d|\bscaled from a part\b")
ESTIMATED = re.compile(r"\b(scaled|extrapolated|estimated|projected)\b", re.I)
OTHER_RUN = re.compile(
    r"20\d\d-\d\d|(?<!nothing )\bkept\b|"
    r"\b(another|other|earlier|later|previous|last|different|old) (run|machine|computer|day)\b",
    re.I,
)


class Section(NamedTuple):
    """The figures of one run, and the sentence that says when and where they were measured."""

    rows: list[dict[str, str]]
    """The cells of each row by the names of the columns, of which "what" and "peer" are two."""
    measured: str


def read_sections(text):
    """The sections of a file of results by title."""
    preamble, *parts = re.split(r"^## ", text, flags=re.M)
    _require_prose("before the first section", preamble.removeprefix("# Results\n"))
    sections = {}
    for part in parts:
        title, _, body = part.partition("\n")
        if title in sections:
            raise ValueError(f"two sections have the title {title!r}")
        sections[title] = _read_section(f"in section {title!r}", body)
    return sections


def _read_section(where, body):
    *lines, last = body.rstrip().split("\n")
    found = MEASURED.fullmatch(last)
    if found is None:
        raise ValueError(
            f"the last line {where} must say when and on what it was measured; got {last!r}"
        )
    starts = [n for n, line in enumerate(lines) if re.match(r"\| what \|(.* \|)? peer \|", line)]
    if len(starts) != 1 or "" not in lines[starts[0] :]:
        raise ValueError(f"one table is needed {where}, and an empty line below; got {len(starts)}")
    start, end = starts[0], lines.index("", starts[0])
    prose = "\n".join([*lines[:start], *lines[end:]])
    _require_prose(where, prose)
    _require_own_run(where, "\n".join([*lines, last.replace(found[1], "")]))
    rows = _read_table(where, lines[start:end])
    if ESTIMATED.search(prose) and not any(SCALED.search(row["peer"]) for row in rows):
        raise ValueError(f"prose scales a figure {where}, but no row says that it is scaled")
    return Section(rows, last)


def _read_table(where, lines):
    head, rule, *cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [dict(zip(head[1:-1], row[1:-1], strict=False)) for row in cells]
    for row, line in zip([head, rule, *cells], lines, strict=True):
        if len(row) != 7 or row[0] or row[-1] or not (row[1] and row[2]):
            raise ValueError(f"a row {where} must have five cells; got {line!r}")
    for row, line in zip(rows, lines[2:], strict=True):
        said = {**row, "what": row["what"].replace("from", ""), "peer": SCALED.sub("", row["peer"])}
        if any(re.search(rf"{ESTIMATED.pattern}|\bfrom\b", cell, re.I) for cell in said.values()):
            raise ValueError(f"a figure {where} was not measured; got {line!r}")
    return rows


def _require_prose(where, text):
    found = re.search(r"^.*\|.*$|^ {0,3}#.*$|^Measured on.*$", text, re.M)
    if found:
        raise ValueError(f"prose {where} must have no heading, row or date; got {found[0]!r}")


def _require_own_run(where, text):
    found = OTHER_RUN.search(text)
    if found:
        raise ValueError(f"all figures {where} must be of its run; got {found[0]!r}")
