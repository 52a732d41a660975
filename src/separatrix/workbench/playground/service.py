"""The service of the page Playground."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from separatrix.evaluation.regions import Regions
from separatrix.workbench.playground.explain import explain_position
from separatrix.workbench.playground.export import export_scene
from separatrix.workbench.playground.fit import collect_warnings, compute_regions, fit_picture
from separatrix.workbench.playground.generators import generate_points
from separatrix.workbench.playground.kernel_rows import KernelValuesCache
from separatrix.workbench.playground.lift import lift_by_squares
from separatrix.workbench.playground.points import from_csv, from_data, from_generator
from separatrix.workbench.playground.scene import LabelledPoints, Scene
from separatrix.workbench.playground.sliders import MODELS
from separatrix.workbench.playground.steps import picture_after, record_steps
from separatrix.workbench.playground.sweep import sweep_parameter
from separatrix.workbench.settings import Settings
from separatrix.workbench.worker import PointsNotKeptError

LONG_SECONDS = 120.0  # time limit of a fit that a person wants to go on
QUICK_POINTS = 500  # below, a fit from scratch is as fast
CONVEX = ("svm", "logistic")  # models that can start from an earlier fit and find the same optimum
# While a slider moves, cells and facts are those of a looser tolerance; when it rests, of the model's own.
PREVIEW = {"svm": {"tol": 0.05}}
MAX_KEPT = 8  # point sets of pages
WINDOW = [-2.0, 3.0, -1.5, 2.0]  # around two moons


class Playground:
    """Answers the requests of Playground; it keeps the last fit, for questions about it."""

    requests = frozenset(
        {"points", "fit", "finish", "steps", "step", "export", "explain", "sweep", "lift"}
    )

    def __init__(self, settings: Settings) -> None:
        self._unused = list(MODELS)
        self._kept: dict[str, LabelledPoints] = {}
        self._rows = KernelValuesCache()
        self._last: tuple[dict[str, Any], Scene, Regions] | None = None

    def work(self) -> bool:
        """Fit one more model to a few points, so that its compiled code is loaded."""
        if self._unused:
            points = generate_points("moons", n=40, noise=0.2, seed=0)
            fit_picture(Scene.of(points, self._unused.pop(0), {}), WINDOW, 20)
        return bool(self._unused)

    def state(self) -> dict[str, Any]:
        """Empty: Playground has no state."""
        return {}

    def _scene(self, *, points: Any = None, kept: str | None = None, **scene: Any) -> Scene:
        """The scene of a request, whose points come with it or are kept under its key."""
        if points is not None:
            found = LabelledPoints.of(points)
            if self._kept.pop(str(kept), None) is not None:
                self._last = None  # was perhaps of other points under this key
        elif (known := self._kept.pop(str(kept), None)) is not None:
            found = known
        else:
            raise PointsNotKeptError("these points are not kept here: send them again")
        if kept is not None:
            self._kept[kept] = found  # the newest is the last
            while len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
        return Scene.of(found, **scene)

    def points(
        self, *, data: str | None = None, columns: Any = None, csv: Any = None, **generator: Any
    ) -> dict[str, Any]:
        """Points from a table, a data set or a generator."""
        if csv is not None:
            return from_csv(**csv)
        return from_generator(**generator) if data is None else from_data(data, columns)

    def fit(
        self, *, window: list[float], grid: int = 100, quick: bool = False, **scene: Any
    ) -> dict[str, Any]:
        """The picture of a scene; `quick` lets a large one start from the last fit and end sooner."""
        made = self._scene(**scene)
        start = self._continue(made) if quick and len(made.X) >= QUICK_POINTS else None
        if start is not None and made.model.key in PREVIEW:
            start.set_params(**PREVIEW[made.model.key])
            start._make_gram = self._rows.make
        return self._fit(scene, made, window, grid, start, preview=start is not None)

    def finish(
        self, *, window: list[float], grid: int = 100, quick: bool = False, **scene: Any
    ) -> dict[str, Any]:
        """The picture of a scene whose fit needs more time: it goes on from where it stopped."""
        made = self._scene(**scene, seconds=LONG_SECONDS)
        return self._fit(scene, made, window, grid, self._continue(made))

    def _fit(
        self,
        scene: dict[str, Any],
        made: Scene,
        window: list[float],
        grid: int,
        start: Any,
        *,
        preview: bool = False,
    ) -> dict[str, Any]:
        answer, regions = fit_picture(made, window, grid, start, preview=preview)
        self._last = (_identity(scene), made, regions)
        return {**answer, "quick": start is not None}

    def _continue(self, made: Scene) -> Any:
        """The last model with the parameters of a scene, to go on from its coefficients, or None.

        Only for models whose optimum does not depend on the start, and for the same points.
        """
        if self._last is None or made.model.key not in CONVEX:
            return None
        _, before, regions = self._last
        alike = made.model is before.model and made.rule == before.rule == "predict"
        points = np.array_equal(made.X, before.X) and np.array_equal(made.targets, before.targets)
        if not (alike and points) or made.standardise or before.standardise:
            return None
        parameters = {**made.estimator().get_params(deep=False), "warm_start": True}
        return copy(regions.machines[0].fitted).set_params(**parameters)

    def explain(self, *, at: list[float], **scene: Any) -> dict[str, Any]:
        """Why a position gets its class."""
        made = self._scene(**scene)  # first: other points under its key end the last fit
        if self._last is None or self._last[0] != _identity(scene):
            with collect_warnings():
                regions = compute_regions(made, made.estimator(), WINDOW, 10)
            self._last = (_identity(scene), made, regions)
        _, made, regions = self._last
        with collect_warnings():
            return explain_position(made, regions, (at[0], at[1]))

    def sweep(self, *, name: str, values: list[float], **scene: Any) -> dict[str, Any]:
        """Errors along one slider."""
        return sweep_parameter(self._scene(**scene), name, values)

    def lift(self, **scene: Any) -> dict[str, Any]:
        """The points under the quadratic map."""
        return lift_by_squares(self._scene(**scene))

    def steps(self, **scene: Any) -> dict[str, Any]:
        """The steps in which the model of a scene learns."""
        return record_steps(self._scene(**scene))

    def step(self, *, window: list[float], step: int, grid: int = 100, **scene: Any) -> Any:
        """The picture after a number of steps."""
        return picture_after(self._scene(**scene), step, window, grid)

    def export(
        self, *, name: str = "playground", source: Any = None, names: Any = None, **scene: Any
    ) -> dict[str, Any]:
        """A script, an experiment file and the points as a table."""
        return export_scene(self._scene(**scene), name, source, names)


def _identity(scene: dict[str, Any]) -> dict[str, Any]:
    """What tells a scene from others: of its points the key, if they have one."""
    return scene if scene.get("kept") is None else {**scene, "points": None}
