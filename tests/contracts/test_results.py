"""Every figure of benchmarks/RESULTS.md is dated and of one run; the README shows no other."""

import re

import pytest
from benchmarks import picture
from benchmarks.measure import RESULTS, Row, keep_section, measured, section

RESULTS_TEXT = RESULTS.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", RESULTS_TEXT, re.M))
MEASURED = re.compile(
    r"^Measured on 20\d\d-\d\d-\d\d: (x86_64|aarch64), \d+ cores, Python 3\.\d+\.\d+, numpy [\d.]+, "
    r"scipy [\d.]+, scikit-learn [\d.]+, numba [\d.]+\b",
    re.M,
)
EXAMPLE = f"""## mnist_60k

| what | separatrix | peer | ratio | to reach |
| --- | --- | --- | --- | --- |
| MNIST 60k, fit | 2.0 s | scikit-learn 20 s (and more) | 10.0x faster | 5x |

{measured()}
"""
ONE_BAR = {("mnist_60k", "MNIST 60k, fit"): "SVC"}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_says_when_and_where_it_was_measured(name):
    assert len(MEASURED.findall(SECTIONS[name])) == 1


@pytest.mark.parametrize("name", SECTIONS)
def test_no_row_has_a_peer_of_another_run(name):
    assert not re.search(r"\(kept\)|another run|earlier run|later run", SECTIONS[name])


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
