"""The Python and the commands that do the same as Draw."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from separatrix.kernels import __all__ as KERNELS
from separatrix.types import Vector
from separatrix.workbench.drawing.pictures import Pictures
from separatrix.workbench.drawing.saved_models import SavedModel

WIDTH = 16  # numbers in a line of a script, for wider pictures


def write_script(model: Any, pictures: Pictures, values: Vector | None, corrections: int) -> str:
    """Python that makes the model and predicts a picture, or computes its error if there is none."""
    lines = [*_imports(model), "", *_model_lines(model, pictures, corrections), ""]
    if values is None:
        return "\n".join([*lines, *_error_lines(model)]) + "\n"
    unit = 1.0 if isinstance(model, SavedModel) else pictures.unit
    lines += ["picture = np.array([", *_numbers(values, pictures.canvas.side), "])"]
    row = "picture[None]" if unit == 1 else f"(picture[None] / {unit!r})"
    kind = "np.float64" if isinstance(model, SavedModel) else "np.float32"
    return "\n".join([*lines, f"print(model.predict({row}.astype({kind}))[0])"]) + "\n"


def write_command(model: Any, pictures: Pictures, values: Vector | None) -> str:
    """Similar commands: `separatrix fit` scales each column by itself."""
    file = model.options if isinstance(model, SavedModel) else f"{model.key}.model"
    lines = []
    if not isinstance(model, SavedModel):
        lines.append(f"separatrix fit {shlex.quote(pictures.name)} {model.options} --out {file}")
    if values is not None:
        lines.append(f"echo {','.join(map(_number, values))} > picture.csv")
        lines.append(f"separatrix predict {file} picture.csv --no-header")
    return "\n".join(lines or [f"separatrix info {file}"])


def _imports(model: Any) -> list[str]:
    if isinstance(model, SavedModel):
        return ["import numpy as np", "from separatrix import load"]
    lines = ["import numpy as np", f"from separatrix import {type(model.model).__name__}"]
    lines.append("from separatrix.data.catalogue.find import find")
    kernels = [name for name in KERNELS if f"{name}(" in model.code]
    if kernels:
        lines.append(f"from separatrix.kernels import {', '.join(kernels)}")
    return lines


def _model_lines(model: Any, pictures: Pictures, corrections: int) -> list[str]:
    lines = [] if isinstance(model, SavedModel) else pictures.code.splitlines()
    lines += model.code.splitlines()
    if corrections and model.online:
        learned = "the one correction" if corrections == 1 else f"the {corrections} corrections"
        lines.append(f"# without {learned} made in the workbench")
    return lines


def _error_lines(model: Any) -> list[str]:
    if isinstance(model, SavedModel):
        return ["print(model)"]
    return ["print(f'{100 * np.mean(model.predict(X_test) != y_test):.2f} % wrong')"]


def _numbers(values: Vector, side: int) -> list[str]:
    width = side if side <= WIDTH else side // 2 if side % 2 == 0 else side
    rows = values.reshape(-1, width)
    return ["    " + ", ".join(map(_number, row)) + "," for row in rows]


def _number(value: float) -> str:
    """The shortest text of a number.

    >>> _number(16.0), _number(-0.25)
    ('16', '-0.25')
    """
    return repr(int(value)) if float(value).is_integer() else repr(float(np.round(value, 6)))
