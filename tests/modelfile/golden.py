"""The golden files: one of each kind for every format that was ever written, and what they answer.

`python -m tests.modelfile.golden` writes files of cases that have none yet. Those that are there
stay as they are: later versions must read them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.modelfile.cases import CASES, answers

from separatrix import save
from separatrix.modelfile.files import FORMAT

FOLDER = Path(__file__).parent / "golden"
ANSWERS = "answers.npz"


def write(folder: Path) -> None:
    """A file of every case without one, whole and slim in turn, and the answers to all of them."""
    folder.mkdir(exist_ok=True)
    said = {}
    if (folder / ANSWERS).exists():
        with np.load(folder / ANSWERS) as before:
            said = dict(before)
    for number, case in enumerate(CASES):
        path = folder / f"{case.name}.model"
        if path.exists():
            continue
        model = case.fitted()
        save(model, path, slim=number % 2 == 1)
        found = answers(model, case.X)
        said |= {
            f"{case.name}/{method}": value.astype(plain(value)) for method, value in found.items()
        }
    np.savez_compressed(folder / ANSWERS, **said)


def plain(values: np.ndarray) -> np.dtype:
    """A type that is read without unpickling anything."""
    return np.dtype(str) if values.dtype.kind == "O" else values.dtype


if __name__ == "__main__":
    write(FOLDER / f"format-{FORMAT}")
