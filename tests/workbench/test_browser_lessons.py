"""Playground as a teacher: true answers, planes side by side, stories, pages that open anywhere."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.workbench.playground.scenes import WINDOW
from tests.workbench.test_browser_playground import (
    FACTS,
    PLANE,
    ROOM,
    at,
    fact,
    has_points,
    made,
    open_steps,
    opened,
    pixels,
    saved,
    settle,
    table,
    view_of,
)
from tests.workbench.workbench_process import until

from separatrix import SVC, KNeighborsClassifier
from separatrix.workbench.playground.fit import compute_regions, encode_regions
from separatrix.workbench.playground.generators import generate_points
from separatrix.workbench.playground.scene import Scene

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

LEGEND = "[data-test=legend]"


# ---- truth ------------------------------------------------------------------------------------


def test_the_hard_margin_of_the_first_scene_is_an_answer(visit):
    tab = opened(visit, made(n=200, **{"p.hard": "1"}))

    expect(tab.locator(FACTS)).to_contain_text("0.0 % (0 of 200)")
    expect(tab.locator("[data-test=unfinished]")).to_be_hidden()
    expect(tab.locator(LEGEND)).to_contain_text("boundary")


def test_an_unfinished_fit_is_hatched_and_can_go_on(visit):
    """The values of a steep polynomial kernel differ so much that rounding hides the gap."""
    query = {"p.C": "1000", "p.kernel": "poly", "p.gamma": "100", "p.degree": "8", "p.coef0": "0"}
    tab = opened(visit, made(n=60, **query), expected=["Failed to load resource"])

    expect(tab.locator("[data-test=unfinished]")).to_contain_text("Not finished")
    expect(tab.locator(PLANE)).to_have_attribute("data-unfinished", "true")
    expect(tab.locator(PLANE)).to_have_attribute("data-wrong", "0")
    legend = tab.locator(LEGEND)
    expect(legend).to_contain_text("not finished")
    expect(legend).not_to_contain_text("boundary")
    expect(tab.locator(FACTS)).not_to_contain_text("Training error")
    with tab.expect_request(re.compile("/api/playground/finish")):
        tab.locator("[data-test=go-on]").click()
    # another question: its answer replaces the unfinished one
    tab.locator("[data-test=parameter-kernel]").select_option("linear")

    expect(tab.locator(FACTS)).to_contain_text("Training error")
    expect(tab.locator("[data-test=unfinished]")).to_be_hidden()
    expect(tab.locator("[data-test=trouble]")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_one_unit_has_the_same_length_on_both_axes(visit, width):
    tab = opened(visit, made("gaussians", n=60), width=width, height=844)
    box = tab.locator(PLANE).bounding_box()
    x0, x1, y0, y1 = view_of(tab)
    room = ROOM if width > 450 else {"left": 42, "right": 6, "top": 6, "bottom": 42}

    across = (box["width"] - room["left"] - room["right"]) / (x1 - x0)
    up = (box["height"] - room["top"] - room["bottom"]) / (y1 - y0)

    assert across == pytest.approx(up, rel=0.01)
    expect(tab.locator(LEGEND)).not_to_contain_text("different scales")


def test_features_of_very_different_ranges_have_axes_of_their_own_and_say_so(visit):
    text = "a,b,kind\n" + "".join(f"{i},{1000 * (i % 9)},{'xy'[i % 2]}\n" for i in range(30))
    tab = opened(visit, made())
    file = {"name": "wide.csv", "mimeType": "text/csv", "buffer": text.encode()}
    tab.locator("[data-test=csv]").set_input_files(file)

    has_points(tab, 30)
    expect(tab.locator(LEGEND)).to_contain_text("axes of different scales")


LINES = """async ([answer, window]) => {
  const { regions, picture } = await import('/static/playground-picture.js');
  const { classAt } = await import('/static/boundaries.js');
  const found = regions(answer, window), grid = answer.grid, codeOf = classAt(found);
  const shown = picture(found, answer.labels);
  const own = (code, cell) => code === codeOf(cell % grid + 0.5, Math.floor(cell / grid) + 0.5);
  return { lines: shown.lines, undecided: shown.undecided, same: found.codes.every(own) };
}"""
SCENES = {
    "three classes, C = 1000": ("blobs3", "svm", {"C": 1000.0}),
    "hard margin": ("blobs3", "svm", {"hard": True}),
    "vote ties": ("blobs5", "svm", {"kernel": "linear"}),
    "small bumps": ("blobs4", "kernel-perceptron", {"gamma": 100.0}),
    "neighbours": ("blobs3", "knn", {"n_neighbors": 2}),
}


def both_ways(pieces):
    return np.concatenate([pieces, pieces[:, ::-1]]).reshape(-1, 4)


@pytest.mark.parametrize("name", SCENES)
def test_the_page_draws_the_pieces_of_lines_that_the_library_finds(visit, name):
    shape, model, parameters = SCENES[name]
    points = generate_points(shape, n=60, noise=0.2, seed=3)
    scene = Scene.of(points, model, parameters)
    regions = compute_regions(scene, scene.estimator(), WINDOW, 50)
    answer = {**encode_regions(scene, regions), "grid": 50}

    shown = visit("playground").tab.evaluate(LINES, [answer, WINDOW])

    step = (WINDOW[1] - WINDOW[0]) / 50
    expected = (regions.segments.ends - WINDOW[0]) / step  # in cells from the lower left corner
    lines = [np.reshape(line, (-1, 2)) for line in shown["lines"]]
    drawn = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
    drawn = drawn[
        ((drawn >= 0.5) & (drawn <= 49.5)).all(axis=(1, 2))
    ]  # without what goes to the frame
    apart = cdist(both_ways(drawn), both_ways(expected), metric="chebyshev")
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1 / 200
    assert shown["same"]
    assert shown["undecided"] == bool(regions.undecided_areas.any())


def test_a_line_that_bounds_nothing_where_it_is_is_not_called_a_boundary(visit):
    tab = opened(visit, made("blobs4", n=80, noise=0.2, model="linear-svm", rule="pairs"))

    expect(tab.locator(LEGEND)).to_contain_text("line of one pair or class, inside a region")
    tab.locator("[data-test=rule]").select_option("predict")
    expect(tab.locator(LEGEND)).not_to_contain_text("line of one pair")


def test_the_start_of_a_kernel_perceptron_has_no_regions(visit):
    tab = opened(visit, made("circles", noise=0.05, model="kernel-perceptron"))
    open_steps(tab)

    expect(tab.locator("[data-test=step-message]")).to_contain_text("no point is in the sum yet")
    until(lambda: "boundary" not in tab.locator(LEGEND).text_content(), "an empty plane")
    expect(tab.locator(PLANE)).to_have_attribute("data-wrong", "0")


# ---- training and test ------------------------------------------------------------------------


def test_points_are_held_out_and_both_errors_and_the_strip_follow(visit):
    tab = opened(visit, made(n=120, noise=0.3, model="knn"))
    tab.locator("[data-test=share-0\\.5]").click()
    expect(tab.locator(LEGEND)).to_contain_text("test points")
    both = tab.locator("[data-test=both-errors]")
    expect(both).to_contain_text("test")
    settle(tab)

    X, y = table(tab)
    count = int(re.search(r"(\d+) test points", tab.locator(LEGEND).text_content())[1])
    wrong, of = map(int, re.search(r"\((\d+) of (\d+)\)", fact(tab, "Test error")).groups())
    assert of == count
    assert 40 < count < 80
    tab.wait_for_url(re.compile(r"test=0\.5"))
    strip = tab.locator("[data-test=strip]")
    until(lambda: int(strip.get_attribute("data-known")) >= 20, "the strip")
    assert "least test error" in strip.get_attribute("aria-label")
    _, script = saved(tab, "export-python")
    names = {}
    exec(script.partition("model = ")[0], names)  # the points that the model has learned from
    learned = {tuple(point[:2]) for point in names["POINTS"]}
    test = np.array([tuple(x) not in learned for x in X.tolist()])
    model = KNeighborsClassifier(5).fit(X[~test], y[~test])
    assert test.sum() == count
    assert np.sum(model.predict(X[test]) != y[test]) == wrong


def test_a_support_vector_that_is_clicked_is_left_out_and_comes_back(visit):
    tab = opened(visit, made("separable", n=20, noise=0.1, **{"p.kernel": "linear"}))
    X, y = table(tab)
    row = int(SVC(kernel="linear").fit(X, y).support_[0])

    tab.mouse.click(*at(tab, *X[row]))
    expect(tab.locator(LEGEND)).to_contain_text("1 left out")
    expect(tab.locator(FACTS)).to_contain_text("of 19)")
    has_points(tab, 20)
    tab.keyboard.press("Control+z")
    expect(tab.locator(LEGEND)).not_to_contain_text("left out")
    expect(tab.locator(FACTS)).to_contain_text("of 20)")


# ---- hover ------------------------------------------------------------------------------------


def test_the_mouse_is_told_why_a_place_has_its_class(visit):
    tab = opened(visit, made(n=60, model="knn"))
    X, y = table(tab)
    place = X.mean(axis=0)
    before = pixels(tab)

    tab.mouse.move(*at(tab, *place))

    card = tab.locator("[data-test=hover]")
    near = np.argsort(np.linalg.norm(X - place, axis=1))[:5]
    votes = {label: int(np.sum(y[near] == label)) for label in "ab"}
    expect(card).to_contain_text("5 nearest: ")
    for label, count in votes.items():
        if count:
            expect(card).to_contain_text(f"{count} {label}")
    until(lambda: pixels(tab) != before, "links to the neighbours")
    tab.mouse.move(5, 5)
    expect(card).to_be_hidden()


def test_the_mouse_is_told_of_the_terms_of_a_kernel(visit):
    tab = opened(visit, made(n=60))
    tab.mouse.move(*at(tab, 0.5, 0.25))

    card = tab.locator("[data-test=hover]")
    expect(card).to_contain_text("score")
    expect(card).to_contain_text("kernel terms: +")


# ---- steps ------------------------------------------------------------------------------------


def test_steps_play_on_arrival_and_show_weights_and_the_bound(visit):
    tab = opened(visit, made("separable", n=30, noise=0.2, model="perceptron", seed=4))
    tab.locator("[data-test=steps-open]").click()

    numbers = tab.locator("[data-test=step-numbers]")
    expect(numbers).to_contain_text("w = (")
    expect(numbers).to_contain_text("at most (R/γ)² = ")
    count = tab.locator("[data-test=step-count]")
    expect(count).not_to_have_text(re.compile("^0 of"))  # it plays
    until(lambda: len(set(count.text_content().split(" of "))) == 1, "the end")
    mistakes = int(count.text_content().split(" of ")[0])
    bound = int(re.search(r"= ([\d,]+)$", numbers.text_content())[1].replace(",", ""))
    assert fact(tab, "Mistakes while learning") == str(mistakes)
    assert mistakes <= bound


def test_smo_shows_its_two_rows_and_the_violation(visit):
    tab = opened(visit, made(n=30, **{"p.kernel": "linear"}))
    open_steps(tab)
    expect(tab.locator("[data-test=step-count]")).to_have_text(re.compile("^0 of [1-9]"))
    tab.locator("[data-test=step-forward]").click()

    expect(tab.locator("[data-test=step-message]")).to_contain_text("worst pair")
    expect(tab.locator("[data-test=step-numbers]")).to_contain_text("violation 2")
    expect(tab.locator(LEGEND)).to_contain_text("the two points of this step")
    tab.locator("[data-test=step-last]").click()
    expect(tab.locator("[data-test=step-message]")).to_contain_text("no pair violates")
    support = int(fact(tab, "Support vectors").split()[0])
    expect(tab.locator("[data-test=step-numbers]")).to_contain_text(f"{support} support vectors")


# ---- compare ----------------------------------------------------------------------------------


def test_models_are_compared_side_by_side_with_one_slider_and_swapped(visit):
    tab = opened(visit, made(n=60, noise=0.3, **{"p.kernel": "linear"}))
    tab.locator("[data-test=compare-add]").click()
    tab.locator("[data-test=parameter-kernel]").select_option("rbf")
    X, y = table(tab)

    def error(model):
        return f"training {100 * np.mean(model.fit(X, y).predict(X) != y):.1f} %"

    first, second = (tab.locator(f"[data-test=pane-errors-{i}]") for i in (0, 1))
    expect(first).to_have_text(error(SVC(gamma=1.0)))
    expect(second).to_have_text(error(SVC(kernel="linear")))
    tab.locator("[data-test=compare-parameter]").select_option("C")
    tab.locator("[data-test=compare-slider]").focus()
    tab.keyboard.press("End")
    expect(first).to_have_text(error(SVC(gamma=1.0, C=1000.0)))
    expect(second).to_have_text(error(SVC(kernel="linear", C=1000.0)))

    tab.locator("[data-test=swap-1]").click()

    expect(tab.locator("[data-test=parameter-kernel]")).to_have_value("linear")
    expect(first).to_have_text(error(SVC(kernel="linear", C=1000.0)))

    def holds_the_swap(url):
        panes = parse_qs(urlsplit(url).fragment.partition("?")[2]).get("beside", ["[]"])
        return [pane["values"]["kernel"] for pane in json.loads(panes[0])] == ["rbf"]

    tab.wait_for_url(holds_the_swap)  # the link is written a moment after the picture
    tab.reload()
    expect(second).to_have_text(error(SVC(gamma=1.0, C=1000.0)))
    tab.locator("[data-test=remove-1]").click()
    expect(tab.locator("[data-test=pane-1]")).to_have_count(0)


# ---- undo -------------------------------------------------------------------------------------


def test_undo_covers_sliders_and_models(visit):
    tab = opened(visit, made(n=30))
    slider = tab.locator("[data-test=parameter-C]")
    slider.focus()
    tab.keyboard.press("End")
    tab.locator("[data-test=model]").select_option("knn")
    expect(tab.locator("[data-test=parameter-n_neighbors]")).to_be_visible()

    tab.locator("[data-test=undo]").click()
    expect(tab.locator("[data-test=model]")).to_have_value("svm")
    expect(tab.locator(".control", has=slider).locator("output")).to_have_text("1000")
    tab.locator("[data-test=undo]").click()
    expect(tab.locator(".control", has=slider).locator("output")).to_have_text("1")
    tab.locator("[data-test=redo]").click()
    tab.locator("[data-test=redo]").click()
    expect(tab.locator("[data-test=model]")).to_have_value("knn")


# ---- feature view -----------------------------------------------------------------------------


def test_the_plane_is_lifted_and_turns(visit):
    tab = opened(visit, made("circles", n=60, noise=0.05))
    tab.locator("[data-test=lift-open]").click()
    lift = tab.locator("[data-test=lift]")
    expect(lift).to_have_attribute("data-drawn", "score")
    picture = lift.evaluate("canvas => canvas.toDataURL()")
    until(lambda: lift.evaluate("canvas => canvas.toDataURL()") != picture, "a turn")

    tab.locator("[data-test=lift-squares]").click()

    expect(lift).to_have_attribute("data-drawn", "squares")
    expect(lift).to_have_attribute("data-wrong", "0")
    expect(tab.locator("[data-test=lift-caption]")).to_contain_text("leaves 0 of 60")


# ---- many points ------------------------------------------------------------------------------

CROWD = """async (others) => {
  const { Plane } = await import('/static/plane.js');
  const plane = new Plane({ quiet: true });
  Object.assign(plane.canvas.style, { position: 'fixed', top: 0, width: '400px', height: '400px' });
  document.body.append(plane.canvas);
  const row = Array.from({ length: others }, (_, i) => [0.1 + 0.8 * i / others, 0.1, 1]);
  const points = [[0.25, 0.5, 0], [0.75, 0.5, 0], ...row];
  plane.show({ points, window: [0, 1, 0, 1], support: new Set([0]) });
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame); // by then it has its size
  plane.draw();
  const ratio = plane.canvas.width / plane.width, context = plane.canvas.getContext('2d');
  const { width, height } = plane.canvas, { data } = context.getImageData(0, 0, width, height);
  const at = ([px, py]) => 4 * (Math.round(py * ratio) * width + Math.round(px * ratio));
  const shade = (pixel) => [...data.slice(at(pixel), at(pixel) + 3)];
  const found = [shade(plane.pixel(0.25, 0.5)), shade(plane.pixel(0.75, 0.5))];
  plane.close();
  plane.canvas.remove();
  return found;
}"""


def test_among_many_points_those_that_carry_the_boundary_stand_out(visit):
    """Rings would hide each other: the other points fade."""
    tab = opened(visit, made(n=20))

    few, many = (tab.evaluate(CROWD, others) for others in (20, 1500))

    assert few[0] == few[1] == many[0]
    assert min(many[1]) > min(many[0]) + 60
