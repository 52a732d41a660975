"""What is kept of a job and of an upload, as JSON on disk; and the words that would do the same elsewhere.

Names that people give are text: they stand in JSON and in quoted words, and never in a path.
"""

from __future__ import annotations

import re
import shlex
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from separatrix.data.catalogue import names
from separatrix.estimators.registry import TITLES
from separatrix.workbench.replies import RequestModel

MODELS = TITLES
FILES = ("report.html", "results.csv", "best.model")  # all that is ever served of a job
IDENTIFIER = r"^[0-9a-f]{16}$"
Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]


class Named(RequestModel):
    """A named experiment that is asked for."""

    kind: Literal["named"]
    name: Annotated[str, Field(max_length=100)]
    quick: bool = False
    seed: Seed = 0


class FromFile(RequestModel):
    """A comparison on an uploaded file that is asked for; no models: all that suit."""

    kind: Literal["file"]
    upload: Identifier
    target: Annotated[str, Field(max_length=10_000)] = ""
    models: Annotated[list[str], Field(max_length=len(MODELS), default_factory=list)]
    folds: Annotated[int, Field(ge=2, le=20)] = 5
    seed: Seed = 0


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Column(_Kept):
    """A column of an uploaded table."""

    name: str
    kind: str


class Upload(_Kept):
    """An uploaded file: the name it was given, where it lies, and what was seen in it."""

    id: Identifier
    name: str
    ending: Annotated[str, Field(pattern=r"^(\.[a-z0-9]{2,9}){1,2}$")]
    bytes: int
    rows: int
    columns: list[Column]
    target: str
    notes: list[str]
    preview: list[list[str]]

    def shown(self) -> dict[str, Any]:
        """What a page is told."""
        return self.model_dump(exclude={"ending"})

    @property
    def called(self) -> str:
        """Its name where a file's name is expected: no option, and no data set of the catalogue."""
        return f"./{self.name}" if self.name.startswith("-") or self.name in names() else self.name

    def column(self, target: str) -> str | None:
        """A column as readers take it: by name; by position, where its name could be one."""
        if not target:
            return None
        listed = [column.name for column in self.columns]
        ambiguous = re.fullmatch(r"-?[0-9]{1,9}|auto", target) is not None
        return str(listed.index(target)) if ambiguous else target


class Problem(_Kept):
    """Why a job failed."""

    message: str
    hint: str


class Best(_Kept):
    """The model that a comparison ended with; its error is in per cent of test rows."""

    title: str
    error: float


class Record(_Kept):
    """A job: what was asked for, and what became of it."""

    id: Identifier
    title: str
    asked: Named | FromFile = Field(discriminator="kind")
    called: str = ""  # what the file is called
    column: str | None = None  # its labels, as readers take it
    status: Status = "queued"
    created: float
    started: float | None = None
    finished: float | None = None
    words: list[str] = []
    error: Problem | None = None
    model: Best | None = None

    def shown(self, progress: dict[str, Any] | None, files: list[str]) -> dict[str, Any]:
        """What a page is told."""
        kept = self.model_dump(exclude={"called", "column"})
        return {
            **kept,
            "kind": self.asked.kind,
            "seconds": self.seconds,
            "progress": progress,
            "files": files,
            "python": python_of(self),
            "command": command_of(self),
        }

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started is None:
            return None
        return max(0.0, (self.finished or time.time()) - self.started)


def command_of(record: Record) -> str:
    """The command line that does the same."""
    asked = record.asked
    if isinstance(asked, Named):
        words = ["separatrix", "run", asked.name, *(["--quick"] if asked.quick else [])]
        return shlex.join([*words, "--seed", str(asked.seed)])
    target = [] if record.column is None else ["--target", record.column]
    words = ["separatrix", "compare", record.called, *target, "--cv", str(asked.folds)]
    words += ["--models", ",".join(asked.models)] if asked.models else []
    compare = shlex.join([*words, "--seed", str(asked.seed), "--out", "report"])
    if record.model is None:
        return compare
    words = ["separatrix", "tune", record.called, "--model", key_of(record.model.title), *target]
    return f"{compare}\n{shlex.join([*words, '--seed', str(asked.seed), '--out', 'best.model'])}"


def python_of(record: Record) -> str:
    """The Python that does the same."""
    asked = record.asked
    if isinstance(asked, Named):
        options = {"seed": asked.seed, **({"quick": True} if asked.quick else {})}
        return (
            "from pathlib import Path\n\nfrom separatrix.app.runs import prepare\n\n"
            f"job = prepare({asked.name!r}, {options!r})\n"
            f"results, page, words = job.run(Path({'runs/' + asked.name!r}))\n"
            'print("\\n".join(words))\n'
        )
    target = "" if record.column is None else f", target={record.column!r}"
    models = f", models={asked.models!r}" if asked.models else ""
    compare = (
        "comparison, page, notes = compare_data(\n"
        f"    {record.called!r}{target}{models},\n"
        f'    cv={asked.folds}, seed={asked.seed}, out=Path("report"),\n)\nprint(comparison)\n'
    )
    if record.model is None:
        heading = "from pathlib import Path\n\nfrom separatrix.app.runs import compare_data\n\n"
        return heading + compare
    return (
        "from pathlib import Path\n\nfrom separatrix.app.read_data import read_labelled\n"
        "from separatrix.app.runs import compare_data\n"
        "from separatrix.app.train_from_file import fit_file\n\n"
        f"{compare}\ndata = read_labelled({record.called!r}{target})\n"
        f'fit_file(data, Path("best.model"), key={key_of(record.model.title)!r}, tune=True, '
        f"seed={asked.seed})\n"
    )


def key_of(title: str) -> str:
    """The key of a model by its name.

    >>> key_of("linear SVM")
    'linear-svm'
    """
    return next((key for key, name in MODELS.items() if name == title), title)
