"""Names that attack, pages that must not be hurt; and that every page can be read, wide and narrow.

That no request leaves the machine and nothing is complained of is checked after every test that visits
a page (`conftest.visit`).
"""

from __future__ import annotations

import csv
import io
import json
import shlex
import struct
from base64 import urlsafe_b64encode
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from tests.workbench.hostile import NAMES
from tests.workbench.shown_code import compare_arguments
from tests.workbench.workbench_process import WorkbenchProcess, until

from separatrix.data.formats.layout import INVISIBLE
from separatrix.workbench.records import FileRequest, JobRecord

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

LONGEST = 200  # letters of a class
CLASSES = [name for name in NAMES if len(name) <= LONGEST]
# readers strip, drop what is invisible, and refuse twins
VISIBLE = ["".join(c for c in name if c not in INVISIBLE).strip() for name in NAMES]
COLUMNS = [*dict.fromkeys(filter(None, VISIBLE))]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
# names are text on every screen alike; on the narrow one it is tried in the long runs
SCREENS = [pytest.param(DESK, id="desk"), pytest.param(PHONE, id="phone", marks=pytest.mark.long)]
UNNAMED = """() => [...document.querySelectorAll("button, a, input, select, textarea, canvas, iframe")]
  .filter(one => one.checkVisibility() && !one.closest("[aria-hidden=true]"))
  .filter(one => ![one, ...(one.labels ?? [])].flatMap(by => [by.textContent, by.ariaLabel, by.title])
    .some(words => words?.trim()))
  .map(one => one.outerHTML)"""


def unhurt(tab, address):
    """No name was run, opened or followed."""
    assert tab.evaluate("window.pwned === undefined")
    assert tab.url.startswith(f"{address}/#/")
    assert len(tab.context.pages) == 1
    assert tab.locator("script").count() == 1  # our own
    assert tab.locator("[onerror], [onload], [onfocus], [srcdoc], base, object, embed").count() == 0


def texts(locator):
    return locator.evaluate_all("all => all.map(one => one.textContent)")


# ---- names ----------------------------------------------------------------------------------


def link_with(classes):
    """A scene with two points of each class, stepped through the perceptron."""
    head = struct.pack(">bbdd", 1, 1, 0.0, 0.0)
    rows = (struct.pack(">HHB", 7 * i % 41, 5 * i % 37, i % len(classes)) for i in range(40))
    query = {
        "model": "perceptron",
        "p.max_iter": "3",
        "classes": json.dumps(classes),
        "names": json.dumps(classes[:2]),
        "points": urlsafe_b64encode(head + b"".join(rows)).decode().rstrip("="),
        "view": "0,5,0,5",
        "step": "5",
    }
    return f"playground?{urlencode(query)}"


@pytest.mark.parametrize("screen", SCREENS)
def test_hostile_names_of_classes_are_text(visit, bench, screen):
    shown = visit("draw", **screen)
    tab = shown.tab
    for start in range(0, len(CLASSES), 20):
        classes = CLASSES[start : start + 20]
        tab.goto(f"{bench.address}/#/{link_with(classes)}")

        expect(tab.locator("[data-test=class-0] .class-name")).to_have_text(
            classes[0], use_inner_text=False
        )
        assert texts(tab.locator(".class-name")) == classes
        says = tab.locator("[data-test=step-message]")
        expect(says).to_contain_text("gains the point")
        assert any(name in says.text_content() for name in classes)
        assert shown.overhang() <= 0
        unhurt(tab, bench.address)


def a_table(columns):
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*columns, "label"])
    for i in range(12):
        writer.writerow([*((i * k) % 7 + k / 10 for k in range(len(columns))), "ab"[i % 2]])
    return file.getvalue().encode()


def test_hostile_names_of_columns_are_text_in_the_playground(visit, bench):
    tab = visit("playground").tab
    file = {"name": NAMES[0], "mimeType": "text/csv", "buffer": a_table(COLUMNS)}
    tab.locator("[data-test=csv]").set_input_files(file)

    expect(tab.locator("[data-test=csv-x] option")).to_have_count(len(COLUMNS))
    assert texts(tab.locator("[data-test=csv-x] option")) == COLUMNS
    for name in COLUMNS[::20]:
        tab.locator("[data-test=csv-y]").select_option(name)
        tab.wait_for_url(lambda url, name=name: name in names_in(url))
    unhurt(tab, bench.address)


