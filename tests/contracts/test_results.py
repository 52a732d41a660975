"""Every figure of benchmarks/RESULTS.md is dated and of one run; the README shows no other."""

import re

import pytest
from benchmarks import picture
from benchmarks.measure import RESULTS, Row, keep_section, measured, section
from benchmarks.results import read_sections

RESULTS_TEXT = RESULTS.read_text(encoding="utf-8")
EXAMPLE = f"""## mnist_60k

| what | separatrix | peer | ratio | to reach |
| --- | --- | --- | --- | --- |
| MNIST 60k, fit | 2.0 s | scikit-learn 20 s (and more) | 10.0x faster | 5x |

{measured()}
"""
ONE_BAR = {("mnist_60k", "MNIST 60k, fit"): "SVC"}


# Changes of results that are not of one run: a pattern and what replaces its first occurrence.
HEAD = "| what | separatrix | peer | ratio | to reach |\n| --- | --- | --- | --- | --- |\n"
ROW = "| fit | 1 s | scikit-learn 2 s | 2.0x faster | - |\n"
NOT_OF_ONE_RUN = {
    "no date": (r"Measured on [\d-]+: ", "Measured: "),
    "no sentence": (r"Measured on .*\n", ""),
    "no month of a year": (r"on \d{4}-\d\d-\d\d", "on 2026-13-01"),
    "no machine": (r"(x86_64|aarch64), ", ""),
    "no cores": (r"\d+ cores, ", ""),
    "no versions": (r", numpy .*", "."),
    "another date in the sentence": (r"(Measured on .*)\.\n", r"\1, the peer on 2026-10-01.\n"),
    "two sentences": (r"(Measured on .*\n)", r"\1\n\1"),
    "a row below the sentence": (r"(Measured on .*\n)", rf"\1\n{ROW}"),
    "prose below the sentence": (r"(Measured on .*\n)", r"\1\nThe peer ran elsewhere.\n"),
    "a row in prose": (r"\n\n(Measured on)", rf"\n\n{ROW}\n\1"),
    "a second table": (r"\n\n(Measured on)", rf"\n\n{HEAD}{ROW}\n\1"),
    "prose that continues the table": (r"\n\n(Measured on)", r"\nThe machine:\n\n\1"),
    "no table": (r"(\| .*\n)+", ""),
    "a table before the first section": (r"\n## ", rf"\n{HEAD}{ROW}\n## "),
    "a heading of another level": (r"\n## ", r"\n### old\n\n## "),
    "a title twice": (r"\n(## .*\n)", rf"\n\1\n{HEAD}{ROW}\n{measured()}\n\n\1"),
    "a title twice, one copy undated": (r"\n(## .*\n)", rf"\n\1\n{HEAD}{ROW}\n\1"),
    "six cells": (r"\| 2\.0 s \|", "| 2.0 s | 3.0 s |"),
    "four cells": (r"\| 2\.0 s \|", "|"),
    "no figure": (r"\| 2\.0 s \|", "| |"),
    "a peer kept": (r"\(and more\)", "(kept from the first table)"),
    "a peer of another date": (r"\(and more\)", "(run of 2026-10-01, other machine)"),
    "a peer of another machine": (r"\(and more\)", "(on another machine)"),
    "a peer of an earlier run": (r"\(and more\)", "(earlier run)"),
    "a peer extrapolated": (r"\(and more\)", "(extrapolated)"),
    "a peer scaled, not from what": (r"\(and more\)", "(scaled)"),
    "a peer from somewhere": (r"\(and more\)", "(from its paper)"),
    "our figure scaled": (r"2\.0 s", "2.0 s (scaled from 100)"),
    "our figure from a part": (r"2\.0 s", "2.0 s from 100"),
    "a ratio scaled": (r"10\.0x faster", "10.0x faster (scaled from 100)"),
    "a name that says extrapolated": (r"MNIST 60k, fit", "MNIST 60k, fit (extrapolated)"),
    "prose that scales": (r"\n\n(Measured on)", r"\n\nIts time is scaled from a part.\n\n\1"),
    "prose of another run": (r"\n\n(\| what)", r"\n\nThe peer is that of another run.\n\n\1"),
}


def test_all_results_are_dated_and_of_one_run():
    sections = read_sections(RESULTS_TEXT)
    assert len(sections) == RESULTS_TEXT.count("\n## ") > 80
    assert sum(len(part.rows) for part in sections.values()) > 400


@pytest.mark.parametrize("change", NOT_OF_ONE_RUN.values(), ids=NOT_OF_ONE_RUN)
def test_results_that_are_not_of_one_run_are_refused(change):
    results = f"# Results\n\nAbout.\n\n{EXAMPLE}"
    assert list(read_sections(results)) == ["mnist_60k"]
    changed = re.sub(*change, results, count=1)
    assert changed != results
    with pytest.raises(ValueError, match=r"mnist_60k|first section"):
        read_sections(changed)


@pytest.mark.parametrize("scaled", ["20 s (scaled from a part)", "20 s from 100 (B 3 s from 5)"])
def test_a_peer_may_say_from_what_it_was_scaled(scaled):
    results = EXAMPLE.replace("20 s (and more)", scaled)
    assert read_sections(results)["mnist_60k"].rows[0]["peer"] == f"scikit-learn {scaled}"


def test_the_picture_is_that_of_the_results():
    bars = picture.read_bars(RESULTS_TEXT)
    assert picture.FILE.read_text(encoding="utf-8") == picture.as_svg(bars)
    assert {bar.name for bar in bars} == set(picture.BARS.values())


def test_a_section_replaces_the_one_of_its_name(tmp_path, monkeypatch):
    file = tmp_path / "RESULTS.md"
    file.write_text("# Results\n\n## a\n\nold\n\n## b\n\nstays\n")
    monkeypatch.setattr("benchmarks.measure.RESULTS", file)

    keep_section(section("a", "About.", [Row("fit", "1 s", "2 s", "2.0x faster", "-")], []))

    text = file.read_text()
    assert "old" not in text
    assert text.index("| fit |") < text.index(measured()) < text.index("## b\n\nstays")


def test_a_bar_has_both_times_and_the_date(monkeypatch):
    monkeypatch.setattr(picture, "BARS", ONE_BAR)
    bars = picture.read_bars(EXAMPLE)
    assert bars == [picture.Bar("SVC", 10.0, "2.0 s, scikit-learn 20 s", measured())]
    assert re.search(r"\d{4}-\d\d-\d\d, \w+, \d+ cores", picture.as_svg(bars))


@pytest.mark.parametrize(
    "change",
    [
        ("(and more)", "(kept)"),
        ("20 s (and", "20 s from 200 (and"),
        ("(and more)", "(scaled from a part)"),
        ("10.0x faster", "10.0x its time"),
        ("Measured on", "Machine of"),
        ("MNIST 60k, fit", "another row"),
    ],
)
def test_the_picture_refuses_what_was_not_measured_in_one_run(change, monkeypatch):
    monkeypatch.setattr(picture, "BARS", ONE_BAR)
    with pytest.raises(ValueError, match="mnist_60k"):
        picture.read_bars(EXAMPLE.replace(*change))


def test_the_picture_refuses_two_machines(monkeypatch):
    other = EXAMPLE.replace("mnist_60k", "adult").replace(" cores", "1 cores")
    monkeypatch.setattr(picture, "BARS", ONE_BAR | {("adult", "MNIST 60k, fit"): "the same"})
    with pytest.raises(ValueError, match="one machine"):
        picture.read_bars(EXAMPLE + other)
