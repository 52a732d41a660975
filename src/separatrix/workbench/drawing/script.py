"""The Python and the commands that do the same as Draw."""

from __future__ import annotations

import numpy as np

from separatrix.types import Vector
from separatrix.workbench.drawing.loaded_models import LoadedModel

WIDTH = 16  # numbers in a line of a script, for wider pictures


def write_script(model: LoadedModel, values: Vector | None, side: int, corrections: int) -> str:
    """Python that makes the model and predicts a picture, or computes its error if there is none."""
    lines = ["import numpy as np", *model.imports, "", model.code]
    if corrections and model.online:
        learned = "the one correction" if corrections == 1 else f"the {corrections} corrections"
        lines.append(f"# without {learned} made in the workbench")
    lines.append("")
    if values is None:
        lines.append(model.summary)
    else:
        width = side if side <= WIDTH or side % 2 else side // 2
        rows = (", ".join(map(_number, row)) for row in values.reshape(-1, width))
        lines += ["picture = np.array([", *(f"    {row}," for row in rows), "])"]
        row = "picture[None]" if model.unit == 1 else f"(picture[None] / {model.unit!r})"
        lines.append(f"print(model.predict({row}.astype(np.{model.dtype}))[0])")
    return "\n".join(lines) + "\n"


def write_command(model: LoadedModel, values: Vector | None) -> str:
    """Similar commands: `separatrix fit` scales each column by itself."""
    lines = list(model.commands)
    if values is not None:
        lines.append(f"echo {','.join(map(_number, values))} > picture.csv")
        lines.append(f"separatrix predict {model.file} picture.csv --no-header")
    return "\n".join(lines or [f"separatrix info {model.file}"])


def _number(value: float) -> str:
    """The shortest text of a number.

    >>> _number(16.0), _number(-0.25)
    ('16', '-0.25')
    """
    return repr(int(value)) if float(value).is_integer() else repr(float(np.round(value, 6)))
