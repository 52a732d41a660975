"""A campaign: numbered trials that look for failures, for as long as there is time.

Trial number r of a part is always the same trial, so that a failure is repeated by its number:

    python -m tests.campaigns properties --part rows --from 4711 --trials 1
"""

from __future__ import annotations

import atexit
import faulthandler
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Trial = Callable[[int], object]

PATIENCE = 8  # on a busy machine


class Campaign(NamedTuple):
    """What is tried, and how much of it in each size of run."""

    title: str
    parts: Callable[[], dict[str, Trial]]
    """Trials by the name of what they try. A trial raises if it finds a failure."""
    short: int = 1
    """Trials of each part in `make test`."""
    middle: int = 3
    """Further trials of each part in `make test-full`."""
    full: int = 10**9
    """Trials of each part in the full run; a checklist has one."""
    seconds: float = 60.0
    """A trial that takes longer is a failure."""
    prepare: Callable[[], object] = lambda: None
    """Called before the first trial, outside of its time."""
    quick: tuple[str, ...] | None = None
    """Names of the parts in `make test`; None for all."""
    thorough: tuple[str, ...] | None = None
    """Names of the parts in `make test-full`; None for all."""


@cache
def folder() -> Path:
    """A folder of this process, in memory where possible: a disk takes longer than most trials."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="campaign-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def campaign_named(name: str) -> Campaign:
    """The campaign of that name; the others are not imported."""
    found: Campaign = import_module(f"tests.campaigns.{name.replace('-', '_')}").CAMPAIGN
    return found


class Outcome(NamedTuple):
    """What came of one part."""

    tried: int
    failures: list[tuple[int, str]]  # number of the trial, and what happened


class NoMore(Exception):
    """There is no trial of this number: a list of cases is at its end."""


class TooSlow(BaseException):
    """A trial ran over its time; no handler of ordinary errors catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise in Python code after that time.

    A process that got less than half of a core is given more time, up to `PATIENCE` times as much.
    """
    began, spent = time.monotonic(), time.process_time()

    def late(_number: int, _frame: object) -> None:
        starved = time.process_time() - spent < 0.5 * seconds
        if starved and time.monotonic() - began < PATIENCE * seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            raise TooSlow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_one(trial: Trial, number: int, seconds: float) -> str | None:
    """Run one trial; what went wrong, or None."""
    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial(number)
    except NoMore:
        raise
    except (Exception, TooSlow) as error:
        said = " ".join(str(error).split())
        return f"{type(error).__name__}: {said[:300]}"
    return None


def run_part(
    trial: Trial, numbers: Iterator[int] | range, seconds: float, until: float = float("inf")
) -> Outcome:
    """Run the trials of these numbers, or as many as there are or as there is time for.

    Compiled code that never returns ends the process.
    """
    tried, failures = 0, list[tuple[int, str]]()
    watched = -float("inf")
    try:
        for number in numbers:
            now = time.monotonic()
            if tried and now > until:
                break
            if (
                now > watched + 1.0
            ):  # a new thread for each trial would take longer than some trials
                faulthandler.dump_traceback_later(1.5 * PATIENCE * seconds + 1.0, exit=True)
                watched = now
            found = run_one(trial, number, seconds)
            tried += 1
            if found is not None:
                failures.append((number, found))
    except NoMore:
        pass
    finally:
        faulthandler.cancel_dump_traceback_later()
    return Outcome(tried, failures)


def chosen(rng: Any, values: Any) -> Any:
    """One of some values, drawn by a NumPy generator."""
    return values[int(rng.integers(len(values)))]
