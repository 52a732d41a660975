"""Several classifiers on the same splits, side by side, with intervals for their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from separatrix.errors import ParameterError
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.study import evaluate


@dataclass(frozen=True)
class Comparison:
    """Evaluations of several classifiers on the same splits."""

    evaluations: dict[str, Evaluation]

    @property
    def best(self) -> str:
        """The classifier with the lowest mean test error, the first among equals."""
        return min(self.evaluations, key=lambda name: self.evaluations[name].test_error.mean())

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain values, best first; errors in per cent.

        Where a model has probabilities there are `log_loss` and `brier`, None for those without.
        `behind` is the mean difference to the best, with the half-width of its 95 % interval by
        Nadeau and Bengio's corrected t statistic: splits overlap, so the plain one is too narrow.
        """
        leader = self.evaluations[self.best]
        seen = any(found.probabilities for found in self.evaluations.values())
        rows = []
        for name, found in self.evaluations.items():
            difference = 100 * (found.test_error[0] - leader.test_error[0])
            rows.append(
                {
                    "model": name,
                    "train_error": 100 * float(found.train_error.mean()),
                    "test_error": 100 * float(found.test_error.mean()),
                    "test_sd": 100 * float(found.test_error.std()),
                    "behind": float(difference.mean()),
                    "half_width": _half_width(difference, found),
                    "seconds": found.seconds,
                    **(_of_probabilities(found) if seen else {}),
                }
            )
        return sorted(rows, key=lambda row: row["test_error"])

    def __str__(self) -> str:
        leader = self.evaluations[self.best]
        rows = self.rows()
        more = f"{'log loss':>11}{'Brier':>9}" if "brier" in rows[0] else ""
        lines = [
            f"{len(leader.splits)} random splits, {len(leader.splits[0].train)} rows to train and "
            f"{len(leader.splits[0].test)} to test; the interval is 95 % by the corrected t statistic",
            f"{'model':<34}{'train error %':>15}{'test error %':>17}{'behind the best':>20}{'seconds':>10}"
            + more,
        ]
        for row in rows:
            behind = (
                ""
                if row["model"] == self.best
                else f"{row['behind']:.2f} ± {row['half_width']:.2f}"
            )
            lines.append(
                f"{row['model']:<34}{row['train_error']:>15.2f}{row['test_error']:>10.2f} ± "
                f"{row['test_sd']:.2f}{behind:>20}{row['seconds']:>10.2f}"
                + (_number(row["log_loss"], 11) + _number(row["brier"], 9) if more else "")
            )
        return "\n".join(lines)


def compare(
    models: Mapping[str, Any],
    X: Any,  # shape: (n, d)
    y: Any,  # shape: (n,)
    *,
    repeats: int = 20,
    test_size: float = 0.2,
    random_state: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Evaluate every classifier on the same random splits.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KernelPerceptron, Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"linear": Perceptron(predictor="average"), "kernel": KernelPerceptron(min_gain=0.001)}
    >>> sorted(row["model"] for row in compare(models, X, y, repeats=5).rows())
    ['kernel', 'linear']
    """
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("compare", "models", "a dict with at least one classifier", models)
    return Comparison(
        {
            name: evaluate(
                model,
                X,
                y,
                repeats=repeats,
                test_size=test_size,
                random_state=random_state,
                progress=progress,
            )
            for name, model in models.items()
        }
    )


def _of_probabilities(found: Evaluation) -> dict[str, float | None]:
    if not found.probabilities:
        return {"log_loss": None, "brier": None}
    return {"log_loss": float(found.log_loss.mean()), "brier": float(found.brier.mean())}


def _number(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.4f}"


def _half_width(difference: Any, found: Evaluation) -> float:
    """Nadeau and Bengio, Inference for the Generalization Error, Machine Learning 52 (2003)."""
    repeats = len(difference)
    if repeats < 2:
        return float("nan")
    train, test = (len(part) for part in found.splits[0])
    spread = np.sqrt((1 / repeats + test / train) * difference.var(ddof=1))
    return float(student.ppf(0.975, repeats - 1) * spread)
