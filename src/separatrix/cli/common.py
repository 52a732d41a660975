"""What every command shares: errors as one line with a hint, exit codes, what is said and to whom.

Exit codes: 0 done, 1 refused with a sentence, 2 wrong words on the command line, 3 something is
missing that can be fetched or installed, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from separatrix.errors import MissingDataError, MissingPackageError, SeparatrixError

REFUSED, MISSING, STOPPED = 1, 3, 130


class Refusal(click.ClickException):
    """The library's sentence, and a line that says what to do."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance

    def show(self, file: Any = None) -> None:
        """To stderr."""
        click.echo(f"Error: {self.format_message()}", err=True)
        if self.hint:
            click.echo(f"hint: {self.hint}", err=True)


class Command(click.Command):
    """A command that shows errors and warnings as one line each, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            with print_warnings(quiet=ctx.params.get("quiet", False)):
                return super().invoke(ctx)
        except (MissingDataError, MissingPackageError) as error:
            raise Refusal(_sentence(error), error.hint, MISSING) from error
        except SeparatrixError as error:
            raise Refusal(_sentence(error), error.hint, REFUSED) from error
        except BrokenPipeError:
            raise  # whoever read the output has seen enough; click ends quietly
        except OSError as error:
            raise Refusal(_of_system(error), "", REFUSED) from error
        except ValueError as error:  # scikit-learn refuses samples and parameters with these
            raise Refusal(_sentence(error), "", REFUSED) from error
        except MemoryError as error:
            hint = "take fewer samples, or a machine with more memory"
            raise Refusal(f"out of memory: {error}", hint, REFUSED) from error
        except KeyboardInterrupt:
            raise Refusal("stopped", "", STOPPED) from None


def json_option(command: Any) -> Any:
    """The flag `--json`, as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON")(command)


def quiet_option(command: Any) -> Any:
    """The flag `--quiet`."""
    return click.option("--quiet", "-q", is_flag=True, help="Say nothing but the result")(command)


def device_option(command: Any) -> Any:
    """`--device`: where models work that have a choice."""
    return click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where to work; auto: on a card, where it pays",
    )(command)


def file_options(command: Any) -> Any:
    """How a file is read: `--target`, `--format`, `--header`, `--delimiter`."""
    for option in (
        click.option("--delimiter", help="Between the cells of a table  [default: as it looks]"),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether its first line has names  [the same]",
        ),
        click.option("--format", help="Of the file  [default: by its name, else as it looks]"),
        click.option("--target", help="Column with the labels, by name or position"),
    ):
        command = option(command)
    return command


def print_message(text: str, *, quiet: bool = False) -> None:
    """Tell the person, on stderr; results go to stdout."""
    if not quiet:
        click.echo(text, err=True)


@contextmanager
def print_warnings(*, quiet: bool = False) -> Iterator[None]:
    """Warnings as one line each, on stderr, the same one once only."""
    told: set[str] = set()

    def tell(message: Warning | str, *_where: Any) -> None:
        sentence = " ".join(str(message).split())
        if sentence not in told:
            told.add(sentence)
            print_message(f"warning: {sentence}", quiet=quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for meant_for_programmers in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", meant_for_programmers)
        warnings.showwarning = tell  # type: ignore[assignment]  # where it was raised is left out
        yield


def show_json(value: Any) -> None:
    """Print JSON that every program can read: what is not finite is null."""
    click.echo(json.dumps(_finite(value), default=_plain, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """NumPy's values as Python's, and paths as words."""
    return _finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def _of_system(error: OSError) -> str:
    """What the system says, and of which file."""
    where = f"{error.filename}: " if error.filename else ""
    return where + (error.strerror or _sentence(error))


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split())
