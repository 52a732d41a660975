"""The Python, the commands and the files that do the same as a picture.

The exported script, experiment file and table contain the points and do not need the workbench. Labels
and names are arbitrary text, written as literals of Python, TOML and CSV. The first two keep them
unchanged; in a table some words mean a missing value or a number.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import Any

import numpy as np

from separatrix.data.numerals import MISSING, is_number
from separatrix.workbench.playground.scene import Scene

POINTS, EXPERIMENT = "points.csv", "playground.toml"
NAME = "playground"
MAX_NAME = 200
LABEL = "label"
MIN_FOR_SPLITS = 5  # points of the smallest class


def export_scene(
    scene: Scene, name: str = NAME, source: dict[str, Any] | None = None, names: Any = None
) -> dict[str, Any]:
    """The three files, each with a name and its text."""
    columns = _columns(names)
    stem = file_stem(name)
    return {
        "python": {"name": f"{stem}.py", "text": script(scene, stem, columns, source)},
        "experiment": {"name": f"{stem}.toml", "text": experiment(scene, name, columns)},
        "points": {"name": POINTS, "text": table(scene, columns)},
    }


def file_stem(name: str) -> str:
    """A portable file name.

    >>> file_stem("My moons: 2"), file_stem("../..")
    ('my-moons-2', 'playground')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-") or NAME


def script(scene: Scene, stem: str, columns: list[str], source: dict[str, Any] | None) -> str:
    """Fit the same model to the same points, print its training error, draw its regions."""
    picture, rule = f"{stem}.png", scene.rule
    plain = all("$" not in text for text in (*columns, *scene.labels))
    points = "\n".join(f"    ({x!r}, {y!r}, {label!r})," for x, y, label in _rows(scene))
    origin = [] if source is None else [f"# made by {_one_line(source)}"]
    lines = [
        '"""A scene of the workbench\'s playground: its points, its model, its picture."""',
        "",
        *([] if plain else ["import matplotlib"]),
        "import numpy as np",
        *imports(scene, "decision_regions"),
        "from separatrix.report import plot_regions",
        "",
        *origin,
        f"POINTS = [\n{points}\n]",
        "",
        "X = np.array([point[:2] for point in POINTS], dtype=float)",
        "y = np.array([point[2] for point in POINTS])",
        "",
        f"model = {constructor(scene)}",
        *(["model.fit(X, y)"] if rule == "predict" else []),
        f"regions = decision_regions(model, X, y, rule={rule!r})",
        "wrong = int(np.sum(regions.codes_at(X) != np.searchsorted(regions.labels, y)))",
        'print(f"training error: {wrong} of {len(y)} ({wrong / len(y):.1%})")',
        "print(regions)",
        "",
        *([] if plain else ['matplotlib.rcParams["text.parse_math"] = False']),
        f"figure = plot_regions(regions, X, y, names={columns!r})",
        f"figure.savefig({picture!r}, dpi=150)",
        f'print("wrote {picture}")',
    ]
    return "\n".join(lines) + "\n"


def experiment(scene: Scene, name: str, columns: list[str]) -> str:
    """An experiment file: the model on splits of the points."""
    scale = "standard" if scene.standardise else "none"
    words = dict(scene.arguments)
    if words.get("tol", 0) is None:  # TOML has no null
        words["tol"] = 0.0
        words["n_iter_no_change"] = words["max_iter"]
    parameters = ", ".join(f"{key} = {toml_value(value)}" for key, value in words.items())
    rows = "\n".join(f"    [{', '.join(map(toml_value, row))}]," for row in _rows(scene))
    title = name.strip()[:MAX_NAME] or NAME
    return f"""\
title = {toml_value(title)}
data = "points"
seed = 0
metrics = ["error"]

{_split(scene)}
[[model]]
type = {toml_value(scene.model.class_name)}
scale = {toml_value(scale)}
parameters = {{ {parameters} }}

[inline]
columns = [{", ".join(map(toml_value, [*columns, _label_name(columns)]))}]
target = {toml_value(_label_name(columns))}
rows = [
{rows}
]
"""


def table(scene: Scene, columns: list[str]) -> str:
    """The points as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*columns, _label_name(columns)])
    writer.writerows([repr(x), repr(y), label] for x, y, label in _rows(scene))
    return file.getvalue()


def toml_value(value: Any) -> str:
    """A value as a literal of TOML.

    >>> toml_value(float("inf")), toml_value(True), toml_value('a"b'), toml_value("\\u202e")
    ('inf', 'true', '"a\\\\"b"', '"\\\\U0000202E"')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        pairs = ", ".join(f"{toml_value(key)} = {toml_value(own)}" for key, own in value.items())
        return f"{{ {pairs} }}"
    return f'"{"".join(map(_escaped, value))}"' if isinstance(value, str) else repr(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"


def _split(scene: Scene) -> str:
    """Repeated splits; two folds for small classes."""
    if np.bincount(scene.y).min() >= MIN_FOR_SPLITS:
        return '[split]\nmethod = "stratified"\nrepeats = 10\ntest_size = 0.25\n'
    return '[split]\nmethod = "folds"\nfolds = 2\nrepeats = 5\n'


def _rows(scene: Scene) -> list[tuple[float, float, str]]:
    return [
        (x, y, scene.labels[code]) for (x, y), code in zip(scene.X.tolist(), scene.y, strict=True)
    ]


def _columns(names: Any) -> list[str]:
    """Names of the two coordinates."""
    columns = [str(name)[:MAX_NAME].strip() for name in names or ()]
    usable = len(columns) == 2 and all(columns) and len(set(columns)) == 2
    return columns if usable else ["x1", "x2"]


def _label_name(columns: list[str]) -> str:
    """A name for the labels that neither coordinate has."""
    return next(name for name in (LABEL, "class", "target") if name not in columns)


def _one_line(source: dict[str, Any]) -> str:
    """The source of the points as a comment: literals only, shortened, on one line."""
    words = ", ".join(f"{str(key)[:20]!r}: {literal(value)[:60]}" for key, value in source.items())
    return f"{{{words}}}"[:200]


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
