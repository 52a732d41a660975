"""Compile every function once, in two processes: `python -m tests.contracts.compile_all`.

Both workers of a test run would compile the same functions otherwise.
"""

import subprocess
import sys

from tests.contracts.test_numba import MACHINES, SEARCHES, SETUP

if __name__ == "__main__":
    started = [
        subprocess.Popen([sys.executable, "-c", SETUP + part]) for part in (MACHINES, SEARCHES)
    ]
    sys.exit(max(process.wait() for process in started))
