"""Chromium by its own debugging protocol over a pipe: no package is needed, so that `make test` has it.

    with Chromium() as chromium:
        page = chromium.open(address)
        page.until("document.title")
        assert page.complaints() == []

`tests/browser.py` is for all else: Playwright waits, scrolls and types as a person does.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.browser import FLAGS, require_chromium

SECONDS = 60  # for one answer; a loaded machine is slow
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)  # where the protocol has its two ends
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """A headless browser that lives as long as the `with` block."""

    def __enter__(self) -> Chromium:
        program = require_chromium()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        words = [program, "--headless", "--remote-debugging-pipe", *FLAGS]
        words.append(f"--user-data-dir={self._folder.name}")
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(commands), str(replies), *words],
            pass_fds=(commands, replies),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(replies)
        self._buffer, self._last = b"", 0
        self.events: list[dict[str, Any]] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._replies)
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive(method)
            if found.get("id") == self._last:
                assert "error" not in found, f"{method}: {found['error']}"
                return dict(found["result"])
            self.events.append(found)

    def open(self, address: str, *, width: int = 1200, height: int = 900) -> Page:
        """An address in a new tab of that size."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.send("Runtime.enable")
        page.send("Log.enable")
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.send("Emulation.setDeviceMetricsOverride", **shape)
        page.send("Page.bringToFront")  # a tab behind another one paints no frames
        page.send("Page.navigate", url=address)
        return page

    def _receive(self, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._replies], [], [], SECONDS)
            part = os.read(self._replies, 1 << 16) if ready else b""
            assert part, f"Chromium gave no answer to {method}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


class Page:
    """A tab."""

    def __init__(self, chromium: Chromium, session: str) -> None:
        self._chromium, self._session = chromium, session

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command of the protocol for this tab."""
        return self._chromium.send(method, self._session, **params)

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript."""
        how = {"awaitPromise": True, "returnByValue": True}
        found = self.send("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> Any:
        """The value of JavaScript once it is true."""
        end = time.monotonic() + SECONDS
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)
        return value

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Press the mouse at the first place, release it at the last."""
        for i, (x, y) in enumerate(places):
            kind = "mouseMoved" if i else "mousePressed"
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        x, y = places[-1]
        up = {"type": "mouseReleased", "button": "left", "clickCount": 1}
        self.send("Input.dispatchMouseEvent", x=x, y=y, **up)

    def complaints(self) -> list[dict[str, Any]]:
        """Errors that this tab has logged or thrown."""
        own = [one for one in self._chromium.events if one.get("sessionId") == self._session]
        logged = [one for one in own if one["method"] == "Log.entryAdded"]
        errors = [one for one in logged if one["params"]["entry"]["level"] == "error"]
        return errors + [one for one in own if one["method"] == "Runtime.exceptionThrown"]
