"""`python -m benchmarks [suite ...]`: run, print, and keep the tables in RESULTS.md.

A suite that is run replaces its section; the others stay as they were.
"""

import re
import sys
import warnings
from inspect import cleandoc
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks import (
    discriminant,
    experiments,
    files,
    least_squares,
    linear_svm,
    logistic,
    memory,
    naive_bayes,
    neighbors,
    objects,
    perceptrons,
    readers,
    subgradient,
    svm,
    workbench,
)
from benchmarks.measure import machine, table
from benchmarks.picture import draw
from separatrix.errors import MissingDataError

FILE = Path(__file__).with_name("RESULTS.md")
SUITES = [
    suite
    for module in (
        *(perceptrons, svm, linear_svm, subgradient),
        *(least_squares, discriminant, naive_bayes, logistic, neighbors, memory, files),
        *(readers, experiments, objects, workbench),
    )
    for suite in module.SUITES
]
HEAD = """# Results

Made by `make bench`. A figure is a ratio to a peer in the same run of its section, but for times marked
"kept": those were measured once on the same machine (`kept.json`). Our times are the best of two or
three where a fit is short, the peer's a single run. Seconds on another machine, or beside other work,
differ.
"""


def main(names):
    warnings.simplefilter("ignore", ConvergenceWarning)
    unknown = set(names) - {suite.__name__ for suite in SUITES}
    if unknown:
        sys.exit(f"error: no suite {sorted(unknown)}; there are {[s.__name__ for s in SUITES]}")
    for suite in SUITES:
        if names and suite.__name__ not in names:
            continue
        rows, notes = suite()
        section = f"## {suite.__name__}\n\n{cleandoc(suite.__doc__)}\n\n{table(rows)}\n"
        section += "".join(f"\n```\n{note}\n```\n" for note in notes)
        print(section, flush=True)
        _keep(suite.__name__, f"{section}\nMachine: {machine()}.\n")
    draw(FILE.read_text())


def _keep(name, section):
    """Put one section in its place."""
    text = FILE.read_text() if FILE.exists() else ""
    found = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    sections = {title: f"## {title}\n{body}".strip() + "\n" for title, body in found}
    sections[name] = section.strip() + "\n"
    order = [suite.__name__ for suite in SUITES]
    kept = [sections[title] for title in order if title in sections]
    kept += [text for title, text in sections.items() if title not in order]  # of `benchmarks.gpu`
    FILE.write_text("\n".join([HEAD, *kept]))


try:
    main(sys.argv[1:])
except MissingDataError as error:
    sys.exit(f"error: {error}")
