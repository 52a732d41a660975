"""`python -m benchmarks [suite ...]`: run suites, print their tables and write them to RESULTS.md.

A name may have a star: `"compared_*"`. A suite replaces its own section, so that a section is always one run.
Every module of this package that defines SUITES takes part; one that needs a package that is not installed is
left out with a note. `--out FILE` writes the sections to a file instead, `--keep FILE` puts such a file into
RESULTS.md, both for machines that are lent.
"""

import argparse
import fnmatch
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import RESULTS, keep_section, section
from benchmarks.picture import draw
from separatrix.errors import MissingDataError


def find_suites():
    """The suites of all modules that can be imported here."""
    suites = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem == "__main__" or not re.search(r"^SUITES\b", path.read_text(), re.M):
            continue
        try:
            suites += import_module(f"benchmarks.{path.stem}").SUITES
        except ModuleNotFoundError as error:
            print(f"benchmarks/{path.name} left out: {error}", file=sys.stderr)
    return {suite.__name__: suite for suite in suites}


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("suites", nargs="*", metavar="suite", help="all without a name")
    parser.add_argument("--out", type=Path, help="write the sections to this file")
    parser.add_argument("--keep", type=Path, nargs="+", default=[], help="put files of --out in")
    options = parser.parse_args(arguments)
    for path in options.keep:
        for text in re.split(r"(?m)^(?=## )", path.read_text())[1:]:
            keep_section(text)
    if not options.keep:
        run_suites(options.suites, options.out)
    if options.out is None:
        draw(RESULTS.read_text())


def run_suites(names, out):
    """Run suites by name; a missing data set ends the run."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    suites = find_suites()
    unknown = [name for name in names if not fnmatch.filter(suites, name)]
    if unknown:
        sys.exit(f"error: unknown suite {sorted(unknown)}; one of {sorted(suites)}")
    for name, suite in suites.items():
        if names and not any(fnmatch.fnmatch(name, pattern) for pattern in names):
            continue
        rows, notes = suite()
        text = section(name, suite.__doc__, rows, notes)
        print(text, flush=True)
        if out is None:
            keep_section(text)
        else:
            with out.open("a") as file:
                file.write(text)


if __name__ == "__main__":  # worker processes of a cluster import this module
    try:
        main(sys.argv[1:])
    except MissingDataError as error:
        sys.exit(f"error: {error}")
