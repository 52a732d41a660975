"""Views of results: values of the table, and pages with the command and code that reproduce them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Results, Row, params_json
from separatrix.report.page import Page, Section
from separatrix.studies.catalogue import option_words


def format_spread(values: Any, digits: int = 2) -> str:
    """Mean ± standard deviation; the mean alone of a single value.

    >>> format_spread([1.0, 2.0]), format_spread([0.25], 1)
    ('1.50 ± 0.50', '0.2')
    """
    mean = f"{np.mean(values):.{digits}f}"
    return f"{mean} ± {np.std(values):.{digits}f}" if len(values) > 1 else mean


def row_params(row: Row) -> dict[str, Any]:
    """The parameters of a row."""
    params: dict[str, Any] = json.loads(row.parameters)
    return params


def params_of(results: Results, **fields: Any) -> list[dict[str, Any]]:
    """The parameters of all rows with these fields."""
    return [row_params(row) for row in results.where(**fields)]


def metric_values(results: Results, **fields: Any) -> dict[str, float]:
    """Value of each metric in the rows with these fields; the last of a metric counts."""
    return {row.metric: row.value for row in results.where(**fields)}


def single_value(
    results: Results, part: str, metric: str, model: str | None = None, **params: Any
) -> float:
    """The value of the row with this part, metric and parameters."""
    fields = {"part": part, "metric": metric, "parameters": params_json(**params)}
    found = results.where(**fields, **({} if model is None else {"model": model}))
    if not found:
        raise ExperimentError(
            f"{results.name} has no row of {part}, {metric}, {fields['parameters']}"
        )
    return found[0].value


def largest_value(results: Results, part: str, metric: str, **fields: Any) -> float:
    """The largest absolute value of a metric."""
    return float(np.abs(results.values(part=part, metric=metric, **fields)).max())


def step_seconds(results: Results, part: str) -> float:
    """Time of all steps of a part; rows of one step share its time."""
    return float(sum({row.seconds for row in results.where(part=part)}))


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
    return shlex.join(["separatrix", "run", results.name, *option_words(results.options)])


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
