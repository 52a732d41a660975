"""From a scene to its picture: class codes and score fields on a grid, and what there is to say.

Everything drawn comes from `decision_regions`. Warnings of a fit become sentences beside the picture.
"""

from __future__ import annotations

import time
import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.evaluation.regions import Regions, decision_regions
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.workbench.playground.code import command_of, python_of
from separatrix.workbench.playground.facts import facts_of, support_of
from separatrix.workbench.playground.scene import Scene

MOST_FIELDS = 45  # boundaries of 10 classes in pairs; of more, only the edges of regions are sent


def picture(scene: Scene, window: Sequence[float], grid: int) -> dict[str, Any]:
    """Fit the model and look at its regions."""
    begun = time.perf_counter()
    with complaints() as said:
        model = scene.estimator()
        if scene.rule == "predict":
            model.fit(scene.X, scene.targets)
        fitted = time.perf_counter()
        regions = regions_of(scene, model, window, grid)
        looked = time.perf_counter()
        codes = regions.codes_at(scene.X)
        answer = {
            **drawn(scene, regions),
            "support": support_of(regions.machines),
            "wrong": np.flatnonzero(codes != scene.y).tolist(),
            "facts": facts_of(scene, regions, codes),
            "python": python_of(scene),
            "command": command_of(scene),
        }
    answer["warnings"] = [*scene.notes, *said]
    answer["milliseconds"] = {
        "fit": 1000 * (fitted - begun),
        "regions": 1000 * (looked - fitted),
        "total": 1000 * (time.perf_counter() - begun),
    }
    return answer


def regions_of(scene: Scene, model: Any, window: Sequence[float], grid: int) -> Regions:
    """The regions of a model of the scene, fitted or not."""
    x0, x1, y0, y1 = window
    return decision_regions(
        model, scene.X, scene.targets, rule=scene.rule, grid=grid, window=(x0, x1, y0, y1)
    )


def drawn(scene: Scene, regions: Regions) -> dict[str, Any]:
    """What the page draws: codes and fields, the lowest row of cells first."""
    fields = regions.fields
    if len(fields) > MOST_FIELDS:
        fields = np.stack([_edges(regions, code) for code in range(len(scene.labels))])
    own_margins = scene.model.margins and scene.values.get("loss") not in ("logistic", "sigmoid")
    boundaries = scene.rule != "predict" or len(scene.labels) == 2
    return {
        "labels": scene.labels,
        "codes": _base64(regions.codes.astype(np.int8)),
        "fields": _base64(fields.astype("<f4")),
        "boundaries": len(fields),
        "grid": len(regions.first),
        "margins": bool(own_margins and boundaries and (np.abs(fields) != 1).any()),
    }


@contextmanager
def complaints() -> Iterator[list[str]]:
    """Warnings as sentences, each once; numbers that overflow are refused in one.

    Matrix products are small here: BLAS's threads would wait for each other longer than they work.
    """
    said: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught, blas_on_one_thread():
            warnings.simplefilter("always")
            yield said
    except ArithmeticError as error:
        refusal = DataError(f"numbers left their range: {error}")
        refusal.hint = "standardise the points, or choose other parameters"
        raise refusal from error
    programmers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    told = [warning for warning in caught if not issubclass(warning.category, programmers)]
    said += dict.fromkeys(" ".join(str(warning.message).split()) for warning in told)


def _edges(regions: Regions, code: int) -> Any:
    return np.where(regions.codes == code, 1.0, -1.0)


def _base64(values: Any) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
