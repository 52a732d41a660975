"""What commands share: one-line errors with a hint, exit codes, common options, JSON output.

Exit codes: 0 success, 1 error, 2 usage error, 3 missing data set or package, 130 interrupted.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from separatrix.errors import MissingDataError, MissingPackageError, SeparatrixError

ERROR, MISSING, INTERRUPTED = 1, 3, 130


class CommandError(click.ClickException):
    """An error of the library: one line, and a hint on the next line."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance

    def show(self, file: Any = None) -> None:
        """Print the error to stderr."""
        click.echo(f"Error: {self.format_message()}", err=True)
        if self.hint:
            click.echo(f"hint: {self.hint}", err=True)


class Command(click.Command):
    """A command that shows errors and warnings as one line each, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with print_warnings(quiet=ctx.params.get("quiet", False)):
                return super().invoke(ctx)
        except (SeparatrixError, ValueError) as error:  # ValueError: scikit-learn's input checks
            code = MISSING if isinstance(error, MissingDataError | MissingPackageError) else ERROR
            raise CommandError(_in_one_line(error), getattr(error, "hint", ""), code) from error
        except BrokenPipeError:
            raise  # the reader of the output is gone; click exits quietly
        except OSError as error:
            path = f"{error.filename}: " if error.filename else ""
            message = path + (error.strerror or _in_one_line(error))
            raise CommandError(message, "", ERROR) from error
        except MemoryError as error:
            hint = "use fewer samples or a machine with more memory"
            raise CommandError(f"out of memory: {error}", hint, ERROR) from error
        except KeyboardInterrupt:
            raise CommandError("interrupted", "", INTERRUPTED) from None


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print only the result")
seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of all random numbers",
)
device_option = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Device; auto: a GPU if present and the problem is large enough",
)

cluster_option = click.option(
    "--cluster",
    metavar="WHERE",
    help="Dask cluster: local, tcp://HOST:PORT, or a scheduler's JSON file",
)


def combine_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One decorator that adds several options, which the help text lists in this order."""

    def add_options(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


file_options = combine_options(
    click.option("--target", help="Label column, by name or position"),
    click.option("--format", help="File format  [default: by file name, else detected]"),
    click.option(
        "--header/--no-header", default=None, help="First row is a header  [default: detected]"
    ),
    click.option("--delimiter", help="Field delimiter of a table  [default: detected]"),
    click.option(
        "--encoding", help="Encoding of a table of text, e.g. latin-1  [default: detected]"
    ),
    click.option(
        "--missing-label",
        type=click.Choice(["drop", "error"]),
        default="drop",
        show_default=True,
        help="Rows of a table without a label: set aside, or an error",
    ),
)


def join_repeated(_context: Any, _parameter: Any, given: tuple[str, ...]) -> str | None:
    """The value of an option of comma-separated names, which may also be repeated."""
    return ",".join(given) if given else None


def columns_option(name: str, help: str) -> Any:
    """An option that takes names of columns."""
    return click.option(name, metavar="COLUMNS", multiple=True, callback=join_repeated, help=help)


role_options = combine_options(
    columns_option("--drop", "Columns to leave out, e.g. id,name"),
    columns_option("--text", "Columns of free text"),
    columns_option("--date", "Columns of dates"),
    columns_option("--category", "Columns of categories, e.g. zip"),
    columns_option("--number", "Columns of numbers; other cells are missing"),
)


def print_message(text: str, *, quiet: bool = False) -> None:
    """Print a message to stderr; results go to stdout."""
    if not quiet:
        click.echo(text, err=True)


def print_notes(result: Any, *, quiet: bool = False, reading: bool = False) -> None:
    """Print notes of a reader or a fit; with `reading`, also how the file was read."""
    if reading and result.reading:
        print_message(f"read {result.reading}", quiet=quiet)
    for note in result.notes:
        print_message(f"note: {note}", quiet=quiet)


@contextmanager
def print_warnings(*, quiet: bool = False) -> Iterator[None]:
    """Print each warning once, as one line on stderr."""
    printed: set[str] = set()

    def show(message: Warning | str, *_location: Any) -> None:
        text = " ".join(str(message).split())
        if text not in printed:
            printed.add(text)
            print_message(f"warning: {text}", quiet=quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)  # meant for programmers
        warnings.showwarning = show  # type: ignore[assignment]  # omits the location
        yield


def show_json(value: Any) -> None:
    """Print standard JSON: numbers that are not finite become null."""
    click.echo(json.dumps(_finite(value), default=_plain, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Convert NumPy values to Python's, and paths to strings."""
    return _finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