def names_in(url):
    """The names of the axes, as the address of a scene has them."""
    query = parse_qs(urlsplit(url).fragment.partition("?")[2])
    return json.loads(query.get("names", ["[]"])[0])


def test_hostile_names_of_files_are_text_in_the_playground(visit, bench):
    tab = visit("playground").tab
    expect(tab.locator("[data-test=from-file]")).to_be_visible()

    assert tab.evaluate(NAME_SHOWN_OF_EACH_FILE, NAMES) == [name[:LONGEST] for name in NAMES]

    unhurt(tab, bench.address)


NAME_SHOWN_OF_EACH_FILE = """async names => {
  const [input, place] = ["[data-test=csv]", ".file-name"].map(hook => document.querySelector(hook));
  const shown = [];
  for (const name of names) {
    const given = new DataTransfer();
    given.items.add(new File(["x,y,label\\n0,1,a\\n1,0,a\\n"], name));
    const changed = new Promise(done => {
      new MutationObserver((_, self) => { self.disconnect(); done(); }).observe(place, { childList: true });
    });
    input.files = given.files;
    input.dispatchEvent(new Event("change"));
    await changed;
    shown.push(place.textContent);
  }
  return shown;
}"""


def test_hostile_names_of_columns_are_text_in_experiments_and_quoted_in_code(visit, bench):
    tab = visit("experiments").tab
    tab.get_by_text("Your own file").click()
    name = "<img src=x onerror='window.pwned=1'>"
    file = {"name": name, "mimeType": "text/csv", "buffer": a_table(COLUMNS)}
    tab.locator("[data-test=file]").set_input_files(file)

    expect(tab.locator("[data-test=upload-name]")).to_have_text(name)
    assert texts(tab.locator("[data-test=target] option")) == [*COLUMNS, "label"]
    assert texts(tab.locator("[data-test=preview] th .cut"))[:30] == COLUMNS[:30]
    python = tab.evaluate(CODE_OF_EACH_TARGET)
    tab.get_by_role("tab", name="Command line").click()
    commands = tab.evaluate(CODE_OF_EACH_TARGET)
    assert len(python) == len(commands) == len(COLUMNS) + 1
    for place, target in enumerate([*COLUMNS, "label"]):
        file_name, column = compare_arguments(python[place])
        assert file_name == name
        assert column in (target, str(place))  # a position if the name would be parsed as one
        words = shlex.split(commands[place])
        assert words[:3] == ["separatrix", "compare", name]
        assert words[words.index("--target") + 1] == column
    unhurt(tab, bench.address)


CODE_OF_EACH_TARGET = """() => {
  const select = document.querySelector("[data-test=target]");
  return [...select.options].map(option => {
    select.value = option.value;
    select.dispatchEvent(new Event("change"));
    return document.querySelector("[role=tabpanel]").textContent;
  });
}"""


@pytest.fixture
def storied(tmp_path):
    """A workbench in whose folder there are jobs on files of all names."""
    for number, name in enumerate(NAMES):
        request = FileRequest(kind="file", upload="0" * 16, target=name)
        found = {"error": {"message": name, "hint": name}, "summary": [name], "file_name": name}
        times = {"created": float(number), "started": float(number), "finished": number + 1.0}
        job = JobRecord(
            id=f"{number:016x}", title=name, request=request, status="failed", **times, **found
        )
        (tmp_path / "jobs" / job.id).mkdir(parents=True)
        (tmp_path / "jobs" / job.id / "job.json").write_text(
            job.model_dump_json(), encoding="utf-8"
        )
    with WorkbenchProcess(tmp_path, "--data", "digits") as bench:
        yield bench


@pytest.mark.parametrize("screen", SCREENS)
def test_hostile_names_of_files_are_text_in_the_list_and_on_pages_of_jobs(storied, browser, screen):
    shown = browser.open(f"{storied.link()}#/experiments", **screen)
    tab = shown.tab
    expect(tab.locator("[data-test=job]")).to_have_count(len(NAMES))

    assert texts(tab.locator("[data-test=job-open]")) == NAMES[::-1]
    assert shown.overhang() <= 0
    unhurt(tab, storied.address)
    for number in range(0, len(NAMES), 10):
        tab.goto(f"{storied.address}/#/experiments/{number:016x}")
        expect(tab.locator("[data-test=job-title]")).to_have_js_property(
            "textContent", NAMES[number]
        )
        assert texts(tab.locator("[data-test=job-words] p")) == [NAMES[number]]
        assert shown.overhang() <= 0
        unhurt(tab, storied.address)
    assert shown.complaints == []
    assert all(address.startswith(storied.address) for address in shown.requests)
    shown.close()


