"""Nearest neighbours on digits: the choice of k, the hardest digits, and the index alone.

Prints leave-one-out accuracies and the hardest digits; draws accuracy against k.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from separatrix import KNeighborsClassifier, NeighborIndex
from separatrix.data.catalogue import load
from separatrix.plots import plot_k


def main() -> None:
    """Choose k, print and draw the accuracies, search the index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k-max", type=int, default=40, help="largest number of neighbours")
    parser.add_argument("--voters", type=int, default=15, help="neighbours for finding hard digits")
    parser.add_argument("--count", type=int, default=5, help="number of hardest digits")
    parser.add_argument(
        "--out", type=Path, default=Path("neighbors-output"), help="folder for the figures"
    )
    arguments = parser.parse_args()

    data = load("digits")
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = KNeighborsClassifier(k_max=arguments.k_max).fit(X, y)
    model.set_params(n_neighbors=model.best_k_)
    print(
        f"{len(y)} digits, leave-one-out accuracy: {model.accuracy_by_k_.max():.2%} with "
        f"k = {model.best_k_}"
    )
    print(f"{len(y_test)} test digits (seed 0): {model.score(X_test, y_test):.2%} with that k")

    arguments.out.mkdir(parents=True, exist_ok=True)
    curves = {"leave-one-out": model, "test": model.score_by_k(X_test, y_test, arguments.k_max)}
    plot_k(curves, n={"test": len(y_test)}).savefig(arguments.out / "k.png")

    votes_by_class = model.set_params(n_neighbors=arguments.voters).predict_proba(
        None
    )  # of its neighbours' votes
    hardest = np.argsort(votes_by_class.max(axis=1), kind="stable")[: arguments.count]
    print(f"training digits whose {arguments.voters} neighbours disagree most:")
    for row in hardest:
        votes = {
            int(label): round(arguments.voters * vote)
            for label, vote in enumerate(votes_by_class[row])
        }
        listed = ", ".join(f"{count} x {label}" for label, count in votes.items() if count)
        print(f"  row {row:4}, a {y[row]}: {listed}")

    index = NeighborIndex(X, expected_k=3)
    distances, rows = index.search(X_test[:1], 3)
    print(index)
    print(
        f"  a {y_test[0]} is nearest to {y[rows[0]].tolist()} at {distances[0].round(1).tolist()}"
    )


if __name__ == "__main__":
    main()
