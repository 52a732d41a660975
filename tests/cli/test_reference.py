from pathlib import Path

from separatrix.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_reference_page_is_what_the_program_says():
    again = "python -m separatrix.cli.reference > docs/commands.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), f"run: {again}"
