"""Golden files: one of each case for every format ever written, with its predictions in a file of its own.

`make golden` writes those of new cases. Existing files stay as they are: later versions must read them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.modelfile.cases import CASES, answers

from separatrix import save
from separatrix.modelfile.files import FORMAT

FOLDER = Path(__file__).parent / "golden"


def write(folder: Path) -> None:
    """Write the model and the predictions of every case without a file, whole and slim in turn."""
    folder.mkdir(exist_ok=True)
    for number, case in enumerate(CASES):
        path = folder / f"{case.name}.model"
        if not path.exists():
            model = case.fitted()
            save(model, path, slim=number % 2 == 1)
            found = answers(model, case.X)
            np.savez_compressed(
                path.with_suffix(".npz"),
                **{method: values.astype(plain(values)) for method, values in found.items()},
            )


def plain(values: np.ndarray) -> np.dtype:
    """A type that is read without unpickling."""
    return np.dtype(str) if values.dtype.kind == "O" else values.dtype


if __name__ == "__main__":
    write(FOLDER / f"format-{FORMAT}")
