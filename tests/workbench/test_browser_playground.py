"""Playground, as a person uses it: sliders and points by mouse and keys, steps, files, links, exports.

What the page says is held against the library's own fits to the points that the page gives away as CSV.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from base64 import urlsafe_b64encode
from collections import Counter
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest
from tests.workbench.shown_code import require_code
from tests.workbench.workbench_process import until

from separatrix import SVC, KernelPerceptron, Perceptron, SubgradientSVC
from separatrix.workbench.playground.service import Playground
from separatrix.workbench.settings import Settings

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

PLANE = "[data-test=plane]"
FACTS = "[data-test=facts]"
ROOM = {"left": 52, "right": 12, "top": 12, "bottom": 46}  # of the axes on a wide screen
NO_POINTS = urlsafe_b64encode(bytes(18)).decode()
EMPTY = {
    "model": "perceptron",
    "classes": json.dumps(["a", "b"]),
    "names": json.dumps(["x1", "x2"]),
    "points": NO_POINTS,
    "view": "-1,1,-1,1",
}
SEPARABLE = [(0.2, 0.8, "a"), (0.7, 0.6, "b"), (0.3, 0.2, "a"), (0.8, 0.1, "b")]
SEPARABLE += [(0.1, 0.5, "a"), (0.75, 0.9, "b")]  # apart from the origin: several passes


def scene(**query):
    return f"playground?{urlencode(query)}"


def made(generator="moons", n=40, noise=0.2, seed=0, **query):
    return scene(make=f"{generator},{n},{noise},{seed}", **{"model": "svm", **query})


def opened(visit, page, *, points=True, **how):
    """The page with its answer on the plane, or with an empty plane."""
    tab = visit(page, **how).tab
    settle(tab)
    if points:
        expect(tab.locator(PLANE)).not_to_have_attribute("data-fitted", "0")
    return tab


def settle(tab):
    """Wait until the picture and the facts are about all that was asked for."""
    expect(tab.locator(PLANE)).to_have_attribute("data-settled", "true")


def fitted(tab):
    return int(tab.locator(PLANE).get_attribute("data-fitted"))


def pixels(tab):
    return tab.locator(PLANE).evaluate("canvas => canvas.toDataURL()")


def fact(tab, title):
    row = tab.locator(f"{FACTS} div", has=tab.get_by_text(title, exact=True))
    return row.locator("dd").text_content()


def facts(tab):
    return tab.locator(f"{FACTS} div").all_text_contents()


def shown_value(tab, parameter):
    control = tab.locator(".control", has=tab.locator(f"[data-test=parameter-{parameter}]"))
    return control.locator("output")


def saved(tab, hook):
    """The file that a button gives: its name and its text."""
    with tab.expect_download() as given:
        tab.locator(f"[data-test={hook}]").click()
    return given.value.suggested_filename, given.value.path().read_text(encoding="utf-8")


def table(tab):
    """The points of the page: coordinates and labels."""
    head, *rows = csv.reader(io.StringIO(saved(tab, "export-points")[1]))
    assert len(head) == 3
    return np.array([[float(x), float(y)] for x, y, _ in rows]), np.array([row[2] for row in rows])


def view_of(tab):
    """The part of the plane that is shown: x0, x1, y0, y1."""
    return json.loads(tab.locator(PLANE).get_attribute("data-view"))


def at(tab, x, y):
    """Where a point of the plane is on the screen."""
    tab.locator(PLANE).scroll_into_view_if_needed()
    box = tab.locator(PLANE).bounding_box()
    width = box["width"] - ROOM["left"] - ROOM["right"]
    height = box["height"] - ROOM["top"] - ROOM["bottom"]
    x0, x1, y0, y1 = view_of(tab)
    return (
        box["x"] + ROOM["left"] + (x - x0) / (x1 - x0) * width,
        box["y"] + ROOM["top"] + (y1 - y) / (y1 - y0) * height,
    )


def open_steps(tab):
    """The steps from the start, without playing: as for a person who wants less motion."""
    tab.emulate_media(reduced_motion="reduce")
    tab.locator("[data-test=steps-open]").click()


def has_points(tab, count):
    expect(tab.locator(PLANE)).to_have_attribute("data-points", str(count))


def put(tab, points):
    """Points by mouse, the class chosen by its button."""
    for x, y, label in points:
        tab.locator(f"[data-test=class-{'ab'.index(label)}]").click()
        tab.mouse.click(*at(tab, x, y))


# ---- sliders --------------------------------------------------------------------------------


def test_a_slider_that_is_dragged_moves_the_boundary_before_it_is_let_go(visit):
    tab = opened(visit, made(model="svm"))
    slider = tab.locator("[data-test=parameter-gamma]")
    before, count, said = pixels(tab), fitted(tab), shown_value(tab, "gamma").text_content()
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2

    tab.mouse.move(box["x"] + box["width"] / 2, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.9 * box["width"], middle, steps=8)

    until(lambda: fitted(tab) > count, "a fit while the slider is held")
    until(lambda: pixels(tab) != before, "another picture while the slider is held")
    tab.mouse.up()
    expect(shown_value(tab, "gamma")).not_to_have_text(said)
    X, y = table(tab)
    gamma = float(shown_value(tab, "gamma").text_content())
    support = len(SVC(C=1.0, gamma=gamma).fit(X, y).support_)
    until(
        lambda: fact(tab, "Support vectors") == f"{support} of 40",
        f"the {support} support vectors of gamma {gamma}",
    )


def test_a_slider_moves_by_keys_and_the_address_follows(visit):
    tab = opened(visit, made(model="knn"))
    before = pixels(tab)
    slider = tab.locator("[data-test=parameter-n_neighbors]")
    slider.focus()

    for _ in range(10):
        tab.keyboard.press("ArrowRight")

    expect(shown_value(tab, "n_neighbors")).to_have_text("15")
    until(lambda: pixels(tab) != before, "another picture")
    tab.wait_for_url(re.compile(r"p\.n_neighbors=15"))
    tab.keyboard.press("Home")
    expect(shown_value(tab, "n_neighbors")).to_have_text("1")
    expect(tab.locator(FACTS)).to_contain_text("0.0 % (0 of 40)")


# ---- points ---------------------------------------------------------------------------------


def test_points_are_added_moved_removed_undone_and_redone_by_mouse(visit):
    tab = opened(visit, scene(**EMPTY), points=False)
    has_points(tab, 0)
    put(tab, [(-0.5, 0.5, "a"), (0.5, 0.5, "b"), (0.5, -0.5, "b")])
    has_points(tab, 3)
    expect(tab.locator(FACTS)).to_contain_text("of 3)")
    X, y = table(tab)
    np.testing.assert_allclose(X, [[-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]], atol=0.01)
    assert y.tolist() == ["a", "b", "b"]

    tab.mouse.move(*at(tab, -0.5, 0.5))
    tab.mouse.down()
    tab.mouse.move(*at(tab, -0.25, -0.75), steps=6)
    tab.mouse.up()
    has_points(tab, 3)
    np.testing.assert_allclose(table(tab)[0][0], [-0.25, -0.75], atol=0.01)

    tab.mouse.click(*at(tab, 0.5, 0.5), button="right")
    has_points(tab, 2)
    tab.locator("[data-test=tool-erase]").click()
    tab.mouse.click(*at(tab, 0.5, -0.5))
    has_points(tab, 1)

    tab.locator("[data-test=undo]").click()
    has_points(tab, 2)
    tab.keyboard.press("Control+z")
    has_points(tab, 3)
    tab.keyboard.press("Control+z")
    np.testing.assert_allclose(table(tab)[0], X)
    for left in (3, 2, 1):
        tab.locator("[data-test=redo]").click()
        has_points(tab, left)
    expect(tab.locator("[data-test=redo]")).to_be_disabled()


def test_points_are_set_by_the_cross_hair_and_the_keys(visit):
    tab = opened(visit, scene(**EMPTY), points=False)
    tab.locator(PLANE).focus()

    for _ in range(3):
        tab.keyboard.press("Shift+ArrowRight")
    tab.keyboard.press("1")
    tab.keyboard.press("Enter")
    for _ in range(6):
        tab.keyboard.press("Shift+ArrowLeft")
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("2")
    tab.keyboard.press("Enter")

    has_points(tab, 2)
    X, y = table(tab)
    x0, x1, y0, y1 = view_of(tab)
    across, up = 0.3 * (x1 - x0), 0.02 * (y1 - y0)
    np.testing.assert_allclose(X, [[across, 0.0], [-across, up]], atol=1e-3)
    assert y.tolist() == ["a", "b"]
    expect(tab.locator(FACTS)).to_contain_text("0.0 % (0 of 2)")
    tab.locator(PLANE).focus()
    tab.keyboard.press("Delete")
    has_points(tab, 1)
    expect(tab.locator("[data-test=warnings]")).to_contain_text("two classes")


def test_points_are_set_by_a_finger(visit):
    tab = opened(visit, scene(**EMPTY), points=False, width=390, height=844)
    plane = tab.locator(PLANE)
    box = plane.bounding_box()

    plane.tap(position={"x": box["width"] / 2, "y": box["height"] / 3})
    tab.locator("[data-test=class-1]").tap()
    plane.tap(position={"x": box["width"] / 2, "y": box["height"] / 1.5})

    has_points(tab, 2)
    expect(tab.locator(FACTS)).to_contain_text("0.0 % (0 of 2)")


def test_a_class_is_added_and_renamed(visit):
    tab = opened(visit, scene(**EMPTY), points=False)
    tab.locator("[data-test=class-add]").click()
    tab.locator("[data-test=class-rename]").click()
    tab.locator("[data-test=class-name]").fill("ok <b>")
    tab.keyboard.press("Enter")
    put(tab, [(-0.5, 0.5, "a"), (0.5, 0.5, "b")])
    tab.locator("[data-test=class-2]").click()
    tab.mouse.click(*at(tab, 0, -0.5))

    has_points(tab, 3)
    assert table(tab)[1].tolist() == ["a", "b", "ok <b>"]


# ---- steps ----------------------------------------------------------------------------------


def test_the_perceptron_is_stepped_mistake_by_mistake_to_its_end(visit):
    tab = opened(visit, scene(**EMPTY), points=False)
    put(tab, SEPARABLE)
    has_points(tab, len(SEPARABLE))
    X, y = table(tab)
    model = Perceptron(max_iter=100, shuffle=False, tol=None).fit(X, y)
    points = [[*x, label] for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    steps = Playground(Settings()).steps(points=points, model="perceptron", parameters={})["steps"]
    rows = [step["row"] for step in steps[1:]]
    assert len(rows) == model.mistakes_.sum() > 3

    open_steps(tab)
    count, says = tab.locator("[data-test=step-count]"), tab.locator("[data-test=step-message]")
    expect(count).to_have_text(f"0 of {len(rows)}")
    pictures = [pixels(tab)]
    for step, row in enumerate(rows, start=1):
        tab.locator("[data-test=step-forward]").click()
        expect(count).to_have_text(f"{step} of {len(rows)}")
        expect(says).to_have_text(re.compile(rf"^Row {row} is {y[row]}, "))
        until(lambda: pixels(tab) != pictures[-1], "the picture of the step")
        pictures.append(pixels(tab))

    expect(says).to_contain_text("This is the end: a pass without a mistake.")
    expect(tab.locator("[data-test=step-forward]")).to_be_disabled()
    expect(tab.locator(PLANE)).to_have_attribute("data-wrong", "0")
    settle(tab)
    assert fact(tab, "Mistakes while learning") == str(len(rows))
    tab.wait_for_url(re.compile(rf"step={len(rows)}$"))
    tab.locator("[data-test=steps-close]").click()
    expect(tab.locator("[data-test=steps-open]")).to_be_visible()


def test_steps_go_back_and_to_both_ends_by_keys(visit):
    tab = opened(visit, made("separable", n=30, noise=0.0, model="perceptron"))
    open_steps(tab)
    count = tab.locator("[data-test=step-count]")
    expect(count).to_have_text(re.compile("^0 of [1-9]"))
    last = int(count.text_content().split()[-1])

    tab.keyboard.press("End")
    expect(count).to_have_text(f"{last} of {last}")
    tab.keyboard.press("ArrowLeft")
    expect(count).to_have_text(f"{last - 1} of {last}")
    tab.keyboard.press("Home")
    expect(count).to_have_text(f"0 of {last}")


def test_the_subgradient_goes_down_to_where_the_fit_is(visit):
    tab = opened(visit, made(n=60, noise=0.1, model="subgradient"))
    X, y = table(tab)
    model = SubgradientSVC(alpha=0.1, mu=0.01, loss="hinge", max_iter=200, eps=1e-4).fit(X, y)
    steps, objective = int(model.n_iter_), float(np.ravel(model.loss_curve_)[-1])

    open_steps(tab)
    expect(tab.locator("[data-test=step-count]")).to_have_text(f"0 of {steps}")
    tab.locator("[data-test=step-last]").click()

    says = tab.locator("[data-test=step-message]")
    expect(says).to_contain_text(f"Step {steps}: f = {objective:.6g}.")
    assert fact(tab, "Steps") == str(steps)
    chart = tab.locator(".chart").get_attribute("aria-label")
    first, last = map(float, re.search(r"from (\S+) to (\S+)$", chart).groups())
    assert last == pytest.approx(objective, rel=1e-2)
    assert last < first


def test_the_kernel_perceptron_adds_a_point_at_every_mistake(visit):
    tab = opened(visit, made("circles", noise=0.05, model="kernel-perceptron"))
    X, y = table(tab)
    model = KernelPerceptron(kernel="rbf", gamma=1.0, max_iter=100, shuffle=False).fit(X, y)
    mistakes = int(model.mistakes_.sum())
    legend = tab.locator("[data-test=legend]")

    open_steps(tab)
    expect(tab.locator("[data-test=step-count]")).to_have_text(f"0 of {mistakes}")
    tab.locator("[data-test=step-forward]").click()
    expect(legend).to_contain_text("1 support vector")
    expect(legend).to_contain_text("point of this step")
    tab.locator("[data-test=step-last]").click()

    expect(tab.locator("[data-test=step-count]")).to_have_text(f"{mistakes} of {mistakes}")
    expect(legend).to_contain_text(f"{len(model.support_)} support vectors")


# ---- data -----------------------------------------------------------------------------------

CSV = "length,width,weight,kind\n" + "".join(
    f"{i},{i % 7},{100 - i},{'even' if i % 2 == 0 else 'odd'}\n" for i in range(30)
)


def test_a_csv_file_is_read_and_its_columns_are_chosen(visit):
    tab = opened(visit, made())
    file = {"name": "things.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
    tab.locator("[data-test=csv]").set_input_files(file)

    has_points(tab, 30)
    expect(tab.locator("[data-test=class-0]")).to_contain_text("even")
    expect(tab.locator("[data-test=csv-x]")).to_have_value("length")
    tab.locator("[data-test=csv-x]").select_option("weight")
    tab.wait_for_url(re.compile(r"names=%5B%22weight%22%2C%22width%22%5D"))
    _, text = saved(tab, "export-points")

    assert text.splitlines()[0].split(",")[:2] == ["weight", "width"]
    X, y = table(tab)
    np.testing.assert_array_equal(X, [[100 - i, i % 7] for i in range(30)])
    assert y.tolist() == ["even", "odd"] * 15


def test_a_file_that_is_no_table_is_refused_in_words_and_the_points_stay(visit):
    tab = opened(visit, made(), expected=["Failed to load resource"])
    file = {"name": "no.csv", "mimeType": "text/csv", "buffer": b"only words\nand more words\n"}
    tab.locator("[data-test=csv]").set_input_files(file)

    expect(tab.locator("[data-test=data-notes] .problem")).to_contain_text("no.csv")
    has_points(tab, 40)


def test_points_come_from_generators_and_data_sets(visit):
    tab = opened(visit, made())
    tab.locator("[data-test=generator]").select_option("blobs3")
    expect(tab.locator("[data-test=class-2]")).to_be_visible()
    before = table(tab)
    tab.locator("[data-test=again]").click()
    expect(tab.locator("[data-test=seed]")).to_have_text("seed 1")
    tab.wait_for_url(re.compile(r"make=blobs3%2C40%2C0.2%2C1"))
    assert not np.array_equal(table(tab)[0], before[0])

    tab.locator("[data-test=from-data]").click()
    has_points(tab, 150)
    assert Counter(table(tab)[1]) == {"setosa": 50, "versicolor": 50, "virginica": 50}


def test_where_a_rule_gives_three_classes_no_answer_is_shown(visit):
    tab = opened(visit, made("blobs3", n=60, noise=0.3, **{"p.kernel": "linear"}))
    legend = tab.locator("[data-test=legend]")
    expect(legend).not_to_contain_text("no class")
    before = pixels(tab)

    tab.locator("[data-test=rule]").select_option("each")

    expect(legend).to_contain_text("no class")
    settle(tab)
    assert float(fact(tab, "Indeterminate").split()[0]) > 0
    until(lambda: pixels(tab) != before, "hatching")
    tab.locator("[data-test=rule]").select_option("predict")
    expect(legend).not_to_contain_text("no class")


# ---- links ----------------------------------------------------------------------------------


def test_a_reload_and_a_copied_link_give_the_same_scene(visit, bench):
    tab = opened(visit, scene(**EMPTY), points=False)
    put(tab, SEPARABLE)
    has_points(tab, len(SEPARABLE))
    tab.locator("[data-test=model]").select_option("svm")
    tab.locator("[data-test=parameter-kernel]").select_option("poly")
    tab.locator("[data-test=standardise]").check()
    expect(tab.locator(FACTS)).to_contain_text("Margin width")
    tab.wait_for_url(re.compile(r"standardise=1.*points=(?!A{24})"))
    settle(tab)
    assert "(standardised)" in fact(tab, "Margin width")
    (X, y), said = table(tab), facts(tab)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("[data-test=copy-link]").click()
    expect(tab.locator(".toast")).to_contain_text("Link copied")
    link = tab.evaluate("navigator.clipboard.readText()")
    assert link.startswith(bench.address)
    assert "token" not in link

    tab.reload()
    assert_same_scene(tab, X, y, said)
    other = opened(visit, urlsplit(link).fragment.removeprefix("/"))
    assert_same_scene(other, X, y, said)


def assert_same_scene(tab, X, y, said):
    has_points(tab, len(y))
    settle(tab)
    assert facts(tab) == said
    again, labels = table(tab)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels, y)
    assert tab.locator("[data-test=model]").input_value() == "svm"
    assert tab.locator("[data-test=parameter-kernel]").input_value() == "poly"
    assert tab.locator("[data-test=standardise]").is_checked()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"model": "nothing"}, 'no model "nothing"'),
        ({**EMPTY, "points": "AAAA"}, "points"),
        ({**EMPTY, "view": "1,-1,0,0"}, "view"),
        ({**EMPTY, "classes": "{"}, "could not be read"),
        ({"model": "svm", "make": "moons,1e9,0,0"}, "number of points"),
    ],
)
def test_a_broken_link_is_reported_and_the_first_scene_is_shown(visit, query, reason):
    tab = opened(visit, scene(**query))

    expect(tab.locator(".toast")).to_contain_text("could not be read")
    expect(tab.locator(".toast")).to_contain_text(reason)
    has_points(tab, 200)


# ---- exports --------------------------------------------------------------------------------


def test_the_script_and_the_experiment_hold_the_points_and_the_model(visit):
    tab = opened(visit, made(n=60, noise=0.3, **{"p.kernel": "linear", "p.C": "10"}))
    X, y = table(tab)
    wrong = np.sum(SVC(kernel="linear", C=10.0).fit(X, y).predict(X) != y)
    assert f"({wrong} of 60)" in fact(tab, "Training error")
    rows = [[*x, label] for x, label in zip(X.tolist(), y.tolist(), strict=True)]

    (name, script), (toml_name, experiment) = (
        saved(tab, hook) for hook in ("export-python", "export-experiment")
    )

    assert (name, toml_name) == ("playground.py", "playground.toml")
    assert "SVC(kernel='linear', C=10.0)" in script
    names = {}
    exec(script.partition("model = ")[0], names)
    assert [list(point) for point in names["POINTS"]] == rows
    written = tomllib.loads(experiment)
    assert written["inline"]["rows"] == rows
    assert written["model"][0]["parameters"].items() >= {"kernel": "linear", "C": 10.0}.items()


def test_the_picture_is_saved_as_png(visit):
    tab = opened(visit, made())
    with tab.expect_download() as given:
        tab.locator("[data-test=export-picture]").click()

    assert given.value.suggested_filename == "playground.png"
    assert given.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_the_same_as_python_and_as_a_command(visit):
    require_code(opened(visit, made()), "SVC(", "separatrix ")


def test_a_slider_of_many_points_is_answered_from_the_last_fit_and_then_from_scratch(visit):
    tab = opened(visit, made(n=600))

    def asks(quick, grid):
        def is_it(request):
            if not request.url.endswith("/playground/fit"):
                return False
            body = request.post_data_json
            return (body["quick"], body["grid"]) == (quick, grid)

        return is_it

    with tab.expect_request(asks(False, 160)), tab.expect_request(asks(True, 60)):
        tab.locator("[data-test=parameter-C]").press("ArrowRight")
    settle(tab)
    tab.wait_for_url(re.compile(r"p\.C="))
    X, y = table(tab)
    C = float(shown_value(tab, "C").text_content())
    support = len(SVC(C=C, gamma=1.0).fit(X, y).support_)
    assert fact(tab, "Support vectors") == f"{support} of 600"
