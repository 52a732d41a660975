"""The first trials of every campaign; `make campaign` runs on from there."""

import errno
import os
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from tests.campaigns import commands, stops_gpu, table, tables
from tests.campaigns.__main__ import part_runs
from tests.campaigns.campaign import NoMore, TooSlow, run_one, run_part
from tests.campaigns.problems import EVERY
from tests.campaigns.readers import is_narrow
from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.table import BEGIN, END, PAGES, Record, extended, read_records
from tests.contracts.calls import make

import separatrix
from separatrix.data.data_table import Category
from separatrix.workbench import job, job_store

# The campaigns whose first trials the other tests of `make test` do not have in some form.
QUICK = (
    *("differential", "properties", "limits", "certificates", "readers", "threads"),
    *("faults", "stops"),
)


def parts(size):
    return list(_parts(size))


def _parts(size):
    for name, campaign in CAMPAIGNS.items():
        if size == "short" and name not in QUICK:
            continue
        chosen = campaign.quick if size == "short" else campaign.thorough
        for part in chosen or campaign.parts():
            yield pytest.param(name, part, id=f"{name}-{part}")


def run(name, part, numbers):
    campaign = CAMPAIGNS[name]
    campaign.prepare()
    patience = 20.0 * campaign.seconds  # a hang is found all the same, and a busy machine is none
    found = run_part(campaign.parts()[part], numbers, patience)
    assert found.tried == len(numbers)
    assert not found.failures


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "part"), parts("short"))
def test_the_first_trials_find_nothing(name, part):
    run(name, part, range(CAMPAIGNS[name].short))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "part"), parts("middle"))
def test_more_trials_find_nothing(name, part):
    campaign = CAMPAIGNS[name]
    tried = campaign.short if name in QUICK and part in (campaign.quick or [part]) else 0
    run(name, part, range(tried, tried + campaign.middle))


def test_every_public_estimator_is_tried():
    found = (getattr(separatrix, name) for name in separatrix.__all__)
    names = {one.__name__ for one in found if isinstance(one, type) and hasattr(one, "fit")}
    tried = {type(make(call)).__name__ for call in EVERY}
    assert names <= tried
    compared = {part.partition(",")[0] for part in CAMPAIGNS["differential"].parts()}
    assert names <= compared


def test_every_estimator_with_a_device_is_stopped_on_a_gpu():
    found = {name for name in separatrix.__all__ if isinstance(getattr(separatrix, name), type)}
    with_device = {
        name
        for name in found
        if "device" in signature(getattr(separatrix, name)).parameters and name != "NeighborIndex"
    }
    text = Path(stops_gpu.__file__).read_text()
    assert with_device == {name for name in with_device if f"{name}(" in text}


@pytest.mark.parametrize("part", stops_gpu.PARTS)
def test_without_a_gpu_nothing_counts_as_tried_there(part, monkeypatch):
    monkeypatch.setattr(stops_gpu, "why_no_card", lambda: "there is none")
    assert run_part(CAMPAIGNS["stops"].parts()[part], range(3), seconds=60.0) == (0, [])
    assert part not in (*CAMPAIGNS["stops"].quick, *CAMPAIGNS["stops"].thorough)


def test_a_failure_is_kept_with_its_number():
    def odd(number):
        assert number % 2 == 0, "odd"

    found = run_part(odd, range(4), seconds=5.0)
    assert found.tried == 4
    assert [number for number, _ in found.failures] == [1, 3]
    assert found.failures[0][1].startswith("AssertionError: odd")


def test_a_trial_without_end_is_a_failure():
    def endless(_number):
        while True:
            pass

    assert run_one(endless, 0, seconds=0.05) == "TooSlow: more than 0.05 s"
    assert issubclass(TooSlow, BaseException)
    assert not issubclass(TooSlow, Exception)  # no handler inside a trial catches it


def test_a_list_of_cases_ends_the_run_without_a_failure():
    def listed(number):
        if number >= 3:
            raise NoMore

    assert run_part(listed, range(10), seconds=5.0) == (3, [])


