"""The plane lifted into three dimensions: by the quadratic map, or by the score of the model.

The quadratic map sends (x1, x2) to (x1^2, sqrt 2 x1 x2, x2^2), whose inner product is the kernel (x'z)^2. A
linear support vector machine in those three features is a plane there, and a conic down here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix import LinearSVC
from separatrix.errors import DataError
from separatrix.types import Matrix
from separatrix.workbench.playground.fit import collect_warnings
from separatrix.workbench.playground.scene import Scene

ROOT = float(np.sqrt(2.0))


def lift_by_squares(scene: Scene, C: float = 10.0) -> dict[str, Any]:
    """The points under the quadratic map, and the plane of a linear SVM there.

    The points are centred and scaled first, so that the map bends all of them.
    """
    if len(scene.labels) != 2:
        raise DataError(f"a separating plane needs two classes; got {len(scene.labels)}")
    centre, scale = scene.X.mean(axis=0), scene.X.std(axis=0) + 1e-12
    lifted = squares((scene.X - centre) / scale)
    with collect_warnings() as messages:
        model = LinearSVC(C=C, loss="hinge", random_state=0, time_limit=2.0).fit(
            lifted, scene.targets
        )
    wrong = int(np.count_nonzero(model.predict(lifted) != scene.targets))
    return {
        "points": lifted.tolist(),
        "rows": scene.rows.tolist(),
        "w": model.coef_[0].tolist(),
        "b": float(model.intercept_[0]),
        "wrong": wrong,
        "warnings": messages,
    }


def squares(X: Matrix) -> Matrix:
    """The quadratic map of each row.

    >>> squares(np.array([[1.0, 2.0]])).round(3).tolist()
    [[1.0, 2.828, 4.0]]
    """
    return np.stack([X[:, 0] ** 2, ROOT * X[:, 0] * X[:, 1], X[:, 1] ** 2], axis=1)
