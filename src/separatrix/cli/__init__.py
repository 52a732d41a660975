"""Commands: parse, call one function, print. `--help` imports nothing heavy."""

from __future__ import annotations

import atexit
import gc
from pathlib import Path

import click

from separatrix import __version__
from separatrix.cli import (
    data,
    experiments,
    export,
    file_commands,
    inspect_commands,
    libsvm,
    serve_command,
    site,
    workbench,
)
from separatrix.cli.common import Command, json_option, print_message, quiet_option, show_json

atexit.register(gc.freeze)  # to collect all garbage before the end would take half a second


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="separatrix")
def main() -> None:
    """Exact classical classification, fast because one Gram matrix serves many problems.

    Exit codes: 0 success, 1 error, 2 usage error, 3 missing data set or package, 130 interrupted by
    Ctrl-C. NO_COLOR disables colour. `_SEPARATRIX_COMPLETE=bash_source separatrix` (or zsh_source,
    fish_source) prints the shell completion.
    """


@main.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Output folder for the page and the figures",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Repeat the 5-fold split N times",
)
@quiet_option
@json_option
def demo(out: Path, repeats: int, quiet: bool, as_json: bool) -> None:
    """Compare all classifiers on the built-in handwritten digits and draw their errors."""
    from separatrix.app.demo import run_demo

    comparison, written = run_demo(out, repeats=repeats, progress=False if quiet else None)
    if as_json:
        show_json({"rows": comparison.rows(), "pictures": written})
        return
    click.echo(comparison)
    for path in written:
        print_message(f"wrote {path}", quiet=quiet)


@main.command(cls=Command)
@json_option
def models(as_json: bool) -> None:
    """List the estimators with the keys that `--models` and `--model` take, solver, paper and limits."""
    from separatrix.estimators.registry import REGISTRY

    columns = ("name", "solver", "paper", "not_for")
    rows = [
        {
            **{name: getattr(record, name) for name in columns},
            "keys": {model.key: model.title for model in record.suite},
        }
        for record in REGISTRY
    ]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        click.echo(row["name"])
        for key, title in row["keys"].items():
            click.echo(f"  key      {key} ({title})")
        click.echo(f"  solver   {row['solver']}\n  paper    {row['paper']}")
        click.echo(f"  not for  {row['not_for']}")


@main.command("compile", cls=Command)
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@quiet_option
@json_option
def compile_(models: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Compile the loops of the classifiers, so that the first fit does not wait for it.

    MODEL is the name of a class, such as SVC; without one, all are compiled, on all cores. The result is
    kept in numba's cache, of which NUMBA_CACHE_DIR sets the folder.
    """
    from separatrix.app.compilation import MODELS, compile_models

    seconds = compile_models(models or MODELS, progress=False if quiet else None)
    if as_json:
        show_json([{"models": names, "seconds": spent} for names, spent in seconds.items()])
        return
    for names, spent in seconds.items():
        click.echo(f"{spent:6.1f} s  {names}")


@main.command("warm-up", cls=Command)
@quiet_option
@json_option
def warm_up(quiet: bool, as_json: bool) -> None:
    """Compile the GPU programs, so that the first fit of a process does not wait for it.

    The result is kept in Triton's cache, of which TRITON_CACHE_DIR sets the folder.
    """
    from separatrix.app.warm_up import warm_up

    seconds = warm_up(progress=False if quiet else None)
    if as_json:
        show_json([{"model": name, "seconds": spent} for name, spent in seconds.items()])
        return
    for name, spent in seconds.items():
        click.echo(f"{spent:6.1f} s  {name}")


for command in (
    experiments.compare,
    experiments.run,
    experiments.experiments,
    file_commands.fit,
    file_commands.tune,
    file_commands.predict,
    file_commands.evaluate,
    inspect_commands.explain,
    inspect_commands.info,
    inspect_commands.describe_file,
    export.export,
    data.data,
    workbench.workbench,
    serve_command.serve,
    site.docs,
    libsvm.svm_train,
    libsvm.svm_predict,
    libsvm.svm_scale,
):
    main.add_command(command)
