"""Cost-sensitive decisions: a missed tumour costs more than a false alarm, and rows can be rejected.

Prints the cost of each decision rule on held-out rows, and draws a reliability diagram and the cost of
every threshold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import BayesDecision, LogisticRegression, evaluate
from separatrix.data.catalogue import load
from separatrix.plots import plot_costs, plot_reliability


def main() -> None:
    """Fit each decision rule, print its cost and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--miss", type=float, default=20.0, help="cost of a missed tumour")
    parser.add_argument("--reject", type=float, default=0.2, help="cost of a rejected row")
    parser.add_argument(
        "--out", type=Path, default=Path("costs-output"), help="folder for the figures"
    )
    arguments = parser.parse_args()

    data = load("breast_cancer")  # 0 is malignant, 1 is benign
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.4, random_state=0)
    losses = [[0.0, arguments.miss], [1.0, 0.0]]  # [true, decision]
    model = make_pipeline(StandardScaler(), LogisticRegression(C="evidence", posterior="laplace"))
    rules = {
        "most probable class": BayesDecision(model),
        "lowest expected cost": BayesDecision(model, losses),
        "threshold tuned by folds": BayesDecision(model, losses, threshold="tune"),
        "lowest cost, or reject": BayesDecision(model, losses, reject_cost=arguments.reject),
    }
    print(
        f"a miss costs {arguments.miss:g}, a false alarm 1, a rejection {arguments.reject:g}; "
        f"{len(y_test)} held-out rows"
    )
    for name, rule in rules.items():
        predicted = rule.fit(X, y).predict(X_test)
        cost = sum(
            arguments.reject if guess == -1 else losses[true][guess]
            for true, guess in zip(y_test, predicted, strict=True)
        )
        print(
            f"{name:<28} cost {cost / len(y_test):.3f} per row, {(predicted == -1).sum()} rejected"
        )

    arguments.out.mkdir(parents=True, exist_ok=True)
    curve = rules["lowest expected cost"].cost_curve(X_test, y_test)
    plot_costs(curve).savefig(arguments.out / "costs.png")
    found = evaluate(model, data.X, data.y, repeats=10)
    print(found)
    plot_reliability(found).savefig(arguments.out / "reliability.png")


if __name__ == "__main__":
    main()
