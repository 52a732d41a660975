"""`linear-classifiers`: twelve claims about linear and probabilistic classifiers, each checked in numbers.

A part is one step: its rows hold the claim and how far the numbers are from it, its arrays the picture.
"""

from __future__ import annotations

from separatrix.experiments.steps import Experiment, Step
from separatrix.studies.linear_steps.gaussian import TERMS, terms
from separatrix.studies.linear_steps.geometry import DISTANCE, REGIONS, distance, regions
from separatrix.studies.linear_steps.logistic import DOUBT, SOFTMAX, costs_and_doubt, softmax
from separatrix.studies.linear_steps.losses import FAR, LOSSES, curves, far_points
from separatrix.studies.linear_steps.margins import MARGINS, soft_margin
from separatrix.studies.linear_steps.squares import FISHER, ONE_HOT, RIDGE, fisher, one_hot, ridge
from separatrix.studies.linear_steps.words import WORDS, frequencies

PARTS = (
    (DISTANCE, distance),
    (REGIONS, regions),
    (FAR, far_points),
    (ONE_HOT, one_hot),
    (RIDGE, ridge),
    (FISHER, fisher),
    (TERMS, terms),
    (WORDS, frequencies),
    (DOUBT, costs_and_doubt),
    (SOFTMAX, softmax),
    (MARGINS, soft_margin),
    (LOSSES, curves),
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
        steps=[Step(name, run) for name, run in PARTS],
    )
