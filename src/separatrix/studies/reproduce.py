"""Pages of named studies, with the command and the code that reproduce them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib import import_module

from separatrix.experiments.steps import Results
from separatrix.report.page import Page, Section
from separatrix.studies.catalogue import NAMED


def page_of(results: Results) -> Page:
    """The page of a named study."""
    page: Page = import_module(f"separatrix.studies.{NAMED[results.name].module}").page(results)
    return page


def study_page(
    results: Results, summary: Sequence[str], sections: Sequence[Section], title: str = ""
) -> Page:
    """A page with the command, the code and the versions that reproduce the results."""
    return Page(
        title=title or results.title,
        summary=summary,
        sections=sections,
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def command_of(results: Results) -> str:
    """The command line that reproduces the results, with every option."""
    words = ["separatrix", "run", results.name]
    for key, value in results.options.items():
        flag = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] if value else []
        elif isinstance(value, list | tuple):
            words += [flag, ",".join(map(str, value))]
        elif value is not None:
            words += [flag, str(value)]
    return shlex.join(words)


def python_of(results: Results) -> str:
    """Python code that reproduces the results."""
    options = ", ".join(f"{key}={value!r}" for key, value in results.options.items())
    return (
        "from pathlib import Path\n"
        "from separatrix.experiments.run import run\n"
        "from separatrix.studies.catalogue import make\n\n"
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
