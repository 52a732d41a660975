"""Fitted models of Draw on disk, in our model file format, so that a warm start does not fit again.

A name holds a digest of the version, the recipe and the pictures: whatever changes, the model is fitted
again. A file that is missing, damaged or foreign is fitted again, too; nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import __version__
from separatrix.errors import SeparatrixError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.workbench.drawing.corrections import file_name
from separatrix.workbench.drawing.models import Recipe
from separatrix.workbench.drawing.pictures import Pictures
from separatrix.workbench.strict_model import StrictModel


class FitFacts(StrictModel):
    """What was measured when a model was fitted."""

    fit_seconds: float
    error: float | None  # % of held-out pictures
    lead: float  # median of the highest score over the second one
    usual: float | None  # median of the mean distance of held-out pictures to their neighbours


class FittedModels:
    """The models of one data set that were fitted before."""

    def __init__(self, folder: Path, pictures: Pictures) -> None:
        self._folder = folder / file_name(pictures.name)
        digest = hashlib.sha256(__version__.encode())
        for part in (pictures.X, pictures.X_test):
            digest.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        for labels in (pictures.y, pictures.y_test):
            digest.update("\n".join(map(str, np.asarray(labels).tolist())).encode() + b"\0")
        self._data = digest.hexdigest()

    def load(self, recipe: Recipe) -> tuple[Any, FitFacts] | None:
        """The model of a recipe and its facts; None if it is to be fitted."""
        path = self._path(recipe)
        try:
            facts = FitFacts.model_validate_json(path.with_suffix(".json").read_bytes())
            return (None if recipe.learns == "row" else _load(path)), facts
        except (OSError, ValueError, SeparatrixError):
            return None

    def save(self, recipe: Recipe, model: Any, facts: FitFacts) -> None:
        """Keep a fitted model; a disk that is full is no reason to stop."""
        path = self._path(recipe)
        with suppress(OSError, SeparatrixError):
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in self._folder.glob(f"{recipe.key}.*"):
                old.unlink(missing_ok=True)
            if recipe.learns != "row":  # nearest neighbours are the pictures themselves
                from separatrix.modelfile.files import save

                save(model, path)
            with atomic_write(path.with_suffix(".json")) as file:
                file.write_text(facts.model_dump_json(), encoding="utf-8")

    def _path(self, recipe: Recipe) -> Path:
        words = [recipe.class_name, dict(recipe.params), recipe.gamma, self._data]
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{recipe.key}.{digest[:32]}.model"


def _load(path: Path) -> Any:
    from separatrix.modelfile.files import load

    return load(path)
