"""From what was asked for to a table and a page: named experiments, written ones, comparisons."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from separatrix.app.train_from_file import name_or_position
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsampled
from separatrix.errors import ExperimentError
from separatrix.estimators.base.device_params import set_device
from separatrix.evaluation.compare import Comparison, compare
from separatrix.evaluation.samples import require_classes
from separatrix.evaluation.suite import suite
from separatrix.experiments.grid_section import grids
from separatrix.experiments.outcome import comparison_of
from separatrix.experiments.plan import ExperimentPlan, plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import Spec, read_spec
from separatrix.experiments.steps import Experiment
from separatrix.experiments.table import Results
from separatrix.report.closer_look import closer_look
from separatrix.report.comparison_page import comparison_page, write_report
from separatrix.report.page import Page, require_packages, write
from separatrix.runtime.progress import busy
from separatrix.studies.catalogue import NAMED, make
from separatrix.studies.reproduce import facts_of, page_of


@dataclass(frozen=True)
class Job:
    """An experiment that is ready to run."""

    name: str
    experiment: Experiment
    words: list[str]
    plan: ExperimentPlan | None = None
    spec: Path | None = None

    @property
    def steps(self) -> list[str]:
        """Names of the steps."""
        return [step.name for step in self.experiment.steps]

    def __str__(self) -> str:
        lines = [f"{self.experiment.title}: {len(self.steps)} steps", *self.words]
        return "\n".join([*lines, *(f"  {name}" for name in self.steps)])

    def run(
        self, folder: Path, *, fresh: bool = False, progress: bool | None = None
    ) -> tuple[Results, Path, Sequence[str]]:
        """Run it in a folder, write its page, and give the answer in words."""
        require_packages()
        results = run(self.experiment, folder, fresh=fresh, progress=progress)
        with busy("drawing the page", show=progress):
            page, words = self._page(results)
            return results, write(page, folder / "report.html"), words

    def _page(self, results: Results) -> tuple[Page, Sequence[str]]:
        """The page of the results, and its summary; of a written experiment, the leaderboard."""
        if self.plan is None:
            page = page_of(results)
            return page, page.summary
        comparison = comparison_of(self.plan, results)
        data = self.experiment.load(self.experiment.data[0])
        command = shlex.join(
            ["separatrix", "run", str(self.spec), "--seed", str(results.options["seed"])]
        )
        made = comparison_page(comparison, data=data, command=command)
        more = grids(results)
        sections = [*made.sections[:1], *([more] if more else []), *made.sections[1:]]
        page = replace(made, title=results.title, facts=facts_of(results), sections=sections)
        return page, [str(comparison)]


def prepare(name: str, options: dict[str, Any]) -> Job:
    """The experiment of that name, or in that file."""
    if name in NAMED:
        return Job(name, make(name, **options), [NAMED[name].caption])
    path = Path(name)
    if path.suffix != ".toml":
        error = ExperimentError(f"no experiment is called {name!r}")
        error.hint = f"there are {', '.join(NAMED)}; a file of your own ends in .toml"
        raise error
    spec = read_spec(path)
    if "seed" in options:
        spec = spec.model_copy(update={"seed": options.pop("seed")})
    device = options.pop("device", "auto")
    for key in options:
        raise ExperimentError(f"--{key.replace('_', '-')} is not for a file; write it into {path}")
    made = plan(spec, partial(_found, spec=spec), device)
    return Job(spec.name, made.experiment, made.words, made, path)


def _found(name: str, spec: Spec) -> Dataset:
    """The data of a written experiment: its own, or a file, looked for beside it first."""
    if spec.inline is not None:
        return subsampled(spec.inline.dataset(name), spec.split.subsample, spec.seed)
    beside = spec.folder / name
    options = {} if spec.target is None else {"target": spec.target}
    data = find(str(beside) if beside.exists() else name, **options)
    return subsampled(data, spec.split.subsample, spec.seed)


def compare_data(
    name: str,
    *,
    called: str | None = None,
    models: list[str] | None = None,
    cv: int = 5,
    repeats: int | None = None,
    subsample: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    device: str = "auto",
    progress: bool | None = None,
    **file: Any,
) -> tuple[Comparison, Path | None, Sequence[str]]:
    """Compare the classifiers that suit some data; with a folder, write the page. Notes come last.

    `file` says how a file is read, as `separatrix.data.read.read` takes it; `called` is what the page
    calls it, where its path says nothing to a reader.
    """
    data = subsampled(labelled(name, called=called, progress=progress, **file), subsample, seed)
    require_classes(data)
    if out is not None:  # a comparison may take hours
        require_packages()
        out.mkdir(parents=True, exist_ok=True)
    tried = suite(data.X, data.y, models=models, kind=data.kind, random_state=seed)
    if device != "auto":
        set_device(device, *tried.values())
    comparison = compare(
        tried, data.X, data.y, cv=cv, repeats=repeats, random_state=seed, progress=progress
    )
    if out is None:
        return comparison, None, data.notes
    repeats = comparison.protocol.repeats if comparison.protocol else repeats
    shown = called or name
    words = ["separatrix", "compare", shown, "--cv", cv, "--repeats", repeats, "--seed", seed]
    given = {"models": ",".join(models or ()), "subsample": subsample, **file}
    given["device"] = "" if device == "auto" else device
    header = given.pop("header", None)
    words += [] if header is None else ["--header" if header else "--no-header"]
    for key, value in given.items():
        words += [f"--{key}", value] if value else []
    command = shlex.join([str(word) for word in words])
    with busy("a closer look at the best", show=progress):
        more = closer_look(comparison, tried, data)
    page = write_report(comparison, out / "report.html", data=data, command=command, **more)
    return comparison, page, data.notes


def labelled(
    name: str, *, called: str | None = None, progress: bool | None = None, **file: Any
) -> Dataset:
    """Data with labels; a target that is a number is a position."""
    options = {key: value for key, value in file.items() if value is not None}
    if "target" in options:
        options["target"] = name_or_position(options["target"])
    with busy(f"reading {called or name}", show=progress):
        data = find(name, **options)
    return data if called is None else replace(data, name=called)
