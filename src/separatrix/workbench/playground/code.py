"""The few lines of Python and of the command line that do what a picture shows.

Both begin from files that the page exports.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from separatrix.data.formats.layout import MISSING, is_number
from separatrix.workbench.playground.scene import Scene

POINTS, EXPERIMENT = "points.csv", "playground.toml"


def constructor(scene: Scene) -> str:
    """The call that makes the model.

    >>> points = [[0, 0, "a"], [1, 1, "b"]]
    >>> constructor(Scene.of(points, "svm", {"hard": True}, standardise=True))
    "make_pipeline(StandardScaler(), SVC(kernel='rbf', gamma=1.0, C=float('inf')))"
    """
    arguments = dict(scene.arguments)
    if scene.model.kind == "LinearSVC":
        arguments["random_state"] = 0
    words = ", ".join(f"{name}={literal(value)}" for name, value in arguments.items())
    made = f"{scene.model.kind}({words})"
    return f"make_pipeline(StandardScaler(), {made})" if scene.standardise else made


def literal(value: Any) -> str:
    """A value as Python reads it back."""
    return "float('inf')" if value == float("inf") else repr(value)


def imports(scene: Scene, *more: str) -> list[str]:
    """The lines above, so that `constructor` works; `more` also comes from the library."""
    names = ", ".join(sorted({scene.model.kind, *more}))
    lines = [f"from separatrix import {names}"]
    if scene.standardise:
        lines = [
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import StandardScaler",
            "",
            *lines,
        ]
    return lines


def python_of(scene: Scene) -> str:
    """Fit the same model to the same points."""
    regions = f"decision_regions(model, data.X, data.y, rule={scene.rule!r})"
    looked = [] if scene.rule == "predict" else [f"print({regions})"]
    reader, reading = _reading(scene)
    lines = [
        *imports(scene, *(["decision_regions"] if looked else [])),
        reader,
        "",
        f"data = {reading}  # as Export saves it",
        f"model = {constructor(scene)}",
        "model.fit(data.X, data.y)",
        'print(f"{1 - model.score(data.X, data.y):.1%} of the training points are wrong")',
        *looked,
    ]
    return "\n".join(lines) + "\n"


def command_of(scene: Scene) -> str:
    """The same from a shell, from the two files that the page exports."""
    run = f"# {EXPERIMENT} and {POINTS} are what Export saves\nseparatrix run {EXPERIMENT}\n"
    if not _in_a_table(scene):
        return run
    words = ["separatrix", "fit", POINTS, "--target", "-1", "--model", scene.model.kind]
    for name, value in scene.arguments.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return f"{run}# fit scales the columns before it fits\n{shlex.join(words)}\n"


def _reading(scene: Scene) -> tuple[str, str]:
    """How a script gets the points: imports and an expression. Labels are last in the table."""
    if _in_a_table(scene):
        return "from separatrix.data.read import read", f'read("{POINTS}", target=-1)'
    return (
        "from pathlib import Path\n\nfrom separatrix.experiments.spec import read_spec",
        f'read_spec(Path("{EXPERIMENT}")).inline.dataset("points")',
    )


def _in_a_table(scene: Scene) -> bool:
    """Whether all labels come back from CSV: some texts stand for no value there, others for numbers."""
    return all(map(_is_word, scene.labels))


def _is_word(label: str) -> bool:
    """Whether a label is the same after it was a cell of a table.

    >>> [label for label in ("a", "7", "", "NA", " a", "1.0", "1e5") if _is_word(label)]
    ['a', '7']
    """
    if re.fullmatch(r"0|[1-9][0-9]{0,14}", label):
        return True
    plain = label.isprintable() and label == label.strip() and label not in MISSING
    return plain and not is_number(label)
