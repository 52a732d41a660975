"""The page of a run, whichever experiment it was."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib import import_module

from separatrix.experiments.table import Results
from separatrix.report.page import Page
from separatrix.studies.catalogue import NAMED


def page_of(results: Results) -> Page:
    """The page of one of the named experiments."""
    page: Page = import_module(f"separatrix.studies.{NAMED[results.name].module}").page(results)
    return page


def command_of(results: Results, more: Sequence[str] = ()) -> str:
    """The command line that runs it again, with every option."""
    words = ["separatrix", "run", results.name]
    for key, value in results.options.items():
        flag = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] if value else []
        elif isinstance(value, list | tuple):
            words += [flag, ",".join(map(str, value))]
        elif value is not None:
            words += [flag, str(value)]
    return shlex.join([*words, *more])


def python_of(results: Results) -> str:
    """The same in Python."""
    options = ", ".join(f"{key}={value!r}" for key, value in results.options.items())
    return (
        "from pathlib import Path\n"
        "from separatrix.studies.catalogue import make\n"
        "from separatrix.experiments.run import run\n\n"
        f'results = run(make("{results.name}", {options}), Path("{results.name}"))\n'
    )


def facts_of(results: Results) -> dict[str, object]:
    """What the numbers depend on: versions, seed, threads, hashes of the data."""
    hashes = {f"SHA-256 of {name}": value for name, value in results.data_sha256.items()}
    return {
        "seed": results.options.get("seed"),
        "threads": results.threads,
        **results.versions,
        **hashes,
    }
