"""The drawing room: models that load one by one, answer for a drawing, and learn from corrections.

Answers come from what has loaded so far. A step of `work` reads the data set or fits one model. A model
that cannot learn a data set is left out, with a sentence; the others go on.
"""

from __future__ import annotations

import time
from typing import Any

from separatrix.errors import DataError, SeparatrixError
from separatrix.workbench.drawing import digits, script
from separatrix.workbench.drawing.corrections import Correction, Corrections
from separatrix.workbench.drawing.digits import Pictures
from separatrix.workbench.drawing.fitted import Fitted
from separatrix.workbench.drawing.models import Recipe, recipes
from separatrix.workbench.drawing.panel import LoadedModel, Panel, since
from separatrix.workbench.drawing.saved_models import open_saved
from separatrix.workbench.drawing.strokes import Strokes, drawn
from separatrix.workbench.settings import Settings

SHOWN = 60  # letters of what was asked for that are said back


class Drawing:
    """What the bench worker does for the page Draw."""

    requests = frozenset({"data", "answer", "learn", "forget"})

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.folder / "corrections"
        self._given, self._left_out = open_saved(settings.models)
        self._problems = list(self._left_out)
        self._listed = [*digits.listed(settings.data), *self._blanks(settings.data)]
        self._begin(settings.chosen or self._first_choice(settings.data))

    def work(self) -> bool:
        """Read the data set, or fit one more model; False: everything is there."""
        if self._panel is None:
            self._open()
        elif self._left:
            self._fit(self._panel, self._left.pop(0))
        return bool(self._left)

    def state(self) -> dict[str, Any]:
        """What there is, what has loaded, and what went wrong."""
        panel, loading = self._panel, self._loading()
        shown = panel.named(None) if panel else None
        return {
            "ready": loading is None,
            "loading": loading,
            "current": self._name,
            "says": panel.pictures.says if panel else "",
            "classes": panel.classes if panel else [],
            "data": [self._entry(entry) for entry in self._listed],
            "models": [_told(model) for model in panel.models] if panel else [],
            "corrections": len(self._corrections.items),
            "problem": " ".join(filter(None, [*self._problems, self._corrections.problem])),
            "python": script.script(shown, panel.pictures, None, 0) if panel and shown else "",
            "command": script.command(shown, panel.pictures, None) if panel and shown else "",
        }

    def data(self, *, data: str) -> dict[str, Any]:
        """Go to another data set; its models load in the background."""
        entry = next((entry for entry in self._listed if entry["name"] == data), None)
        if entry is None:
            names = ", ".join(entry["name"] for entry in self._listed)
            raise DataError(f"there is no data set {data[:SHOWN]!r} to draw; there are {names}")
        if entry["state"] == "missing":
            error = DataError(f"{data} is not on this machine")
            error.hint = entry["hint"]
            raise error
        if data != self._name:
            self._problems = list(self._left_out)
            self._begin(data)
        return self.state()

    def answer(
        self, *, strokes: Strokes, count: int = 8, model: str | None = None
    ) -> dict[str, Any]:
        """What each model says of a drawing, and why; `model` is the one that the script is about."""
        started = time.perf_counter()
        panel = self._opened()
        side, ink = panel.pictures.canvas.side, drawn(strokes, panel.pictures.canvas)
        if ink is None:
            nothing = {"image": "", "answers": [], "neighbours": [], "pictures": {}}
            said = {"milliseconds": since(started), "python": "", "command": ""}
            return {"empty": True, "side": side, **nothing, **said}
        values = panel.pictures.canvas.values(ink.ravel())
        found, chosen = panel.answers(values, count), panel.named(model)
        corrections = len(self._corrections.items)
        return {
            "empty": False,
            "side": side,
            **found,
            "milliseconds": since(started),
            "python": script.script(chosen, panel.pictures, values, corrections) if chosen else "",
            "command": script.command(chosen, panel.pictures, values) if chosen else "",
        }

    def learn(self, *, strokes: Strokes, label: str) -> dict[str, Any]:
        """Take the right label of a drawing: keep it, and let the models that can learn from it."""
        panel = self._opened()
        if label not in panel.classes:
            error = DataError(f"{label[:SHOWN]!r} is no label of {self._name}")
            error.hint = f"its labels are {', '.join(panel.classes)[:200]}"
            raise error
        if drawn(strokes, panel.pictures.canvas) is None:
            raise DataError("nothing is drawn, so there is nothing to learn")
        self._corrections.add(Correction(label, strokes))
        times = panel.teach_all(len(self._corrections.items) - 1)
        return {
            "learned": list(times),
            "kept": [model.key for model in panel.models if not model.online],
            "times": times,
            "corrections": len(self._corrections.items),
            "answer": self.answer(strokes=strokes),
        }

    def forget(self) -> dict[str, Any]:
        """Forget all corrections of this data set; models are as they were before."""
        self._opened().forget()
        return self.state()

    def _begin(self, name: str) -> None:
        self._name = name
        self._panel: Panel | None = None
        self._left: list[Recipe] = []
        self._total = 0
        self._corrections = Corrections(self._folder, name)

    def _first_choice(self, given: str | None) -> str:
        """The set that was asked for, else one that the first saved model takes, else the digits."""
        if given is not None:
            return given
        for entry in self._listed if self._given else ():
            if entry["side"] == self._given[0].side and entry["state"] != "missing":
                return str(entry["name"])
        return "digits"

    def _blanks(self, given: str | None) -> list[dict[str, Any]]:
        """A canvas alone for each saved model whose data set is not here."""
        listed = digits.listed(given)
        there = {entry["side"] for entry in listed if entry["state"] != "missing"}
        sides = {model.side for model in self._given} - there
        return [digits.blank_entry(side) for side in sorted(sides)]

    def _opened(self) -> Panel:
        """The models of the data set, which is read now if need be."""
        return self._open() if self._panel is None else self._panel

    def _open(self) -> Panel:
        """Read the data set; the digits, which are always there, where it cannot be."""
        try:
            found = self._read(self._name)
        except (SeparatrixError, ValueError, OSError, MemoryError) as error:
            self._problems.append(f"{self._name} cannot be drawn: {error}.")
            self._begin("digits")
            found = self._read("digits")
        fitting: list[LoadedModel] = [m for m in self._given if m.side == found.canvas.side]
        self._panel = Panel(found, self._corrections, fitting)
        self._left = recipes(found)
        self._total = len(self._left)
        return self._panel

    def _read(self, name: str) -> Pictures:
        blanks = {digits.blank_name(model.side): model.side for model in self._given}
        return digits.blank(blanks[name]) if name in blanks else digits.pictures_of(name)

    def _fit(self, panel: Panel, recipe: Recipe) -> None:
        """Fit a model, and teach it what was corrected before."""
        try:
            model = Fitted(recipe, panel.pictures)
            for number in range(len(self._corrections.items) if model.online else 0):
                panel.teach(model, number)
        except (SeparatrixError, ValueError, ArithmeticError, MemoryError) as error:
            self._problems.append(f"{recipe.title} is left out: {error}.")
        else:
            panel.models.append(model)

    def _loading(self) -> dict[str, Any] | None:
        if self._panel is None:
            return {"done": 0, "total": 1, "says": f"reading {self._name}"}
        if not self._left:
            return None
        done = self._total - len(self._left)
        return {"done": done, "total": self._total, "says": f"fitting {self._left[0].title}"}

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A data set in the list; of the one in use more is known."""
        if entry["name"] != self._name or self._panel is None:
            return entry
        pictures = self._panel.pictures
        return {**entry, "rows": pictures.total, "side": pictures.canvas.side, "state": "ready"}


def _told(model: LoadedModel) -> dict[str, Any]:
    """What the page shows of a model."""
    rounded = {
        name: None if value is None else round(value, 2)
        for name, value in (("error", model.error), ("fit_seconds", model.fit_seconds))
    }
    shown = {name: getattr(model, name) for name in ("key", "title", "says", "online", "kind")}
    return {**shown, **rounded}
