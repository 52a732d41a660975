"""Lines and branches that quick tests reach with the compiler off, by folder: solvers, kernels, ...

`python -m tests.uncompiled_coverage kernels`. Compiled loops are run by the interpreter, with the twins of
`tests/interpreted.py`. A test that takes more than some seconds of processor time is ended there: the lines
that it reached count. What the tests of several runs reach is added up in one data file. Code for a GPU is
left out.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.mutation import GPU, TooLong

ROOT = Path(__file__).parents[1]
SOURCE = "src/separatrix/"
LOW = 80.0  # per cent of the lines and branches of a module


class TimeLimit:
    """Plugin of pytest: ends tests that take too long."""

    ended = 0

    def __init__(self, seconds):
        self.seconds = seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        def ring(_number, _frame):
            TimeLimit.ended += 1
            raise TooLong

        signal.signal(signal.SIGPROF, ring)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        try:
            return (yield)
        except TooLong:
            return pytest.skip(f"more than {self.seconds:g} s")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def say(line):
    sys.stdout.write(line + "\n")


def measure(places, data_file, seconds):
    """Run the quick tests of some folders or files; add what they reach to the data file."""
    import coverage  # of the extra "release"

    measured = coverage.Coverage(data_file=data_file, branch=True, source=[str(ROOT / SOURCE)])
    if Path(data_file).exists():
        measured.load()
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-rf"]
    chosen = ["-m", "not slow and not long", "-k", "not cuda and not triton and not gpu"]
    measured.start()
    pytest.main([*options, *chosen, *places], plugins=[TimeLimit(seconds)])
    measured.stop()
    measured.save()
    say(f"{TimeLimit.ended} tests were ended after {seconds:g} s")


def shares(data_file, folders):
    """Reached lines, lines, reached branches and branches of each module that is not for a GPU."""
    import coverage

    measured = coverage.Coverage(data_file=data_file, branch=True)
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "coverage.json")
        own = [str(ROOT / SOURCE / folder / "*") for folder in folders]
        measured.json_report(outfile=str(path), include=own)
        files = json.loads(path.read_text())["files"]
    for name, found in sorted(files.items()):
        name = name.rpartition(SOURCE)[2]
        if (
            any(word in name for word in GPU)
            or "import torch" in (ROOT / SOURCE / name).read_text()
        ):
            continue
        total = found["summary"]
        lines = total["covered_lines"], total["num_statements"]
        yield name, (*lines, total["covered_branches"], total["num_branches"])


def report(data_file, folders):
    """Print the shares of each folder, and the modules with the smallest ones."""
    every = list(shares(data_file, folders))
    for folder in folders:
        own = [counts for name, counts in every if name.startswith(folder)]
        reached, lines, taken, branches = map(sum, zip(*own, strict=True))
        say(
            f"{folder}: lines {reached} of {lines} ({100 * reached / lines:.1f} %), "
            f"branches {taken} of {branches} ({100 * taken / max(branches, 1):.1f} %)"
        )
    for name, (reached, lines, taken, branches) in every:
        share = 100 * (reached + taken) / max(lines + branches, 1)
        if lines and share < LOW:
            say(f"  {name}: {share:.0f} %, lines {reached}/{lines}, branches {taken}/{branches}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", help="of src/separatrix, such as solvers/svm")
    parser.add_argument("--tests", nargs="*", help="other than those of these folders")
    parser.add_argument("--data", default=".coverage.uncompiled", help="added to if it exists")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a test, at most")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--session", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.session:
        places = given.tests or [f"tests/{one}" for one in given.folders]
        measure(places, given.data, given.seconds)
    elif not given.report_only:
        off = {**os.environ, "NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1"}
        module = [sys.executable, "-m", "tests.uncompiled_coverage"]
        subprocess.run([*module, *sys.argv[1:], "--session"], env=off, check=True)
    if not given.session:
        report(given.data, given.folders)


if __name__ == "__main__":
    main()
