"""`python -m separatrix.accel [-v] script.py ...` and `-m module ...`: run a program with the switch on."""

from __future__ import annotations

import atexit
import os
import runpy
import sys

from separatrix.accel import patch, report

USAGE = """usage: python -m separatrix.accel [-v] script.py [arguments]
       python -m separatrix.accel [-v] -m module [arguments]

Runs a program that uses scikit-learn, with separatrix in place of its slow classifiers.
-v prints at exit which calls separatrix served, and why the others were left to scikit-learn.
"""


def main(arguments: list[str]) -> int:
    """Run the program that the arguments name."""
    verbose = False
    while arguments and arguments[0] in ("-v", "--verbose", "-h", "--help"):
        option = arguments.pop(0)
        if option in ("-h", "--help"):
            sys.stdout.write(USAGE)
            return 0
        verbose = True
    as_module = bool(arguments) and arguments[0] == "-m"
    if as_module:
        arguments.pop(0)
    if not arguments or (arguments[0].startswith("-") and not as_module):
        wrong = f"unknown option {arguments[0]}" if arguments else "no program given"
        sys.stderr.write(f"separatrix.accel: {wrong}\n{USAGE}")
        return 2
    patch()
    if verbose:
        atexit.register(lambda: sys.stderr.write(report() + "\n"))
    if as_module:
        sys.argv = arguments
        sys.path[0] = os.getcwd()  # as `python -m`
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(arguments[0]):
            sys.stderr.write(f"separatrix.accel: cannot open {arguments[0]!r}: no such file\n")
            return 2
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
