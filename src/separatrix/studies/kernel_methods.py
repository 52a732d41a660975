"""The page of `kernel-methods`: each claim in a sentence, as a picture and as numbers."""

from __future__ import annotations

import json

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import SCORES, new_figure
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.kernel_drawings import (
    drawn_bound,
    drawn_forms,
    drawn_map,
    drawn_similarity,
    drawn_spectra,
)
from separatrix.studies.kernel_methods_steps import (
    BOUND,
    DEFINITE,
    FORMS,
    KIND,
    KINDS,
    MADE,
    MAP,
    OLIGONUCLEOTIDES,
    SEQUENCES,
    words,
)
from separatrix.studies.reproduce import command_of, facts_of, python_of

KINDS_IN_A_LINE = 2


def page(results: Results) -> Page:
    """The claims in the order of the document."""
    same = results.values(part=FORMS, metric="same_mistakes")
    mistakes, bounds = (
        results.values(part=BOUND, metric=metric) for metric in ("mistakes", "bound")
    )
    error = results.values(part=MAP, metric="relative_difference").max()
    summary = [
        f"The primal and the dual perceptron make the same mistakes in the same order on "
        f"{same.sum():.0f} of {len(same)} data sets; mistakes stay within (2R/γ)² in "
        f"{(mistakes <= bounds).sum()} of {len(bounds)} draws.",
        f"Inner products of the degree-2 map are the kernel to {error:.0e} of its largest value, and "
        "three sequences say as much through their 3 x 3 similarities as through their word counts.",
    ]
    sections = [
        _forms(results),
        _bound(results),
        _map(results),
        _definite(results),
        _oligonucleotides(results),
        _kinds(results),
    ]
    return Page(
        title=results.title,
        summary=summary,
        sections=sections,
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _forms(results: Results) -> Section:
    found = results.arrays[FORMS]
    figure = drawn_forms(found, MADE.replace(" ", "_"))
    metrics = (
        "samples",
        "primal_mistakes",
        "dual_mistakes",
        "same_mistakes",
        "weight_difference",
        "bias_difference",
    )
    table = _by_data(results, FORMS, metrics, flags=("same_mistakes",))
    paragraphs = [
        "Rosenblatt's algorithm starts from zero and meets the samples in order. The primal form keeps "
        "weights; the dual form keeps how often each sample was mistaken and sees inner products only. "
        "All samples are multiples of 1/64 or whole numbers, so nothing is rounded and the two logs "
        "can be compared entry by entry.",
    ]
    caption = (
        "Left: the made-up samples and the line found. Right: both logs of mistakes, overlaid."
    )
    return Section(
        "Primal and dual make the same mistakes", paragraphs, [Picture(figure, caption, table)]
    )


def _bound(results: Results) -> Section:
    found: dict[str, dict[str, list[float]]] = {}
    for row in results.where(part=BOUND):
        said = json.loads(row.parameters)
        name = (
            f"margin at least {said['margin']:g}"
            if "margin" in said
            else f"circle, {said['kernel']}"
        )
        found.setdefault(name, {"mistakes": [], "bound": []})[row.metric].append(row.value)
    figure = drawn_bound(found)
    table = Table(
        ("data", "draws", "most mistakes", "mean mistakes", "lowest bound", "mean bound"),
        [
            (
                name,
                len(v["bound"]),
                int(max(v["mistakes"])),
                float(np.mean(v["mistakes"])),
                float(min(v["bound"])),
                float(np.mean(v["bound"])),
            )
            for name, v in found.items()
        ],
        "100 samples a draw; γ is the margin of the hard-margin machine, R the largest norm.",
    )
    paragraphs = [
        "On separable data no order of the samples leads to more than (2R/γ)² mistakes. With a kernel "
        "the same holds in its feature space, with R² = max k(x, x).",
    ]
    caption = "Mistakes against the bound, one mark for each draw; all lie below the line."
    return Section("The mistake bound", paragraphs, [Picture(figure, caption, table)])


def _map(results: Results) -> Section:
    found = results.arrays[MAP]
    figure = drawn_map(found)
    metrics = (
        "features",
        "mapped_features",
        "relative_difference",
        "primal_mistakes",
        "dual_mistakes",
        "same_mistakes",
    )
    table = _by_data(results, MAP, metrics, flags=("same_mistakes",))
    paragraphs = [
        "The map (x1², x2², √2 x1 x2) has inner products ⟨x, z⟩². So the perceptron on mapped samples "
        "and the one on the kernel matrix learn the same; with 64 pixels the map already has 2080 "
        "coordinates, while the matrix stays as it is.",
    ]
    caption = "A circle in the plane becomes a line between squared coordinates."
    return Section("The degree-2 map is the kernel", paragraphs, [Picture(figure, caption, table)])


def _definite(results: Results) -> Section:
    found = results.arrays[DEFINITE]
    by_kernel: dict[str, dict[str, float]] = {}
    for row in results.where(part=DEFINITE):
        by_kernel.setdefault(json.loads(row.parameters)["kernel"], {})[row.metric] = row.value
    table = Table(
        (
            "kernel",
            "largest eigenvalue",
            "lowest",
            "semi-definite",
            "dimensions",
            "|FF' - K| / largest",
        ),
        [
            (
                name,
                values["largest_eigenvalue"],
                values["lowest_eigenvalue"],
                bool(values["positive_semidefinite"]),
                _whole(values.get("dimensions")),
                values.get("embedding_error"),
            )
            for name, values in by_kernel.items()
        ],
        f"Matrices of {found['spectra'].shape[1]} digits, pixels from 0 to 1.",
    )
    figure = drawn_spectra(list(by_kernel), found)
    paragraphs = [
        "A matrix is one of inner products when no eigenvalue is negative; then its eigenvectors give "
        "vectors F with F F' = K, the feature space of these samples. The sigmoid is no such kernel: "
        "one of its eigenvalues is below zero, and the embedding refuses it.",
        "The Gaussian here is exp(-|x - z|²/2σ), with σ and not its square.",
    ]
    caption = (
        "Left: the eigenvalues of each matrix; those of zero and below end at the edge. Right: digits "
        "on the first two axes of the Gaussian's centred feature space."
    )
    return Section("Positive semi-definite, or not", paragraphs, [Picture(figure, caption, table)])


def _oligonucleotides(results: Results) -> Section:
    found = results.arrays[OLIGONUCLEOTIDES]
    counts = Table(
        ("sequence", *words()),
        [
            (sequence, *(int(count) for count in line))
            for sequence, line in zip(SEQUENCES, found["counts"], strict=True)
        ],
        "As vectors: how often each word of two letters occurs.",
    )
    figure = drawn_similarity(found["similarity"], SEQUENCES)
    difference = results.values(part=OLIGONUCLEOTIDES, metric="difference_from_counts").max()
    table = Table(
        ("sequence", *SEQUENCES),
        [(s, *map(float, line)) for s, line in zip(SEQUENCES, found["similarity"], strict=True)],
        "As a matrix: Normalized(Spectrum(2)), the cosine of their counts.",
    )
    axis = range(1, found["embedding"].shape[1] + 1)
    embedding = Table(
        ("sequence", *(f"axis {number}" for number in axis)),
        [(s, *map(float, line)) for s, line in zip(SEQUENCES, found["embedding"], strict=True)],
        "Back from the matrix of plain products to vectors: its eigen-embedding.",
    )
    paragraphs = [
        "The same three oligonucleotides twice: as rows of 16 word counts, and as how similar each is "
        "to each by the spectrum kernel, which sees the strings alone; its values are the inner products "
        f"of the counts, with a difference of {difference:g}. The matrix is 3 x 3 whatever the objects "
        "are and however long they grow, and vectors with the same inner products can be had back from it.",
    ]
    caption = "Similarity of each sequence with each."
    return Section(
        "Three oligonucleotides", paragraphs, [counts, Picture(figure, caption, table), embedding]
    )


def _kinds(results: Results) -> Section:
    kinds = list(dict.fromkeys(row.model for row in results.where(part=KIND)))
    lines = -(-len(kinds) // KINDS_IN_A_LINE)
    figure = new_figure(3.4 * KINDS_IN_A_LINE + 0.6, 3.4 * lines)
    rows = []
    for position, kind in enumerate(kinds, start=1):
        of = results.where(part=KIND, model=kind)
        values = {row.metric: row.value for row in of}
        axes = figure.add_subplot(lines, KINDS_IN_A_LINE, position)
        drawn = results.arrays[f"{KIND}: {kind}"]["matrix"]
        image = axes.imshow(drawn, cmap=SCORES, vmin=0, vmax=1)
        axes.set_title(f"{kind}: {of[0].data}", fontsize=9)
        axes.set_xlabel("object, sorted by class")
        axes.set_ylabel("object, sorted by class")
        rows.append(
            (
                kind,
                of[0].data,
                json.loads(of[0].parameters)["kernel"],
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
        *("perceptron, same from the ready matrix", "SVC, same"),
    )
    table = Table(columns, rows, "Two thirds to learn from, one third to test.")
    paragraphs = [
        "Once a kernel exists, any object can be classified: the matrix is n x n, and the same "
        "estimators learn from objects with a kernel or from the matrix itself. The last columns say "
        "which share of test objects both ways put into the same class.",
    ]
    missing = [kind for kind in KINDS if kind.name not in kinds]
    if missing:
        words = " and ".join(f"{kind.name} ({kind.data})" for kind in missing)
        paragraphs.append(f"Left out of this quick run, since their data are not at hand: {words}.")
    caption = (
        "The kernel matrix of each kind of object; light squares along the diagonal are classes."
    )
    return Section(
        "One matrix for each kind of object", paragraphs, [Picture(figure, caption, table)]
    )


def _by_data(
    results: Results, part: str, metrics: tuple[str, ...], flags: tuple[str, ...]
) -> Table:
    """One line for each data set of a part."""
    lines: dict[str, dict[str, float]] = {}
    for row in results.where(part=part):
        lines.setdefault(row.data, {})[row.metric] = row.value
    return Table(
        ("data", *(metric.replace("_", " ") for metric in metrics)),
        [
            (data, *(bool(values[m]) if m in flags else values[m] for m in metrics))
            for data, values in lines.items()
        ],
        "One line for each data set.",
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
