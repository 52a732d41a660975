"""Run other libraries' tests with the switch on: `python -m tests.contracts.sklearn_tests MODULE ...`.

Modules of scikit-learn are named without its name, those of imbalanced-learn and mlxtend in full.

Prints JSON: how many tests ran, how many of them reached separatrix, and which of all failed.
"""

import argparse
import json
import sys

import pytest

from separatrix import accel
from separatrix.accel.switch_state import SETTINGS

QUIET = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=line", "-c", "/dev/null"]


class Outcomes:
    """What became of each test, and whether it reached separatrix."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.touched: set[str] = set()
        self.failed: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        before = SETTINGS.attempts
        try:
            return (yield)
        finally:
            if SETTINGS.attempts > before:
                self.touched.add(_name(item.nodeid))

    def pytest_runtest_logreport(self, report):
        name = _name(report.nodeid)
        if report.when == "call" and not report.skipped:
            self.ran.add(name)
        if report.failed:
            self.failed[name] = str(report.longrepr).strip().splitlines()[-1][:300]


def _name(nodeid: str) -> str:
    return nodeid.split("::", 1)[-1]


def run(modules: list[str], mode: str, chosen: str = "") -> Outcomes:
    """The tests of some modules; mode "off" is scikit-learn alone."""
    found = Outcomes()
    if mode != "off":
        accel.patch(smallest=0)
    only = ["-k", chosen] if chosen else []
    names = [
        name if name.startswith(("imblearn", "mlxtend")) else f"sklearn.{name}" for name in modules
    ]
    pytest.main([*QUIET, *only, "--pyargs", *names], plugins=[found])
    return found


def main() -> None:
    """Run the modules that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--mode", choices=("on", "off"), default="on")
    parser.add_argument("-k", default="")
    given = parser.parse_args()
    found = run(given.modules, given.mode, given.k)
    touched_failures = sorted(set(found.failed) & found.touched)
    summary = {
        "ran": len(found.ran),
        "touched": len(found.touched),
        "touched_failed": len(touched_failures),
        "failed": found.failed,
    }
    json.dump(summary, sys.stderr, indent=1)
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
