"""The Python and the commands that do the same as a picture, from files that the page exports."""

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
    if scene.model.class_name == "LinearSVC":
        arguments["random_state"] = 0
    words = ", ".join(f"{name}={literal(value)}" for name, value in arguments.items())
    made = f"{scene.model.class_name}({words})"
    return f"make_pipeline(StandardScaler(), {made})" if scene.standardise else made


def literal(value: Any) -> str:
    """A value as a literal of Python."""
    return "float('inf')" if value == float("inf") else repr(value)


def imports(scene: Scene, *more: str) -> list[str]:
    """The imports of `constructor`, and `more` from the library."""
    scaler = [
        "from sklearn.pipeline import make_pipeline",
        "from sklearn.preprocessing import StandardScaler",
        "",
    ]
    names = ", ".join(sorted({scene.model.class_name, *more}))
    return [*(scaler if scene.standardise else []), f"from separatrix import {names}"]


def python_of(scene: Scene) -> str:
    """Fit the same model to the same points. Labels are in the last column."""
    regions = f"decision_regions(model, data.X, data.y, rule={scene.rule!r})"
    other_rule = [] if scene.rule == "predict" else [f"print({regions})"]
    if _fits_table(scene):
        reader = "from separatrix.data.read import read"
        reading = f'read("{POINTS}", target=-1)'
    else:
        reader = "from pathlib import Path\n\nfrom separatrix.experiments.spec import read_spec"
        reading = f'read_spec(Path("{EXPERIMENT}")).inline.dataset("points")'
    lines = [
        *imports(scene, *(["decision_regions"] if other_rule else [])),
        reader,
        "",
        f"data = {reading}  # as Export saves it",
        f"model = {constructor(scene)}",
        "model.fit(data.X, data.y)",
        'print(f"{1 - model.score(data.X, data.y):.1%} of the training points are wrong")',
        *other_rule,
    ]
    return "\n".join(lines) + "\n"


def command_of(scene: Scene) -> str:
    """Commands on the two files that the page exports."""
    run = f"# {EXPERIMENT} and {POINTS} are what Export saves\nseparatrix run {EXPERIMENT}\n"
    if not _fits_table(scene):
        return run
    words = ["separatrix", "fit", POINTS, "--target", "-1", "--model", scene.model.class_name]
    for name, value in scene.arguments.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return f"{run}# fit scales the columns before it fits\n{shlex.join(words)}\n"


def _fits_table(scene: Scene) -> bool:
    """Whether CSV keeps all labels: some texts mean a missing value there, others a number."""
    return all(map(_survives_csv, scene.labels))


def _survives_csv(label: str) -> bool:
    """Whether a label is unchanged after a round trip through CSV.

    >>> [label for label in ("a", "7", "", "NA", " a", "1.0", "1e5") if _survives_csv(label)]
    ['a', '7']
    """
    if re.fullmatch(r"0|[1-9][0-9]{0,14}", label):
        return True
    plain = label.isprintable() and label == label.strip() and label not in MISSING
    return plain and not is_number(label)