# ---- policy ---------------------------------------------------------------------------------


def test_a_script_that_got_into_the_page_would_not_run(visit):
    shown = visit("draw", expected=["Refused", "Executing", "Loading", "Connecting", "Fetch API"])
    tab = shown.tab
    expect(tab.locator("[data-test=paper]")).to_be_visible()

    tab.evaluate(INJECTED)

    assert tab.evaluate("window.pwned === undefined")
    assert (
        tab.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')")
        == "stopped"
    )

    def refused():
        tab.evaluate("1")  # messages of the browser arrive while it is asked something
        return [words for words in shown.complaints if "Content Security Policy" in words]

    until(lambda: len(refused()) >= 3, "three refusals")


INJECTED = """() => {
  const script = document.createElement("script");
  script.textContent = "window.pwned = 1";
  document.body.append(script);
  const link = document.createElement("a");
  link.setAttribute("onclick", "window.pwned = 1");
  document.body.append(link);
  link.click();
}"""


def test_a_link_works_once_and_then_shows_how_to_get_another(bench, browser):
    link = bench.link()
    browser.open(link).close()
    again = browser.open(link)

    expect(again.tab.locator("body")).to_contain_text("open the link in the terminal")
    assert again.tab.locator("#view, script").count() == 0
    assert again.overhang() <= 0
    assert again.faint_texts() == []
    assert all(words.startswith("Failed to load resource") for words in again.complaints)
    again.close()


# ---- every page, wide and narrow, light and dark --------------------------------------------


def drawn(tab):
    tab.locator("[data-test=example]").click()
    expect(tab.locator("[data-test=majority]")).to_have_text("3")
    expect(tab.locator("[data-test=why] figure").first).to_be_visible()


def shows(hook, text=""):
    """Waits for an element with this text."""
    return lambda tab: expect(tab.locator(f"[data-test={hook}]").first).to_contain_text(text)


def uploaded(tab):
    tab.get_by_text("Your own file").click()
    file = {"name": "a.csv", "mimeType": "text/csv", "buffer": a_table(["x", "y"])}
    tab.locator("[data-test=file]").set_input_files(file)
    tab.locator("[data-test=all-models] input").uncheck()
    expect(tab.locator("[data-test=models]")).to_be_visible()


STEPS = "playground?model=perceptron&make=moons,60,0.1,0&step=3"
STATES = {
    "draw, empty": ("draw", lambda tab: expect(tab.locator("[data-test=model]")).to_have_count(9)),
    "draw": ("draw", drawn),
    "playground": ("playground", shows("facts", "Training error")),
    "playground, steps": (STEPS, shows("step-message", "Row")),
    "experiments": ("experiments", shows("experiment")),
    "experiments, file": ("experiments", uploaded),
}


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_a_page_can_be_read_in_light_and_in_dark(visit, state, screen):
    page, arrive = STATES[state]
    shown = visit(page, **screen)
    arrive(shown.tab)

    assert shown.evaluate("innerWidth") == screen["width"]
    assert shown.overhang() <= 0
    assert shown.evaluate(UNNAMED) == []
    assert shown.tab.locator("h1").count() == 1
    grounds = set()
    for scheme in ("light", "dark") if screen is DESK else ():  # colours are those of any width
        shown.tab.emulate_media(color_scheme=scheme)
        shown.evaluate(CHANGED)
        grounds.add(shown.evaluate(GROUND))
        assert shown.faint_texts() == [], scheme
    assert len(grounds) == (2 if screen is DESK else 0)


GROUND = "getComputedStyle(document.body).backgroundColor"
CHANGED = """() => Promise.all(document.getAnimations()
  .filter(one => one instanceof CSSTransition).map(one => one.finished.catch(() => {})))"""


def test_colours_can_be_chosen_and_stay_over_a_reload(visit):
    tab = visit("playground").tab
    light = tab.evaluate(GROUND)
    tab.get_by_role("button", name="Colours").click()
    tab.get_by_role("button", name="Colours: light").click()
    expect(tab.get_by_role("button", name="Colours: dark")).to_be_visible()

    dark = tab.evaluate(GROUND)
    tab.reload()

    expect(tab.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert tab.evaluate(GROUND) == dark != light
