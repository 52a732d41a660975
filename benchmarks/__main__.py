"""`python -m benchmarks [suite ...]`: run suites, print their tables and write them to RESULTS.md.

A name may have a star: `"compared_*"`. A suite replaces its own section. Every module of this package that defines SUITES takes part.
"""

import fnmatch
import re
import sys
import warnings
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import machine, table
from benchmarks.picture import draw
from separatrix.errors import MissingDataError

FILE = Path(__file__).with_name("RESULTS.md")
SUITES = [
    suite
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem != "__main__" and re.search(r"^SUITES\b", path.read_text(), re.M)
    for suite in import_module(f"benchmarks.{path.stem}").SUITES
]
HEAD = """# Results

Made by `make bench`. A figure is a ratio to a peer in the same run of its section. Our times are the best
of two or three where a fit is short, the peer's a single run. Seconds on another machine, or beside other
work, differ.
"""


def main(names):
    warnings.simplefilter("ignore", ConvergenceWarning)
    known = [suite.__name__ for suite in SUITES]
    unknown = [name for name in names if not fnmatch.filter(known, name)]
    if unknown:
        sys.exit(f"error: unknown suite {sorted(unknown)}; one of {known}")
    for suite in SUITES:
        if names and not any(fnmatch.fnmatch(suite.__name__, name) for name in names):
            continue
        rows, notes = suite()
        section = f"## {suite.__name__}\n\n{cleandoc(suite.__doc__)}\n\n{table(rows)}\n"
        section += "".join(f"\n```\n{note}\n```\n" for note in notes)
        print(section, flush=True)
        _keep(suite.__name__, f"{section}\nMachine: {machine()}.\n")
    draw(FILE.read_text())


def _keep(name, section):
    """Replace one section of the file."""
    text = FILE.read_text() if FILE.exists() else ""
    found = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    sections = {title: f"## {title}\n{body}".strip() + "\n" for title, body in found}
    sections[name] = section.strip() + "\n"
    order = [suite.__name__ for suite in SUITES]
    kept = [sections[title] for title in order if title in sections]
    kept += [text for title, text in sections.items() if title not in order]  # of `benchmarks.gpu`
    FILE.write_text("\n".join([HEAD, *kept]))


if __name__ == "__main__":  # worker processes of a cluster import this module
    try:
        main(sys.argv[1:])
    except MissingDataError as error:
        sys.exit(f"error: {error}")
