"""`python -m benchmarks [suite ...]`: run, print, and keep the tables in RESULTS.md."""

import sys
from pathlib import Path

from benchmarks import perceptrons
from benchmarks.measure import machine, table
from benchmarks.picture import draw
from separatrix.errors import MissingDataError

FILE = Path(__file__).with_name("RESULTS.md")

SPREAD = """## How far runs differ

Six runs while this version was finished, with small changes to the code between them, on a shared
machine: three figures moved across their goal. The folds took 2.6 to 3.3 times the table (goal 3),
MNIST one-vs-rest with its prediction 0.45 to 0.52 of one product (goal 0.5), and the sparse linear
pass was 1.6 to 2.3 times faster than scikit-learn's (goal 2; mostly 1.8). The tables are the last.
"""


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
        sections.append(SPREAD)
        FILE.write_text("\n".join(sections))
        draw(everything)


try:
    main(sys.argv[1:])
except MissingDataError as error:
    sys.exit(f"error: {error}")
