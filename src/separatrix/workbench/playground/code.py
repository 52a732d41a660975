"""The few lines of Python and of the command line that do what a picture shows.

Both begin from files that the page exports.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

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
    lines = [
        *imports(scene, *(["decision_regions"] if looked else [])),
        "from separatrix.data.read import read",
        "",
        f'data = read("{POINTS}")  # as Export saves it',
        f"model = {constructor(scene)}",
        "model.fit(data.X, data.y)",
        'print(f"{1 - model.score(data.X, data.y):.1%} of the training points are wrong")',
        *looked,
    ]
    return "\n".join(lines) + "\n"


def command_of(scene: Scene) -> str:
    """The same from a shell, from the two files that the page exports."""
    words = ["separatrix", "fit", POINTS, "--model", scene.model.kind]
    for name, value in scene.arguments.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return (
        f"# {EXPERIMENT} and {POINTS} are what Export saves\n"
        f"separatrix run {EXPERIMENT}\n"
        "# fit scales the columns before it fits\n"
        f"{shlex.join(words)}\n"
    )
