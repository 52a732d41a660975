"""Page of `kernel-methods`: each claim as a sentence, a figure and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.experiments.steps import Results
from separatrix.plots.figures import COLOURS, INK, MARKERS, SCORES, new_axes, write_cells
from separatrix.report.page import Page, Picture, Section, Shows, Table
from separatrix.studies.inputs import MOST_FEATURES, MOST_ROWS
from separatrix.studies.kernel_methods import steps
from separatrix.studies.kernel_methods.steps import BOUND, DEFINITE, FORMS, MAP, OBJECTS, SEQUENCES
from separatrix.studies.views import metric_values, row_params, study_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = {1: (COLOURS[0], "o"), -1: (COLOURS[4], "s")}
LOWEST = 1e-16  # share of the largest eigenvalue at the lower edge of the figure
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
PANEL_COLUMNS = 2
MISTAKE_METRICS = ("primal_mistakes", "dual_mistakes", "same_mistakes")


def page(results: Results) -> Page:
    """The claims, from vectors to any object."""
    same = results.values(part=FORMS, metric="same_mistakes")
    mistakes, bounds = (results.values(part=BOUND, metric=m) for m in ("mistakes", "bound"))
    error = results.values(part=MAP, metric="relative_difference").max()
    summary = [
        f"The primal and the dual perceptron make the same mistakes in the same order on "
        f"{same.sum():.0f} of {len(same)} data sets; mistakes stay within (2R/γ)² in "
        f"{(mistakes <= bounds).sum()} of {len(bounds)} draws.",
        f"Inner products of the degree-2 map equal the kernel to {error:.0e} of its largest value, and "
        "the 3 x 3 similarities of three sequences hold the same information as their word counts.",
    ]
    given = results.options["data"]
    if given is not None:
        summary.append(
            f"{given}: up to {MOST_ROWS} rows and the {MOST_FEATURES} features that differ most between "
            "the classes, scaled to a deviation of 1, in multiples of 1/64 where forms are compared; the "
            f"first class is against the others. {_judge_given(results)}"
        )
    parts = (_forms, _bound, _map, _definite, _oligonucleotides, _objects)
    title = results.title if given is None else f"{results.title}, on {given}"
    return study_page(results, summary, [section(results) for section in parts], title)


def _judge_given(results: Results) -> str:
    """What holds on the given data, and what does not."""
    given = results.options["data"]
    forms, mapped = (metric_values(results, part=part, data=given) for part in (FORMS, MAP))
    claims = {
        "the primal and the dual perceptron make the same mistakes": bool(forms["same_mistakes"]),
        f"a line separates them within {steps.GIVEN_PASSES} passes": bool(forms["clean_pass"]),
        "the map and the kernel make the same mistakes": bool(mapped["same_mistakes"]),
    }
    bound = metric_values(results, part=BOUND, data=given)
    claims["a Gaussian separates them, with mistakes within (2R/γ)²"] = bool(
        bound and bound["mistakes"] <= bound["bound"]
    )
    holds, fails = (
        [text for text, held in claims.items() if held is wanted] for wanted in (True, False)
    )
    sentences = [f"It holds that {'; that '.join(holds)}."] if holds else []
    sentences += [f"It does not hold that {'; that '.join(fails)}."] if fails else []
    return " ".join(sentences)


def _forms(results: Results) -> Section:
    found = results.arrays[FORMS]
    figure, (left, right) = new_axes(7.6, 3.7, 1, 2)
    _draw_points(left, found["X"], found["y"], 14 + 26 * found["alpha"])
    _draw_line(left, found["w"], float(found["b"][0]))
    left.set_title("marker size: mistakes on the sample", fontsize=9)
    for name, marker, size, color in (("primal", "o", 7, COLOURS[0]), ("dual", "x", 5, COLOURS[4])):
        log = found[f"{steps.SYNTHETIC.replace(' ', '_')}_{name}"]
        line_style = {"markersize": size, "markerfacecolor": "none" if marker == "o" else color}
        right.plot(np.arange(1, len(log) + 1), log, marker, color=color, label=name, **line_style)
    right.set(xlabel="mistake", ylabel="misclassified sample")
    _put_legend_below(left, right)
    metrics = ("samples", *MISTAKE_METRICS, "weight_difference", "bias_difference")
    paragraphs = [
        "Rosenblatt's algorithm starts from zero and visits the samples in order. The primal form stores "
        "weights; the dual form stores how often each sample was misclassified and uses inner products "
        "only. All samples are multiples of 1/64 or integers, so nothing is rounded and the two logs can "
        "be compared entry by entry."
    ]
    caption = "Left: synthetic samples and the line found. Right: both logs of mistakes, overlaid."
    picture = Picture(figure, caption, _tabulate(results, FORMS, metrics))
    return Section("Primal and dual make the same mistakes", paragraphs, [picture])


def _bound(results: Results) -> Section:
    found: dict[str, dict[str, list[float]]] = {}
    for row in results.where(part=BOUND):
        params = row_params(row)
        kernel, margin = params.get("kernel"), params.get("margin")
        name = f"{row.data}, {kernel}" if kernel else f"margin at least {margin:g}"
        found.setdefault(name, {"mistakes": [], "bound": []})[row.metric].append(row.value)
    figure, axes = new_axes(5.2, 3.8)
    for i, (name, values) in enumerate(found.items()):
        line_style = {"color": COLOURS[i % 6], "markersize": 5, "linestyle": "none"}
        axes.plot(values["bound"], values["mistakes"], MARKERS[i], label=name, **line_style)
    most = max(max(values["bound"]) for values in found.values())
    axes.plot([1, most], [1, most], color=INK, linewidth=1, label="mistakes = bound")
    axes.set(xscale="log", yscale="log", xlabel="bound (2R/γ)²", ylabel="mistakes")
    axes.legend(fontsize=7)
    table = Table(
        ("data", "draws", "most mistakes", "mean mistakes", "lowest bound", "mean bound"),
        [
            (
                name,
                len(v["bound"]),
                *(int(max(v["mistakes"])), float(np.mean(v["mistakes"]))),
                *(float(min(v["bound"])), float(np.mean(v["bound"]))),
            )
            for name, v in found.items()
        ],
        "100 samples per draw; γ is the margin of the hard-margin SVM, R the largest norm.",
    )
    paragraphs = [
        "On separable data no order of the samples leads to more than (2R/γ)² mistakes. With a kernel "
        "the same holds in its feature space, with R² = max k(x, x)."
    ]
    caption = "Mistakes against the bound, one marker for each draw; all lie below the line."
    return Section("The mistake bound", paragraphs, [Picture(figure, caption, table)])


def _map(results: Results) -> Section:
    found = results.arrays[MAP]
    figure, (left, right) = new_axes(7.6, 3.8, 1, 2)
    _draw_points(left, found["X"], found["y"], 18)
    left.set_title("samples: not linearly separable", fontsize=9)
    # projection along the third axis: the line is the plane's intersection with it at 0
    _draw_points(right, found["mapped"], found["y"], 18)
    _draw_line(right, found["w"][:2], float(found["b"][0]))
    right.set(xlabel="x1²", ylabel="x2²")
    right.set_title("after the map, seen along √2 x1 x2", fontsize=9)
    _put_legend_below(left, right)
    metrics = ("features", "mapped_features", "relative_difference", *MISTAKE_METRICS)
    paragraphs = [
        "The map (x1², x2², √2 x1 x2) has inner products ⟨x, z⟩². So the perceptron on mapped samples "
        "and the one on the kernel matrix learn the same; of 64 features the map already has 2080 "
        "coordinates, while the size of the matrix does not change."
    ]
    caption = "A circle in the plane becomes a line between squared coordinates."
    picture = Picture(figure, caption, _tabulate(results, MAP, metrics))
    return Section("The degree-2 map is the kernel", paragraphs, [picture])


def _definite(results: Results) -> Section:
    found = results.arrays[DEFINITE]
    data = results.options["data"] or "digits"
    scale = "pixels from 0 to 1" if data == "digits" else "scaled to a deviation of 1"
    by_kernel: dict[str, dict[str, float]] = {}
    for row in results.where(part=DEFINITE):
        by_kernel.setdefault(row_params(row)["kernel"], {})[row.metric] = row.value
    columns = ("kernel", "largest eigenvalue", "lowest", "semi-definite", "dimensions")
    table = Table(
        (*columns, "|FF' - K| / largest"),
        [
            (
                name,
                values["largest_eigenvalue"],
                values["lowest_eigenvalue"],
                bool(values["positive_semidefinite"]),
                int(values["dimensions"]) if "dimensions" in values else None,
                values.get("embedding_error"),
            )
            for name, values in by_kernel.items()
        ],
        f"Matrices of {found['spectra'].shape[1]} samples of {data}, {scale}.",
    )
    sigmoid = next(values for name, values in by_kernel.items() if name.startswith("Sigmoid"))
    here = "one of its eigenvalues is negative, and the embedding rejects it"
    if sigmoid["positive_semidefinite"]:
        here = "though on these samples none of its eigenvalues is negative"
    figure = _draw_spectra(list(by_kernel), found)
    paragraphs = [
        "A matrix holds inner products if no eigenvalue is negative; its eigenvectors then give vectors F "
        f"with F F' = K, the feature space of these samples. The sigmoid is not such a kernel: {here}.",
        "The Gaussian is exp(-|x - z|²/2σ), with σ and not its square.",
    ]
    caption = (
        "Left: eigenvalues of each matrix, clipped at the lower edge. Right: samples on the first two "
        "axes of the Gaussian's centred feature space."
    )
    return Section("Positive semi-definite, or not", paragraphs, [Picture(figure, caption, table)])


def _draw_spectra(kernels: list[str], found: Mapping[str, Any]) -> Figure:
    """Eigenvalues of each kernel matrix, and samples on the first two axes of one."""
    figure, (left, right) = new_axes(8.2, 3.6, 1, 2)
    for i, (name, values) in enumerate(zip(kernels, found["spectra"], strict=True)):
        share = np.maximum(values / values[0], LOWEST)
        number = np.arange(1, len(share) + 1)
        line_style = {"color": COLOURS[i % 6], "linestyle": STYLES[i % len(STYLES)]}
        left.plot(number, share, label=name.split("(")[0] + _degree(name), **line_style)
    left.set(yscale="log", xlabel="eigenvalue, by size", ylabel="share of the largest")
    left.set_ylim(LOWEST, 2)
    left.legend(fontsize=7)
    for digit in np.unique(found["labels"]):
        own = found["embedding"][found["labels"] == digit]
        style = {"color": COLOURS[digit % len(COLOURS)], "marker": MARKERS[digit % len(MARKERS)]}
        right.scatter(own[:, 0], own[:, 1], s=14, label=str(digit), linewidths=0, **style)
    right.set(xlabel="first axis", ylabel="second axis")
    where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    right.legend(fontsize=7, title="class", title_fontsize=7, frameon=False, **where)
    return figure


def _degree(name: str) -> str:
    """The degree of a polynomial, as a suffix of its name.

    >>> _degree("Polynomial(degree=3, gamma=1.0, coef0=0.0)"), _degree("Linear()")
    (' 3', '')
    """
    return f" {name.split('degree=')[1][0]}" if "degree=" in name else ""


def _oligonucleotides(results: Results) -> Section:
    found = results.arrays[steps.OLIGONUCLEOTIDES]

    def table(names: Any, key: str, caption: str) -> Table:
        lines = found[key].astype(int) if key == "counts" else found[key]
        rows = [(s, *line.tolist()) for s, line in zip(SEQUENCES, lines, strict=True)]
        return Table(("sequence", *names), rows, caption)

    figure, axes = new_axes(4.6, 3.6)
    matrix = found["similarity"]
    image = axes.imshow(matrix, cmap=SCORES, vmin=0, vmax=1)
    write_cells(axes, [[f"{v:.2f}" for v in line] for line in matrix], matrix < 0.6, fontsize=9)
    axes.set_xticks(range(3), SEQUENCES, fontsize=7)
    axes.set_yticks(range(3), SEQUENCES, fontsize=7)
    figure.colorbar(image, ax=axes, label="similarity")
    difference = results.values(part=steps.OLIGONUCLEOTIDES, metric="difference_from_counts").max()
    dimensions = range(1, found["embedding"].shape[1] + 1)
    paragraphs = [
        "The same three oligonucleotides as rows of 16 word counts, and as the pairwise similarities of "
        "the spectrum kernel, which reads only the strings; its values are the inner products of the "
        f"counts, with a difference of {difference:g}. The matrix is 3 x 3 whatever the objects are and "
        "however long they grow, and its embedding recovers vectors with the same inner products."
    ]
    shows: Shows = [
        table(steps.words(), "counts", "As vectors: how often each word of two letters occurs."),
        Picture(
            figure,
            "Similarity of each pair of sequences.",
            table(
                SEQUENCES, "similarity", "As a matrix: Normalized(Spectrum(2)), cosines of counts."
            ),
        ),
        table(
            [f"axis {number}" for number in dimensions],
            "embedding",
            "Vectors from the matrix of inner products: its eigen-embedding.",
        ),
    ]
    return Section("Three oligonucleotides", paragraphs, shows)


def _objects(results: Results) -> Section:
    kinds = list(dict.fromkeys(row.model for row in results.where(part=OBJECTS)))
    lines = -(-len(kinds) // PANEL_COLUMNS)
    size = (3.4 * PANEL_COLUMNS + 0.6, 3.4 * lines)
    figure, grid = new_axes(*size, lines, PANEL_COLUMNS, squeeze=False)
    for axes in grid.flat[len(kinds) :]:
        axes.remove()
    rows = []
    for axes, kind in zip(grid.flat, kinds, strict=False):
        first, *_ = results.where(part=OBJECTS, model=kind)
        values = metric_values(results, part=OBJECTS, model=kind)
        matrix = results.arrays[f"{OBJECTS}: {kind}"]["matrix"]
        image = axes.imshow(matrix, cmap=SCORES, vmin=0, vmax=1)
        axes.set_title(f"{kind}: {first.data}", fontsize=9)
        axes.set(xlabel="object, sorted by class", ylabel="object, sorted by class")
        rows.append(
            (
                kind,
                first.data,
                row_params(first)["kernel"],
                f"{values['objects']:.0f} x {values['objects']:.0f}",
                bool(values["positive_semidefinite"]),
                *(values[f"{m}_test_accuracy"] for m in ("KernelPerceptron", "SVC")),
                *(values[f"{m}_agreement_with_ready_matrix"] for m in ("KernelPerceptron", "SVC")),
            )
        )
    figure.colorbar(image, ax=figure.axes, label="kernel value", shrink=0.8)
    columns = (
        *("objects", "data", "kernel", "matrix", "semi-definite"),
        *("perceptron accuracy", "SVC accuracy"),
        *("perceptron, same from the matrix", "SVC, same from the matrix"),
    )
    table = Table(columns, rows, "Two thirds train, one third tests.")
    paragraphs = [
        "Any object with a kernel can be classified: the matrix is n x n, and the same estimators train "
        "on objects with a kernel or on the matrix itself. The last columns give the share of test "
        "objects that both predict alike."
    ]
    missing = [kind for kind in steps.OBJECT_TYPES if kind.name not in kinds]
    if missing and results.options["data"] is None:
        names = " and ".join(f"{kind.name} ({kind.data})" for kind in missing)
        paragraphs.append(
            f"Left out of this quick run because the data are not available: {names}."
        )
    caption = "The kernel matrix of each type of object; light squares on the diagonal are classes."
    return Section(
        "One matrix for each type of object", paragraphs, [Picture(figure, caption, table)]
    )


def _tabulate(results: Results, part: str, metrics: tuple[str, ...]) -> Table:
    """One line for each data set of a part."""
    rows = []
    for data in dict.fromkeys(row.data for row in results.where(part=part)):
        values = metric_values(results, part=part, data=data)
        values["same_mistakes"] = bool(values["same_mistakes"])
        rows.append((data, *(values[metric] for metric in metrics)))
    columns = ("data", *(metric.replace("_", " ") for metric in metrics))
    return Table(columns, rows, "One line for each data set.")


def _draw_points(axes: Axes, X: Any, y: Any, sizes: Any) -> None:
    sizes = np.broadcast_to(sizes, len(y))
    for side, (color, marker) in SIDES.items():
        own = y == side
        style: dict[str, Any] = {"color": color, "marker": marker, "linewidths": 0, "alpha": 0.85}
        axes.scatter(X[own, 0], X[own, 1], s=sizes[own], label=f"{side:+d}", **style)
    axes.set(xlabel="x1", ylabel="x2")


def _draw_line(axes: Axes, w: Any, b: float) -> None:
    """The line w1 x + w2 y + b = 0 inside the present limits."""
    limits = axes.get_xlim(), axes.get_ylim()
    point = -b * np.asarray(w) / (w @ w)
    axes.axline(point, point + np.array([-w[1], w[0]]), color=INK, linewidth=1)
    axes.set(xlim=limits[0], ylim=limits[1])


def _put_legend_below(*panels: Axes) -> None:
    """A legend below each panel, with markers of one size."""
    for axes in panels:
        legend = axes.legend(
            fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False
        )
        for mark in legend.legend_handles:
            if mark is not None and hasattr(mark, "set_sizes"):
                mark.set_sizes([24])
