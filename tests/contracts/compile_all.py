"""Compile every function once, in two processes: `python -m tests.contracts.compile_all`.

Both workers of a test run would compile the same functions otherwise.
"""

import subprocess
import sys

from tests.contracts.test_numba import FIRST_HALF, SECOND_HALF, SETUP

if __name__ == "__main__":
    started = [
        subprocess.Popen([sys.executable, "-c", SETUP + part]) for part in (FIRST_HALF, SECOND_HALF)
    ]
    sys.exit(max(process.wait() for process in started))