def test_a_run_goes_on_after_the_largest_number_of_workers_that_took_turns():
    old = Record("kills", "fit", tried=5, failed=0, first=0, date="2026-01-01", end=8)
    more = Record("kills", "fit", tried=2, failed=0, first=8, date="2026-01-02")
    both = extended(old, more)
    assert (both.tried, both.first, both.end) == (7, 0, 10)


def test_the_page_shows_the_results_that_are_kept():
    for page, render in PAGES.items():
        shown = page.read_text().partition(BEGIN)[2].partition(END)[0]
        assert shown == render(read_records())


def test_a_run_that_goes_on_is_added_to_the_one_before():
    old = Record("kills", "fit", tried=5, failed=1, first=0, date="2026-01-01", failures=["3: x"])
    more = Record("kills", "fit", tried=2, failed=0, first=5, date="2026-01-02")
    both = Record("kills", "fit", tried=7, failed=1, first=0, date="2026-01-02", failures=["3: x"])
    assert extended(old, more) == both
    again = Record("kills", "fit", tried=2, failed=0, first=0, date="2026-01-02")
    assert extended(old, again) == again


@pytest.mark.parametrize("part", tables.PARTS)
def test_a_reader_that_reads_otherwise_is_found(part, monkeypatch):
    def scan_wrongly(*arguments, **options):
        found = scan(*arguments, **options)
        if found is None:
            return None
        numbers = np.nextafter(found.table.numbers, np.inf)
        texts = {
            name: Category(codes, [f"{value}." for value in values])
            for name, (codes, values) in found.table.categories.items()
        }
        return found._replace(table=replace(found.table, numbers=numbers, categories=texts))

    scan = tables.scan
    monkeypatch.setattr(tables, "scan", scan_wrongly)
    assert len(run_part(tables.PARTS[part], range(40), 200.0).failures) > 5


def test_trials_that_are_kept_count_until_a_number_is_reached(monkeypatch):
    kept = [Record("kills", "fit", tried=5, failed=0, first=0, date="2026-01-01", end=8)]
    monkeypatch.setattr(table, "read_records", lambda: kept)
    assert table.number_tried("kills", "fit") == 5
    assert table.number_tried("kills", "run") == 0
    runs = part_runs("kills", {"fit": 8, "run": 0}, {"fit": 3, "run": 8}, minutes=1.0, workers=4)
    assert [(run.part, run.first, run.step, run.trials) for run in runs] == [
        *(("fit", 8, 2, 2), ("fit", 9, 2, 1), ("run", 0, 2, 4), ("run", 1, 2, 4)),
    ]


def test_a_word_of_a_million_digits_is_searched_for_indices_once():
    content = b"1" * 10**6 + b" 99999:1\n"
    assert run_one(lambda _: is_narrow(content), 0, 60.0) is None  # its square takes hours
    assert is_narrow(content)
    assert not is_narrow(content + b"1 100000:1\n")


def test_a_job_whose_end_cannot_be_kept_has_failed_and_can_be_run_again(
    tmp_path, monkeypatch, capsys
):
    def fill_disk(channel, _task):
        channel.send({"kind": "done", "summary": ["no mistakes"]})
        monkeypatch.setattr(job_store, "atomic_write", refuse)

    def refuse(_path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    task = ["job", str(tmp_path / "flowers.csv"), str(tmp_path)]
    write = job_store.atomic_write
    monkeypatch.setattr(job, "main", fill_disk)
    assert commands.run(task) == 1
    assert capsys.readouterr().err.startswith("Error: cannot write to the folder")

    monkeypatch.setattr(job_store, "atomic_write", write)
    monkeypatch.setattr(
        job, "main", lambda channel, _: channel.send({"kind": "done", "summary": []})
    )
    assert commands.run(task) == 0
    (kept,) = tmp_path.glob("jobs/*/job.json")
    assert commands.content(kept)["status"] == "done"
