"""The Python and the command line that do what the drawing room does."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from separatrix.kernels import __all__ as KERNELS
from separatrix.types import Vector
from separatrix.workbench.drawing.digits import Pictures
from separatrix.workbench.drawing.saved_models import Given

WIDTH = 16  # numbers in a line of a script, where a picture has more in a row


def script(model: Any, pictures: Pictures, values: Vector | None, corrections: int) -> str:
    """Python that makes the model ready and has it answer for a picture, or measures it without one."""
    lines = [*_imports(model), "", *_ready(model, pictures, corrections), ""]
    if values is None:
        return "\n".join([*lines, *_measured(model)]) + "\n"
    unit = 1.0 if isinstance(model, Given) else pictures.unit
    lines += ["picture = np.array([", *_numbers(values, pictures.canvas.side), "])"]
    row = "picture[None]" if unit == 1 else f"(picture[None] / {unit!r})"
    kind = "np.float64" if isinstance(model, Given) else "np.float32"
    return "\n".join([*lines, f"print(model.predict({row}.astype({kind}))[0])"]) + "\n"


def command(model: Any, pictures: Pictures, values: Vector | None) -> str:
    """Commands that do the like: `separatrix fit` scales each column by itself."""
    file = model.options if isinstance(model, Given) else f"{model.key}.model"
    lines = []
    if not isinstance(model, Given):
        lines.append(f"separatrix fit {shlex.quote(pictures.name)} {model.options} --out {file}")
    if values is not None:
        lines.append(f"echo {','.join(map(_number, values))} > picture.csv")
        lines.append(f"separatrix predict {file} picture.csv --no-header")
    return "\n".join(lines or [f"separatrix info {file}"])


def _imports(model: Any) -> list[str]:
    if isinstance(model, Given):
        return ["import numpy as np", "from separatrix import load"]
    lines = ["import numpy as np", f"from separatrix import {type(model.model).__name__}"]
    lines.append("from separatrix.data.catalogue.find import find")
    kernels = [name for name in KERNELS if f"{name}(" in model.code]
    if kernels:
        lines.append(f"from separatrix.kernels import {', '.join(kernels)}")
    return lines


def _ready(model: Any, pictures: Pictures, corrections: int) -> list[str]:
    lines = [] if isinstance(model, Given) else pictures.code.splitlines()
    lines += model.code.splitlines()
    if corrections and model.online:
        learned = "one correction" if corrections == 1 else f"{corrections} corrections"
        lines.append(f"# as it was before {learned} in the workbench")
    return lines


def _measured(model: Any) -> list[str]:
    if isinstance(model, Given):
        return ["print(model)"]
    return ["print(f'{100 * np.mean(model.predict(X_test) != y_test):.2f} % wrong')"]


def _numbers(values: Vector, side: int) -> list[str]:
    width = side if side <= WIDTH else side // 2 if side % 2 == 0 else side
    rows = values.reshape(-1, width)
    return ["    " + ", ".join(map(_number, row)) + "," for row in rows]


def _number(value: float) -> str:
    """As short as it can be without a change.

    >>> _number(16.0), _number(-0.25)
    ('16', '-0.25')
    """
    return repr(int(value)) if float(value).is_integer() else repr(float(np.round(value, 6)))
