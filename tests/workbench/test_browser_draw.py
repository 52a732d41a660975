"""Draw, as a person uses it: by mouse, keyboard and finger, with what is then on the screen."""

from __future__ import annotations

import re

import pytest
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.shown_code import require_code
from tests.workbench.workbench_process import until

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

PAPER = "[data-test=paper]"
MAJORITY = "[data-test=majority]"
ONLINE = ("neighbours", "kernel-perceptron", "perceptron", "linear-discriminant", "quadratic")

pytestmark = pytest.mark.usefixtures("taught")


@pytest.fixture
def page(visit):
    return opened(visit)


@pytest.fixture
def forgetful(bench):
    """No correction outlives the test."""
    yield
    bench.post("/api/draw/forget", {})


def opened(visit, **how):
    shown = visit("draw", **how)
    expect(shown.tab.locator("[data-test=model]")).to_have_count(9)
    return shown


def on_paper(tab, points):
    """Places of the window for points of the paper."""
    tab.locator(PAPER).scroll_into_view_if_needed()
    box = tab.locator(PAPER).bounding_box()
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]


def press_and_draw(tab, stroke):
    """A stroke, the button still down at its end."""
    first, *rest = on_paper(tab, stroke)
    tab.mouse.move(*first)
    tab.mouse.down()
    for place in rest:
        tab.mouse.move(*place)


def write(tab, strokes):
    for stroke in strokes:
        press_and_draw(tab, stroke)
        tab.mouse.up()


def says(tab, label):
    expect(tab.locator(MAJORITY)).to_have_text(label)


def labels(tab):
    """What each model answers, by its key."""
    rows = tab.locator("[data-test=model]")
    return dict(rows.evaluate_all("rows => rows.map(row => [row.dataset.key, row.dataset.label])"))


def settled(tab):
    """What each model answers once the answers are about all that is drawn."""
    expect(tab.locator("[data-test=results]")).to_have_attribute("data-settled", "true")
    return labels(tab)


def picture(tab, hook):
    return tab.locator(f"[data-test={hook}]").evaluate("canvas => canvas.toDataURL()")


@pytest.mark.parametrize("digits", ["03578", pytest.param("12469", marks=pytest.mark.long)])
def test_a_digit_drawn_with_the_mouse_is_what_most_models_say(page, digits):
    for digit in digits:
        write(page.tab, HANDWRITING[digit][0])

        says(page.tab, digit)
        expect(page.tab.locator("[data-test=majority-message]")).to_contain_text("models")
        assert list(labels(page.tab).values()).count(digit) >= 5
        page.tab.get_by_role("button", name="Clear").click()
        says(page.tab, "?")


def test_models_answer_while_the_pen_is_down_and_the_time_is_shown(page):
    results = page.tab.locator("[data-test=results]")
    (stroke,) = HANDWRITING["0"][0]

    press_and_draw(page.tab, stroke)

    says(page.tab, "0")
    expect(results).to_have_attribute("data-ms", re.compile(r"^\d+\.\d$"))
    expect(page.tab.locator("[data-test=pace]")).to_contain_text("from pen to answer")
    page.tab.mouse.up()
    says(page.tab, "0")


def test_a_digit_changes_its_answer_as_a_stroke_is_added_and_undone(page):
    first, second = HANDWRITING["4"][0]
    write(page.tab, [second])
    says(page.tab, "1")

    write(page.tab, [first])
    says(page.tab, "4")
    page.tab.get_by_role("button", name="Undo").click()
    says(page.tab, "1")
    page.tab.get_by_role("button", name="Clear").click()

    says(page.tab, "?")
    assert set(labels(page.tab).values()) == {""}


REASONS = {
    **dict.fromkeys(("neighbours", "svm", "svm-polynomial", "kernel-perceptron"), "decided"),
    **dict.fromkeys(("perceptron", "linear-svm", "logistic", "linear-discriminant"), "evidence"),
    "quadratic": "neighbours",
}


def test_a_model_that_is_pressed_shows_the_pictures_or_pixels_that_decided(page):
    tab, why = page.tab, page.tab.locator("[data-test=why]")
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    said = labels(tab)
    assert said.keys() == REASONS.keys()

    for model, shows in REASONS.items():
        row = tab.locator(f"[data-test=model][data-key={model}]")
        row.click()
        expect(row).to_have_attribute("aria-selected", "true")
        expect(why).to_contain_text(row.locator(".draw-title").text_content())
        expect(why.locator("h2")).to_have_text(f"Why {said[model]}")
        expect(why.locator(f"[data-test={shows}]")).to_be_visible()
        if shows == "evidence":
            assert why.locator("[data-test=evidence]").evaluate(INKED)
        else:
            assert_pictures(why.locator(f"[data-test={shows}] figure"), said[model])


