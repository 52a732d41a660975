"""Decisions that cost: tumours, where a miss is dearer than a false alarm, and a person can be asked.

Prints what each way to decide costs on rows held out, and draws how far the probabilities can be
trusted and what every threshold would cost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import BayesDecision, LogisticRegression, evaluate
from separatrix.data.catalogue import load
from separatrix.report import plot_costs, plot_reliability


def main() -> None:
    """Parse, decide, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--miss", type=float, default=20.0, help="cost of a tumour not seen")
    parser.add_argument("--ask", type=float, default=0.2, help="cost of asking a person")
    parser.add_argument("--out", type=Path, default=Path("costs-output"), help="folder of pictures")
    asked = parser.parse_args()

    data = load("breast_cancer")  # 0 is malignant, 1 is benign
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.4, random_state=0)
    losses = [[0.0, asked.miss], [1.0, 0.0]]  # [true, decision]
    model = make_pipeline(StandardScaler(), LogisticRegression(C="evidence", posterior="laplace"))
    ways = {
        "the likeliest class": BayesDecision(model),
        "the least expected cost": BayesDecision(model, losses),
        "a threshold tuned in folds": BayesDecision(model, losses, threshold="tune"),
        "least cost, or ask": BayesDecision(model, losses, reject_cost=asked.ask),
    }
    print(
        f"a miss costs {asked.miss:g}, a false alarm 1, asking {asked.ask:g}; {len(y_test)} rows held out"
    )
    for name, way in ways.items():
        decided = way.fit(X, y).predict(X_test)
        cost = sum(
            asked.ask if guess == -1 else losses[true][guess]
            for true, guess in zip(y_test, decided, strict=True)
        )
        print(f"{name:<28} cost {cost / len(y_test):.3f} a row, {(decided == -1).sum()} asked")

    asked.out.mkdir(parents=True, exist_ok=True)
    curve = ways["the least expected cost"].cost_curve(X_test, y_test)
    plot_costs(curve).savefig(asked.out / "costs.png")
    found = evaluate(model, data.X, data.y, repeats=10)
    print(found)
    plot_reliability(found).savefig(asked.out / "reliability.png")


if __name__ == "__main__":
    main()
