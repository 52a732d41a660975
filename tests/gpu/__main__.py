"""`python -m tests.gpu [part of a name ...] [--pretend]`: the tests on a card, without pytest.

Ends with 0 where all passed, 1 where one failed, 2 where there is no card. `--pretend` runs them on
torch's CPU instead, which checks the tests.
"""

import sys
import time
import traceback
import warnings
from importlib import import_module
from pathlib import Path
from unittest import SkipTest

from tests.gpu.at_hand import pretend, why_no_card


def collected(wanted):
    """Every test function of the modules beside this one, in order; only those with a wanted word."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(f"tests.gpu.{path.stem}")
        for name, test in list(vars(module).items()):
            if not name.startswith("test_") or not callable(test):
                continue
            full = f"{path.stem}::{name}"
            if not wanted or any(word in full for word in wanted):
                yield full, test


def outcome(test):
    """How a test ended, in a word, and what is to be said of it. A warning is an error, as in pytest."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", kind)  # of packages that are as they are there
            test()
    except SkipTest as reason:
        return "skipped", str(reason)
    except Exception:
        return "FAILED", traceback.format_exc()
    return "passed", ""


def main(arguments):
    if "--pretend" in arguments:
        pretend()
    elif reason := why_no_card():
        print(f"no card, no tests: {reason}", file=sys.stderr)
        return 2
    wanted = [word for word in arguments if word != "--pretend"]
    count = {"passed": 0, "skipped": 0, "FAILED": 0}
    began = time.perf_counter()
    for name, test in collected(wanted):
        start = time.perf_counter()
        word, said = outcome(test)
        count[word] += 1
        print(f"{word:8}{time.perf_counter() - start:7.2f} s  {name}", flush=True)
        if said:
            print(said if word == "FAILED" else f"        {said}", flush=True)
    total = ", ".join(f"{number} {word}" for word, number in count.items())
    print(f"{total} in {time.perf_counter() - began:.1f} s")
    return 1 if count["FAILED"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
