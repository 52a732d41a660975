"""Models from files, which answer beside our own for pictures with the values of the data set.

They are never changed. Their error is unknown: they may have learned from the pictures held out here.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from separatrix.errors import DataError, SeparatrixError
from separatrix.types import Matrix, Vector
from separatrix.workbench.drawing.canvas import side_of
from separatrix.workbench.drawing.trained_models import class_scores, set_if_known, to_shares


class SavedModel:
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
            raise DataError("it is not a classifier of rows of numbers")
        self.side = side_of(int(columns))
        set_if_known(self.model, device="cpu", n_jobs=1)
        self.caption = f"a saved {type(self.model).__name__}, as it is in its file"
        self.code = f"model = load({str(path)!r})"
        self.options = shlex.quote(str(path))
        self.added: list[int] = []
        self.kind = "probability" if hasattr(self.model, "predict_proba") else "score"
        self.predict(np.zeros((1, int(columns))))  # fails now rather than at the first drawing

    def to_row(self, values: Matrix) -> Matrix:
        """The values of a picture, (d,), as one sample."""
        return np.asarray(values[None], dtype=np.float64)

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
