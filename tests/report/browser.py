"""A page in headless Chromium, over the DevTools protocol on a pipe: standard library only.

    with Browser() as browser:
        page = browser.open(path, width=375, dark=True)
        page.evaluate("document.title")
        page.screenshot(Path("page.png"))

A window cannot be made as narrow as a phone, so the width is set by the protocol's override.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing outside this machine has an address
    "--remote-debugging-pipe",
)
SECONDS = 60  # for one answer; a loaded machine is slow to start a browser
# Chromium reads commands from descriptor 3 and answers on 4
LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def chromium() -> str | None:
    """Where a Chromium is, if there is one."""
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), None)


def require_chromium() -> str:
    """Where it is; where there is none, the test is skipped."""
    path = chromium()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    return path


class Browser:
    """A headless browser that lives as long as the `with` block."""

    def __enter__(self) -> Browser:
        program = require_chromium()
        self._folder = tempfile.mkdtemp(prefix="separatrix-browser-")
        read_end, self._out = os.pipe()
        self._in, write_end = os.pipe()
        # above 9: neither of them is in the way of 3 and 4
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_end, write_end)]
        flags = [*FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, ends), program, *flags],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in (read_end, write_end, *ends):
            os.close(end)
        self._buffer, self._number, self._pages = b"", 0, {}
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(
        self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False
    ) -> Shown:
        """The file in a new tab of that size, loaded."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        where = {"targetId": target, "flatten": True}
        page = Shown(self, self.call("Target.attachToTarget", where)["sessionId"])
        self._pages[page.session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        phone = width < 600
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        page.call("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", {"features": [scheme]})
        page.call("Page.navigate", {"url": Path(path).resolve().as_uri()})
        self._until(lambda: page.loaded)
        return page

    def call(self, method: str, params: Any = None, session: str | None = None) -> dict[str, Any]:
        """One command of the protocol, and its answer."""
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": params or {}}
        if session:
            command["sessionId"] = session
        os.write(self._out, json.dumps(command).encode() + b"\0")
        answer = self._until(lambda message=None: message, number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, done: Any, number: int | None = None) -> Any:
        """Take messages until one answers command `number`, or until `done()` holds."""
        deadline = time.monotonic() + SECONDS
        while number is not None or not done():
            message = self._message(deadline)
            if "id" in message:
                if message["id"] == number:
                    return message
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].told(message["method"], message["params"])
        return None

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser said nothing for {SECONDS} s")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)


class Shown:
    """A page in a tab: what it says, what it complained of, what it asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session, self.loaded = browser, session, False
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, params: Any = None) -> dict[str, Any]:
        """One command of the protocol to this tab."""
        return self.browser.call(method, params, self.session)

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Keep what an event says."""
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:"):  # inside the file, though the protocol counts it
                self.requests.append(url)
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript in the page; the protocol may run it though the page may not."""
        wanted = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self.call("Runtime.evaluate", wanted)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def dom(self) -> str:
        """The document as it stands."""
        return self.evaluate("document.documentElement.outerHTML")

    def texts(self, selector: str) -> list[str]:
        """The text of every element that fits."""
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"
        )

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """The page, or what is seen of it at first, as PNG."""
        wanted = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            box = self.call("Page.getLayoutMetrics")["cssContentSize"]
            wanted["clip"] = {
                "x": 0,
                "y": 0,
                "scale": 1,
                **{k: box[k] for k in ("width", "height")},
            }
        Path(path).write_bytes(
            base64.b64decode(self.call("Page.captureScreenshot", wanted)["data"])
        )
        return Path(path)

    def printed(self, path: Path) -> Path:
        """The page as it would be printed, as PDF."""
        data = self.call("Page.printToPDF", {"printBackground": False})["data"]
        Path(path).write_bytes(base64.b64decode(data))
        return Path(path)
