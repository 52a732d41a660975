"""Experiments, as a person uses them: started, watched, cancelled, resumed, read, taken away."""

from __future__ import annotations

import re

import numpy as np
import pandas
import pytest
from tests.workbench.shown_code import require_code
from tests.workbench.workbench_process import WorkbenchProcess

import separatrix

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from playwright.sync_api import expect

QUICK, LONGER = "knn-and-perceptron", "linear-classifiers"
STATUS = ".job-top [data-test=job-status]"
COUNT = "[data-test=progress-count]"
LONG = 240_000  # milliseconds for an experiment on a loaded machine


def opened(visit, page="experiments", **how):
    tab = visit(page, **how).tab
    expect(tab.locator("[data-test=start-way]")).to_be_visible()
    return tab


def start_named(tab, name=QUICK):
    tab.locator(f"[data-test=experiment][data-name='{name}'] input").check()
    expect(tab.locator("[data-test=quick] input")).to_be_checked()
    tab.locator("[data-test=start]").click()
    expect(tab.locator("[data-test=job-title]")).to_contain_text(name)


def is_now(tab, status):
    expect(tab.locator(STATUS)).to_have_text(status, timeout=LONG)


def number_of(tab):
    """The number of the job whose page is shown."""
    return re.search(r"experiments/([0-9a-f]{16})$", tab.url)[1]


def some_steps_done(tab):
    """The job has finished a step, and says how many there are."""
    expect(tab.locator(COUNT)).to_have_text(re.compile(r"^[1-9]\d* of \d+$"), timeout=LONG)
    return int(tab.locator(COUNT).text_content().split()[0])


def downloaded(tab, hook):
    with tab.expect_download() as given:
        tab.locator(f"[data-test={hook}]").click()
    return given.value


def test_a_named_experiment_is_watched_to_its_end_through_a_reload(visit, bench):
    tab = opened(visit)
    start_named(tab)
    expect(tab.locator("[data-test=progress]")).to_be_visible()
    some_steps_done(tab)

    tab.reload()

    expect(tab.locator("[data-test=job-title]")).to_contain_text(QUICK)
    is_now(tab, "done")
    expect(tab.locator("[data-test=progress]")).to_be_hidden()
    expect(tab.locator("[data-test=leaderboard] tbody tr").first).to_contain_text("%")
    folder = bench.folder / "jobs" / number_of(tab) / "run"
    words = tab.locator("[data-test=job-words] p").all_text_contents()
    assert words == bench.get(f"/api/jobs/{number_of(tab)}")["summary"]
    report = tab.frame_locator("[data-test=report]")
    expect(report.locator("h1")).to_be_visible()
    expect(report.locator("table").nth(3)).to_be_attached()
    table = downloaded(tab, "download-results")
    assert table.suggested_filename == "results.csv"
    assert table.path().read_bytes() == (folder / "results.csv").read_bytes()
    with tab.expect_popup() as popup:
        tab.locator("[data-test=open-report]").click()
    expect(popup.value.locator("h1")).to_be_visible()
    tab.locator("[data-test=back]").click()
    row = tab.locator(f"[data-test=job][data-id='{number_of_report(popup.value)}']")
    expect(row).to_have_attribute("data-status", "done")


def number_of_report(tab):
    return re.search(r"jobs/([0-9a-f]{16})/report.html$", tab.url)[1]


@pytest.mark.long  # cancelling and resuming without a browser: test_jobs.py
def test_an_experiment_is_cancelled_resumed_and_deleted_while_another_waits(visit, bench):
    tab = opened(visit)
    start_named(tab, LONGER)
    first = number_of(tab)
    done = some_steps_done(tab)
    other = opened(visit)
    start_named(other)
    is_now(other, "queued")
    expect(other.locator("[data-test=progress-message]")).to_have_text(
        "waiting for the one that runs"
    )
    other.locator("[data-test=job-cancel]").click()
    is_now(other, "cancelled")

    tab.locator("[data-test=job-cancel]").click()
    is_now(tab, "cancelled")
    tab.locator("[data-test=job-resume]").click()
    expect(tab.locator(STATUS)).to_have_text(re.compile("^(queued|running)$"))
    assert some_steps_done(tab) >= done
    tab.locator("[data-test=job-cancel]").click()
    is_now(tab, "cancelled")

    tab.locator("[data-test=job-delete]").click()
    tab.keyboard.press("Escape")
    tab.locator("[data-test=job-delete]").click()
    tab.locator("[data-test=delete-sure]").click()
    expect(tab.locator("[data-test=jobs]")).to_be_visible()
    expect(tab.locator(f"[data-test=job][data-id='{first}']")).to_have_count(0)
    assert not (bench.folder / "jobs" / first).exists()


def flowers():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (30, 2)), rng.normal(4, 1, (30, 2))].round(3)
    return X, np.repeat(["rose", "lily"], 30)


def csv_of(X, y):
    lines = [f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)]
    return "petal,sepal,flower\n" + "".join(lines)


