"""Stories of Playground for a lecture, and pages, pictures and drawings that open anywhere."""

from __future__ import annotations

import re

import pytest
from tests.workbench.test_browser_playground import PLANE, fact, made, opened, saved
from tests.workbench.workbench_process import until

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

STORIES = ["xor", "outlier", "gamma", "c", "perceptron", "ties", "bayes", "costs"]


# ---- stories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("story", STORIES)
def test_every_step_of_a_story_shows_its_figures(visit, story):
    tab = opened(visit, f"playground?story={story}")
    count, text = tab.locator("[data-test=story-count]"), tab.locator("[data-test=story-text]")
    last = int(count.text_content().split()[-1])
    assert 3 <= last <= 6

    for step in range(1, last + 1):
        expect(count).to_have_text(f"{step} of {last}")
        expect(text).not_to_contain_text("…")
        expect(tab.locator("[data-test=trouble]")).to_be_hidden()
        expect(tab.locator("[data-test=unfinished]")).to_be_hidden()
        assert f"story={story}&at={step}" in tab.url
        if step < last:
            tab.keyboard.press("ArrowRight")
    expect(tab.locator("[data-test=story-next]")).to_be_disabled()


def test_the_claims_of_the_stories_hold(visit):
    """What the sentences say beyond the figures that they show."""
    tab = opened(visit, "playground?story=ties&at=1")

    def shares(story, step):
        tab.evaluate(f"location.hash = '#/playground?story={story}&at={step}'")
        expect(tab.locator("[data-test=stories]")).to_have_value(story)
        expect(tab.locator("[data-test=story-count]")).to_have_text(re.compile(f"^{step} of"))
        text = tab.locator("[data-test=story-text]")
        expect(text).not_to_contain_text("…")
        return [float(one) for one in re.findall(r"([\d.]+) %", text.text_content())]

    assert shares("xor", 1)[0] > 25
    assert shares("xor", 3)[0] == shares("xor", 5)[0] == 0
    assert shares("outlier", 1) == [0.0] == shares("outlier", 3)
    assert shares("outlier", 2)[0] > 0
    small, right, large = shares("gamma", 1), shares("gamma", 2), shares("gamma", 4)
    assert small[1] > right[1] < large[1]
    assert large[0] < right[0] < small[0]
    assert shares("c", 4)[0] < shares("c", 3)[0]
    assert shares("bayes", 2)[0] < shares("bayes", 1)[0]
    assert shares("costs", 2)[0] > shares("costs", 1)[0]


def test_the_answer_to_a_step_that_was_left_has_no_say_in_the_next(visit, bench):
    tab = visit("draw").tab
    held = []
    tab.route("**/api/playground/fit", lambda route: held.append(route))
    tab.goto(f"{bench.address}/#/playground?story=gamma&at=1")
    text = tab.locator("[data-test=story-text]")
    expect(text).to_contain_text("…")
    until(lambda: tab.evaluate("1") and len(held) == 1, "the question of the first step")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("[data-test=story-count]")).to_have_text("2 of 5")

    held[0].continue_()
    until(lambda: tab.evaluate("1") and len(held) > 1, "the question of the second step")

    expect(text).to_contain_text("…")
    tab.unroute("**/api/playground/fit")  # lets go what is held
    expect(text).not_to_contain_text("…")


def test_a_lecture_fills_the_screen_and_a_short_link_opens_a_story(visit, bench, browser):
    shown = visit("draw")
    shown.tab.goto(f"{bench.address}/#story=ties")
    tab = shown.tab
    expect(tab.locator("[data-test=story-text]")).to_contain_text("Three classes")
    tab.locator("[data-test=story-full]").click()
    expect(tab.locator(".data-card")).to_be_hidden()
    size = tab.locator("[data-test=story-text]").evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert size > 20
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("[data-test=story-count]")).to_have_text("2 of 4")
    tab.locator("[data-test=story-leave]").click()
    expect(tab.locator(".data-card")).to_be_visible()
    tab.wait_for_url(re.compile("rule=each"))


# ---- share ------------------------------------------------------------------------------------


def test_a_shared_page_opens_without_a_server_and_is_interactive(visit, browser, tmp_path):
    tab = opened(visit, made(n=40, model="kernel-perceptron", **{"p.max_iter": "3"}))
    name, text = saved(tab, "export-page")
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    shown = browser.open(file)

    assert len(text.encode()) < 2_000_000
    plane = shown.tab.locator("[data-test=shared-plane]")
    expect(plane).to_be_visible()
    fit = plane.evaluate("canvas => canvas.toDataURL()")
    slider = shown.tab.locator("[data-test=shared-slider]")
    slider.focus()
    shown.tab.keyboard.press("Home")
    expect(shown.tab.locator("[data-test=shared-step]")).to_contain_text(
        "no point is in the sum yet"
    )
    until(lambda: plane.evaluate("canvas => canvas.toDataURL()") != fit, "the picture of a step")
    plane.hover()
    expect(shown.tab.locator("[data-test=shared-place]")).to_contain_text("class")
    expect(shown.tab.locator(".facts")).to_contain_text(fact(tab, "Training error"))
    assert [address for address in shown.requests if not address.startswith("file:")] == []
    assert shown.complaints == []
    assert shown.overhang() == 0
    shown.close()


def test_the_plane_is_saved_as_svg_and_with_two_pixels_for_one(visit):
    tab = opened(visit, made(n=40))
    name, text = saved(tab, "export-svg")
    assert name == "playground.svg"
    assert text.count("<circle") + text.count("<polygon") >= 40
    assert "<path" in text
    with tab.expect_download() as given:
        tab.locator("[data-test=export-picture]").click()
    content = given.value.path().read_bytes()
    wide = int.from_bytes(content[16:20], "big")
    assert abs(wide - 2 * tab.locator(PLANE).bounding_box()["width"]) < 2
