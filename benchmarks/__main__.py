"""`python -m benchmarks [suite ...]`: run, print, and keep the tables in RESULTS.md."""

import sys
from pathlib import Path

from benchmarks import perceptrons
from benchmarks.measure import machine, table
from benchmarks.picture import draw
from separatrix.errors import MissingDataError

FILE = Path(__file__).with_name("RESULTS.md")


def main(names):
    sections = [
        "# Results\n",
        "Made by `make bench`. A figure is a ratio to a peer in the same run: seconds on another machine, "
        "or beside other work, differ.\n",
        f"Machine: {machine()}.\n",
    ]
    everything = []
    for suite, rows, notes in perceptrons.run(names):
        everything += rows
        section = f"## {suite.__name__}\n\n{suite.__doc__}\n\n{table(rows)}\n"
        section += "".join(f"\n```\n{note}\n```\n" for note in notes)
        print(section, flush=True)
        sections.append(section)
    if not names:
        FILE.write_text("\n".join(sections))
        draw(everything)


try:
    main(sys.argv[1:])
except MissingDataError as error:
    sys.exit(f"error: {error}")
