"""Run named studies and experiment files: a table of results and a page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from separatrix.app.read_data import read_labelled
from separatrix.app.run_estimate import estimate_run, estimate_study
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsampled
from separatrix.errors import ExperimentError
from separatrix.experiments.outcome import comparison_of, grids
from separatrix.experiments.plan import ExperimentPlan, plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import Spec, read_spec
from separatrix.experiments.steps import Experiment, Results, Row
from separatrix.report.comparison_page import comparison_page
from separatrix.report.page import Page, require_packages, write
from separatrix.runtime.progress import busy
from separatrix.studies.catalogue import NAMED, make, option_words, page_of
from separatrix.studies.views import facts_of


@dataclass(frozen=True)
class Job:
    """An experiment that is ready to run."""

    name: str
    experiment: Experiment
    words: list[str]
    plan: ExperimentPlan | None = None
    spec: Path | None = None
    estimate: Callable[[], dict[str, float]] | None = None  # seconds of each model, or of all steps

    @property
    def steps(self) -> list[str]:
        """List the names of the steps."""
        return [step.name for step in self.experiment.steps]

    def __str__(self) -> str:
        lines = [f"{self.experiment.title}: {len(self.steps)} steps", *self.words]
        return "\n".join([*lines, *(f"  {name}" for name in self.steps)])

    def run(
        self,
        folder: Path,
        *,
        fresh: bool = False,
        progress: bool | None = None,
        cluster: str | None = None,
        found: Callable[[list[Row]], None] | None = None,
    ) -> tuple[Results, Path, Sequence[str]]:
        """Run it in a folder and write its page; return the results, the page and a summary."""
        require_packages()
        results = run(
            self.experiment, folder, fresh=fresh, progress=progress, cluster=cluster, found=found
        )
        with busy("drawing the page", show=progress):
            page, words = self._page(results)
            return results, write(page, folder / "report.html"), words

    def _page(self, results: Results) -> tuple[Page, Sequence[str]]:
        """Make the page of the results and its summary; for an experiment file, the leaderboard."""
        if self.plan is None:
            page = page_of(results)
            return page, page.summary
        comparison = comparison_of(self.plan, results)
        data = self.experiment.load(self.experiment.data[0])
        seed = str(results.options["seed"])
        command = shlex.join(["separatrix", "run", str(self.spec), "--seed", seed])
        made = comparison_page(comparison, data=data, command=command)
        more = grids(results)
        sections = [*made.sections[:1], *([more] if more else []), *made.sections[1:]]
        page = replace(made, title=results.title, facts=facts_of(results), sections=sections)
        return page, [str(comparison)]


def prepare(name: str, options: dict[str, Any]) -> Job:
    """Prepare the study of that name, or the experiment file at that path."""
    if name in NAMED:
        study = make(name, **options)
        words = [NAMED[name].caption, shlex.join(option_words(study.options))]
        return Job(name, study, words, estimate=partial(estimate_study, study))
    path = Path(name)
    if path.suffix != ".toml":
        error = ExperimentError(f"unknown experiment {name!r}")
        error.hint = f"use one of {', '.join(NAMED)}, or a file that ends in .toml"
        raise error
    spec = read_spec(path)
    if "seed" in options:
        spec = spec.model_copy(update={"seed": options.pop("seed")})
    device = options.pop("device", "auto")
    for key in options:
        option = f"--{key.replace('_', '-')}"
        raise ExperimentError(f"{option} does not apply to a file; set it in {path}")
    made = plan(spec, partial(_load_data, spec=spec), device)
    load = partial(_load_data, spec=spec)
    return Job(
        spec.name,
        made.experiment,
        made.words,
        made,
        path,
        partial(estimate_run, spec, load, device),
    )


def _load_data(name: str, spec: Spec) -> Dataset:
    """Load the data of an experiment file: inline, from a file beside it, or from the catalogue."""
    if spec.inline is not None:
        return subsampled(spec.inline.dataset(name), spec.split.subsample, spec.seed)
    beside = spec.folder / name
    path = str(beside) if beside.exists() else name
    keep = () if spec.split.group is None else (spec.split.group,)
    file = {"target": spec.target, **spec.roles.model_dump(exclude_defaults=True)}
    data = read_labelled(path, progress=False, keep=keep, **file)
    return subsampled(data, spec.split.subsample, spec.seed)
