"""Parts 1 and 2 of the page: perpendiculars, and the regions of four rules."""

from __future__ import annotations

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    KINDS,
    PETALS,
    class_legend,
    draw_regions,
    draw_samples,
    figure_of,
    largest,
    name_outer_axes,
    number,
    regions_from,
    rows_of,
)
from separatrix.studies.linear_steps.geometry import DISTANCE, PLANAR, REGIONS

RULE_NAMES = {
    "rest": "K - 1 against the rest",
    "each": "K against the rest",
    "pairs": "majority of pairs",
    "predict": "largest score",
}


def distance(results: Results) -> Section:
    """Each sample with its way to the boundary."""
    models = [row.model for row in rows_of(results, DISTANCE, "length_of_w", data=PLANAR)]
    checks = (
        "length_of_w",
        "origin_distance",
        "off_formula",
        "off_perpendicular",
        "sign_is_the_class",
    )
    rows = [
        [
            model,
            *(results.values(part=DISTANCE, data=PLANAR, model=model, metric=m)[0] for m in checks),
        ]
        for model in models
    ]
    return Section(
        "1 · Signed distance",
        [
            "A linear function f(x) = <w, x> + w0 is 0 on its boundary. f(x) / |w| is the "
            "distance of x to it, with the sign of the side. Every linear model here has it as "
            "signed_distance.",
            "From each sample, going back by its distance along w must end on the boundary. It "
            f"does, to {largest(results, DISTANCE, 'off_boundary_at_foot'):.0e}, for every "
            "model, in two dimensions and in four.",
        ],
        [
            _perpendiculars(results),
            Table(
                ("model", "|w|", "origin", "off f/|w|", "off perpendicular", "right side"),
                rows,
                "Two kinds of iris by their petals, 100 flowers. Origin: its signed distance, "
                "cm. Off: largest difference over all flowers. Right side: share whose sign is "
                "the class predicted.",
            ),
        ],
    )


def _perpendiculars(results: Results) -> Picture:
    found = results.arrays[DISTANCE]
    X, codes, w, (bias,) = found["X"], found["codes"], found["weights"], found["bias"]
    figure, axes = figure_of(3.1)
    for row, foot in zip(found["picked"], found["feet"], strict=True):
        axes.plot(*zip(X[row], foot, strict=True), color=INK, linewidth=1.1, zorder=2.5)
    draw_samples(axes, X, codes)
    axes.axline((0.0, -bias / w[1]), slope=-w[0] / w[1], color=INK, linewidth=1.6, zorder=2)
    ends = ((found["picked"][0], -3, "right"), (found["picked"][-1], 0, "center"))
    for row, aside, edge in ends:
        text = f"{found['distance'][row]:+.2f} cm"
        axes.annotate(text, X[row], (aside, 6), textcoords="offset points", fontsize=9, ha=edge)
    axes.set_aspect("equal")
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1], xlim=(2.3, 7.4), ylim=(0.7, 2.75))
    class_legend(figure, KINDS[1:])
    table = Table(
        ("flower", "kind", "length, cm", "width, cm", "signed distance, cm"),
        [
            [int(i) + 50, KINDS[codes[i] + 1], *X[i].tolist(), float(found["distance"][i])]
            for i in found["picked"]
        ],
    )
    caption = (
        "The boundary of a linear support vector machine, and the way to it from twelve flowers "
        "from the furthest on one side to the furthest on the other. Both axes have one scale, "
        "so that ways are seen at right angles."
    )
    return Picture(figure, caption, table)


def regions(results: Results) -> Section:
    """Four rules, four panels."""
    found = results.arrays[REGIONS]
    figure, panels = figure_of(5.4, 2, 2, sharex=True, sharey=True)
    shares = {
        rule: number(results, REGIONS, "area_share", region="indeterminate", rule=rule)
        for rule in RULE_NAMES
    }
    for axes, (rule, name) in zip(panels.flat, RULE_NAMES.items(), strict=True):
        shape = regions_from(found, f"{rule}_", KINDS, rule, "LinearSVC")
        draw_regions(axes, shape, found["X"], found["codes"])
        axes.set_title(f"{name}\n{100 * shares[rule]:.1f} % without a class", fontsize=9.5)
    name_outer_axes(panels, PETALS)
    class_legend(figure, KINDS, nowhere=True)
    rows = [
        [
            name,
            int(number(results, REGIONS, "boundaries", rule=rule)),
            *(
                100 * number(results, REGIONS, "area_share", region=region, rule=rule)
                for region in (*KINDS, "indeterminate")
            ),
        ]
        for rule, name in RULE_NAMES.items()
    ]
    return Section(
        "2 · Regions",
        [
            "Two classes need one boundary. For K classes answers must be put together, and "
            "common ways contradict themselves somewhere: two classes claim a place, or none "
            "does, or each has one vote.",
            f"The largest of K scores never does. It leaves {100 * shares['predict']:g} % of the "
            f"area without a class, the others {100 * shares['rest']:.1f} %, "
            f"{100 * shares['each']:.1f} % and {100 * shares['pairs']:.1f} %.",
        ],
        [
            Picture(
                figure,
                "Iris by its petals under four rules for the same machine. Hatched: places that "
                "the rule gives to no class.",
                Table(("rule", "boundaries", *(f"{kind} %" for kind in KINDS), "no class %"), rows),
            )
        ],
    )
