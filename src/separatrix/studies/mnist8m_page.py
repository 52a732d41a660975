"""Page of `mnist8m`: error and time by the number of images, and the certificate of each size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from separatrix.experiments.steps import Results
from separatrix.plots.figures import COLOURS, INK, new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.views import metric_values, row_params, study_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = (8_100_000, 0.67, "Loosli, Canu and Bottou 2007, eight days of one CPU")

CERTIFICATE = ("violation", "gap", "checked_violation", "checked_gap")


class SizeRow(NamedTuple):
    """One size of the results table."""

    images: int
    error: float  # a share
    fit_seconds: float
    values: dict[str, float]
    gram: str


def page(results: Results) -> Page:
    """Error, time, support vectors and certificates of all sizes."""
    sizes = _sizes(results)
    last = sizes[-1]
    first = f"with {sizes[0].images:,} it is {100 * sizes[0].error:.2f} %"
    summary = [
        f"With {last.images:,} images the test error is {100 * last.error:.2f} %, after "
        f"{last.fit_seconds:.1f} s of training; {first}.",
        f"The largest violation of all sizes is {max(one.values['violation'] for one in sizes):.1e}, "
        f"{max(one.values['checked_violation'] for one in sizes):.1e} where it was computed again.",
    ]
    title = f"{results.title}, on {results.options['data']}"
    return study_page(results, summary, [_curve(results, sizes), _certificates(sizes)], title)


def _sizes(results: Results) -> list[SizeRow]:
    found = []
    for row in results.where(metric="test_error"):
        params = row_params(row)
        [fitted] = results.where(part=row.part, metric="support_vectors")
        values = metric_values(results, part=row.part)
        found.append(SizeRow(params["images"], row.value, fitted.seconds, values, params["gram"]))
    return found


def _curve(results: Results, sizes: list[SizeRow]) -> Section:
    options = results.options
    rows = [
        (one.images, f"{100 * one.error:.2f}", one.fit_seconds, int(one.values["support_vectors"]))
        for one in sizes
    ]
    columns = ("images", "test error %", "fit s", "support vectors")
    table = Table(columns, rows, f"Gaussian gamma={options['gamma']:g}, C={options['C']:g}.")
    words = [
        "Images beyond the originals are deformed ones: elastic fields, a little rotation, stretching and "
        "translation, thicker and thinner strokes. All images are smoothed, the test images too. Image "
        "number i is the same on every machine. Each size starts from the coefficients of the one before."
    ]
    if options["data"] == "mnist":
        n, error, source = PUBLISHED
        words.append(f"Published for {n:,} images: {error} % ({source}).")
    caption = "Test error and seconds of training by the number of images, logarithmic."
    return Section("Error and time", words, [Picture(_draw(sizes), caption, table)])


def _draw(sizes: list[SizeRow]) -> Figure:
    figure, panels = new_axes(7.6, 3.2, 1, 2)
    n = [one.images for one in sizes]
    for axes, values, label in (
        (panels[0], [100 * one.error for one in sizes], "test error, %"),
        (panels[1], [one.fit_seconds for one in sizes], "seconds of training"),
    ):
        axes.plot(n, values, "o-", color=COLOURS[0])
        for x, value in zip(n, values, strict=True):
            axes.annotate(
                f"{value:.3g}", (x, value), (0, 6), textcoords="offset points", ha="center",
                fontsize=8, color=INK,
            )  # fmt: skip
        axes.set(xscale="log", xlabel="images", ylabel=label)
        axes.margins(y=0.2)
    if min(one.fit_seconds for one in sizes) > 0:
        panels[1].set_yscale("log")
    return figure


def _certificates(sizes: list[SizeRow]) -> Section:
    rows = [
        (
            one.images,
            *(f"{one.values[name]:.1e}" for name in CERTIFICATE),
            int(one.values["unfinished"]),
            one.gram,
        )
        for one in sizes
    ]  # fmt: skip
    columns = (
        *("images", "violation", "gap", "violation, float64", "gap, float64"),
        *("unfinished pairs", "kernel matrix"),
    )
    table = Table(columns, rows, "Largest of all pairs; float64: largest of three pairs.")
    words = [
        "An SVC is optimal if no two coefficients can be changed for the better; the violation is by how "
        "much that fails. Three pairs are checked again on the CPU, in float64, with images that are made "
        "again: all support vectors, and up to some 20,000 other images of both classes. Their gap takes "
        "the losses of images that are left out to be those of the sampled ones on average."
    ]
    return Section("Certificates", words, [table])
