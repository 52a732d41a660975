"""Figures on the pages come from benchmarks/RESULTS.md, and every target that was missed is listed."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def extension(name):
    """A module of docs/_ext."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = extension("benchmark_tables")


def measured_lines():
    """(page, line) of every directive `measured`."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"```\{measured\}\n(.*?)```", text, re.S):
            yield from ((path.name, line) for line in block.splitlines() if line.strip())


def test_every_measured_row_of_a_page_is_in_the_results():
    sections = dict(tables.read_sections(tables.RESULTS.read_text(encoding="utf-8")))
    found = [tables.find_row(sections, line) for _, line in measured_lines()]
    assert len(found) > 20


def test_a_row_that_is_not_in_the_results_is_an_error():
    sections = {"usps": "| what | separatrix | peer | ratio | to reach |\n| --- | --- |\n"}
    with pytest.raises(ValueError, match="no section 'mnist'"):
        tables.find_row(sections, "mnist: fit")
    with pytest.raises(ValueError, match="no row 'fit'"):
        tables.find_row(sections, "usps: fit")


TIME = re.compile(r"(?<![\w.,])([\d,]*\.?\d+) (ms|s)\b")


def seconds(text):
    """All times in a text, "(0.1 to 0.2)" between a number and its unit left out."""
    text = re.sub(r" \([^()]* to [^()]*\)", "", text)
    scale = {"ms": 1e-3, "s": 1.0}
    return {float(n.replace(",", "")) * scale[unit] for n, unit in TIME.findall(text)}


def cost_sections():
    """(page, section) of the costs on the pages of the guide."""
    for path in sorted(DOCS.glob("*.md")):
        for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            if part.startswith("Cost in time and memory"):
                yield path.name, part


def test_times_on_the_pages_of_the_guide_are_those_of_the_results():
    results = tables.RESULTS.read_text(encoding="utf-8")
    for row in (row for _, part in tables.read_sections(results) for row in tables.read_rows(part)):
        if row[0].endswith((", s", ", ms")):  # the unit is in the name of the row
            results += f" {row[1].split()[0]} {row[0].rpartition(', ')[2]}"
    known = seconds(results)
    stale = [
        (page, time)
        for page, part in cost_sections()
        for time in sorted(seconds(part))
        if not any(abs(time - other) <= 0.005 * time for other in known)
    ]
    assert len(list(cost_sections())) >= 8
    assert stale == []


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("fit | 8.5 s | scikit-learn 141 s | 16.6x faster | 18x, goal 25x", False),
        ("fit | 8.5 s | scikit-learn 141 s | 16.6x faster | 15x", True),
        ("fit | 8.5 s | scikit-learn 141 s | 16.6x faster | 15x, goal 25x", False),
        ("predict | 3.8 ms | scikit-learn 3.6 ms | 1.1x slower | not slower, 1e-10", False),
        ("fit | 2.22 ms | scikit-learn 0.97 ms | 2.30x its time | at most 2x", False),
        ("reader | 156 ms | pyarrow 56 ms | 0.4x | 1x", False),
        ("reader | 18 ms | scikit-learn 199 ms | 11.3x | 3x", True),
        ("requests | 3,318/s | 813/s | 4.08x | 5x", False),
        ("pass | 2.81 ms | one read of memory 1.90 ms | 1.48x | 1.5x", True),
        ("fit | 0.387 (0.366 to 0.425) s | its passes 0.023 s | 16.92x | 1.5x", False),
        ("memory | 433 MB at rest | - | - | 300 MB", False),
        ("memory | 2.3 GiB | - | - | under 6 GiB", True),
        ("slope | 2,909,240/s |  |  | 1,000,000/s", True),
        ("error % | 2.40 +- 0.29 | published 2.20 | - | 2.20 +- 0.15", False),
        ("accuracy | 0.9873 (7 s) | - | - | at least .987", True),
        ("import | 1.76 s | scikit-learn 2.12 s | -0.37 s | at most +0.5 s", None),
        ("kernel | 571 ms | SciPy 1231 ms | 0.46x its time | report", None),
    ],
)
def test_targets_are_read(row, expected):
    assert tables.reached([cell.strip() for cell in row.split("|")]) is expected


def test_a_factor_below_one_is_called_slower():
    row = ["fit", "0.746 s", "liblinear 0.086 s", "0.1x faster", "3x"]
    assert tables.ratio_in_words(row) == "8.7x slower"
    assert tables.ratio_in_words([*row[:3], "2x faster", "3x"]) == "2x faster"


def test_pages_of_the_reference_lead_to_pages_of_the_guide():
    pages = extension("api_pages")
    guides = pages.guides_by_name()
    lost = {
        page for found in guides.values() for page in found if not (DOCS / f"{page}.md").exists()
    }
    assert lost == set()
    without = [name for name, found in guides.items() if not found]
    assert [name for name in without if not name.startswith("separatrix.errors.")] == []
    assert set(pages.GUIDE_OF_NAME) <= {name.rpartition(".")[2] for name in guides}
