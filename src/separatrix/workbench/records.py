"""Jobs and uploads as they are kept on disk in JSON, and the Python and the commands that do the same.

Names that people choose are text: they appear in JSON and in quoted words, never in a path.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from separatrix.data import catalogue
from separatrix.estimators.registry import TITLES
from separatrix.workbench.strict_model import StrictModel

Identifier = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Role = Literal["category", "number", "text", "date", "drop"]
Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]


class StudyRequest(StrictModel):
    """Run a named experiment."""

    kind: Literal["named"]
    name: Annotated[str, Field(max_length=100)]
    quick: bool = False
    seed: Seed = 0


class FileRequest(StrictModel):
    """Compare models on an uploaded file; an empty list means all that suit it."""

    kind: Literal["file"]
    upload: Identifier
    target: Annotated[str, Field(max_length=10_000)] = ""
    models: Annotated[list[str], Field(max_length=len(TITLES), default_factory=list)]
    roles: Annotated[dict[str, Role], Field(max_length=10_000, default_factory=dict)]  # by column
    folds: Annotated[int, Field(ge=2, le=20)] = 5
    seed: Seed = 0


class UploadColumn(StrictModel):
    """A column of an uploaded table."""

    name: str
    kind: str


class Upload(StrictModel):
    """An uploaded file and a preview of its content."""

    id: Identifier
    name: str
    ending: Annotated[str, Field(pattern=r"^(\.[a-z0-9]{2,9}){1,2}$")]
    bytes: int
    rows: int
    columns: list[UploadColumn]
    target: str
    guess: str = ""  # why that column is taken for the target
    notes: list[str]
    preview: list[list[str]]

    def to_json(self) -> dict[str, Any]:
        """What the page gets."""
        return self.model_dump(exclude={"ending"})

    @property
    def file_name(self) -> str:
        """Its name as a command takes it: neither an option nor a data set of the catalogue."""
        ambiguous = self.name.startswith("-") or self.name in catalogue.names()
        return f"./{self.name}" if ambiguous else self.name

    def column(self, target: str) -> str | None:
        """A column by name, or by position if its name would be parsed as one."""
        if re.fullmatch(r"-?[0-9]{1,9}|auto", target):
            return str([column.name for column in self.columns].index(target))
        return target or None


class JobError(StrictModel):
    """Why a job failed."""

    message: str
    hint: str


class BestModel(StrictModel):
    """The best model of a comparison; its error is in per cent of the test rows."""

    title: str
    error: float


class Standing(StrictModel):
    """A model of a comparison that is finished; numbers in per cent of the test rows."""

    model: str
    error: float
    low: float | None  # 95 % interval; None: the number of test rows is not known
    high: float | None
    seconds: float


class Confusion(StrictModel):
    """Test rows of each class, by what the best model so far predicts for them."""

    model: str
    classes: list[str]
    counts: list[list[int]]


class JobRecord(StrictModel):
    """A job: its request and its outcome. Records of earlier versions have other names for some fields."""

    id: Identifier
    title: str
    request: StudyRequest | FileRequest = Field(
        discriminator="kind", validation_alias=AliasChoices("request", "asked")
    )
    file_name: str = Field(default="", validation_alias=AliasChoices("file_name", "called"))
    column: str | None = None  # of the labels, as readers take it
    status: Status = "queued"
    created: float
    started: float | None = None
    finished: float | None = None
    summary: list[str] = Field(default=[], validation_alias=AliasChoices("summary", "words"))
    error: JobError | None = None
    model: BestModel | None = None
    leaderboard: list[Standing] = Field(default=[])
    confusion: Confusion | None = None

    def to_json(self, progress: dict[str, Any] | None, files: list[str]) -> dict[str, Any]:
        """What the page gets."""
        return {
            **self.model_dump(exclude={"file_name", "column"}),
            "kind": self.request.kind,
            "seconds": self.seconds,
            "progress": progress,
            "files": files,
            "python": python_of(self),
            "command": command_of(self),
        }

    @property
    def ended(self) -> bool:
        """Whether it neither runs nor waits."""
        return self.status not in ("queued", "running")

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        begun = self.started
        return None if begun is None else max(0.0, (self.finished or time.time()) - begun)


def command_of(record: JobRecord) -> str:
    """The command line that does the same."""
    request = record.request
    seed = ["--seed", str(request.seed)]
    if isinstance(request, StudyRequest):
        quick = ["--quick"] if request.quick else []
        return shlex.join(["separatrix", "run", request.name, *quick, *seed])
    target = [] if record.column is None else ["--target", record.column]
    models = ["--models", ",".join(request.models)] if request.models else []
    target += [
        word
        for role, names in columns_by_role(request.roles).items()
        for word in (f"--{role}", ",".join(names))
    ]
    words = ["compare", record.file_name, *target, "--cv", str(request.folds), *models]
    lines = [[*words, *seed, "--out", "report"]]
    if record.model is not None:
        words = ["tune", record.file_name, "--model", key_of(record.model.title), *target]
        lines.append([*words, *seed, "--out", "best.model"])
    return "\n".join(shlex.join(["separatrix", *line]) for line in lines)


def python_of(record: JobRecord) -> str:
    """The Python that does the same."""
    request = record.request
    if isinstance(request, StudyRequest):
        options = {"seed": request.seed, **({"quick": True} if request.quick else {})}
        return (
            "from pathlib import Path\n\nfrom separatrix.app.runs import prepare\n\n"
            f"job = prepare({request.name!r}, {options!r})\n"
            f"results, page, words = job.run(Path({'runs/' + request.name!r}))\n"
            'print("\\n".join(words))\n'
        )
    target = "" if record.column is None else f", target={record.column!r}"
    for role, names in columns_by_role(request.roles).items():
        target += f", {role}={names!r}"
    models = f", models={request.models!r}" if request.models else ""
    imports = ["from separatrix.app.compare_file import compare_data"]
    tune = ""
    if record.model is not None:
        imports = [
            "from separatrix.app.read_data import read_labelled",
            *imports,
            "from separatrix.app.train_from_file import fit_file",
        ]
        tune = (
            f"\ndata = read_labelled({record.file_name!r}{target})\n"
            f'fit_file(data, Path("best.model"), key={key_of(record.model.title)!r}, tune=True, '
            f"seed={request.seed})\n"
        )
    return (
        "\n".join(["from pathlib import Path\n", *imports, "\n"])
        + "comparison, page, notes = compare_data(\n"
        f"    {record.file_name!r}{target}{models},\n"
        f'    cv={request.folds}, seed={request.seed}, out=Path("report"),\n)\nprint(comparison)\n'
        + tune
    )


def columns_by_role(roles: Mapping[str, str]) -> dict[str, list[str]]:
    """The columns of each role.

    >>> columns_by_role({"id": "drop", "size": "number", "row": "drop"})
    {'drop': ['id', 'row'], 'number': ['size']}
    """
    found: dict[str, list[str]] = {}
    for name, role in roles.items():
        found.setdefault(role, []).append(name)
    return found


def key_of(title: str) -> str:
    """The key of a model by its name.

    >>> key_of("linear SVM")
    'linear-svm'
    """
    return next((key for key, name in TITLES.items() if name == title), title)
