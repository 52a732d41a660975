"""The results of an experiment file as a comparison of its models."""

from __future__ import annotations

import json

import numpy as np

from separatrix.evaluation.compare import Comparison
from separatrix.evaluation.result import Evaluation
from separatrix.experiments.plan import ExperimentPlan
from separatrix.experiments.protocol import CandidateFamily, StudyProtocol
from separatrix.experiments.steps import Results, RunContext


def comparison_of(plan: ExperimentPlan, results: Results) -> Comparison:
    """Each model as its folds chose it, on common splits."""
    context = RunContext(plan.experiment)
    return Comparison(
        {
            name: _evaluation(protocol, family, results, context)
            for name, (protocol, family) in plan.protocols.items()
        }
    )


def _evaluation(
    protocol: StudyProtocol, family: CandidateFamily, results: Results, context: RunContext
) -> Evaluation:
    _, y, splits = protocol.samples(context)
    chosen = results.where(part=family.name, metric="chosen_error")
    positions = [row.parameters for row in chosen]
    train = _of_chosen(results, family, positions, "train_error")
    predicted, probabilities = {}, {}
    if family.shares == "gram":
        names = list(dict.fromkeys(r.parameters for r in results.where(part=family.name)))
        ends = np.cumsum([len(split.test) for split in splits])[:-1]
        for number, parameters in enumerate(positions):
            step = family.splits_step(names.index(parameters))
            guesses = np.split(results.arrays[step]["predicted"], ends)
            predicted[0, number] = guesses[number].astype(np.intp)
    else:
        for number in range(protocol.repeats):
            arrays = results.arrays[family.split_step(number)]
            predicted[0, number] = arrays["predicted"].astype(np.intp)
            if "probabilities" in arrays:
                probabilities[0, number] = arrays["probabilities"]
    return Evaluation(
        name=family.name,
        kernels=[", ".join(f"{k}={v}" for k, v in json.loads(positions[0]).items()) or family.name],
        classes=np.unique(y),
        y=y,
        train_error=train,
        test_error=np.array([[row.value for row in chosen]]),
        n_iter=np.full((1, protocol.repeats), np.nan),
        splits=splits,
        predicted=predicted,
        lead={},
        fold_error=None,
        seconds=_seconds(results, family),
        probabilities=probabilities,
    )


def _seconds(results: Results, family: CandidateFamily) -> float:
    """Time of all steps; rows of a step carry its time, except those of one fit and one prediction."""
    steps = results.where(part=family.name, metric="fold_error")
    rows = steps if steps and family.shares != "gram" else results.where(part=family.name)
    return float(sum({row.seconds for row in rows}))


def _of_chosen(
    results: Results, family: CandidateFamily, positions: list[str], metric: str
) -> np.ndarray:
    """A metric of the chosen candidate on each split, (1, repeats); NaN if not measured."""
    found = {
        (r.parameters, r.split): r.value for r in results.where(part=family.name, metric=metric)
    }
    values = [found.get((position, number), np.nan) for number, position in enumerate(positions)]
    return np.array([values])
