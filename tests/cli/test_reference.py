import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_reference_page_is_what_the_program_prints():
    """In a process of its own: click remembers the help option of a command's first use."""
    words = [sys.executable, "-m", "separatrix.cli.reference"]
    printed = subprocess.check_output(words, encoding="utf-8")
    again = "python -m separatrix.cli.reference > docs/commands.md"
    assert PAGE.read_text(encoding="utf-8") == printed, f"run: {again}"
