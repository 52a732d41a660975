"""Playground with data and in situations that nobody tuned it for."""

from __future__ import annotations

import json
import os
import re
import signal

import numpy as np
import pytest
from sklearn.svm import SVC as PeerSVC
from tests.workbench.test_browser_draw import workers_of
from tests.workbench.test_browser_playground import (
    PLANE,
    fact,
    has_points,
    made,
    open_steps,
    opened,
    saved,
    settle,
)
from tests.workbench.workbench_process import until

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

STORY = "[data-test=story-text]"


def upload(tab, rows, head=("x", "y", "label")):
    lines = [",".join(head), *(",".join(map(str, row)) for row in rows)]
    file = {"name": "odd.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()}
    tab.locator("[data-test=csv]").set_input_files(file)
    has_points(tab, len(rows))
    settle(tab)


def in_sight(tab, selector):
    """Whether all of an element is on the screen and nothing is over its middle."""
    return tab.locator(selector).evaluate(
        """element => {
          const { left, right, top, bottom } = element.getBoundingClientRect();
          const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return top >= 0 && bottom <= innerHeight && (element === there || element.contains(there));
        }"""
    )


def test_a_far_outlier_leaves_the_other_points_where_they_are(visit):
    rng = np.random.default_rng(7)
    rows = [(*rng.normal(size=2).round(3), "ab"[i % 2]) for i in range(60)] + [(1e6, 1e6, "a")]
    X, y = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    wrong = int(np.sum(PeerSVC(C=1.0, gamma=1.0).fit(X, y).predict(X) != y))
    tab = opened(visit, made())

    upload(tab, rows)
    expect(tab.locator("[data-test=facts]")).to_contain_text(f"({wrong} of 61)")
    expect(tab).to_have_url(re.compile("points="))
    tab.reload()
    settle(tab)

    expect(tab.locator("[data-test=facts]")).to_contain_text(f"({wrong} of 61)")


def test_with_twenty_classes_the_plane_is_in_sight(visit):
    tab = opened(visit, made(), width=1280, height=720)
    upload(tab, [(i % 5, i // 5 % 4, f"class {i % 20:02d}") for i in range(60)])

    assert tab.locator(PLANE).bounding_box()["y"] < 400
    tab.locator("[data-test=class-19]").focus()  # those further down can be reached
    assert in_sight(tab, "[data-test=class-19]")


def test_a_dragged_slider_does_not_send_the_points_again(visit):
    tab = opened(visit, made(n=200))
    sent = []
    tab.on("request", lambda one: sent.append(one) if one.url.endswith("/fit") else None)

    tab.locator("[data-test=parameter-gamma]").press("ArrowRight")
    settle(tab)

    assert sent
    assert all(len(one.post_data) < 1000 for one in sent)


def test_a_worker_that_was_killed_is_sent_the_points_again(visit, bench):
    tab = opened(visit, made(n=60), expected=["Failed to load resource"])
    for pid in workers_of(bench):
        os.kill(pid, signal.SIGKILL)

    tab.locator("[data-test=parameter-gamma]").press("ArrowRight")
    settle(tab)

    expect(tab.locator("[data-test=trouble]")).to_be_hidden()
    assert "of 60" in fact(tab, "Training error")


@pytest.mark.parametrize("step", ["xor&at=4", "outlier&at=4", "gamma&at=5", "perceptron&at=1"])
def test_the_sentence_of_a_story_stays_in_sight(visit, step):
    tab = opened(visit, f"playground?story={step}", width=1280, height=720)
    expect(tab.locator(STORY)).not_to_contain_text("…")

    until(lambda: in_sight(tab, STORY), "the sentence")


def test_arrow_keys_work_in_a_story_that_was_chosen_from_the_list(visit):
    tab = opened(visit, made())
    tab.locator("[data-test=stories]").focus()
    tab.locator("[data-test=stories]").select_option("costs")
    expect(tab.locator("[data-test=story-count]")).to_have_text("1 of 4")
    tab.keyboard.press("ArrowRight")

    expect(tab.locator("[data-test=story-count]")).to_have_text("2 of 4")
    expect(tab.locator("[data-test=stories]")).to_have_value("costs")


def test_the_costs_of_a_story_have_one_rounding_and_one_slider(visit):
    tab = opened(visit, "playground?story=costs&at=1")
    text = tab.locator(STORY)
    expect(text).not_to_contain_text("…")
    (share,) = re.findall(r"[\d.]+ %", text.text_content())
    assert fact(tab, "Training error").startswith(share)

    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    expect(tab.locator("[data-test=compare-parameter]")).to_have_value("cost")


def test_the_pass_without_a_mistake_is_in_the_chart(visit):
    tab = opened(visit, made("separable", n=40, noise=0.3, seed=4, model="perceptron"))
    open_steps(tab)

    expect(tab.locator(".chart-ends")).to_contain_text("in the last pass 0")


def test_a_shared_page_names_the_classes_and_the_parameters(visit, browser, tmp_path):
    tab = opened(visit, made())
    names = ["<b>bold</b>", "Ωmega 日本語 " + "x" * 80, "c"]
    upload(tab, [(i % 7, i % 4 + i % 3, f'"{names[i % 3]}"') for i in range(42)])
    file = tmp_path / "shared.html"
    file.write_text(saved(tab, "export-page")[1], encoding="utf-8")

    shown = browser.open(file, width=390, height=844)

    assert sorted(shown.texts("[data-test=shared-classes] li")) == sorted(names)
    assert shown.overhang() == 0
    assert [shown.complaints, len(shown.requests)] == [[], 1]
    assert "Gaussian" in " ".join(shown.texts(".facts dd"))
    assert "false" not in shown.texts(".facts dd")
    shown.close()


def test_the_svg_has_the_ellipses_of_the_plane(visit):
    tab = opened(visit, made("blobs3", n=90, model="qda"))

    _, text = saved(tab, "export-svg")

    assert text.count("<polyline") == 6  # of three classes, at one and two deviations


def test_a_link_with_exact_coordinates_that_is_damaged_is_refused(visit):
    query = json.dumps(["a", "b"])
    damaged = "fwAAAAAAAAAAAAAAAAAAAAAAAAAA"  # exact coordinates, cut off
    page = f"playground?model=svm&classes={query}&names={query}&points={damaged}&view=-1,1,-1,1"
    tab = opened(visit, page, points=False)

    expect(tab.locator("body")).to_contain_text("cut off")
