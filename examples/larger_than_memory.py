"""Discriminants and logistic regression on samples in a memory map, larger than memory.

Writes a file of samples, fits from it, and shows that reading it in blocks, and merging fits of two
halves, give the same weights.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import LinearDiscriminantAnalysis, LogisticRegression


class Blocks:
    """Iterable over the blocks of a file; each iteration starts from the beginning."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows = folder, rows

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        X, y = (np.load(self.folder / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
        for start in range(0, len(y), self.rows):
            part = slice(start, start + self.rows)
            yield np.asarray(X[part]), np.asarray(y[part])


def main() -> None:
    """Write the samples, fit in three ways, print the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="samples to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, size=arguments.rows)
        np.save(
            folder / "X.npy",
            rng.normal(size=(arguments.rows, 40)) + 0.3 * rng.normal(size=(3, 40))[y],
        )
        np.save(folder / "y.npy", y)
        X = np.load(folder / "X.npy", mmap_mode="r")
        half = arguments.rows // 2

        mapped = LinearDiscriminantAnalysis().fit(X, y)
        blocks = LinearDiscriminantAnalysis().fit(Blocks(folder, 20_000))
        first = LinearDiscriminantAnalysis().fit(X[:half], y[:half])
        merged = first.merge(LinearDiscriminantAnalysis().fit(X[half:], y[half:]))
        for what, model in (("block by block", blocks), ("two halves merged", merged)):
            off = np.abs(model.coef_ - mapped.coef_).max()
            print(f"discriminant, {what}: weights differ by {off:.0e}")

        logistic = LogisticRegression(tol=1e-8).fit(X, y)
        off = np.abs(
            LogisticRegression(tol=1e-8).fit(Blocks(folder, 20_000)).coef_ - logistic.coef_
        ).max()
        print(f"logistic regression, block by block: weights differ by {off:.0e}")
        print(f"{logistic!r}: {logistic.n_iter_[0]} steps, gradient {logistic.gradient_:.0e}")


if __name__ == "__main__":
    main()
