"""Generate the reference page of the command line from the commands.

`python -m separatrix.cli.reference > docs/commands.md` writes the page; a test compares the two.
"""

from __future__ import annotations

import click

from separatrix.cli import main

BEGIN = """# Commands

The `--help` texts of all commands. Results go to stdout, messages and progress bars to stderr; `--json`
prints the result as JSON, `--quiet` prints only the result. Progress bars are drawn if stderr is a
terminal. `NO_COLOR` disables colour.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | error: one line with what was found and expected; `hint:` tells what to do |
| 2 | usage error |
| 3 | a data set or a package is missing |
| 130 | interrupted by Ctrl-C; checkpoints are kept |

Shell completion: add the output of `_SEPARATRIX_COMPLETE=bash_source separatrix` to your shell's startup
file (`zsh_source` and `fish_source` for these shells).
"""


def reference() -> str:
    """Return the page as Markdown."""
    return "\n".join([BEGIN, *_sections(main, "separatrix")])


def _sections(group: click.Group, name: str) -> list[str]:
    found: list[str] = []
    for word in group.list_commands(click.Context(group)):
        command = group.commands[word]
        path = f"{name} {word}"
        if isinstance(command, click.Group):
            found += _sections(command, path)
            continue
        context = click.Context(
            command,
            info_name=path,
            terminal_width=96,
            max_content_width=96,
            help_option_names=command.context_settings.get("help_option_names", ["-h", "--help"]),
        )
        context.color = False
        found += [f"## {path}\n", "```text", command.get_help(context), "```\n"]
    return found


if __name__ == "__main__":
    click.echo(reference(), nl=False)
