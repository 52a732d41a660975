"""Draw, as a person uses it: by mouse, keyboard and finger, with what is then on the screen."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from tests.workbench.drawing.test_drawings import NO_DIGITS
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.shown_code import require_code
from tests.workbench.workbench_process import until

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

import separatrix

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
        assert list(settled(page.tab).values()).count(digit) >= 5
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
    assert set(settled(page.tab).values()) == {""}


REASONS = {
    **dict.fromkeys(("neighbours", "svm", "svm-polynomial", "kernel-perceptron"), "decided"),
    **dict.fromkeys(("perceptron", "linear-svm", "logistic", "linear-discriminant"), "evidence"),
    "quadratic": "neighbours",
}


def test_a_model_that_is_pressed_shows_the_pictures_or_pixels_that_decided(page):
    tab, why = page.tab, page.tab.locator("[data-test=why]")
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    said = settled(tab)
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
    expect(learned).to_contain_text("changed their answer to 4")
    expect(learned.locator("li")).to_have_count(len(ONLINE))
    after = labels(tab)
    changed = {key for key in before if after[key] != before[key]}
    assert changed, after
    assert changed <= set(ONLINE)
    assert {after[key] for key in changed} == {"4"}
    expect(learned).to_contain_text(f"{len(changed)} models of {len(ONLINE)} that learn")
    for key in ONLINE:
        words = f"{before[key]} → 4" if key in changed else f"still {before[key]}"
        expect(learned.locator(f"li[data-key={key}]")).to_contain_text(words)
        expect(learned.locator(f"li[data-key={key}]")).to_contain_text("% of held-out scans wrong")

    tab.reload()

    expect(tab.locator("[data-test=forget]")).to_have_text("Forget corrections (1)")
    until(lambda: labels(tab) == after, "the answers after the correction")

    tab.locator("[data-test=forget]").click()

    expect(tab.locator("[data-test=forget]")).to_be_hidden()
    until(lambda: labels(tab) == before, "the answers from before")

    tab.locator("[data-test=teach][data-label='4']").click()
    expect(tab.locator("[data-test=forget]")).to_have_text("Forget corrections (1)")
    tab.locator("[data-test=undo-correction]").click()
    expect(tab.locator("[data-test=undo-correction]")).to_be_hidden()
    until(lambda: labels(tab) == before, "the answers from before")


@pytest.mark.usefixtures("forgetful")
def test_drawings_that_are_judged_are_counted_beside_what_the_error_is(page):
    tab, tally = page.tab, page.tab.locator("[data-test=tally]")
    facts = tab.locator("[data-test=model][data-key=svm] [data-test=facts]")
    expect(facts).to_contain_text("% of held-out scans wrong")
    expect(tally).to_be_empty()
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    settled(tab)

    tab.locator("[data-test=right]").click()

    expect(tally).to_have_text("Right on 1 of your 1 drawing.")
    expect(facts).to_contain_text("right on 1 of your 1")
    tab.get_by_role("button", name="Clear").click()
    write(tab, HANDWRITING["7"][0])
    says(tab, "7")
    settled(tab)
    tab.locator("[data-test=teach][data-label='1']").click()
    expect(tally).to_have_text("Right on 1 of your 2 drawings.")
    tab.reload()
    expect(tally).to_have_text("Right on 1 of your 2 drawings.")


def test_a_smiley_is_none_of_these(page):
    write(page.tab, NO_DIGITS["smiley"])

    says(page.tab, "none")
    message = page.tab.locator("[data-test=majority-message]")
    expect(message).to_contain_text(re.compile(r"None of these: \d\.\d times as far"))
    expect(page.tab.locator("[data-test=right]")).to_be_disabled()


def test_reasons_say_what_speaks_against_and_how_much_is_not_shown(page):
    write(page.tab, HANDWRITING["5"][0])
    says(page.tab, "5")
    page.tab.locator("[data-test=model][data-key=svm]").click()
    why = page.tab.locator("[data-test=why]")

    expect(why).to_contain_text(re.compile(r"\+[\d.]+ for 5, −[\d.]+ against: 6 of \d+ pictures"))
    expect(why.locator("[data-test=decided] figure.against")).to_have_count(1)


def test_a_stroke_is_redone_the_pen_is_wider_and_the_image_is_saved(page):
    tab = page.tab
    redo = tab.locator("[data-test=redo]")
    write(tab, HANDWRITING["7"][0])
    says(tab, "7")
    tab.get_by_role("button", name="Undo").click()
    says(tab, "?")
    redo.click()
    says(tab, "7")
    expect(redo).to_be_disabled()
    before = picture(tab, "paper")
    tab.locator("[data-test=pen] input").press("End")
    until(lambda: picture(tab, "paper") != before, "a wider stroke")
    tab.reload()
    expect(tab.locator("[data-test=pen] output")).to_have_text("2")

    with tab.expect_download() as given:
        tab.locator("[data-test=save-image]").click()

    assert given.value.suggested_filename == "drawing.png"
    assert given.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_an_answer_for_the_width_before_does_not_settle_the_page(page):
    tab, held = page.tab, []
    results = tab.locator("[data-test=results]")
    tab.route("**/api/draw/answer", lambda route: held.append(route))
    press_and_draw(tab, HANDWRITING["7"][0][0])
    tab.mouse.up()
    expect(results).to_have_attribute("data-settled", "false")
    until(lambda: tab.wait_for_timeout(10) or held, "the first question")

    tab.locator("[data-test=pen] input").press("End")
    while len(held) < 2 or held[-1].request.post_data_json["pen"] == 1:
        expect(results).to_have_attribute("data-settled", "false")
        asked = len(held)
        held[-1].continue_()
        until(
            lambda asked=asked: tab.wait_for_timeout(10) or len(held) > asked, "the next question"
        )

    expect(results).to_have_attribute("data-settled", "false")
    held[-1].continue_()
    expect(results).to_have_attribute("data-settled", "true")


def test_own_classes_are_named_drawn_learned_and_saved(visit, bench, tmp_path):
    tab = opened(visit).tab
    tab.locator("[data-test=data][data-name=own]").check()
    try:
        names = tab.locator("[data-test=own-name]")
        names.nth(0).fill("hat")
        names.nth(1).fill("dog")
        tab.locator("[data-test=own-use]").click()
        for label, digit in (("hat", "0"), ("dog", "1")):
            button = tab.locator(f"[data-test=teach][data-label={label}]")
            for number in range(3):
                write(tab, HANDWRITING[digit][number])
                button.click()
                expect(button.locator("[data-test=count]")).to_have_text(str(number + 1))
                expect(tab.locator("[data-test=undo]")).to_be_enabled()
        expect(tab.locator("[data-test=own-next]")).to_contain_text('Draw "hat" 2 more times')
        expect(tab.locator("[data-test=model]")).to_have_count(9)
        write(tab, HANDWRITING["1"][0])
        says(tab, "dog")
        with tab.expect_download() as given:
            tab.locator("[data-test=export-model]").click()
        assert given.value.suggested_filename == "own-neighbours.model"
        model = separatrix.load(given.value.path())
        assert sorted(model.classes_.tolist()) == ["dog", "hat"]
    finally:
        bench.post("/api/draw/forget", {})
        bench.post("/api/draw/data", {"data": "digits"})
        until(lambda: bench.get("/api/draw/state")["ready"], "the digits")


def test_another_worker_takes_over_unseen(page, bench):
    tab = page.tab
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    before = settled(tab)
    until(lambda: len(workers_of(bench)) == 1, "the end of workers of tests before")
    (worker,) = workers_of(bench)
    tab.evaluate(WATCH_ROWS)

    os.kill(worker, signal.SIGKILL)

    until(lambda: new_worker(bench, worker), "another worker")
    tab.get_by_role("button", name="Undo").click()
    tab.locator("[data-test=redo]").click()
    says(tab, "3")
    until(lambda: labels(tab) == before, "the same answers")
    assert tab.evaluate("window.fewestRows") == len(before)


WATCH_ROWS = """() => {
  const list = document.querySelector("[data-test=models]");
  window.fewestRows = list.children.length;
  new MutationObserver(() => { window.fewestRows = Math.min(window.fewestRows, list.children.length); })
    .observe(list, { childList: true });
}"""


def workers_of(bench):
    return [pid for pid in bench.children() if "spawn_main" in command_of(pid)]


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
    except FileNotFoundError:  # it has just ended
        return ""


def new_worker(bench, old):
    return [pid for pid in workers_of(bench) if pid != old]


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
    said = settled(tab)
    drawn, seen = picture(tab, "paper"), picture(tab, "seen")

    tab.reload()

    says(tab, "2")
    settled(tab)
    expect(tab.locator("[data-test=evidence]")).to_be_visible()
    tab.locator("body").click(position={"x": 2, "y": 2})  # the paper has no ring around it
    until(lambda: picture(tab, "paper") == drawn, "the paper as it was")
    assert picture(tab, "seen") == seen
    assert labels(tab) == said


def test_the_page_shows_the_same_as_python_and_as_a_command(page):
    write(page.tab, HANDWRITING["8"][0])
    says(page.tab, "8")
    require_code(page.tab, "import", "separatrix ")


def test_a_shared_drawing_opens_without_a_server_and_shows_the_reasons_of_each_model(
    page, browser, tmp_path
):
    tab = page.tab
    write(tab, HANDWRITING["3"][0])
    says(tab, "3")
    settled(tab)
    with tab.expect_download() as given:
        tab.locator("[data-test=share-drawing]").click()
    file = tmp_path / given.value.suggested_filename
    file.write_bytes(given.value.path().read_bytes())

    shown = browser.open(file, width=390)

    assert file.name == "drawing.html"
    assert file.stat().st_size < 2_000_000
    expect(shown.tab.locator("[data-test=majority]")).to_have_text("3")
    assert (
        shown.texts("[data-test=model] .draw-label")
        == tab.locator("[data-test=model] .draw-label").all_text_contents()
    )
    shown.tab.locator("[data-key=neighbours]").click()
    expect(shown.tab.locator("[data-test=decided] figure")).to_have_count(5)
    shown.tab.locator("[data-key=logistic]").click()
    expect(shown.tab.locator("[data-test=evidence]")).to_be_visible()
    assert [address for address in shown.requests if not address.startswith("file:")] == []
    assert shown.complaints == []
    assert shown.overhang() == 0
    shown.close()
