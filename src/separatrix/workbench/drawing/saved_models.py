"""Models from files: they answer beside our own, and are shown pictures with the values of the data set.

They are never changed. Their error is not known: they may have learned from the pictures held out here.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import DataError, SeparatrixError
from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing.canvas import side_of
from separatrix.workbench.drawing.digits import word
from separatrix.workbench.drawing.fitted import as_shares, class_values


class Given:
    """A saved model that takes pictures."""

    online = False
    error: float | None = None
    fit_seconds: float | None = None

    def __init__(self, path: Path, number: int = 0) -> None:
        from separatrix.modelfile.files import load  # 9 MB that most people do not need

        self.key, self.title = f"file-{number}", path.name
        self.model = load(path)
        columns = getattr(self.model, "n_features_in_", None)
        if columns is None or not hasattr(self.model, "classes_"):
            raise DataError("it is no classifier of rows of numbers")
        self.side = side_of(int(columns))
        _hasten(self.model)
        self.says = f"a saved {type(self.model).__name__}, as it is in its file"
        self.code = f"model = load({str(path)!r})"
        self.options = shlex.quote(str(path))
        self.added: list[int] = []
        self.kind = self._best_kind()
        self.shares(np.zeros((1, int(columns))))  # refuses here what it would refuse later

    @property
    def words(self) -> list[str]:
        """Its classes, as people read them."""
        return [word(label) for label in self.model.classes_]

    def row(self, values: Matrix) -> Matrix:
        """A picture's values, (d,), as one row."""
        return np.asarray(values[None], dtype=np.float64)

    def shares(self, x: Matrix) -> tuple[int, Vector]:
        """The class that it answers, by number, and how sure it is of each, (k,)."""
        classes = list(self.model.classes_)
        code = classes.index(self.model.predict(x)[0])
        if self.kind == "probability":
            return code, np.asarray(self.model.predict_proba(x), dtype=np.float64)[0]
        if hasattr(self.model, "decision_function"):
            values = class_values(self.model, x)[0]
            if len(values) == len(classes):
                best = np.sort(values)
                return code, as_shares(values, float(best[-1] - best[0]) or 1.0)
        return code, np.eye(len(classes))[code]

    def _best_kind(self) -> str:
        return "probability" if hasattr(self.model, "predict_proba") else "score"


def _hasten(model: Any) -> None:
    """One picture is answered here, by one thread: a card, or threads, cost more than they give."""
    quick = {"device": "cpu", "n_jobs": 1}
    known = {name: name.rpartition("__")[2] for name in model.get_params()}
    model.set_params(**{name: quick[last] for name, last in known.items() if last in quick})


def open_saved(paths: tuple[Path, ...]) -> tuple[list[Given], list[str]]:
    """The models of files, and a sentence for each that cannot answer here."""
    found: list[Given] = []
    problems: list[str] = []
    for number, path in enumerate(paths):
        try:
            found.append(Given(path, number))
        except (SeparatrixError, ValueError, TypeError, AttributeError, LookupError) as error:
            problems.append(f"{path.name} is left out: {error}.")
    return found, problems
