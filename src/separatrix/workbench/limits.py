"""What a process that computes may use, and how long it lives: never longer than its server.

Called in the process itself, right at its start. Where the system has no such limit, nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import connection, parent_process
from pathlib import Path
from threading import Thread

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
_DONT_NEED = 4  # MADV_DONTNEED of madvise(2)
_MAPPING = re.compile(  # a shared library's code in /proc/self/smaps, and the facts under it
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) r-xp .* /.*\.so.*\n(?P<facts>(?:[A-Z].*\n)*)",
    re.MULTILINE,
)
_OWN_COPIES = re.compile(r"^(Anonymous|Swap): +([0-9]+) kB$", re.MULTILINE)
_LINUX = sys.platform == "linux"


def limit_memory(memory: int) -> None:
    """Let this process take `memory` bytes more than it has now; beyond that is a MemoryError.

    Data is counted, not address space: compiled libraries map far more of that than they ever use.
    """
    if not _LINUX:
        return
    import resource

    least = own_bytes("VmData") + memory
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        least = min(least, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (least, least))


def own_bytes(what: str = "VmRSS") -> int:
    """What /proc says of this process: memory in use, or VmData; 0 where nothing says it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024
    return 0


def give_memory_back() -> None:
    """Hand what was freed back to the system, and the code of libraries that has done its work.

    Code comes back from its file where it runs again; half of what a process holds after loading is
    the compiler's. Only what is as it stands in the file is let go of.
    """
    if not _LINUX:
        return
    with suppress(AttributeError, OSError):
        system = ctypes.CDLL(None)
        system.malloc_trim(0)
        for start, end in _unchanged_code(Path("/proc/self/smaps").read_text(encoding="utf-8")):
            system.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONT_NEED)


def _unchanged_code(maps: str) -> Iterator[tuple[int, int]]:
    """Where the code of shared libraries lies in memory, with nothing of it written to, here or in swap.

    >>> code = "ff00-ff80 r-xp 00000000 08:01 7 /usr/lib/a.so\\nRss: 4 kB\\nAnonymous: 0 kB\\n"
    >>> data = "ff80-ffa0 rw-p 00000000 08:01 7 /usr/lib/a.so\\nRss: 4 kB\\nAnonymous: 0 kB\\n"
    >>> [(hex(start), hex(end)) for start, end in _unchanged_code(code + "Swap: 0 kB\\n" + data)]
    [('0xff00', '0xff80')]
    >>> list(_unchanged_code(code + "Swap: 4 kB\\n"))
    []
    """
    for mapping in _MAPPING.finditer(maps):
        if set(_OWN_COPIES.findall(mapping["facts"])) == {("Anonymous", "0"), ("Swap", "0")}:
            yield int(mapping["start"], 16), int(mapping["end"], 16)


def die_with_parent() -> None:
    """End when the server ends, however it ends; and leave Ctrl-C to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is None:
        return
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it died before it could be asked for
            os._exit(1)
    Thread(target=_outlive, args=(parent.sentinel,), daemon=True).start()


def _outlive(sentinel: int) -> None:
    """Wait for the server's end: the way for systems without a signal for that."""
    connection.wait([sentinel])
    os._exit(1)
