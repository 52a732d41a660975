"""A page in headless Chromium, by Playwright; the browser is the system's, nothing is downloaded.

    with Browser() as browser:
        page = browser.open(path_or_address, width=375, dark=True)
        page.evaluate("document.title")
        page.tab.get_by_role("button", name="Start").click()  # all that Playwright can do
        assert page.complaints == []

Playwright keeps an asyncio loop running in its thread while a `Browser` is open, so that a fixture that
yields one should live no longer than its module.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
    # nothing outside this machine has an address
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
SECONDS = 60  # for one answer; a loaded machine is slow to start a browser
READABLE = 4.5  # contrast of text with its ground, as WCAG 2 asks for


def require_chromium() -> str:
    """Where a Chromium is; where there is none, the test is skipped."""
    path = next((found for found in map(shutil.which, NAMES) if found), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    return path


class Browser:
    """A headless browser that lives as long as the `with` block."""

    def __enter__(self) -> Browser:
        program = require_chromium()
        sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
        sync_api.expect.set_options(timeout=1000 * SECONDS)
        self._playwright = sync_api.sync_playwright().start()
        try:
            self._browser = self._playwright.chromium.launch(
                executable_path=program, args=FLAGS, timeout=1000 * SECONDS
            )
        except BaseException:
            self._playwright.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._browser.close()
        finally:
            self._playwright.stop()

    def open(
        self,
        where: Path | str,
        *,
        width: int = 1200,
        height: int = 900,
        dark: bool = False,
        **more: Any,
    ) -> Shown:
        """A file or an address in a tab of that size, loaded, with cookies of its own."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            is_mobile=width < 600,
            has_touch=width < 600,
            accept_downloads=True,
            **more,
        )
        context.set_default_timeout(1000 * SECONDS)
        shown = Shown(context.new_page())
        shown.tab.goto(where if isinstance(where, str) else Path(where).resolve().as_uri())
        return shown


class Shown:
    """A page in a tab: what it says, what it complained of, what it asked for."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.complaints: list[str] = []
        self.requests: list[str] = []
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("request", lambda request: self._asked(request.url))
        tab.on("dialog", self._disturbed)

    def _asked(self, address: str) -> None:
        if not address.startswith(("data:", "blob:")):  # in the page already, though it is counted
            self.requests.append(address)

    def _disturbed(self, dialog: Any) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript in the page."""
        return self.tab.evaluate(expression)

    def dom(self) -> str:
        """The document as it stands."""
        return self.tab.content()

    def texts(self, selector: str) -> list[str]:
        """The text of every element that fits."""
        return self.tab.locator(selector).all_text_contents()

    def overhang(self) -> int:
        """Pixels by which the page is wider than the screen."""
        return self.tab.evaluate(OVERHANG)

    def faint_texts(self) -> list[str]:
        """Visible words that stand out too little from what is behind them, with their contrast."""
        found = self.tab.evaluate(CONTRASTS)
        return [f"{ratio:.2f} {words}" for ratio, words in found if ratio < READABLE]

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """The page, or what is seen of it at first, as PNG."""
        self.tab.screenshot(path=path, full_page=whole)
        return Path(path)

    def close(self) -> None:
        """The tab and its cookies."""
        self.tab.context.close()


OVERHANG = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

CONTRASTS = """() => {
  const channels = colour => {
    const all = colour.match(/[\\d.]+/g).map(Number);
    return [...all.slice(0, 3), all[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = colour => {
    const [r, g, b] = colour.map(value => value / 255)
      .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const above = element => {
    const all = [];
    for (let one = element; one; one = one.parentElement) all.unshift(getComputedStyle(one));
    return all;
  };
  const ratio = element => {
    const styles = above(element), own = styles.at(-1);
    const grounds = styles.map(style => channels(style.backgroundColor));
    const behind = grounds.reduce((below, ground) => over(ground, below), [255, 255, 255]);
    const ink = channels(element instanceof SVGElement ? own.fill : own.color);
    ink[3] *= styles.reduce((share, style) => share * style.opacity, 1);
    const [one, other] = [light(over(ink, behind)), light(behind)];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  };
  const isRead = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && element.getBoundingClientRect().width > 1
    && !element.closest(":disabled, [aria-hidden=true], noscript");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement, words = text.data.trim();
    const name = `${words.slice(0, 40)} (${element.tagName})`;
    if (words && isRead(element)) found.push([ratio(element), name]);
  }
  return found;
}"""
