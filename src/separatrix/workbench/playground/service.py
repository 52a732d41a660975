"""The service of the page Playground."""

from __future__ import annotations

from typing import Any

from separatrix.workbench.playground.export import export_scene
from separatrix.workbench.playground.fit import fit_picture
from separatrix.workbench.playground.generators import generate_points
from separatrix.workbench.playground.points import from_csv, from_data, from_generator
from separatrix.workbench.playground.scene import Scene
from separatrix.workbench.playground.sliders import MODELS
from separatrix.workbench.playground.steps import picture_after, record_steps
from separatrix.workbench.settings import Settings

WINDOW = [-2.0, 3.0, -1.5, 2.0]  # around two moons


class Playground:
    """Answers the requests of Playground; it keeps nothing between two requests."""

    requests = frozenset({"points", "fit", "steps", "step", "export"})

    def __init__(self, settings: Settings) -> None:
        self._unused = list(MODELS)

    def work(self) -> bool:
        """Fit one more model to a few points, so that its compiled code is loaded."""
        if self._unused:
            points = generate_points("moons", n=40, noise=0.2, seed=0)
            fit_picture(Scene.of(points, self._unused.pop(0), {}), WINDOW, 20)
        return bool(self._unused)

    def state(self) -> dict[str, Any]:
        """Empty: Playground has no state."""
        return {}

    def points(
        self, *, data: str | None = None, columns: Any = None, csv: Any = None, **generator: Any
    ) -> dict[str, Any]:
        """Points from a table, a data set or a generator."""
        if csv is not None:
            return from_csv(**csv)
        return from_generator(**generator) if data is None else from_data(data, columns)

    def fit(self, *, window: list[float], grid: int = 100, **scene: Any) -> dict[str, Any]:
        """The picture of a scene."""
        return fit_picture(Scene.of(**scene), window, grid)

    def steps(self, **scene: Any) -> dict[str, Any]:
        """The steps in which the model of a scene learns."""
        return record_steps(Scene.of(**scene))

    def step(self, *, window: list[float], step: int, grid: int = 100, **scene: Any) -> Any:
        """The picture after a number of steps."""
        return picture_after(Scene.of(**scene), step, window, grid)

    def export(
        self, *, name: str = "playground", source: Any = None, names: Any = None, **scene: Any
    ) -> dict[str, Any]:
        """A script, an experiment file and the points as a table."""
        return export_scene(Scene.of(**scene), name, source, names)
