"""The models that answer in Draw: fitted to the pictures, or read from files.

Rows number what a model has learned from: the n training pictures first, then the corrections; `added`
maps the latter to their numbers. A confidence is one of three kinds. "probability": the model's own.
"votes": shares of the neighbours' votes. "score": a softmax of the model's scores, scaled so that the
median lead on held-out pictures gives odds of nine to one; it ranks classes as the model does but is not
a probability.
"""

from __future__ import annotations

import copy
import shlex
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from separatrix.errors import DataError, SeparatrixError
from separatrix.runtime.blocks import row_blocks
from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing.canvas import side_of
from separatrix.workbench.drawing.explanation import PreparedSupportRows
from separatrix.workbench.drawing.fitted_cache import FitFacts, FittedModels
from separatrix.workbench.drawing.models import NEIGHBORS, Recipe, set_if_known
from separatrix.workbench.drawing.pictures import Pictures, label_text
from separatrix.workbench.drawing.requests import OWN

MAX_WIDTH = 16  # numbers in a line of a script, if the pictures allow
LOG_ODDS = float(np.log(9.0))
MAX_REPEATS = 50  # of one drawing, until a perceptron answers right: more would spoil other answers
MEASURED = 300  # held-out pictures that are enough for the usual distance


class LoadedModel:
    """A fitted classifier of pictures, and the Python and the commands that make it."""

    unit, dtype = 1.0, "float64"  # of the samples that it takes
    online = False  # whether it learns corrections
    error: float | None = None  # in % of the held-out pictures, after the corrections so far
    first_error: float | None = None  # before any
    usual: float | None = None  # distance of held-out pictures to their neighbours
    fit_seconds: float | None = None
    commands: tuple[str, ...] = ()  # that write its file
    imports: tuple[str, ...] = ("from separatrix import load",)
    summary = "print(model)"

    def __init__(self, key: str, title: str, caption: str, model: Any) -> None:
        self.key, self.title, self.caption, self.model = key, title, caption, model
        self.kind = "probability" if hasattr(model, "predict_proba") else "score"
        self.added: list[int] = []  # the correction of each row after the training set
        self.code = self.file = ""

    @property
    def classes(self) -> list[str]:
        """The classes as text."""
        return [label_text(label) for label in self.model.classes_]

    def to_row(self, values: Matrix) -> Matrix:
        """The values of a picture, (d,), as one sample."""
        return (values[None] / self.unit).astype(self.dtype)

    def predict(self, x: Matrix) -> tuple[int, Vector]:
        """The code of the predicted class, and the confidence in each, (k,)."""
        raise NotImplementedError

    def forget(self) -> None:
        """Restore the model before any correction."""

    def write_script(self, values: Vector | None, side: int, corrections: int) -> str:
        """Python that makes the model and predicts a picture, or computes its error without one."""
        lines = ["import numpy as np", *self.imports, "", self.code]
        if corrections and self.online:
            learned = "the one correction" if corrections == 1 else f"the {corrections} corrections"
            lines.append(f"# without {learned} made in the workbench")
        lines.append("")
        if values is None:
            lines.append(self.summary)
        else:
            width = side if side <= MAX_WIDTH or side % 2 else side // 2
            texts = _numbers(values)
            rows = (", ".join(texts[row]) for row in row_blocks(len(texts), width))
            lines += ["picture = np.array([", *(f"    {row}," for row in rows), "])"]
            row = "picture[None]" if self.unit == 1 else f"(picture[None] / {self.unit!r})"
            lines.append(f"print(model.predict({row}.astype(np.{self.dtype}))[0])")
        return "\n".join(lines) + "\n"

    def write_command(self, values: Vector | None) -> str:
        """Similar commands: `separatrix fit` scales each column by itself."""
        lines = list(self.commands)
        if values is not None:
            lines.append(f"echo {','.join(_numbers(values))} > picture.csv")
            lines.append(f"separatrix predict {self.file} picture.csv --no-header")
        return "\n".join(lines or [f"separatrix info {self.file}"])


