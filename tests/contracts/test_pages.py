"""The pages of the guide: lengths, a place in the contents, the field's words, and working links."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"_build", "api", "benchmarks", "gallery", "lectures"}
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in GENERATED
)
WRITTEN_BY_A_PROGRAM = {"commands.md"}
RETIRED = [  # phrases of shared vocabulary that were replaced
    r"though (?:there )?be\b",
    r"\bon a card\b|\bthe card's\b|\bNVIDIA card\b",
    r"\bsay all \d+ models\b",
    r"\bworth (?:it|the work)\b",
    r"\bwhat is no array\b",
    r"\bboth cores\b",
]


def ids(path):
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_a_page_has_at_most_300_lines(path):
    if path.name not in WRITTEN_BY_A_PROGRAM:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 300, "split the page"


def test_the_readme_has_at_most_120_lines():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_every_page_is_in_a_table_of_contents():
    listed = {"index.md"}
    for path in PAGES:
        for block in re.findall(r"```\{toctree\}(.*?)```", path.read_text(encoding="utf-8"), re.S):
            names = [line for line in block.splitlines() if re.fullmatch(r"[\w/]+", line)]
            listed |= {ids((path.parent / f"{name}.md").resolve()) for name in names}
    missing = [ids(path) for path in PAGES if ids(path) not in listed]
    assert not missing, (
        f"add to a toctree of docs/index.md, or of the page they belong to: {missing}"
    )


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_pages_use_the_words_of_the_field(path):
    text = path.read_text(encoding="utf-8")
    assert [phrase for phrase in RETIRED if re.search(phrase, text)] == []


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_links_between_pages_lead_to_files(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", text)
    local = [target for target in targets if "://" not in target]
    built = [t for t in local if (path.parent / t).resolve().is_relative_to(DOCS)]
    built = [
        t for t in built if (path.parent / t).resolve().relative_to(DOCS).parts[0] in GENERATED
    ]
    assert [t for t in local if t not in built and not (path.parent / t).exists()] == []
