"""The workbench in a real browser, in a few seconds; `tests/workbench/test_browser_*.py` have the rest."""

import urllib.error
import urllib.request

import pytest
from tests.chromium import Chromium
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.workbench_process import WorkbenchProcess

pytest.importorskip("fastapi", reason="the workbench needs fastapi")
PLANE = "document.querySelector('[data-test=plane]')"
RESTS = f"{PLANE}?.dataset.settled === 'true' && ({{...{PLANE}.dataset}})"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workbench")
    with Chromium() as chromium, WorkbenchProcess(folder, "--data", "digits") as bench:
        yield bench, chromium


def opened(bench, view, **how):
    process, chromium = bench
    return chromium.open(f"{process.link()}#/{view}", **how)


@pytest.mark.slow
def test_a_drawing_is_answered(bench):
    page = opened(bench, "draw")
    page.until("document.querySelectorAll('[data-test=model]').length > 1")
    box = page.evaluate(
        "(({x, y, width, height}) => [x, y, width, height])"
        "(document.querySelector('[data-test=paper]').getBoundingClientRect())"
    )
    for stroke in HANDWRITING["0"][0]:
        page.drag([(box[0] + x * box[2], box[1] + y * box[3]) for x, y in stroke])

    page.until("document.querySelector('[data-test=majority]').textContent === '0'")
    assert page.complaints() == []


@pytest.mark.slow
def test_a_slider_moves_the_boundary(bench):
    page = opened(bench, "playground")
    before = page.until(RESTS)
    page.evaluate(
        "(slider => { slider.value = slider.max; slider.dispatchEvent(new Event('input')); })"
        "(document.querySelector('[data-test=parameter-gamma]'))"
    )

    page.until(f"Number({PLANE}.dataset.fitted) > {before['fitted']} && {RESTS}")
    after = page.evaluate(f"({{...{PLANE}.dataset}})")
    assert int(after["wrong"]) < int(before["wrong"])  # gamma overfits
    assert page.complaints() == []


def test_a_story_says_the_figures_of_its_fit(bench):
    page = opened(bench, "playground?story=gamma&at=2")
    page.until(RESTS)

    fit = page.evaluate("document.querySelector('[data-test=both-errors] b').textContent")
    page.until(f"document.querySelector('[data-test=story-text]')?.textContent.includes({fit!r})")
    assert page.complaints() == []


def test_experiments_fit_a_phone(bench):
    page = opened(bench, "experiments", width=390, height=844)
    page.until("document.querySelectorAll('[data-test=experiment]').length > 5")

    assert page.evaluate("!document.querySelector('[data-test=start]').disabled")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390  # less a scroll bar
    assert page.complaints() == []


def test_without_the_link_nobody_is_let_in(bench):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{bench[0].address}/api/draw/state", timeout=60)

    with refused.value as reply:
        assert reply.code == 401
