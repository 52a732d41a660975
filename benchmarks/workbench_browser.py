"""The workbench in a real browser: from a slider to the picture, and the memory of the page."""

import tempfile

import numpy as np
from playwright.sync_api import expect
from tests.browser import Browser
from tests.workbench.workbench_process import WorkbenchProcess, until

from benchmarks.measure import Row
from separatrix.workbench.routes_playground import catalogue

MOVES, PAUSE = 120, 16  # positions of a drag, and ms between two of them
INTERACTIONS = 600  # as many as in ten minutes, one each second
PLANE = "[data-test=plane]"
WATCH = """() => {
  const plane = document.querySelector("[data-test=plane]");
  performance.setResourceTimingBufferSize(100000);
  performance.clearResourceTimings();
  const watch = window.watch = { inputs: [], painted: [] };
  document.addEventListener("input", () => watch.inputs.push(performance.now()), true);
  const after = new MessageChannel(); // its message comes when the frame has been painted
  after.port1.onmessage = () => watch.painted.push(performance.now());
  new MutationObserver(() => after.port2.postMessage(0)).observe(plane, { attributeFilter: ["data-fitted"] });
}"""
ASKED = """() => performance.getEntriesByType("resource")
  .filter(({ name, responseStatus }) => name.endsWith("/fit") && responseStatus === 200)
  .map(({ startTime, responseStart, responseEnd }) => [startTime, responseStart, responseEnd])"""


def workbench_browser():
    """Playground in headless Chromium without a GPU, on this machine; Gaussian SVC, 100 x 100 cells.

    A slider is dragged from end to end by the mouse, a position every 16 ms. A time is from an input event
    to the end of the frame in which a picture of that position, or of a later one, is on the plane. Memory is
    Chromium's heap of the page after a collection of garbage, before and after 600 interactions: sliders, models, zoom, hovering.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        WorkbenchProcess(folder, "--data", "digits") as bench,
        Browser() as browser,
    ):
        until(lambda: bench.get("/api/draw/state")["ready"], "the models")
        rows = [
            _slides(bench, browser, n, name, goal)
            for n, goal in ((200, 60), (2000, 150))
            for name in ("gamma", "C")
        ]
        rows.append(_memory(bench, browser))
    return rows, []


def _open(bench, browser, n):
    shown = browser.open(
        f"{bench.link()}#/playground?make=moons,{n},0.3,0&model=svm", width=1280, height=720
    )
    expect(shown.tab.locator(PLANE)).not_to_have_attribute("data-fitted", "0")
    return shown.tab


def _slides(bench, browser, n, name, goal):
    """The times of one drag there and back."""
    tab = _open(bench, browser, n)
    _drag(tab, name, 30)  # as somebody who has moved it before
    tab.wait_for_timeout(1500)  # until its last picture is there
    tab.evaluate(WATCH)
    _drag(tab, name, MOVES)
    tab.wait_for_timeout(3000)
    inputs, painted = tab.evaluate("[watch.inputs, watch.painted]")
    asked = tab.evaluate(ASKED)
    times = times_to_paint(inputs, [start for start, *_ in asked], painted)
    server = [end - start for start, _, end in asked]
    tab.context.close()
    return Row(
        f"slider of {name} to paint, {n:,} points, p95 of {len(times)} positions",
        f"{np.percentile(times, 95):.0f} ms (median {np.median(times):.0f}; {len(painted)} pictures, "
        f"request {np.median(server):.0f})",
        "-",
        "-",
        f"{goal} ms",
    )


def times_to_paint(inputs, asked, painted):
    """From each input to the first picture that was asked for after it."""
    pairs = list(zip(asked, painted, strict=True))
    return [
        next(paint for ask, paint in pairs if ask >= at) - at for at in inputs if at <= asked[-1]
    ]


def _drag(tab, name, moves):
    box = tab.locator(f"[data-test=parameter-{name}]").bounding_box()
    y = box["y"] + box["height"] / 2
    places = np.linspace(box["x"] + 6, box["x"] + box["width"] - 6, moves)
    tab.mouse.move(places[moves // 2], y)
    tab.mouse.down()
    for x in [*places, *places[::-1]]:
        tab.mouse.move(float(x), y)
        tab.wait_for_timeout(PAUSE)
    tab.mouse.up()


def _memory(bench, browser):
    tab = _open(bench, browser, 200)
    box = tab.locator(PLANE).bounding_box()
    before = _heap(tab)
    keys = [model["key"] for model in catalogue()["models"]]
    for i in range(INTERACTIONS):
        _interact(tab, i, keys, box)
    after = _heap(tab)
    tab.context.close()
    return Row(
        f"memory of the page after {INTERACTIONS} interactions",
        f"{after:.1f} MB ({before:.1f} at first)",
        "-",
        "-",
        "10 MB",
    )


def _interact(tab, i, keys, box):
    if i % 10 == 9:
        tab.locator("[data-test=model]").select_option(keys[i // 10 % len(keys)])
    elif i % 10 == 8:
        tab.locator("[data-test=zoom-out]" if i % 20 == 8 else "[data-test=zoom-in]").click()
    elif i % 3 == 0:
        tab.mouse.move(box["x"] + box["width"] * (i % 7 + 1) / 8, box["y"] + box["height"] * 0.5)
    else:
        slider = tab.locator(".parameters input[type=range]:visible").first
        if slider.count():
            slider.press("ArrowRight" if i % 2 else "ArrowLeft")


def _heap(tab):
    """Megabytes of JavaScript in use."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return found["JSHeapUsedSize"] / 2**20


SUITES = [workbench_browser]
