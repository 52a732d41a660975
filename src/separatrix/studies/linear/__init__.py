"""The page of `linear-classifiers`: what is claimed and measured, then a section for each part."""

from __future__ import annotations

from separatrix.experiments.table import Results
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Section
from separatrix.studies.linear.claims import Claim, all_claims
from separatrix.studies.linear.gaussian import terms
from separatrix.studies.linear.geometry import distance, regions
from separatrix.studies.linear.logistic import costs_and_doubt
from separatrix.studies.linear.losses import curves, far_points
from separatrix.studies.linear.margins import soft_margin
from separatrix.studies.linear.softmax import probabilities
from separatrix.studies.linear.squares import fisher, one_hot, ridge
from separatrix.studies.linear.words import frequencies
from separatrix.studies.reproduce import command_of, facts_of, python_of

SECTIONS = (
    distance,
    regions,
    far_points,
    one_hot,
    ridge,
    fisher,
    terms,
    frequencies,
    costs_and_doubt,
    probabilities,
    soft_margin,
    curves,
)


def page(results: Results) -> Page:
    """All twelve parts, drawn from the results alone."""
    found = all_claims(results)
    return Page(
        title=results.title,
        summary=_summary(found),
        sections=[_claims(found), *(section(results) for section in SECTIONS)],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _summary(found: list[Claim]) -> list[str]:
    failed = [claim for claim in found if not claim.holds]
    verdict = (
        f"All {len(found)} claims of the twelve parts hold in numbers."
        if not failed
        else f"{len(failed)} of {len(found)} claims do not hold: "
        + "; ".join(f"part {claim.part}, {claim.caption}" for claim in failed)
        + "."
    )
    return [
        verdict,
        "A linear classifier is a direction and a threshold. These pages show what follows: "
        "distances, regions, what each loss does to far samples, when boundaries are straight, "
        "how counts and Gaussians become classifiers, what a probability is worth where no data "
        "are, and why a support vector machine can prove that it is done.",
    ]


def _claims(found: list[Claim]) -> Section:
    rows = [
        [claim.part, claim.holds, claim.caption, claim.measured, claim.wanted] for claim in found
    ]
    return Section(
        "What is claimed, and what was measured",
        ["A wanted 0 allows for rounding: 1e-9."],
        [Table(("part", "holds", "claim", "measured", "wanted"), rows)],
    )
