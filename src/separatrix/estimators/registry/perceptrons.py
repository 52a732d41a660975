"""Records of the linear classifiers that learn sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.estimators.registry.reasons import ORDER_DEPENDENT
from separatrix.estimators.registry.record import EstimatorRecord, PlaygroundRecord, SuiteModel
from separatrix.estimators.registry.sliders import PASSES, PREDICTORS, SHUFFLE


def _without_tolerance(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "tol": None}  # only a pass without mistakes, or the last pass, stops it


RECORDS = (
    EstimatorRecord(
        name="Perceptron",
        module="separatrix.estimators.perceptron",
        solver="separatrix.solvers.perceptron.primal",
        paper="Rosenblatt 1958; Crammer and Singer 2003",
        not_for="overlapping classes, unless averaged; probabilities",
        linear=True,
        suite=(
            SuiteModel(
                "perceptron",
                "perceptron, averaged",
                params={"predictor": "average"},
                tuned={"predictor": "average"},
            ),
        ),
        playground=PlaygroundRecord(
            "perceptron",
            "Perceptron",
            "A straight boundary that moves at every mistake.",
            (PREDICTORS, PASSES, SHUFFLE),
            arguments=_without_tolerance,
            steps="mistakes",
            limits=("time_limit",),
        ),
        variants=("Perceptron(multi_class='ovr')",),
        endless=("Perceptron(max_iter=10**7, tol=None)",),
        expected_failures=ORDER_DEPENDENT,
    ),
)
