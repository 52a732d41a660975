"""Digits by their nearest neighbours: how many to ask, which digits they disagree on, and the search alone.

Prints accuracies, each digit left out in turn, and the hardest digits; draws accuracy against k.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from separatrix import KNeighborsClassifier, NeighborIndex
from separatrix.data.catalogue import load
from separatrix.report import plot_k


def main() -> None:
    """Parse, choose, print, draw, search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k-max", type=int, default=40, help="neighbours at most")
    parser.add_argument("--voters", type=int, default=15, help="neighbours that may disagree")
    parser.add_argument("--count", type=int, default=5, help="hardest digits to print")
    parser.add_argument(
        "--out", type=Path, default=Path("neighbors-output"), help="folder of pictures"
    )
    asked = parser.parse_args()

    data = load("digits")
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = KNeighborsClassifier(k_max=asked.k_max).fit(X, y)
    model.set_params(n_neighbors=model.best_k_)
    print(
        f"{len(y)} digits, each left out: {model.accuracy_by_k_.max():.2%} with k = {model.best_k_}"
    )
    print(f"{len(y_test)} digits held out (seed 0): {model.score(X_test, y_test):.2%} with that k")

    asked.out.mkdir(parents=True, exist_ok=True)
    curves = {"left out": model, "test": model.score_by_k(X_test, y_test, asked.k_max)}
    plot_k(curves, n={"test": len(y_test)}).savefig(asked.out / "k.png")

    shares = model.set_params(n_neighbors=asked.voters).predict_proba(
        None
    )  # of its neighbours' votes
    hardest = np.argsort(shares.max(axis=1), kind="stable")[: asked.count]
    print(f"of the first, those whose {asked.voters} neighbours disagree most:")
    for row in hardest:
        votes = {int(label): round(asked.voters * share) for label, share in enumerate(shares[row])}
        told = ", ".join(f"{count} x {label}" for label, count in votes.items() if count)
        print(f"  row {row:4}, a {y[row]}: {told}")

    index = NeighborIndex(X, expected_k=3)
    distances, rows = index.search(X_test[:1], 3)
    print(index)
    print(
        f"  a {y_test[0]} is nearest to {y[rows[0]].tolist()} at {distances[0].round(1).tolist()}"
    )


if __name__ == "__main__":
    main()
