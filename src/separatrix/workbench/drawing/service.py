"""The service of the page Draw: models that load one by one, answer, and learn from corrections.

Answers come from the models that have loaded so far. A step of `work` reads the data set, or waits a moment
for the thread that fits the next model: the pen is answered meanwhile, even while functions are compiled.
A model that cannot learn a data set is left out with a message; the others go on.
"""

from __future__ import annotations

import base64
import tempfile
import time
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from separatrix.errors import DataError, SeparatrixError
from separatrix.types import Vector
from separatrix.workbench.drawing import pictures
from separatrix.workbench.drawing.canvas import OWN as OWN_CANVAS
from separatrix.workbench.drawing.corrections import Correction, Corrections
from separatrix.workbench.drawing.fitted_cache import FittedModels
from separatrix.workbench.drawing.loaded_models import LoadedModel, TrainedModel, open_saved
from separatrix.workbench.drawing.models import Recipe, list_recipes
from separatrix.workbench.drawing.panel import Panel, milliseconds_since
from separatrix.workbench.drawing.pictures import Pictures
from separatrix.workbench.drawing.requests import OWN, Strokes
from separatrix.workbench.drawing.strokes import rasterize
from separatrix.workbench.local_data import require_local
from separatrix.workbench.settings import Settings

PATIENCE = 0.01  # seconds that a step of work waits for a fit
ECHOED = 60  # characters of a request that an error message repeats


