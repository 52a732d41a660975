"""Sequences with a hidden word: which kernel finds it, and which letters decided.

Half of the sequences have the word TATAAT somewhere, one letter of it drawn anew. Lengths of words are
chosen over shared counts; then one sequence is drawn with its letters coloured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from separatrix import SVCCV, explain_object
from separatrix.kernels import Normalized, Spectrum, Subsequence
from separatrix.report import plot_parts

LETTERS, WORD, LENGTH = list("ACGT"), list("TATAAT"), 40


def main() -> None:
    """Parse, choose, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="sequences")
    parser.add_argument("--out", type=Path, default=Path("why.svg"), help="file of the picture")
    asked = parser.parse_args()

    rng = np.random.default_rng(0)
    y = np.tile(["with", "without"], asked.count // 2)
    X = [sequence(rng, label == "with") for label in y]
    held_out = slice(2 * len(y) // 3, None)
    X_train, y_train = X[: held_out.start], y[: held_out.start]
    families = {
        "words": [Normalized(Spectrum(k, shortest=2)) for k in (2, 3, 4, 5, 6)],
        "words with gaps": [Normalized(Subsequence(k, 0.5)) for k in (2, 3, 4, 5)],
    }
    for name, kernels in families.items():
        search = SVCCV(Cs=[0.1, 1, 10], kernels=kernels, cv=5).fit(X_train, y_train)
        share = search.score(X[held_out], y[held_out])
        print(f"{name}: {share:.2f} right of those held out, with {search.best_params_['kernel']}")
    parts = explain_object(search, X[held_out.start])
    print(f"row {held_out.start} is taken for {parts.label!r}, score {parts.score:.2f}")
    plot_parts(parts).savefig(asked.out)
    print(f"wrote {asked.out}")


def sequence(rng: np.random.Generator, hidden: bool) -> str:
    """Letters at random, and in them the word, one letter of it changed."""
    drawn = rng.choice(LETTERS, LENGTH)
    if hidden:
        word = np.array(WORD)
        word[rng.integers(len(word))] = rng.choice(LETTERS)
        start = rng.integers(LENGTH - len(word))
        drawn[start : start + len(word)] = word
    return "".join(drawn)


if __name__ == "__main__":
    main()
