"""Sequences with a hidden word: compare kernels, and explain one prediction by its letters.

Half of the sequences contain the word TATAAT, with one letter replaced at random. Cross-validation chooses
the word length; then one sequence is letters with coloured letters.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from separatrix import SVCCV, explain_object
from separatrix.kernels import Normalized, Spectrum, Subsequence
from separatrix.plots import plot_parts

LETTERS, WORD, LENGTH = list("ACGT"), list("TATAAT"), 40


def main() -> None:
    """Choose the kernels, print the accuracies, draw one sequence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="number of sequences")
    parser.add_argument("--out", type=Path, default=Path("why.svg"), help="file for the figure")
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    y = np.tile(["with", "without"], arguments.count // 2)
    X = [sequence(rng, label == "with") for label in y]
    held_out = slice(2 * len(y) // 3, None)
    X_train, y_train = X[: held_out.start], y[: held_out.start]
    families = {
        "words": [Normalized(Spectrum(k, shortest=2)) for k in (2, 3, 4, 5, 6)],
        "words with gaps": [Normalized(Subsequence(k, 0.5)) for k in (2, 3, 4, 5)],
    }
    for name, kernels in families.items():
        search = SVCCV(Cs=[0.1, 1, 10], kernels=kernels, cv=5).fit(X_train, y_train)
        accuracy = search.score(X[held_out], y[held_out])
        print(f"{name}: test accuracy {accuracy:.2f}, with {search.best_params_['kernel']}")
    attribution = explain_object(search, X[held_out.start])
    print(
        f"row {held_out.start} is predicted as {attribution.label!r}, score {attribution.score:.2f}"
    )
    plot_parts(attribution).savefig(arguments.out)
    print(f"wrote {arguments.out}")


def sequence(rng: np.random.Generator, hidden: bool) -> str:
    """Random letters, with the word if `hidden`, one letter of it replaced."""
    letters = rng.choice(LETTERS, LENGTH)
    if hidden:
        word = np.array(WORD)
        word[rng.integers(len(word))] = rng.choice(LETTERS)
        start = rng.integers(LENGTH - len(word))
        letters[start : start + len(word)] = word
    return "".join(letters)


if __name__ == "__main__":
    main()
