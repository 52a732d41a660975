"""Run the steps of an experiment; each answer is on disk before the next step begins.

A folder of a run holds `run.json` (what is run), `steps/` (an answer each, with a checksum) and, when
all is done, the table. Killed at any moment, the next run in the same folder does what is missing.
An answer carries the hash of `run.json`, so that one of another run is never taken for it.
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
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult
from separatrix.experiments.table import Results
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
) -> Results:
    """All steps, those in the folder as they are; the table is written when the last one is done.

    Parameters
    ----------
    folder
        Where answers are kept. It may hold a run of this experiment, which then goes on.
    fresh
        Forget what the folder holds of this or of another experiment.
    done
        Told the name of each step and whether it was there already.
    """
    begun = time.time()
    context = RunContext(experiment)
    steps = folder / "steps"
    steps.mkdir(parents=True, exist_ok=True)
    about = _about(experiment, context)
    _take_over(folder, about, fresh)
    whose = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    with bar(experiment.name, len(experiment.steps), show=progress) as advance:
        for number, step in enumerate(experiment.steps):
            path = steps / f"{number:03d}.step"
            finding = _kept(path, step, whose)
            if done is not None:
                done(step.name, finding is not None)
            if finding is None:
                with busy(step.name, show=False):
                    finding = _timed(step, context)
                _keep(path, step, whose, finding)
            context.store(step.name, finding)
            advance()
    found = {step.name: context.result(step.name) for step in experiment.steps}
    results = Results(
        name=experiment.name,
        title=experiment.title,
        options=dict(experiment.options),
        data_sha256=about["data"],
        rows=[row for finding in found.values() for row in finding.rows],
        arrays={name: finding.arrays for name, finding in found.items()},
        versions=about["versions"],
        threads=about["threads"],
    )
    if _before(folder) != about:
        raise ExperimentError(
            f"another run took {folder} over in the meantime; nothing was written"
        )
    results.write(folder)
    _sweep(folder, begun)
    return results


def _sweep(folder: Path, begun: float) -> None:
    """Remove half-written files that a killed run left; none that somebody may be writing now."""
    for part in folder.rglob(".*.part"):
        with suppress(OSError):
            if part.stat().st_mtime < begun:
                part.unlink()


def _about(experiment: Experiment, context: RunContext) -> dict[str, Any]:
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


def _take_over(folder: Path, about: dict[str, Any], fresh: bool) -> None:
    """Make the folder one of this experiment, or refuse: answers of two must not meet in a table."""
    path = folder / "run.json"
    if not fresh and path.exists():
        before = _before(folder)
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


def _before(folder: Path) -> dict[str, Any]:
    """What the folder says that is run in it; nothing where that cannot be read."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (ValueError, RecursionError, FileNotFoundError):
        return {}
    return found if isinstance(found, dict) else {}


def _timed(step: Step, context: RunContext) -> StepResult:
    """The answer of a step; rows that carry no time or memory of their own carry that of their step."""
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


def _keep(path: Path, step: Step, whose: str, finding: StepResult) -> None:
    rows = json.dumps([[*row[:6], *map(_number, row[6:])] for row in finding.rows]).encode()
    write_container(
        path,
        {"format": FORMAT, "step": step.name, "run": whose},
        {
            "rows": np.frombuffer(rows, dtype=np.uint8),
            **{f"a.{n}": a for n, a in finding.arrays.items()},
        },
    )


def _kept(path: Path, step: Step, whose: str) -> StepResult | None:
    """The answer in a file; None where there is none, or a damaged one, or one to something else."""
    try:
        document, tensors, _, _ = read_container(path, versions=_why_not)
    except ModelFileError:
        return None
    if (document.get("step"), document.get("run")) != (step.name, whose):
        return None
    rows = [
        Row(*row[:6], *map(float, row[6:])) for row in json.loads(tensors.pop("rows").tobytes())
    ]
    return StepResult(rows, {name.removeprefix("a."): array for name, array in tensors.items()})


def _number(value: float) -> float | str:
    return float(value) if np.isfinite(value) else repr(float(value))


def _why_not(format: object) -> str | None:
    return None if format == FORMAT else f"its format is {format!r}"