def test_a_file_is_uploaded_its_target_chosen_and_its_model_downloaded(visit):
    X, y = flowers()
    tab = opened(visit)
    tab.get_by_text("Your own file").click()
    file = {"name": "my flowers.csv", "mimeType": "text/csv", "buffer": csv_of(X, y).encode()}
    tab.locator("[data-test=file]").set_input_files(file)

    expect(tab.locator("[data-test=upload-name]")).to_have_text("my flowers.csv")
    expect(tab.locator("[data-test=upload-facts]")).to_contain_text("60 rows, 3 columns")
    first = tab.locator("[data-test=preview] tbody tr").first.locator("td").all_text_contents()
    assert first == [f"{X[0, 0]}", f"{X[0, 1]}", "rose"]
    tab.locator("[data-test=target]").select_option(label="petal")
    expect(tab.locator("[data-test=preview] th.target")).to_contain_text("petal")
    expect(tab.locator("[data-test=target-guess]")).to_have_text("Chosen by you.")
    tab.locator("[data-test=target]").select_option(label="flower")
    expect(tab.locator("[data-test=target-guess]")).to_contain_text("only column of categories")
    role = tab.locator("[data-test=role][data-column=sepal]")
    role.select_option("drop")
    tab.get_by_role("tab", name="Command line").click()
    expect(tab.get_by_role("tabpanel")).to_contain_text("--drop sepal")
    role.select_option("number")
    tab.get_by_role("tab", name="Python").click()
    expect(tab.get_by_role("tabpanel")).not_to_contain_text("drop=")
    tab.locator("[data-test=all-models] input").uncheck()
    expect(tab.locator("[data-test=start]")).to_be_disabled()
    for key in ("lda", "knn"):
        tab.locator(f"[data-test=models] input[value={key}]").check()
    expect(tab.get_by_role("tabpanel")).to_contain_text("compare_data(")
    tab.locator("[data-test=start]").click()

    expect(tab.locator("[data-test=job-title]")).to_contain_text("my flowers.csv")
    expect(tab.locator("[data-test=leaderboard] tbody tr")).not_to_have_count(0, timeout=LONG)
    is_now(tab, "done")
    board = tab.locator("[data-test=leaderboard] tbody tr")
    expect(board).to_have_count(2)
    expect(board.first).to_contain_text(re.compile(r"\d %.*\d % to .* %"))
    expect(tab.locator("[data-test=confusion] tbody tr")).to_have_count(2)
    facts = tab.locator("[data-test=job-facts]")
    expect(facts).to_contain_text("Best model")
    expect(facts).to_contain_text("flower")
    expect(tab.frame_locator("[data-test=report]").locator("h1")).to_be_visible()
    model = separatrix.load(downloaded(tab, "download-best").path())
    assert np.mean(model.predict(pandas.DataFrame(X, columns=["petal", "sepal"])) == y) > 0.9


def test_start_is_in_sight_and_the_tag_is_that_of_the_quick_version(visit):
    tab = opened(visit, width=1280, height=720)
    start = tab.locator("[data-test=start]")
    expect(start).to_be_in_viewport(ratio=1)
    tag = tab.locator("[data-test=experiment][data-name=usps-kernel-perceptron] .experiment-data")
    expect(tag).to_have_text("digits")
    tab.locator("[data-test=quick] input").uncheck()
    expect(tag).to_have_text("usps")
    tab.locator("[data-test=quick] input").check()

    tab.get_by_text("Your own file").click()
    file = {"name": "f.csv", "mimeType": "text/csv", "buffer": csv_of(*flowers()).encode()}
    tab.locator("[data-test=file]").set_input_files(file)

    expect(tab.locator("[data-test=preview]")).to_be_visible()
    expect(start).to_be_in_viewport(ratio=1)


def test_a_file_that_cannot_be_read_is_refused_in_words_and_another_can_be_chosen(visit):
    tab = opened(visit, expected=["Failed to load resource"])
    tab.get_by_text("Your own file").click()
    bad = {"name": "not a table.csv", "mimeType": "text/csv", "buffer": b"\x00\x01\x02" * 9}
    tab.locator("[data-test=file]").set_input_files(bad)

    expect(tab.locator("[data-test=upload-problem] .problem")).to_contain_text("not a table.csv")
    good = {"name": "good.csv", "mimeType": "text/csv", "buffer": csv_of(*flowers()).encode()}
    tab.locator("[data-test=file]").set_input_files(good)
    expect(tab.locator("[data-test=upload-name]")).to_have_text("good.csv")
    expect(tab.locator("[data-test=upload-problem]")).to_be_empty()
    tab.reload()
    expect(tab.locator("[data-test=upload-name]")).to_have_text("good.csv")


def test_a_missing_job_is_reported(visit):
    tab = visit("experiments/0123456789abcdef").tab

    expect(tab.locator("[data-test=job-missing]")).to_contain_text("no such experiment")


def test_the_page_shows_the_command_that_does_the_same(visit):
    tab = opened(visit)
    tab.locator(f"[data-test=experiment][data-name='{QUICK}'] input").check()
    tab.locator("[data-test=seed]").fill("7")

    require_code(tab, '"seed": 7', f"separatrix run {QUICK} --quick --seed 7")


@pytest.mark.long  # without a browser it is among the quick ones, in test_jobs.py
def test_a_server_that_is_killed_loses_no_finished_step(browser, tmp_path):
    with WorkbenchProcess(tmp_path) as first:
        shown = browser.open(f"{first.link()}#/experiments")
        start_named(shown.tab)
        number, done = number_of(shown.tab), some_steps_done(shown.tab)
        first.kill()
        expect(shown.tab.locator("#banner")).to_contain_text("does not answer")
        shown.close()

    with WorkbenchProcess(tmp_path) as second:
        shown = browser.open(f"{second.link()}#/experiments")
        tab = shown.tab
        row = tab.locator(f"[data-test=job][data-id='{number}']")
        expect(row).to_have_attribute("data-status", "interrupted")
        row.locator("[data-test=job-open]").click()
        tab.locator("[data-test=job-resume]").click()
        assert some_steps_done(tab) >= done
        is_now(tab, "done")
        expect(tab.frame_locator("[data-test=report]").locator("h1")).to_be_visible()
        assert shown.complaints == []
        shown.close()
