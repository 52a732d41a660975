"""`Playground`: the room that the bench asks. Plain values in, a plain dict out, or a refusal."""

from __future__ import annotations

from typing import Any

from separatrix.workbench.playground.export import exported
from separatrix.workbench.playground.fit import picture
from separatrix.workbench.playground.generators import generated
from separatrix.workbench.playground.points import from_csv, from_data, from_generator
from separatrix.workbench.playground.scene import Scene
from separatrix.workbench.playground.sliders import MODELS
from separatrix.workbench.playground.steps import picture_at, steps_of
from separatrix.workbench.settings import Settings

WINDOW = [-2.0, 3.0, -1.5, 2.0]  # around two moons


class Playground:
    """Answers about scenes; it remembers nothing between two requests."""

    requests = frozenset({"points", "fit", "steps", "step", "export"})

    def __init__(self, settings: Settings) -> None:
        self._cold = list(MODELS)

    def work(self) -> bool:
        """A small picture of one more model, so that its compiled code is there when it is asked for."""
        if self._cold:
            points = generated("moons", n=40, noise=0.2, seed=0)
            self.fit(points=points, model=self._cold.pop(0), parameters={}, window=WINDOW, grid=20)
        return bool(self._cold)

    def state(self) -> dict[str, Any]:
        """Nothing that lasts."""
        return {}

    def points(
        self,
        *,
        generator: str | None = None,
        n: int = 200,
        noise: float = 0.2,
        seed: int = 0,
        data: str | None = None,
        columns: list[str] | None = None,
        csv: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Points from a generator, a data set or a file."""
        if csv is not None:
            return from_csv(**csv)
        if data is not None:
            return from_data(data, columns)
        return from_generator(generator or "moons", n, noise, seed)

    def fit(self, *, window: list[float], grid: int = 100, **scene: Any) -> dict[str, Any]:
        """The picture of a scene."""
        return picture(Scene.of(**scene), window, grid)

    def steps(self, **scene: Any) -> dict[str, Any]:
        """How the model of a scene learns, mistake by mistake or step by step."""
        return steps_of(Scene.of(**scene))

    def step(
        self, *, window: list[float], step: int, grid: int = 100, **scene: Any
    ) -> dict[str, Any]:
        """The picture after so many steps."""
        return picture_at(Scene.of(**scene), step, window, grid)

    def export(
        self,
        *,
        name: str = "playground",
        source: dict[str, Any] | None = None,
        names: list[str] | None = None,
        **scene: Any,
    ) -> dict[str, Any]:
        """A script, an experiment file and the points, each with a name."""
        return exported(Scene.of(**scene), name, source, names)
