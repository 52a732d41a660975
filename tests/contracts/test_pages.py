"""The pages of the guide: lengths, a place in the contents, the field's words, and working links."""

import re
from pathlib import Path

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
    r"\bworked on there\b",
    r"\b(?:is|that are) no (?:array|plain file|vectors?)\b",
    r"\bask most to go\b",
    r"\bwrong words on\b",
    r"\bNone differs\b",
]
PROSE = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("changelog.d/*.md"),
    *ROOT.glob("examples/**/*.py"),
    *ROOT.glob("examples/**/*.rst"),
)


def ids(path):
    return path.relative_to(DOCS).as_posix()


def test_a_page_has_at_most_300_lines():
    lengths = {ids(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PAGES}
    long = {name for name, length in lengths.items() if length > 300} - WRITTEN_BY_A_PROGRAM
    assert not long, f"split these pages: {sorted(long)}"


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


def test_pages_use_the_words_of_the_field():
    texts = {path: path.read_text(encoding="utf-8") for path in (*PAGES, *PROSE)}
    found = [
        (name, phrase)
        for name, text in texts.items()
        for phrase in RETIRED
        if re.search(phrase, text)
    ]
    assert found == []


def test_links_between_pages_lead_to_files():
    lost = [
        f"{path.name}: {target}"
        for path in (*PAGES, ROOT / "README.md")
        for target in local_links(path.read_text(encoding="utf-8"))
        if not is_generated(path.parent / target) and not (path.parent / target).exists()
    ]
    assert lost == []


def local_links(text):
    """Targets of the links of a page to other files."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", text)
    return [target for target in targets if "://" not in target]


def is_generated(path):
    """Whether a build of the site writes it."""
    path = path.resolve()
    return path.is_relative_to(DOCS) and path.relative_to(DOCS).parts[0] in GENERATED
