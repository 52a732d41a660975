"""The built site in a browser: no findings of axe-core, no overflow, and a search that finds every name.

`make docs` builds it; where it is not built, or is older than its style, these tests are skipped.
"""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest
from tests.browser import Browser
from tests.contracts.test_reference_pages import listed_names

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

DOCS = Path(__file__).parents[2] / "docs"
SITE = DOCS / "_build" / "html"
PAGES = [
    "index",
    "start/first_steps",
    "choose",
    "svm",
    "gpu",
    "explanation/one_gram",
    "benchmarks/missed",
    "gallery/index",
    "gallery/objects/plot_molecules",
    "lectures/lecture_3_svm",
    "api",
    "api/separatrix.SVC",
]


def is_current():
    """Whether the site was built after its style and templates were last changed."""
    sources = [*DOCS.glob("_static/*"), *DOCS.glob("_templates/*/*"), DOCS / "conf.py"]
    index = SITE / "searchindex.js"
    return index.exists() and all(path.stat().st_mtime <= index.stat().st_mtime for path in sources)


pytestmark = pytest.mark.skipif(not is_current(), reason="the site is not built: make docs")


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(QuietHandler, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_findings_and_fits_the_screen(browser, address, page):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    (script,) = Path(axe.__file__).parent.glob("axe*.js")
    wrong = []
    for width in (1280, 390):
        shown = browser.open(f"{address}/{page}.html", width=width, height=900)
        shown.evaluate(script.read_text(encoding="utf-8"))
        for scheme in ("light", "dark"):
            shown.tab.emulate_media(color_scheme=scheme)
            found = shown.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
            wrong += [
                f"{width} {scheme} {one['impact']} {one['id']}: {node['html'][:120]}"
                for one in found
                for node in one["nodes"]
            ]
        wrong += [f"{width}: {shown.overhang()} pixels too wide"] if shown.overhang() > 0 else []
        wrong += shown.complaints
        shown.close()
    assert wrong == []


SEARCH = """names => names.filter(full => {
  const found = Search._performSearch(...Search._parseQuery(full.split(".").pop()));
  return !found.slice(-5).some(one => one[0] === "api/" + full);
})"""


@pytest.mark.slow
def test_a_search_finds_the_page_of_every_public_name(browser, address):
    """Among the first five, which are the last of the list: its end is the best."""
    shown = browser.open(f"{address}/search.html?q=kernel")
    shown.tab.wait_for_selector("#search-results li")

    lost = shown.tab.evaluate(
        SEARCH, sorted(f"{package}.{name}" for package, name in listed_names())
    )

    shown.close()
    assert lost == []