class SavedModel(LoadedModel):
    """A model from a file, never changed.

    Its error is unknown: it may have learned from the pictures that are held out.
    """

    def __init__(self, path: Path, number: int = 0) -> None:
        from separatrix.modelfile.files import load  # 9 MB that most people do not need

        model = load(path)
        caption = f"a saved {type(model).__name__}, as it is in its file"
        super().__init__(f"file-{number}", path.name, caption, model)
        columns = getattr(model, "n_features_in_", None)
        if columns is None or not hasattr(model, "classes_"):
            raise DataError("it is not a classifier of rows of numbers")
        self.side = side_of(int(columns))
        set_if_known(model, device="cpu", n_jobs=1)
        self.code = f"model = load({str(path)!r})"
        self.file = shlex.quote(str(path))
        self.predict(np.zeros((1, int(columns))))  # fails now rather than at the first drawing

    def predict(self, x: Matrix) -> tuple[int, Vector]:
        """The code of the predicted class, and the confidence in each, (k,)."""
        classes = list(self.model.classes_)
        code = classes.index(self.model.predict(x)[0])
        if self.kind == "probability":
            return code, np.asarray(self.model.predict_proba(x), dtype=np.float64)[0]
        if hasattr(self.model, "decision_function"):
            scores = class_scores(self.model, x)[0]
            if len(scores) == len(classes):
                return code, to_shares(scores, float(np.ptp(scores)) or 1.0)
        return code, np.eye(len(classes))[code]


def open_saved(paths: tuple[Path, ...]) -> tuple[list[SavedModel], list[str]]:
    """The models of files, and a message for each file that cannot be used."""
    found: list[SavedModel] = []
    problems: list[str] = []
    for number, path in enumerate(paths):
        try:
            found.append(SavedModel(path, number))
        except (SeparatrixError, ValueError, TypeError, AttributeError, LookupError) as error:
            problems.append(f"{path.name} is left out: {error}.")
    return found, problems


