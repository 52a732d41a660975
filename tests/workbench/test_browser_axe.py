"""No page has findings of axe-core, in any of its states, in light and in dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.test_browser_draw import opened, says, settled, write
from tests.workbench.test_browser_experiments import csv_of, flowers
from tests.workbench.test_browser_odd_data import upload
from tests.workbench.test_browser_playground import PLANE, made
from tests.workbench.test_browser_playground import opened as played

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")

# both widths and both schemes; a scheme has the same colours at any width
LOOKS = pytest.mark.parametrize(
    ("width", "dark"),
    [(1280, False), (390, True), pytest.param(1280, True, marks=pytest.mark.long)],
)
RUN = "axe.run({ resultTypes: ['violations'] })"


def findings(tab):
    """Rules of axe-core that the page breaks, with the elements."""
    (script,) = Path(axe.__file__).parent.glob("axe*.js")
    tab.evaluate(script.read_text(encoding="utf-8"))
    found = tab.evaluate(RUN)["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


@LOOKS
@pytest.mark.usefixtures("taught")
def test_draw_has_no_findings(visit, width, dark):
    tab = opened(visit, width=width, height=800, dark=dark).tab
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    settled(tab)
    tab.locator("[data-test=right]").click()

    assert findings(tab) == []


@LOOKS
def test_experiments_have_no_findings(visit, width, dark):
    tab = visit("experiments", width=width, height=800, dark=dark).tab
    expect(tab.locator("[data-test=experiment]").first).to_be_visible()

    assert findings(tab) == []

    tab.get_by_text("Your own file").click()
    file = {"name": "f.csv", "mimeType": "text/csv", "buffer": csv_of(*flowers()).encode()}
    tab.locator("[data-test=file]").set_input_files(file)
    expect(tab.locator("[data-test=preview]")).to_be_visible()

    assert findings(tab) == []


@LOOKS
def test_the_playground_has_no_findings(visit, width, dark):
    tab = played(
        visit, made(n=40, model="perceptron", test="0.3"), width=width, height=800, dark=dark
    )
    tab.locator("[data-test=compare-add]").click()
    expect(tab.locator("[data-test=pane-1]")).to_be_visible()
    tab.locator(PLANE).hover()

    assert findings(tab) == []

    tab.locator("[data-test=steps-open]").click()
    tab.locator("[data-test=lift-open]").click()
    expect(tab.locator("[data-test=step-message]")).not_to_be_empty()

    assert findings(tab) == []


@LOOKS
def test_a_story_has_no_findings(visit, width, dark):
    tab = played(visit, "playground?story=perceptron", width=width, height=800, dark=dark)

    assert findings(tab) == []


@LOOKS
def test_shared_pages_have_no_findings(visit, browser, tmp_path, width, dark):
    tab = played(visit, made(n=40, model="perceptron"), width=width, height=800, dark=dark)
    with tab.expect_download() as given:
        tab.locator("[data-test=export-page]").click()
    file = tmp_path / "shared.html"
    file.write_bytes(given.value.path().read_bytes())

    shown = browser.open(file, width=width, dark=dark)
    expect(shown.tab.locator("[data-test=shared-plane]")).to_be_visible()

    assert findings(shown.tab) == []
    shown.close()


@LOOKS
def test_states_of_the_playground_that_few_see_have_no_findings(visit, width, dark):
    """Many classes, an empty plane, a fit that is refused, a story before a room."""
    how = {"width": width, "height": 800, "dark": dark, "expected": ["Failed to load resource"]}
    tab = played(visit, made(n=40), **how)
    upload(tab, [(i % 5, i // 5 % 4, f"class {i % 20:02d}") for i in range(60)])
    assert findings(tab) == []

    upload(tab, [(1, 1, "ab"[i % 2]) for i in range(10)])
    tab.locator("[data-test=parameter-hard]").evaluate("control => control.click()")
    expect(tab.locator("[data-test=trouble]")).to_be_visible()
    assert findings(tab) == []

    tab.locator("[data-test=clear]").click()
    assert findings(tab) == []

    tab.locator("[data-test=stories]").select_option("ties")
    tab.locator("[data-test=story-full]").click()
    expect(tab.locator("[data-test=story-text]")).not_to_contain_text("…")
    assert findings(tab) == []


@LOOKS
def test_own_classes_have_no_findings(taught, visit, width, dark):
    tab = opened(visit, width=width, height=800, dark=dark).tab
    try:
        taught.post("/api/draw/classes", {"names": ["<b>bold</b>", "Ωmega 日本語 " + "x" * 15]})
        expect(tab.locator("[data-test=own-name]").first).to_be_visible()

        assert findings(tab) == []
    finally:
        taught.post("/api/draw/forget", {})
        taught.post("/api/draw/data", {"data": "digits"})


@LOOKS
@pytest.mark.usefixtures("taught")
def test_a_shared_drawing_has_no_findings(visit, browser, tmp_path, width, dark):
    tab = opened(visit, width=1280, height=800, dark=dark).tab
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    settled(tab)
    with tab.expect_download() as given:
        tab.locator("[data-test=share-drawing]").click()
    file = tmp_path / "drawing.html"
    file.write_bytes(given.value.path().read_bytes())

    shown = browser.open(file, width=width, dark=dark)
    expect(shown.tab.locator("[data-test=majority]")).to_have_text("3")

    assert findings(shown.tab) == []
    shown.close()
