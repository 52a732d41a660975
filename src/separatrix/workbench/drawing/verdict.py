"""What the models say together: the majority, and whether a drawing resembles the pictures at all.

The label with the most models wins. Among equals the models with the lower error on held-out pictures
decide; an unknown error counts as the highest. A drawing is far from all pictures if its mean distance to
the nearest ones is more than `Canvas.far` times the usual one, the median for held-out pictures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.types import Vector
from separatrix.workbench.drawing.canvas import Canvas

WORST = 100.0  # % error of a model whose error is unknown


def find_majority(answers: list[tuple[str, float | None]]) -> dict[str, Any]:
    """The winner of labels with the error of the model that gave each; "" without any.

    >>> find_majority([("3", 5.0), ("8", 1.0), ("3", 4.0), ("8", None)])
    {'label': '3', 'votes': 2, 'of': 4, 'tied': ['8']}
    """
    errors: dict[str, list[float]] = {}
    for label, error in answers:
        errors.setdefault(label, []).append(WORST if error is None else error)
    most = max(map(len, errors.values()), default=0)
    tied = [label for label, found in errors.items() if len(found) == most]
    tied.sort(key=lambda label: float(np.mean(errors[label])))
    winner, *others = tied or [""]
    return {"label": winner, "votes": most, "of": len(answers), "tied": others}


def compare_distance(distances: Vector, usual: float | None, canvas: Canvas) -> dict[str, Any]:
    """How far a drawing is from its nearest pictures, as a multiple of the usual distance."""
    if usual is None or not len(distances):
        return {"ratio": None, "limit": canvas.far, "far": False}
    ratio = float(np.mean(distances)) / usual
    return {"ratio": round(ratio, 2), "limit": canvas.far, "far": ratio > canvas.far}
