"""Hostile files by the thousand: every reader must read them or refuse them, and nothing else.

    survives(read_csv, [b"a,b\\n1,2\\n"], ".csv", runs=2000, seed=0)

Run number r of a seed is always the same bytes, `mutated(seeds, seed, r)`, so that a failure, which
names its run, can be looked at alone.
"""

import faulthandler
import random
import signal
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from separatrix.errors import SeparatrixError

MOST_MB = 256
MOST_SECONDS = 10
TOKENS = [
    *b'|\n|\r\n|\r|\0| |\t|,|;|:|"|""|\'|#|='.split(b"|"),
    *b"-|+|.|e|0|-1|1e999|-1e-999|nan|inf|-inf|?|NA".split(b"|"),
    *(b"2147483647", b"2147483648", b"4294967296", b"9223372036854775808", b"1" * 400, b"0x10"),
    *(b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3\x28", b"\x80", "é".encode(), "１".encode()),
    *(b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff" * 8),
    *(b"../../x", b"%s%n", b"__import__", b"a" * 5000, b"1:1 " * 500, b"1," * 500, b"\n" * 500),
]
PACKED = (b"\x1f\x8b\x08\x00", b"BZh9", b"\xfd7zXZ\x00")


def survives(
    read: Callable[[Path], object], seeds: list[bytes], suffix: str, runs: int, seed: int
) -> int:
    """Feed `read` mutated copies of the seeds; how many were read, the rest having been refused."""
    for whole in seeds:
        _require_whole(read, whole, suffix)
    taken = 0
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        path = Path(folder) / f"hostile{suffix}"
        before = _restarted_peak()
        for run in range(runs):
            if run % 100 == 0:
                faulthandler.dump_traceback_later(100 * MOST_SECONDS, exit=True)
            content = mutated(seeds, seed, run)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            taken += _read_or_refused(read, path, f"run {run} of seed {seed}: {content[:400]!r}")
            held = _peak_mb() - before
            assert held < MOST_MB, f"{held:.0f} MB after run {run} of seed {seed}"
    return taken


def mutated(seeds: list[bytes], seed: int, run: int) -> bytes:
    """One of the seeds after one to four changes, drawn by seed and run."""
    rng = random.Random(1_000_003 * seed + run)
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        rng.choice(CHANGES)(content, rng, seeds)
    return bytes(content)


def _flip(content, rng, seeds):
    for _ in range(rng.choice((1, 1, 2, 8))):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _cut_short(content, rng, seeds):
    del content[rng.randrange(len(content) + 1) :]


def _remove(content, rng, seeds):
    start, stop = _span(content, rng)
    del content[start:stop]


def _repeat(content, rng, seeds):
    start, stop = _span(content, rng)
    content[start:start] = content[start:stop] * rng.choice((1, 1, 2, 20))


def _splice(content, rng, seeds):
    other = rng.choice(seeds)
    start, stop = _span(other, rng)
    first, last = _span(content, rng)
    content[first:last] = other[start:stop]


def _insert(content, rng, seeds):
    start = rng.randrange(len(content) + 1)
    content[start:start] = rng.choice(TOKENS)


def _replace(content, rng, seeds):
    start, stop = _span(content, rng, longest=8)
    content[start:stop] = rng.choice(TOKENS)


def _number(content, rng, seeds):
    """Put a number where bytes may be read as one, in either order of bytes."""
    size = rng.choice((1, 2, 4, 8))
    value = rng.choice((0, 1, (1 << 8 * size) - 1, 1 << 8 * size - 1, (1 << 8 * size - 1) - 1))
    start = rng.randrange(len(content) + 1)
    content[start : start + size] = value.to_bytes(size, rng.choice(("little", "big")))


def _pretend_packed(content, rng, seeds):
    content[0:0] = rng.choice(PACKED)


CHANGES = [_flip] * 4 + [_insert] * 4 + [_replace] * 4
CHANGES += [_cut_short, _remove, _repeat, _splice, _number] * 2 + [_pretend_packed]


def _span(content, rng, longest=None):
    start = rng.randrange(len(content) + 1)
    most = len(content) - start if longest is None else min(longest, len(content) - start)
    return start, start + rng.randrange(most + 1)


def _require_whole(read, whole, suffix):
    """A seed that is refused would test nothing but its refusal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"whole{suffix}"
        path.write_bytes(whole)
        read(path)


def _read_or_refused(read, path, what):
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        read(path)
    except SeparatrixError:
        return 0
    except BaseException as error:
        raise AssertionError(f"{type(error).__name__}: {error}; {what}") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 1


@contextmanager
def _no_hang():
    """An alarm stops what hangs in Python; what hangs in compiled code takes the process with it."""

    def late(number, frame):
        raise TimeoutError(f"more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _restarted_peak():
    """Let the peak of this process begin anew, where the system can, and say where it is."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return _peak_mb()


def _peak_mb():
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
