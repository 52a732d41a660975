"""Parts 4 to 6: one-hot targets, the ridge and the limit that meets it, Fisher's ratio."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.fisher import FisherDiscriminant
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.studies.linear_steps.samples import (
    MEASURES,
    Samples,
    angle_between,
    flowers,
    generator,
    is_quick,
    line_of,
    two_kinds,
)
from separatrix.types import Codes, Matrix, Vector

ONE_HOT = "4 one-hot targets"
RIDGE = "5 ridge"
FISHER = "6 Fisher's ratio"
DIRECTIONS = 1000


def one_hot(workshop: RunContext) -> StepResult:
    """A column of targets for each class makes W, (d + 1) x K; the largest score decides."""
    X, y, names = flowers(workshop)
    model = LeastSquaresClassifier().fit(X, y)
    W = np.vstack([model.intercept_, model.coef_.T])
    ones = np.column_stack([np.ones(len(X)), X])
    targets = np.eye(len(names))[y]
    S = ones @ W
    rows = [
        Row(ONE_HOT, "iris", "LeastSquaresClassifier", told, ALL_SPLITS, metric, float(value))
        for told, metric, value in (
            *_entries(W, names),
            (params_json(), "rows_of_W", W.shape[0]),
            (params_json(), "columns_of_W", W.shape[1]),
            (params_json(), "off_normal_equations", np.abs(ones.T @ (targets - S)).max()),
            (params_json(), "off_sum_of_scores", np.abs(S.sum(axis=1) - 1.0).max()),
            (params_json(), "argmax_agrees", np.mean(S.argmax(axis=1) == model.predict(X))),
            *(
                (params_json(kind=names[k]), "correct", np.mean(model.predict(X[y == k]) == k))
                for k in range(3)
            ),
        )
    ]
    return StepResult(rows, {"W": W, "scores": S, "codes": y})


def _entries(W: Matrix, names: tuple[str, ...]) -> list[tuple[str, str, float]]:
    return [
        (params_json(feature=feature, kind=kind), "weight", W[i, k])
        for i, feature in enumerate(("bias", *MEASURES))
        for k, kind in enumerate(names)
    ]


def ridge(workshop: RunContext) -> StepResult:
    """Along the ridges: the closed form holds, and the limit |w|^2 <= C finds the same ridge."""
    X, y, _ = two_kinds(flowers(workshop))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    side = 2.0 * y - 1.0
    ridges = np.logspace(-2, 4, 13 if is_quick(workshop) else 31)
    left_out = LeastSquaresClassifier(ridge=ridges).fit(Z, y)
    rows: list[Row] = []
    weights = []
    for position, strength in enumerate(ridges.tolist()):
        model = LeastSquaresClassifier(ridge=strength).fit(Z, y)
        w, bias = line_of(model)
        weights.append(w)
        limit = float(w @ w)
        bound = LeastSquaresClassifier(max_norm=limit).fit(Z, y)
        closed = np.linalg.solve(Z.T @ Z + strength * np.eye(len(w)), Z.T @ (side - bias))
        values = {
            "squared_length": limit,
            "off_closed_form": float(np.abs(w - closed).max()),
            "off_bias": float(abs(bias - np.mean(side - Z @ w))),
            "ridge_of_limit": float(bound.ridge_[0]),
            "off_weights_of_limit": float(np.abs(bound.coef_[0] - w).max()),
            "squared_error_left_out": float(left_out.loo_.squared_error[position]),
            "error_left_out": float(left_out.loo_.error[position]),
        }
        rows += [
            Row(
                RIDGE,
                "iris, two kinds",
                "LeastSquaresClassifier",
                params_json(ridge=strength),
                ALL_SPLITS,
                m,
                v,
            )
            for m, v in values.items()
        ]
    return StepResult(rows, {"ridges": ridges, "weights": np.array(weights)})


def fisher(workshop: RunContext) -> StepResult:
    """No direction has a larger ratio of scatters than Fisher's."""
    X, y, _ = samples = flowers(workshop)
    model = FisherDiscriminant().fit(X, y)
    axis = model.axes_[:, 0]
    tried = generator(workshop, 6).normal(size=(DIRECTIONS, X.shape[1]))
    ratios = np.array([_ratio(X @ a, y) for a in tried])
    spread = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    middle = tried[np.argsort(ratios)[len(ratios) // 2]]
    values = {
        "Fisher": {"ratio": _ratio(X @ axis, y), "ratio_of_model": model.scatter_ratio_[0]},
        "random directions": {
            "largest_ratio": ratios.max(),
            "median_ratio": np.median(ratios),
            "directions": len(ratios),
        },
        "principal component": {"ratio": _ratio(X @ spread, y)},
        "without the square": {"between": _plain_sum(X @ axis, y)},
        "Fisher, two kinds": {"degrees_from_formula": _off_two_classes(two_kinds(samples))},
    }
    rows = [
        Row(FISHER, "iris", name, params_json(), ALL_SPLITS, metric, float(value))
        for name, of_it in values.items()
        for metric, value in of_it.items()
    ]
    positions = {
        name: X @ (a / np.linalg.norm(a))
        for name, a in (("fisher", axis), ("principal", spread), ("random", middle))
    }
    return StepResult(rows, {"ratios": ratios, "codes": y, **positions})


def _class_means(z: Vector, y: Codes) -> Vector:
    return np.bincount(y, weights=z) / np.bincount(y)


def _ratio(z: Vector, y: Codes) -> float:
    """sum_k n_k (mu_k - mu)^2 over sum_k sum_i (z_i - mu_k)^2, along one direction."""
    means = _class_means(z, y)
    between = np.bincount(y) @ (means - z.mean()) ** 2
    return float(between / np.sum((z - means[y]) ** 2))


def _plain_sum(z: Vector, y: Codes) -> float:
    """|sum_k n_k (mu_k - mu)|, which is 0 along every direction and so measures nothing."""
    return float(abs(np.bincount(y) @ (_class_means(z, y) - z.mean())))


def _off_two_classes(samples: Samples) -> float:
    """Degrees between Fisher's axis of two classes and S_w^-1 (m_2 - m_1)."""
    X, y, _ = samples
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    within: Any = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in (0, 1))
    axis = FisherDiscriminant().fit(X, y).axes_[:, 0]
    return angle_between(axis, np.linalg.solve(within, means[1] - means[0]))
