"""The reference page of the command line, written by the program itself.

`python -m separatrix.cli.reference > docs/commands.md` writes it anew; a test holds it against the
program.
"""

from __future__ import annotations

import click

from separatrix.cli import main

BEGIN = """# Commands

All of `separatrix`, as the program tells it. Results go to stdout, everything else to stderr; `--json`
prints a result for machines, `--quiet` says nothing but the result. What takes longer than a look draws
a bar where stderr is a terminal. Colours are left out where `NO_COLOR` is set.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused: one line says what was found and expected, `hint:` what to do |
| 2 | wrong words on the command line |
| 3 | something is missing that can be fetched or installed |
| 130 | stopped by Ctrl-C; what was done before is kept |

Completion: put the output of `_SEPARATRIX_COMPLETE=bash_source separatrix` into your shell's start file
(`zsh_source` and `fish_source` for those shells).
"""


def reference() -> str:
    """The page."""
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
