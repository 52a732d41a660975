"""A workbench in a process of its own, as a person starts it, and a program's questions to it.

with WorkbenchProcess(folder) as bench:
    bench.get("/api/draw/state")
    bench.post("/api/draw/answer", {"strokes": [[[0.5, 0.1], [0.5, 0.9]]]})
    bench.link()  # for a browser: works once
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SECONDS = 120  # a loaded machine is slow; what is compiled is compiled already


class Refused(Exception):
    """An answer that is no 2xx."""

    def __init__(self, status: int, error: dict[str, str]) -> None:
        super().__init__(f"{status} {error}")
        self.status, self.code = status, error["code"]


class WorkbenchProcess:
    """`separatrix workbench` on a free port, stopped at the end of the `with` block."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self._arguments = Path(folder), arguments
        self._cookie = ""

    def __enter__(self) -> WorkbenchProcess:
        words = ["workbench", "--no-browser", "--json", "--port", "0", "--folder", str(self.folder)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "separatrix", *words, *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.communicate()[1])
        self._links, self._used = [json.loads(line)["url"]], set[str]()
        self.messages: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.address = "{0.scheme}://{0.netloc}".format(urlsplit(self._links[0]))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        self._listener.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def kill(self) -> None:
        """As by `kill -9`: nothing is tidied up."""
        self.process.kill()
        self.process.wait()

    def link(self) -> str:
        """An address that lets one browser in."""
        # the terminal shows the first link too, perhaps only after it was used
        found: str = until(lambda: self._unused_link(), "a link on the terminal")
        self._used.add(found)
        return found

    def _unused_link(self) -> str | None:
        newest = self._links[-1]
        return None if newest in self._used else newest

    def get(self, path: str) -> Any:
        """The answer to a question."""
        return self._asked("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """The answer to something that changes state."""
        return self._asked("POST", path, json.dumps(body).encode())

    def children(self) -> list[int]:
        """The processes that the server started, and those that they started."""
        return _below(self.process.pid)

    def memory(self) -> dict[str, float]:
        """Resident megabytes of the server and of all its children, by process."""
        return {f"{pid}": _resident(pid) for pid in (self.process.pid, *self.children())}

    def _asked(self, method: str, path: str, body: bytes | None) -> Any:
        if not self._cookie:
            self.let_in(self.link())
        headers = {"Cookie": self._cookie}
        if body is not None:
            headers["Content-Type"] = "application/json"
        reply, content = self._exchange(method, path, body, headers)
        answer = json.loads(content)
        if reply.status >= 300:
            raise Refused(reply.status, answer["error"])
        return answer

    def let_in(self, link: str) -> None:
        """Get access by a link."""
        parts = urlsplit(link)
        reply, _ = self._exchange("GET", f"{parts.path or '/'}?{parts.query}", None, {})
        self._cookie = str(reply.headers["Set-Cookie"]).partition(";")[0]

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Any) -> Any:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=SECONDS)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply, reply.read()
        finally:
            connection.close()

    def _listen(self) -> None:
        """Links that the terminal shows when the one before was used."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.messages.append(line)
            self._links += [word for word in line.split() if "?token=" in word][-1:]


def until(condition: Any, what: str, seconds: float = SECONDS) -> Any:
    """What a condition gives once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.02)
    return found


def _below(pid: int) -> list[int]:
    """All processes that a process started, and those that they started."""
    found = []
    with suppress(
        FileNotFoundError, ProcessLookupError
    ):  # a thread or a process that has just ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, _children(task)):
                found += [child, *_below(child)]
    return found


def _children(task: Path) -> list[str]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return (task / "children").read_text().split()
    return []


def _resident(pid: int) -> float:
    """0 of a process that has just ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


__all__ = ["Refused", "WorkbenchProcess", "until"]
