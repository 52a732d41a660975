"""Run the steps of an experiment with a checkpoint after each step.

The folder of a run holds `run.json` (options, versions, hashes), `steps/` (one result each, with a
checksum) and, at the end, the table. After an interruption, the next run in the same folder computes the
missing steps. A result carries the hash of `run.json`, so results of another run are never used.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import ExperimentError, ModelFileError
from separatrix.evaluation.hashes import hash_of
from separatrix.experiments.cluster_steps import run_steps
from separatrix.experiments.steps import Experiment, Results, Row, RunContext, Step, StepResult
from separatrix.modelfile.container import read_container, write_container
from separatrix.modelfile.model_card import versions_here
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.progress import bar, busy
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.runtime.threads import thread_count

FORMAT = 1


def run(
    experiment: Experiment,
    folder: Path,
    *,
    fresh: bool = False,
    progress: bool | None = None,
    done: Callable[[str, bool], None] | None = None,
    found: Callable[[list[Row]], None] | None = None,
    cluster: str | None = None,
) -> Results:
    """Run all steps that the folder does not hold, then write the table.

    Parameters
    ----------
    folder
        Folder of the results. An interrupted run of the same experiment in it is resumed.
    fresh
        Discard the results in the folder.
    done
        Called with the name of each step and whether its result existed.
    found
        Called with the rows of each step once they are known.
    cluster
        Run the missing steps as tasks: "local", the address of a Dask scheduler, or its JSON file.
    """
    begun = time.time()
    context = RunContext(experiment)
    steps = folder / "steps"
    steps.mkdir(parents=True, exist_ok=True)
    about = _describe_run(experiment, context)
    _claim(folder, about, fresh)
    run_hash = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    if cluster is not None:
        _run_on_cluster(experiment, steps, run_hash, cluster, progress)
    with bar(experiment.name, len(experiment.steps), show=progress) as advance:
        for number, step in enumerate(experiment.steps):
            path = steps / f"{number:03d}.step"
            result = _read_result(path, step, run_hash)
            if done is not None:
                done(step.name, result is not None)
            if result is None:
                with busy(step.name, show=False):
                    result = _run_step(step, context)
                _write_result(path, step, run_hash, result)
            context.store(step.name, result)
            if found is not None:
                found(result.rows)
            advance()
    kept = {step.name: context.result(step.name) for step in experiment.steps}
    results = Results(
        name=experiment.name,
        title=experiment.title,
        options=dict(experiment.options),
        data_sha256=about["data"],
        rows=[row for result in kept.values() for row in result.rows],
        arrays={name: result.arrays for name, result in kept.items()},
        versions=about["versions"],
        threads=about["threads"],
    )
    if _read_run(folder) != about:
        raise ExperimentError(
            f"another run took {folder} over in the meantime; nothing was written"
        )
    results.write(folder)
    _sweep(folder, begun)
    return results


def _run_on_cluster(
    experiment: Experiment, folder: Path, run_hash: str, cluster: str, progress: bool | None
) -> None:
    """Write the results of all steps that the folder does not hold."""
    paths = {step.name: folder / f"{i:03d}.step" for i, step in enumerate(experiment.steps)}
    found = {step: _read_result(paths[step.name], step, run_hash) for step in experiment.steps}
    known = {step.name: result for step, result in found.items() if result is not None}
    left = [step for step, result in found.items() if result is None]
    if not left:
        return
    with bar(f"{experiment.name} on {cluster}", len(left), show=progress) as advance:
        for step, result in run_steps(experiment, run_hash, left, known, _run_step, cluster):
            _write_result(paths[step.name], step, run_hash, result)
            advance()


def _sweep(folder: Path, begun: float) -> None:
    """Remove partial files of interrupted runs, except those of a concurrent one."""
    for part in folder.rglob(".*.part"):
        with suppress(OSError):
            if part.stat().st_mtime < begun:
                part.unlink()


def _describe_run(experiment: Experiment, context: RunContext) -> dict[str, Any]:
    about = {
        "experiment": experiment.name,
        "options": dict(experiment.options),
        "steps": [step.name for step in experiment.steps],
        "data": {name: hash_of(context.data(name)) for name in experiment.data},
        "versions": versions_here(),
        "threads": thread_count(),
    }
    again: dict[str, Any] = json.loads(json.dumps(about))  # as it will be read
    return again


def _claim(folder: Path, about: dict[str, Any], fresh: bool) -> None:
    """Claim the folder for this experiment; refuse if it holds another one."""
    path = folder / "run.json"
    if not fresh and path.exists():
        before = _read_run(folder)
        different = [key for key in about if before.get(key) != about[key]]
        if different:
            error = ExperimentError(
                f"{folder} holds a run that differs in its {' and '.join(different)}"
            )
            error.hint = "take another folder with --out, or start over with --fresh"
            raise error
        return
    for old in (*(folder / "steps").glob("*.step"), *folder.glob("results.*")):
        old.unlink(missing_ok=True)
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _read_run(folder: Path) -> dict[str, Any]:
    """The contents of `run.json`; empty if it cannot be read."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (ValueError, RecursionError, FileNotFoundError):
        return {}
    return found if isinstance(found, dict) else {}


def _run_step(step: Step, context: RunContext) -> StepResult:
    """Run a step; rows without time or memory of their own get those of the step."""
    with ResourceUsage() as meter:
        rows, arrays = step.run(context)
    timed = [
        row._replace(
            seconds=meter.seconds if np.isnan(row.seconds) else row.seconds,
            memory=meter.mebibytes if np.isnan(row.memory) else row.memory,
        )
        for row in rows
    ]
    return StepResult(timed, arrays)


def _write_result(path: Path, step: Step, run_hash: str, result: StepResult) -> None:
    rows = json.dumps(
        [[*row[:6], *map(_number, row[6:9]), *row[9:]] for row in result.rows]
    ).encode()
    write_container(
        path,
        {"format": FORMAT, "step": step.name, "run": run_hash},
        {
            "rows": np.frombuffer(rows, dtype=np.uint8),
            **{f"a.{n}": a for n, a in result.arrays.items()},
        },
    )


def _read_result(path: Path, step: Step, run_hash: str) -> StepResult | None:
    """The result in a file; None if it is missing, damaged or of another run."""
    try:
        document, tensors, _ = read_container(path, versions=_reject_format)
    except ModelFileError:
        return None
    if (document.get("step"), document.get("run")) != (step.name, run_hash):
        return None
    rows = [
        Row(*row[:6], *map(float, row[6:9]), *row[9:])
        for row in json.loads(tensors.pop("rows").tobytes())
    ]
    return StepResult(rows, {name.removeprefix("a."): array for name, array in tensors.items()})


def _number(value: float) -> float | str:
    return float(value) if np.isfinite(value) else repr(float(value))


def _reject_format(format: object) -> str | None:
    return None if format == FORMAT else f"its format is {format!r}"
