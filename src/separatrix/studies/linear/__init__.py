"""Twelve claims about linear and probabilistic classifiers, each checked in numbers.

A part is one step: its rows hold the claim and the deviation from it, its arrays the figure.
"""

from __future__ import annotations

from separatrix.experiments.steps import Experiment, Results, Step
from separatrix.report.page import Page, Section, Table
from separatrix.studies.linear import doubt, generative, geometry, losses, margins, squares
from separatrix.studies.linear.claims import all_claims
from separatrix.studies.reproduce import study_page

PARTS = (
    (geometry.DISTANCE, geometry.check_distances, geometry.distance_section),
    (geometry.REGIONS, geometry.map_regions, geometry.regions_section),
    (losses.FAR, losses.add_distant_samples, losses.distant_section),
    (squares.ONE_HOT, squares.fit_one_hot, squares.one_hot_section),
    (squares.RIDGE, squares.fit_ridges, squares.ridge_section),
    (squares.FISHER, squares.compare_directions, squares.fisher_section),
    (generative.TERMS, generative.compute_terms, generative.terms_section),
    (generative.WORDS, generative.count_words, generative.words_section),
    (doubt.DOUBT, doubt.compare_costs_and_doubt, doubt.doubt_section),
    (geometry.SOFTMAX, geometry.check_softmax, geometry.softmax_section),
    (margins.MARGINS, margins.check_margins, margins.margins_section),
    (losses.LOSSES, losses.check_losses, losses.losses_section),
)


def experiment(*, quick: bool = False, seed: int = 0) -> Experiment:
    """The twelve parts; quick: coarser grids, and smaller sets where time is measured.

    >>> len(experiment(quick=True).steps)
    12
    """
    return Experiment(
        name="linear-classifiers",
        title="Linear classifiers: twelve claims, checked",
        options={"quick": quick, "seed": seed},
        data=("iris", "breast_cancer"),
        steps=[Step(name, run) for name, run, _ in PARTS],
    )


def page(results: Results) -> Page:
    """The claims, then one section for each part."""
    found = all_claims(results)
    failed = [f"part {claim.part}, {claim.caption}" for claim in found if not claim.holds]
    verdict = f"All {len(found)} claims of the twelve parts hold in numbers."
    if failed:
        verdict = f"{len(failed)} of {len(found)} claims do not hold: {'; '.join(failed)}."
    summary = [
        verdict,
        "A linear classifier is a direction and a threshold. The parts show what follows: distances, "
        "regions, the effect of each loss on distant samples, when boundaries are linear, classifiers "
        "from counts and Gaussians, probabilities far from the data, and the optimality certificate of a "
        "support vector machine.",
    ]
    rows = [[one.part, one.holds, one.caption, one.measured, one.wanted] for one in found]
    claims = Section(
        "Claims and measured values",
        ["A wanted 0 allows for rounding: 1e-9."],
        [Table(("part", "holds", "claim", "measured", "wanted"), rows)],
    )
    return study_page(results, summary, [claims, *(section(results) for _, _, section in PARTS)])
