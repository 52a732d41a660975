"""`linear-classifiers`: twelve claims about linear and probabilistic classifiers, each checked in numbers.

A part is one step: its rows hold the claim and how far the numbers are from it, its arrays the picture.
"""

from __future__ import annotations

from separatrix.experiments.linear.gaussian import TERMS, terms
from separatrix.experiments.linear.geometry import DISTANCE, REGIONS, distance, regions
from separatrix.experiments.linear.logistic import DOUBT, SOFTMAX, costs_and_doubt, softmax
from separatrix.experiments.linear.losses import FAR, LOSSES, curves, far_points
from separatrix.experiments.linear.margins import MARGINS, soft_margin
from separatrix.experiments.linear.squares import FISHER, ONE_HOT, RIDGE, fisher, one_hot, ridge
from separatrix.experiments.linear.words import WORDS, frequencies
from separatrix.experiments.steps import Experiment, Step

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