class TrainedModel(LoadedModel):
    """A model fitted to the pictures; some learn corrections one by one."""

    dtype = "float32"
    summary = "print(f'{100 * np.mean(model.predict(X_test) != y_test):.2f} % wrong')"

    def __init__(
        self, recipe: Recipe, pictures: Pictures, cache: FittedModels | None = None
    ) -> None:
        new = recipe.build(pictures)
        kept, facts = (cache.load(recipe) if cache else None) or (None, None)
        model = kept or new
        super().__init__(recipe.key, recipe.title, recipe.caption, model)
        self._learns, self._pictures = recipe.learns, pictures
        self.online, self.unit = bool(recipe.learns), pictures.canvas.unit
        self._describe_code(recipe, new)
        if self._learns == "row":
            self.kind = "votes"
        if kept is None:
            seconds = self._fit()
        if facts is None:
            facts = self._measure(seconds)
            if cache:
                cache.save(recipe, model, facts)
        self.fit_seconds, self._lead, self.usual = facts.fit_seconds, facts.lead, facts.usual
        self.error = self.first_error = facts.error
        # threads slow one picture down; the device is not part of a file
        set_if_known(model, n_jobs=1, cache_size=100.0, device="cpu")
        self.support_rows = PreparedSupportRows()
        self._original: Any = None  # the model before any correction
        self._rows: list[tuple[Matrix, Any]] = []  # corrections that vote

    def _describe_code(self, recipe: Recipe, new: Any) -> None:
        """The Python and the commands: of one's own classes, those that read the exported file."""
        self.file = f"{self.key}.model"
        if self._pictures.name == OWN:
            self.code, self.summary = f"model = load({self.file!r})  # exported", "print(model)"
            return
        self.code = f"{self._pictures.code}\nmodel = {new!r}.fit(X, y)"
        data = shlex.quote(self._pictures.name)
        self.commands = (f"separatrix fit {data} {recipe.options} --out {self.file}",)
        self.imports = (
            f"from separatrix import {recipe.class_name}",
            "from separatrix.data.catalogue.find import find",
        )

    def _fit(self) -> float:
        """Fit the model; the seconds that it took."""
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence does not matter here
            self.model.fit(self._pictures.X, self._pictures.y)
        return time.perf_counter() - started

    def _measure(self, seconds: float) -> FitFacts:
        held = self._pictures.X_test
        lead, usual = 1.0, None
        if self.kind == "score":
            lead = median_lead(self.model, held if len(held) else self._pictures.X)
        if self.kind == "votes" and len(held):
            some = held[:: max(1, len(held) // MEASURED)]
            usual = float(np.median(self.model.kneighbors(some, NEIGHBORS)[0].mean(axis=1)))
        return FitFacts(fit_seconds=seconds, error=self.measure_error(), lead=lead, usual=usual)

    def measure_error(self) -> float | None:
        """% of the held-out pictures that the model gets wrong now; None without any."""
        held = self._pictures
        if not len(held.y_test):
            return None
        return 100.0 * float(np.mean(self.model.predict(held.X_test) != held.y_test))

    def predict(self, x: Matrix) -> tuple[int, Vector]:
        """The code of the predicted class, and the confidence in each, (k,)."""
        if self.kind != "score":
            found = np.asarray(self.model.predict_proba(x))[0]
            return int(found.argmax()), found
        code = list(self.model.classes_).index(self.model.predict(x)[0])
        return code, to_shares(class_scores(self.model, x)[0], self._lead)

    def learn(self, x: Matrix, label: Any, number: int) -> int:
        """Learn correction `number`; how many times the model was shown it."""
        if self._original is None:
            self._original = self.model if self._learns == "row" else copy.deepcopy(self.model)
        if self._learns == "mistakes":
            return self._correct_mistakes(x, label, number)
        if self._learns == "sums":
            self.model.partial_fit(x, np.array([label]))
            return 1
        self._rows.append((x, label))
        self.added.append(number)
        X, y = self._pictures.X, self._pictures.y
        rows, labels = zip(*self._rows, strict=True)
        self.model.fit(np.concatenate([X, *rows]), np.concatenate([y, np.array(labels, y.dtype)]))
        return 1

    def forget(self) -> None:
        """Restore the model before any correction."""
        if self._original is None:
            return
        self.error = self.first_error
        if self._learns == "row":
            self.model.fit(self._pictures.X, self._pictures.y)
        else:
            self.model = self._original
        self._original, self.added, self._rows = None, [], []

    def _correct_mistakes(self, x: Matrix, label: Any, number: int) -> int:
        """Show x until the answer is right, or has been wrong too often."""
        kernel = hasattr(self.model, "support_")
        shown = 0
        while shown < MAX_REPEATS and (shown == 0 or self.model.predict(x)[0] != label):
            self.model.partial_fit(x, np.array([label]))
            self.added += [number] if kernel else []
            shown += 1
        return shown


def class_scores(model: Any, X: Matrix) -> Matrix:
    """A score for each class, (n, k), the highest for the predicted one unless classes are equal."""
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def median_lead(model: Any, X: Matrix) -> float:
    """Median lead of the highest score over the second one."""
    if not len(X):
        return 1.0
    best = np.sort(class_scores(model, X), axis=1)[:, -2:]
    return float(np.median(best[:, 1] - best[:, 0])) or 1.0


def to_shares(scores: Vector, lead: float) -> Vector:
    """Scores as shares; a lead of `lead` gives odds of nine to one.

    >>> to_shares(np.array([0.0, 2.0]), 2.0).round(2).tolist()
    [0.1, 0.9]
    """
    return np.asarray(softmax(scores * (LOG_ODDS / lead)))


def _numbers(values: Vector) -> list[str]:
    """The shortest text of each number, to six decimals.

    >>> _numbers(np.array([16.0, -0.25]))
    ['16', '-0.25']
    """
    rounded = np.round(values.astype(np.float64), 6).tolist()
    return [repr(int(value)) if value.is_integer() else repr(value) for value in rounded]
