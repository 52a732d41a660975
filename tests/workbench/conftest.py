"""A workbench for all tests of a process, a browser for each module, and tabs as a person opens them.

A tab that `visit` opened must have asked nobody but the workbench and must have complained of nothing:
that is checked after every test.
"""

from __future__ import annotations

import pytest
from tests.browser import Browser, require_chromium
from tests.workbench.live_server import guarded_app, serve_app
from tests.workbench.workbench_process import WorkbenchProcess, until


@pytest.fixture(scope="session")
def server():
    """A server with routes of each kind behind the guard."""
    with serve_app(guarded_app) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """A workbench of its own folder; where there is no browser, there is no test."""
    require_chromium()
    folder = tmp_path_factory.mktemp("workbench")
    with WorkbenchProcess(folder, "--data", "digits") as found:
        yield found
    assert [line for line in found.messages if "Traceback" in line] == [], "".join(found.messages)


@pytest.fixture
def taught(bench):
    """The same workbench with all models of Draw loaded."""
    until(lambda: bench.get("/api/draw/state")["ready"], "the models")
    return bench


@pytest.fixture
def visit(bench, browser):
    """Opens "draw", "playground?..." or "experiments/ID" in a tab that knows nothing of others.

    `expected` are beginnings of what the browser may say of a request that is refused.
    """
    tabs = []

    def go(page, *, expected=(), **how):
        shown = browser.open(f"{bench.link()}#/{page}", **how)
        tabs.append((shown, tuple(expected)))
        return shown

    yield go
    for shown, expected in tabs:
        away = [address for address in shown.requests if not at(bench, address)]
        unasked = [words for words in shown.complaints if not words.startswith(expected or "\0")]
        shown.close()
        assert away == []
        assert unasked == []


def at(bench, address):
    """Whether an address is one of the workbench itself."""
    return address.startswith(f"{bench.address}/")
