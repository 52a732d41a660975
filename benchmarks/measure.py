"""Timing, memory and result tables of the benchmarks."""

import os
import platform
import resource
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Row:
    what: str
    ours: str
    peer: str
    ratio: str
    reach: str


def seconds(function, *, repeat=1):
    """Best wall time of several calls, and the result of the last one."""
    best, value = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        value = function()
        best = min(best, time.perf_counter() - start)
    return best, value


def processor(function):
    """Processor seconds of a call, those of child processes included, and its result."""
    start = os.times()
    value = function()
    return sum(os.times()[:4]) - sum(start[:4]), value


def best_of_each(calls, *, repeat):
    """Best wall time of each call by name; calls alternate, so that noise affects all equally."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call)[0])
    return best


def against_fastest(what, ours, peers, reach, *, unit=".2f"):
    """A row beside the fastest of several peers, by name; the others stand in parentheses."""
    best, *others = sorted(peers, key=peers.get)
    beside = (
        f" ({', '.join(f'{name} {peers[name]:{unit}} s' for name in others)})" if others else ""
    )
    ratio = f"{peers[best] / ours:.1f}x faster"
    return Row(what, f"{ours:{unit}} s", f"{best} {peers[best]:{unit}} s{beside}", ratio, reach)


def peak_memory():
    """Largest resident size of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def own_memory(function):
    """Peak increase of anonymous memory during a call, in MB, and its result."""

    def own():
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024

    before, most, done = own(), 0.0, threading.Event()

    def sample():
        nonlocal most
        while not done.wait(0.01):
            most = max(most, own())

    sampler = threading.Thread(target=sample)
    sampler.start()
    value = function()
    done.set()
    sampler.join()
    return max(most - before, 0.0), value


def section(title, about, rows, notes, details=""):
    """A section of RESULTS.md: what it is about, the table, the notes, and when and where it was measured."""
    text = f"## {title}\n\n{cleandoc(about or '')}\n\n{table(rows)}\n"
    text += "".join(f"\n```\n{note}\n```\n" for note in notes)
    return f"{text}\n{measured(details)}\n"


def table(rows):
    head = ["what", "separatrix", "peer", "ratio", "to reach"]
    lines = [head, ["---"] * 5] + [
        [row.what, row.ours, row.peer, row.ratio, row.reach] for row in rows
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def keep_section(section):
    """Replace the section of the same title in RESULTS.md, or append it."""
    text = RESULTS.read_text()
    head = section.split("\n", 1)[0]
    before, found, after = text.partition(f"{head}\n")
    rest = after.find("\n## ") if found else -1
    after = after[rest + 1 :] if rest >= 0 else ""
    RESULTS.write_text(f"{before.rstrip()}\n\n{section.strip()}\n\n{after}".rstrip() + "\n")


def measured(details=""):
    """The sentence that every section of RESULTS.md ends with: when, on which machine, with which versions."""
    return f"Measured on {datetime.now(UTC):%Y-%m-%d}: {machine()}{details}."


def machine():
    """The processor and the versions of what the times depend on."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba")
    )
    cores = len(os.sched_getaffinity(0))
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {packages}"