def assert_pictures(figures, label):
    """Each has ink, and no other label is as frequent as the answer."""
    shown = figures.locator("b").all_text_contents()
    assert len(shown) >= 5
    assert max(shown, key=shown.count) == label
    assert figures.locator("canvas").evaluate_all(f"all => all.every({INKED})")


INKED = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0)"


@pytest.mark.usefixtures("forgetful")
def test_online_models_learn_a_correction_keep_it_over_a_reload_and_forget_it(page):
    tab = page.tab
    write(tab, HANDWRITING["7"][0])
    says(tab, "7")
    before = settled(tab)

    tab.locator("[data-test=teach][data-label='4']").click()

    learned = tab.locator("[data-test=learned]")
    expect(learned).to_contain_text("learned that this is a 4")
    expect(learned.locator("li")).to_have_count(len(ONLINE))
    after = labels(tab)
    changed = {key for key in before if after[key] != before[key]}
    assert changed, after
    assert changed <= set(ONLINE)
    assert {after[key] for key in changed} == {"4"}
    for key in changed:
        expect(learned).to_contain_text(f"{before[key]} → 4")

    tab.reload()

    expect(tab.locator("[data-test=forget]")).to_have_text("Forget corrections (1)")
    until(lambda: labels(tab) == after, "the answers after the correction")

    tab.locator("[data-test=forget]").click()

    expect(tab.locator("[data-test=forget]")).to_be_hidden()
    until(lambda: labels(tab) == before, "the answers from before")


def test_a_digit_is_drawn_with_the_keyboard_alone(page):
    tab = page.tab
    tab.locator(PAPER).focus()
    tab.keyboard.press("Space")
    for _ in range(18):
        tab.keyboard.press("ArrowDown")
    says(tab, "1")
    tab.keyboard.press("Space")
    says(tab, "1")

    tab.keyboard.press("Enter")
    chosen = tab.locator("[data-test=model]:focus")
    expect(chosen).to_have_attribute("data-key", "neighbours")
    tab.keyboard.press("End")
    expect(chosen).to_have_attribute("data-key", "quadratic")
    expect(tab.locator("[data-test=why]")).to_contain_text("Quadratic")

    tab.locator(PAPER).focus()
    tab.keyboard.press("Delete")
    says(tab, "?")


def test_a_digit_is_drawn_with_a_finger_and_the_page_stays_where_it_is(visit):
    tab = opened(visit, width=390, height=844).tab
    finger = tab.context.new_cdp_session(tab)
    (stroke,) = HANDWRITING["3"][0]
    first, *rest = on_paper(tab, stroke)
    scrolled = tab.evaluate("scrollY")

    touch(finger, "touchStart", [first])
    for place in rest:
        touch(finger, "touchMove", [place])
    says(tab, "3")
    touch(finger, "touchEnd", [])

    says(tab, "3")
    assert tab.evaluate("scrollY") == scrolled
    until(lambda: chosen_by_a_tap(tab, "svm"), "the tap")
    expect(tab.locator("[data-test=decided]")).to_be_in_viewport()


def chosen_by_a_tap(tab, model):
    """Chromium drops a tap that follows a swift stroke at once: a person taps again."""
    row = tab.locator(f"[data-test=model][data-key={model}]")
    row.tap()
    return row.get_attribute("aria-selected") == "true"


def touch(finger, kind, places):
    points = [{"x": x, "y": y} for x, y in places]
    finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_reload_keeps_the_drawing_the_answers_and_the_chosen_model(page):
    tab = page.tab
    write(tab, HANDWRITING["2"][0])
    says(tab, "2")
    tab.locator("[data-test=model][data-key=logistic]").click()
    expect(tab.locator("[data-test=evidence]")).to_be_visible()
    drawn, seen, said = picture(tab, "paper"), picture(tab, "seen"), labels(tab)

    tab.reload()

    says(tab, "2")
    expect(tab.locator("[data-test=evidence]")).to_be_visible()
    tab.locator("body").click(position={"x": 2, "y": 2})  # the paper has no ring around it
    assert picture(tab, "paper") == drawn
    assert picture(tab, "seen") == seen
    assert labels(tab) == said


def test_the_page_shows_the_same_as_python_and_as_a_command(page):
    write(page.tab, HANDWRITING["8"][0])
    says(page.tab, "8")
    require_code(page.tab, "import", "separatrix ")