class Drawing:
    """Answers the requests of Draw."""

    _fitting: _Fit | None  # the model that is being fitted
    requests = frozenset({"data", "answer", "learn", "undo", "forget", "classes", "export"})

    def __init__(self, settings: Settings) -> None:
        # scikit-learn and the reader of model files load while the pictures are unpacked
        self._imports = Thread(target=import_module, args=("separatrix.modelfile.files",))
        self._imports.daemon = True
        self._imports.start()
        self._folder, self._fitted = settings.folder / "corrections", settings.folder / "fitted"
        self._saved, self._left_out = open_saved(settings.models)
        self._problems = list(self._left_out)
        self._data_sets = pictures.list_data_sets(settings.data)
        known = {entry["side"] for entry in self._data_sets if entry["state"] != "missing"}
        blank = sorted({model.side for model in self._saved} - known)
        self._data_sets += map(pictures.blank_entry, blank)
        self._data_sets.append(pictures.own_entry(0))
        self._begin(settings.chosen or settings.data or self._first_data_set())

    def work(self) -> bool:
        """Read the data set, or let one more model be fitted; False if all have loaded."""
        if self._panel is None:
            self._open()
        elif self._queue:
            self._fitting = self._fitting or self._fit(self._panel, self._cache)
            self._fitting.join(PATIENCE)
            if not self._fitting.is_alive():
                self._add(self._panel, self._fitting)
                self._queue.pop(0)
                self._fitting = None
        return bool(self._queue)

    def state(self) -> dict[str, Any]:
        """The data sets, the models that have loaded, and what went wrong."""
        panel, loading = self._panel, self._loading()
        return {
            "ready": loading is None,
            "loading": loading,
            "current": self._name,
            "caption": panel.pictures.caption if panel else "",
            "classes": panel.classes if panel else [],
            "data": [self._describe_data(entry) for entry in self._data_sets],
            "models": [_describe_model(model) for model in panel.models] if panel else [],
            "corrections": len(self._corrections.items),
            "own": self._count_own(),
            "problem": " ".join(filter(None, [*self._problems, self._corrections.problem])),
            **self._code(None, None),
        }

    def data(self, *, data: str) -> dict[str, Any]:
        """Switch to another data set; its models load in the background."""
        names = [entry["name"] for entry in self._data_sets]
        if data not in names:
            listed = ", ".join(names)
            raise DataError(f"there is no data set {data[:ECHOED]!r} to draw; there are {listed}")
        require_local(data)
        if data != self._name:
            self._problems = list(self._left_out)
            self._begin(data)
        return self.state()

    def answer(
        self, *, strokes: Strokes, pen: float = 1.0, count: int = 8, model: str | None = None
    ) -> Any:
        """The answer of each model for a drawing, with its reasons; the script is about `model`."""
        started = time.perf_counter()
        panel = self._panel or self._open()
        canvas = panel.pictures.canvas
        ink = rasterize(strokes, canvas, pen)
        reply: dict[str, Any] = {"image": "", "answers": [], "neighbours": [], "pictures": {}}
        code = {"python": "", "command": ""}
        if ink is not None:
            values = canvas.values(ink.ravel())
            reply, code = panel.answer(values, count), self._code(model, values)
        return {
            "empty": ink is None,
            "side": canvas.side,
            **reply,
            **code,
            "milliseconds": milliseconds_since(started),
        }

    def learn(self, *, strokes: Strokes, label: str, pen: float = 1.0) -> dict[str, Any]:
        """Keep the correct label of a drawing and teach it to the models that can learn it."""
        panel = self._panel or self._open()
        if label not in panel.classes:
            error = DataError(f"{label[:ECHOED]!r} is not a label of {self._name}")
            error.hint = f"its labels are {', '.join(panel.classes)[:200]}"
            raise error
        if rasterize(strokes, panel.pictures.canvas) is None:
            raise DataError("nothing is drawn, so there is nothing to learn")
        self._corrections.add(Correction(label=label, strokes=strokes, pen=pen))
        if self._name == OWN:
            self._fit_own()
            taught: list[dict[str, Any]] = []
        else:
            taught = panel.teach_all(len(self._corrections.items) - 1)
        return {
            "taught": taught,
            "unchanged": [model.key for model in panel.models if not model.online],
            "corrections": len(self._corrections.items),
            "own": self._count_own(),
            "answer": self.answer(strokes=strokes, pen=pen),
        }

    def undo(self) -> dict[str, Any]:
        """Forget the last correction: models go back to the first and learn the others again."""
        panel = self._panel or self._open()
        self._corrections.remove_last()
        if self._name == OWN:
            self._fit_own()
        else:
            for model in panel.learners():
                panel.replay(model)
        return self.state()

    def forget(self) -> dict[str, Any]:
        """Forget all corrections of this data set and restore the models."""
        (self._panel or self._open()).forget()
        if self._name == OWN:
            self._fit_own()
        return self.state()

    def classes(self, *, names: list[str]) -> dict[str, Any]:
        """Name one's own classes and draw them; drawings of other names are dropped."""
        if self._name != OWN:
            self.data(data=OWN)
        self._corrections.set_classes([name.strip() for name in names])
        self._fit_own()
        return self.state()

    def export(self, *, model: str) -> dict[str, Any]:
        """The file of a model as it is now, corrections included; `separatrix.load` reads it."""
        found = self._panel.find_model(model) if self._panel else None
        if found is None or found.key != model:
            raise DataError(f"there is no model {model[:ECHOED]!r} here")
        from separatrix.modelfile.files import save

        with tempfile.TemporaryDirectory() as folder:
            path = save(found.model, Path(folder) / "exported.model")
            content = base64.b64encode(path.read_bytes()).decode()
        return {"name": f"{self._name}-{model}.model".replace("/", "-"), "base64": content}

    def _begin(self, name: str) -> None:
        self._name = name
        self._panel: Panel | None = None
        self._queue: list[Recipe] = []
        self._order: list[str] = []  # keys of the models on the page
        self._total = 0
        self._fitting = None
        self._cache: FittedModels | None = None
        self._corrections = Corrections(self._folder, name)

    def _first_data_set(self) -> str:
        """A data set for the first saved model, else MNIST or the digits."""
        for entry in self._data_sets if self._saved else ():
            if entry["side"] == self._saved[0].side and entry["state"] != "missing":
                return str(entry["name"])
        return pictures.first_data_set()

    def _open(self) -> Panel:
        """Read the data set; if it cannot be read, the digits, which are always available."""
        try:
            found = self._read(self._name)
        except (SeparatrixError, ValueError, OSError, MemoryError) as error:
            self._problems.append(f"{self._name} cannot be drawn: {error}.")
            self._begin("digits")
            found = self._read("digits")
        suitable: list[LoadedModel] = [m for m in self._saved if m.side == found.canvas.side]
        self._panel = Panel(found, self._corrections, suitable)
        recipes = list_recipes(found)
        self._order = [recipe.key for recipe in recipes]
        self._queue = sorted(
            recipes, key=lambda recipe: recipe.compiled
        )  # first those that need no compiler
        self._total = len(self._queue)
        if self._name != OWN:
            self._cache = FittedModels(self._fitted, found)
        return self._panel

    def _read(self, name: str) -> Pictures:
        if name == OWN:
            return self._read_own()
        sides = {pictures.blank_name(model.side): model.side for model in self._saved}
        return pictures.make_blank(sides[name]) if name in sides else pictures.load_pictures(name)

    def _read_own(self) -> Pictures:
        """One's own classes: the pictures are the drawings themselves."""
        items = self._corrections.items
        images = [rasterize(one.strokes, OWN_CANVAS, one.pen) for one in items]
        some = [ink for ink in images if ink is not None]
        return pictures.make_own(some, [one.label for one in items])

    def _fit_own(self) -> None:
        """Fit all models to the drawings of one's own classes: there are few, so at once."""
        panel = self._open()
        while self._queue:
            fit = self._fit(panel, None)
            fit.join()
            self._add(panel, fit)
            self._queue.pop(0)

    def _fit(self, panel: Panel, cache: FittedModels | None) -> _Fit:
        """Begin to fit the next model, after the imports: who imports half a package fails."""
        return _Fit(self._queue[0], panel.pictures, cache, after=self._imports)

    def _add(self, panel: Panel, fit: _Fit) -> None:
        """Teach a fitted model the corrections so far; those of one's own classes are its pictures."""
        try:
            model = fit.result()
            if model.online and self._name != OWN:
                panel.replay(model)
        except (SeparatrixError, ValueError, ArithmeticError, MemoryError) as error:
            self._problems.append(f"{fit.recipe.title} is left out: {error}.")
        else:
            panel.models.append(model)
            panel.models.sort(key=self._position)

    def _position(self, model: LoadedModel) -> int:
        """Where a model is on the page: saved ones first."""
        return self._order.index(model.key) if model.key in self._order else -1

    def _count_own(self) -> list[dict[str, Any]] | None:
        """The classes of one's own with the number of their drawings; None for other data sets."""
        if self._name != OWN:
            return None
        labels = [one.label for one in self._corrections.items]
        return [{"name": name, "count": labels.count(name)} for name in self._corrections.classes]

    def _code(self, key: str | None, values: Vector | None) -> dict[str, str]:
        """The Python and the commands for a model and a picture; empty until a model has loaded."""
        model = self._panel.find_model(key) if self._panel else None
        if self._panel is None or model is None:
            return {"python": "", "command": ""}
        side, corrections = self._panel.pictures.canvas.side, len(self._corrections.items)
        return {
            "python": model.write_script(values, side, corrections),
            "command": model.write_command(values),
        }

    def _loading(self) -> dict[str, Any] | None:
        if self._panel is None:
            return {"done": 0, "total": 1, "message": f"reading {self._name}"}
        if not self._queue:
            return None
        done = self._total - len(self._queue)
        return {"done": done, "total": self._total, "message": f"fitting {self._queue[0].title}"}

    def _describe_data(self, entry: dict[str, Any]) -> dict[str, Any]:
        if entry["name"] != self._name or self._panel is None:
            return entry
        current = self._panel.pictures
        return {**entry, "rows": current.total, "side": current.canvas.side, "state": "ready"}


class _Fit(Thread):
    """A model that is being fitted."""

    def __init__(
        self, recipe: Recipe, found: Pictures, cache: FittedModels | None, after: Thread
    ) -> None:
        super().__init__(daemon=True)
        self.recipe, self._pictures, self._cache, self._after = recipe, found, cache, after
        self._model: TrainedModel | None = None
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Fit, and answer once: what that compiles is not to keep the pen waiting."""
        try:
            self._after.join()
            model = TrainedModel(self.recipe, self._pictures, self._cache)
            model.predict(self._pictures.X[:1])
            self._model = model
        except Exception as error:
            self._error = error

    def result(self) -> TrainedModel:
        """The model, or what was wrong."""
        if self._model is None:
            raise self._error or DataError("it was not fitted")
        return self._model


def _describe_model(model: LoadedModel) -> dict[str, Any]:
    entry = {name: getattr(model, name) for name in ("key", "title", "caption", "online", "kind")}
    for name in ("error", "first_error", "fit_seconds"):
        value = getattr(model, name)
        entry[name] = None if value is None else round(value, 2)
    return entry
