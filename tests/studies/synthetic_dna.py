"""Synthetic DNA: three classes that differ in two letters in the middle, some copies, one letter N."""

import numpy as np

MOTIFS = {"EI": (10, "GT"), "IE": (8, "AG"), "N": (9, "C")}


def sequences(n, *, length=20, seed=0):
    """n sequences, classes in turn, and their labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for number in range(n):
        label = list(MOTIFS)[number % 3]
        position, motif = MOTIFS[label]
        letters = rng.choice(list("ACGT"), size=length)
        letters[position : position + len(motif)] = list(motif)
        X.append("".join(letters))
        y.append(label)
    for row in range(3, n, 20):
        X[row] = X[row % 3]  # a copy of one of its class
    X[-1] = "N" + X[-1][1:]
    return X, y


def write(path, X, y):
    """A file as the UCI archive has them."""
    lines = [f"{label}, s{number}, {x}" for number, (x, label) in enumerate(zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)
