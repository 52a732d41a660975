"""Steps of an experiment as tasks of a cluster.

A worker keeps the context of an experiment, so that it loads the data and computes shared objects once.
Steps are pure: one that asks for the result of a step which has not run is run again when there are more
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Experiment, MissingResult, RunContext, Step, StepResult

_CONTEXTS: dict[str, RunContext] = {}  # of this worker, by the hash of the run

RunStep = Callable[[Step, RunContext], StepResult]


def run_steps(
    experiment: Experiment,
    run_hash: str,
    steps: Sequence[Step],
    results: Mapping[str, StepResult],
    run_step: RunStep,
    cluster: str,
) -> Iterator[tuple[Step, StepResult]]:
    """Each step with its result, as they come; `results` are those of earlier runs."""
    from separatrix.cluster.connection import connect, run_tasks

    known, left = dict(results), list(steps)
    with connect(cluster) as client:
        while left:
            names = [f"step-{step.name.replace(' ', '-')}" for step in left]
            shared = client.submit(_identity, (experiment, known, run_step), pure=False)
            calls = [(run_hash, step.name, shared) for step in left]
            done = {}
            for number, result in run_tasks(client, names, run_on_worker, calls):
                if result is not None:
                    done[left[number].name] = result
                    yield left[number], result
            if not done:
                raise ExperimentError(f"step {left[0].name!r} asks for a result that no step gives")
            known |= done
            left = [step for step in left if step.name not in done]


def run_on_worker(run_hash: str, name: str, shared: Any) -> StepResult | None:
    """Run one step in the context of this worker; None if it needs a result that is not there yet."""
    experiment, known, run_step = shared
    if run_hash not in _CONTEXTS:
        _CONTEXTS.clear()  # of earlier runs
        _CONTEXTS[run_hash] = RunContext(experiment)
    context = _CONTEXTS[run_hash]
    for earlier, result in known.items():
        context.store(earlier, result)
    step = next(step for step in experiment.steps if step.name == name)
    try:
        found: StepResult = run_step(step, context)
        return found
    except MissingResult:
        return None


def _identity(value: Any) -> Any:
    return value
