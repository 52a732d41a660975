"""The picture of a scene: class codes and scores on a grid, facts and warnings.

All regions come from `decision_regions`. Warnings of a fit become messages beside the picture.
"""

from __future__ import annotations

import re
import time
import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.estimators.base.multiclass import winners
from separatrix.estimators.svc import SVC
from separatrix.evaluation.regions import Regions, decision_regions
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.types import Codes
from separatrix.workbench.playground.ellipses import class_ellipses
from separatrix.workbench.playground.export import command_of, python_of
from separatrix.workbench.playground.facts import (
    list_facts,
    offer_more,
    support_rows,
    why_unfinished,
    wrong_in_test,
)
from separatrix.workbench.playground.scene import Scene

SHARES = 256  # parts of the side of a square between four cells; a crossing is never at its ends
FLOAT32 = (1e-30, 1e30)  # absolute scores that the page gets
_NUMBERS = re.compile(r"[\d.e+-]+")
MAX_FIELDS = 45  # boundaries between pairs of 10 classes; above, their least score is sent


def fit_picture(
    scene: Scene, window: Sequence[float], grid: int, model: Any = None, *, preview: bool = False
) -> tuple[dict[str, Any], Regions]:
    """Fit the model and compute its regions: the answer for the page, and the regions.

    `model` is an estimator with the scene's parameters that starts from an earlier fit. Of a
    `preview` the classes of the points may be those that the solver ended with.
    """
    started = time.perf_counter()
    with collect_warnings() as messages:
        model = scene.estimator() if model is None else model
        if scene.rule == "predict":
            model.fit(scene.X, scene.targets)
        fitted = time.perf_counter()
        regions = compute_regions(scene, model, window, grid)
        finished = time.perf_counter()
        answer = {
            **encode_regions(scene, regions),
            **describe(scene, regions, solved_codes(scene, regions) if preview else None),
            "ellipses": class_ellipses(scene, regions.machines),
            "python": python_of(scene),
            "command": command_of(scene),
        }
    answer["warnings"] = [*scene.notes, *messages]
    answer["milliseconds"] = {
        "fit": 1000 * (fitted - started),
        "regions": 1000 * (finished - fitted),
        "total": 1000 * (time.perf_counter() - started),
    }
    return answer, regions


def describe(scene: Scene, regions: Regions, codes: Codes | None = None) -> dict[str, Any]:
    """What is known of the points: support vectors, errors, facts; why the fit is no answer, if so."""
    codes = regions.codes_at(scene.X) if codes is None else codes
    wrong = scene.rows[codes != scene.y]
    tested = wrong_in_test(scene, regions)
    unfinished = why_unfinished(regions.machines)
    support = [] if unfinished else support_rows(regions.machines)
    if unfinished is None:
        _require_hard_margin(scene, len(wrong))
    return {
        "support": scene.rows[support].tolist(),
        "wrong": [] if unfinished else sorted([*wrong.tolist(), *tested.tolist()]),
        "errors": {
            "train": [len(wrong), len(codes)],
            "test": [len(tested), len(scene.test.rows)] if len(scene.test.rows) else None,
        },
        "unfinished": unfinished,
        "more": None if unfinished else offer_more(scene, regions.machines),
        "facts": list_facts(scene, regions, codes, unfinished),
    }


def _require_hard_margin(scene: Scene, wrong: int) -> None:
    """Refuse a hard margin with points on the wrong side, such as those of two classes in one place."""
    if scene.values.get("hard") and scene.rule == "predict" and wrong:
        error = DataError(
            f"a hard margin needs classes that can be separated, but {wrong} of {len(scene.y)} points "
            "are on the wrong side"
        )
        error.hint = "switch the hard margin off, or choose another kernel"
        raise error


def solved_codes(scene: Scene, regions: Regions) -> Codes | None:
    """Codes of the points from the scores that the solver of an SVM ended with; None for other models.

    They are those of `predict` but for points within its rounding of the boundary, and need no kernel
    values: with many support vectors that is a quarter of the time of an answer.
    """
    machine = regions.machines[0].fitted
    if type(machine) is not SVC or len(scene.labels) != 2 or len(machine._fits) != 1:
        return None
    fit = machine._fits[0]
    if len(fit.rows) != len(scene.y):
        return None
    codes = np.empty(len(scene.y), dtype=np.intp)
    codes[fit.rows] = winners(fit.errors + fit.y + fit.intercept, machine._class_at_zero)
    return codes


def compute_regions(scene: Scene, model: Any, window: Sequence[float], grid: int) -> Regions:
    """The regions of a model, fitted or not, in a window."""
    x0, x1, y0, y1 = window
    return decision_regions(
        model, scene.X, scene.targets, rule=scene.rule, grid=grid, window=(x0, x1, y0, y1)
    )


def encode_regions(scene: Scene, regions: Regions) -> dict[str, Any]:
    """What the page draws, the lowest row of cells first: classes, where they change, and scores."""
    fields = regions.fields
    if len(fields) > MAX_FIELDS:
        fields = np.abs(fields).min(axis=0)[None]
    fields = np.copysign(np.clip(np.abs(fields), *FLOAT32), fields)  # no sign is lost
    own_margins = scene.model.margins and scene.values.get("loss") not in ("logistic", "sigmoid")
    boundaries = scene.rule != "predict" or len(scene.labels) == 2
    indices = np.flatnonzero(~np.isnan(regions.crossings))
    shares = np.clip(np.rint(regions.crossings.ravel()[indices] * SHARES), 1, SHARES - 1)
    return {
        "labels": scene.labels,
        "codes": _base64(regions.codes_with_undecided.astype(np.int8)),
        "crossings": _base64(shares.astype(np.uint8)),
        "crossed": _base64(indices.astype("<u4")),
        "fields": _base64(fields.astype("<f4")),
        "boundaries": len(fields),
        "undecided": regions.why_undecided,
        "rule": scene.rule,
        "grid": len(regions.first),
        "margins": bool(own_margins and boundaries and (np.abs(fields) != 1).any()),
    }


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect warnings as messages, each once; turn overflow into a DataError.

    BLAS uses one thread: the matrix products are small.
    """
    messages: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught, blas_on_one_thread():
            warnings.simplefilter("always")
            yield messages
    except ArithmeticError as error:
        overflow = DataError(f"numbers are out of range: {error}")
        overflow.hint = "standardise the points, or choose other parameters"
        raise overflow from error
    programmers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    shown = [warning for warning in caught if not issubclass(warning.category, programmers)]
    texts = [" ".join(str(warning.message).split()) for warning in shown]
    alike = {_NUMBERS.sub("", text): text for text in texts}  # they differ in a number only
    messages += alike.values()


def _base64(values: Any) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
