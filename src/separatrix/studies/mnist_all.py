"""The page of all classifiers on MNIST: error, times and memory, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix.experiments.steps import Row
from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, new_figure
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.mnist_all_steps import PUBLISHED
from separatrix.studies.reproduce import command_of, facts_of, python_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = "Test error against seconds of training, both on logarithmic scales; numbers are ranks by error."


def page(results: Results) -> Page:
    """From the table alone."""
    fits = {row.model: row for row in results.where(metric="n_iter")}
    tests = sorted(results.where(metric="test_error"), key=lambda row: row.value)
    first, last = tests[0], tests[-1]
    on = results.options["data"]
    summary = [
        f"On {on}, {first.model} makes the fewest mistakes, {100 * first.value:.2f} % of the test digits, "
        f"after {fits[first.model].seconds:.1f} s of training; {last.model} the most, "
        f"{100 * last.value:.2f} %."
    ]
    published = on == "mnist" and not results.options["subsample"]
    rows = [
        (
            row.model,
            f"{100 * row.value:.2f}",
            PUBLISHED.get(row.model) if published else None,
            fits[row.model].seconds,
            row.seconds,
            fits[row.model].memory,
        )
        for row in tests
    ]
    columns = ("classifier", "test error %", "published %", "fit s", "predict s", "memory, MiB")
    table = Table(columns, rows, "Memory is what the process grew by while it was trained.")
    return Page(
        title=results.title,
        summary=summary,
        sections=[
            Section(
                "Error", [], [Picture(_errors(tests), "Test error of each, best first.", table)]
            ),
            Section("Error against time", [], [Picture(_times(tests, fits), TIMES, table)]),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _errors(tests: list[Row]) -> Figure:
    figure = new_figure(6.4, 0.9 + 0.26 * len(tests))
    axes = figure.add_subplot()
    positions = range(len(tests), 0, -1)
    axes.barh(positions, [100 * row.value for row in tests], color="#0072b2")
    axes.set_yticks(positions, [f"{rank} · {row.model}" for rank, row in enumerate(tests, start=1)])
    axes.set_xlabel("test error, %")
    return figure


def _times(tests: list[Row], fits: dict[str, Row]) -> Figure:
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    for rank, row in enumerate(tests, start=1):
        x, y = fits[row.model].seconds, 100 * row.value
        axes.plot(x, y, marker="o", color="#0072b2")
        beside = (-6, -3) if rank % 2 else (6, -3)  # ranks of neighbours on two sides
        side = "right" if rank % 2 else "left"
        axes.annotate(f"{rank}", (x, y), beside, textcoords="offset points", ha=side, color=INK)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("seconds of training")
    axes.set_ylabel("test error, %")
    return figure
