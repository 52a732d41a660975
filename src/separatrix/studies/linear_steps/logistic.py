"""Parts 9 and 10: decisions by cost, probabilities far from the data, and softmax."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.special import softmax as shares_of
from sklearn.frozen import FrozenEstimator

from separatrix.estimators.decision import BayesDecision
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.evaluation.regions import decision_regions
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.solvers.logistic.laplace import mackay, mean_sigmoid
from separatrix.studies.linear_steps.samples import Samples, generator, is_quick, line_of, petals
from separatrix.types import Matrix, Vector

DOUBT = "9 costs and doubt"
SOFTMAX = "10 softmax"
COSTS = (0.1, 1.0, 10.0)  # of a missed tumour, in false alarms
PLACES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
PER_CLASS = 15  # samples, few enough to leave the weights in doubt
VECTORS = (  # mean and variance of a score; the exact mean of its sigmoid; MacKay's formula
    (1.0, 1.0, 0.69673, 0.70001),
    (2.0, 4.0, 0.77520, 0.77684),
    (3.0, 4.0, 0.87041, 0.86658),
    (5.0, 9.0, 0.92380, 0.91278),
    (0.5, 0.25, 0.61598, 0.61707),
    (1.0, 25.0, 0.57470, 0.57543),
)
SHIFTS = (-1000.0, 1.0, 1000.0)


def costs_and_doubt(workshop: RunContext) -> StepResult:
    """Where to cut follows from costs; how sure to be far away follows from what weights may be."""
    costs, doubt = _costs(workshop), _doubt(workshop)
    return StepResult([*costs.rows, *doubt.rows, *_vectors()], {**costs.arrays, **doubt.arrays})


def _costs(workshop: RunContext) -> StepResult:
    """Tumours: every second row trains, the others are decided on, at three prices of a miss."""
    data = workshop.data("breast_cancer")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    X, harmless = (X - X[::2].mean(axis=0)) / X[::2].std(axis=0), y == np.unique(y)[1]
    model = FrozenEstimator(LogisticRegression().fit(X[::2], harmless[::2]))
    X, harmless = X[1::2], harmless[1::2]
    p = model.predict_proba(X)[:, 1]
    cuts = np.linspace(0.005, 0.995, 199)
    rows: list[Row] = []
    arrays: dict[str, Any] = {"cuts": cuts}
    for cost in COSTS:
        loss = np.array([[0.0, cost], [1.0, 0.0]])  # row 0: a tumour
        decision = BayesDecision(model, loss).fit(X, harmless)
        at_cuts = [_paid(p > cut, harmless, loss) for cut in cuts]
        expected = [_expected(p > cut, p, loss) for cut in cuts]
        threshold = decision.threshold_
        values = {
            "threshold": threshold,
            "off_cost_ratio": abs(threshold - cost / (cost + 1.0)),
            "decides_by_threshold": np.mean(decision.predict(X) == (p > threshold)),
            "mean_cost": decision.mean_cost(X, harmless),
            "mean_cost_at_half": _paid(p > 0.5, harmless, loss),
            "expected_cost": _expected(p > threshold, p, loss),
            "least_expected_cost_elsewhere": min(expected),
        }
        rows += [
            Row(
                DOUBT,
                "breast_cancer",
                "BayesDecision",
                params_json(miss=cost),
                ALL_SPLITS,
                m,
                float(v),
            )
            for m, v in values.items()
        ]
        arrays[f"cost_{cost:g}"] = np.array(at_cuts)
    return StepResult(rows, arrays)


def _paid(decided: Any, harmless: Any, loss: Matrix) -> float:
    return float(loss[harmless.astype(int), decided.astype(int)].mean())


def _expected(decided: Any, p: Vector, loss: Matrix) -> float:
    """Mean loss if the probabilities were right."""
    return float((p * loss[1, decided.astype(int)] + (1 - p) * loss[0, decided.astype(int)]).mean())


def _doubt(workshop: RunContext) -> StepResult:
    """From the middle of two small clouds straight out, on a way that slowly leaves the boundary."""
    samples = _small_clouds(workshop)
    models = _three_ways(samples)
    w, _ = line_of(models["MAP"])
    across = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    way = np.cos(np.radians(75)) * w / np.linalg.norm(w) + np.sin(np.radians(75)) * across
    middle = samples.X.mean(axis=0)
    rows = [
        Row(
            DOUBT,
            "two small clouds",
            name,
            params_json(away=position),
            ALL_SPLITS,
            "probability",
            float(value),
        )
        for name, model in models.items()
        for position, value in zip(
            PLACES, _along(model, middle, way, np.array(PLACES)), strict=True
        )
    ]
    rows.append(
        Row(
            DOUBT,
            "two small clouds",
            "Bayes",
            params_json(),
            ALL_SPLITS,
            "limit",
            _limit(models["Bayes"], way),
        )
    )
    grid = 80 if is_quick(workshop) else 160
    side = np.linspace(-12.0, 12.0, grid)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    away = np.linspace(0.0, 40.0, 161)
    arrays = {
        "X": samples.X,
        "codes": samples.y,
        "side": side,
        "middle": middle,
        "way": way,
        "away": away,
    }
    for name, model in models.items():
        arrays[f"{name}_plane"] = model.predict_proba(plane)[:, 1].reshape(grid, grid)
        arrays[f"{name}_way"] = _along(model, middle, way, away)
    return StepResult(rows, arrays)


def _small_clouds(workshop: RunContext) -> Samples:
    """Two clouds that overlap, so that likeliest weights exist."""
    rng = generator(workshop, 9)
    X = np.vstack([rng.normal([at, 0.0], 1.0, (PER_CLASS, 2)) for at in (-1.0, 1.0)])
    return Samples(X, np.repeat([0, 1], PER_CLASS), ("left", "right"))


def _three_ways(samples: Samples) -> dict[str, Any]:
    models = {
        "MLE": LogisticRegression(C=np.inf, tol=1e-10),
        "MAP": LogisticRegression(C=1.0, tol=1e-10),
        "Bayes": LogisticRegression(C=1.0, tol=1e-10, posterior="laplace"),
        "Bayes, by quadrature": LogisticRegression(
            C=1.0, tol=1e-10, posterior="laplace", predictive="quadrature"
        ),
    }
    return {name: model.fit(samples.X, samples.y) for name, model in models.items()}


def _along(model: Any, start: Vector, way: Vector, away: Vector) -> Vector:
    return np.asarray(model.predict_proba(start + away[:, None] * way)[:, 1])


def _limit(model: Any, way: Vector) -> float:
    """Where Bayes ends: mean and deviation of the score grow alike, so their ratio has a limit."""
    w, _ = line_of(model)
    variance = way @ model.covariance_[:2, :2] @ way
    return float(expit((w @ way) / np.sqrt(np.pi * variance / 8)))


def _vectors() -> list[Row]:
    rows = []
    for m, v, exact, formula in VECTORS:
        mean, variance = np.array([m]), np.array([v])
        found = (
            ("exact", mean_sigmoid(mean, variance)[0], exact),
            ("MacKay", mackay(mean, variance)[0], formula),
        )
        for name, value, published in found:
            rows += [
                Row(
                    DOUBT,
                    "",
                    name,
                    params_json(mean=m, variance=v),
                    ALL_SPLITS,
                    metric,
                    float(number),
                )
                for metric, number in (("mean_sigmoid", value), ("published", published))
            ]
    return rows


def softmax(workshop: RunContext) -> StepResult:
    """Three scores become three probabilities; only differences of scores matter."""
    X, y, names = petals(workshop)
    model = LogisticRegression(C=10.0, tol=1e-8).fit(X, np.array(names)[y])
    found = decision_regions(model, X, np.array(names)[y], grid=150 if is_quick(workshop) else 240)
    positions = np.stack(np.meshgrid(found.first, found.second), axis=-1).reshape(-1, 2)
    P, S = model.predict_proba(positions), model.decision_function(positions)
    length = np.linspace(0.5, 7.5, 141)
    width = np.polyval(np.polyfit(X[:, 0], X[:, 1], 1), length)
    two = LogisticRegression(C=10.0, tol=1e-8).fit(X[y > 0], y[y > 0])
    values = {
        "off_sum": np.abs(P.sum(axis=1) - 1.0).max(),
        "off_softmax_of_scores": np.abs(P - shares_of(S, axis=1)).max(),
        "argmax_agrees": np.mean(P.argmax(axis=1) == found.codes.ravel()),
        "off_other_weights": np.abs(_moved(model).predict_proba(positions) - P).max(),
        "off_sigmoid_of_two": _off_sigmoid(two, positions),
        "gradient": model.gradient_,
        "indeterminate_share": found.indeterminate,
    }
    told = [(params_json(), metric, value) for metric, value in values.items()]
    told += [
        (
            params_json(shift=shift),
            "off_shifted_scores",
            np.abs(shares_of(S + shift, axis=1) - P).max(),
        )
        for shift in SHIFTS
    ]
    told += [(params_json(region=name), "area_share", found.share[name]) for name in names]
    return StepResult(
        [
            Row(
                SOFTMAX,
                "iris petals",
                "LogisticRegression",
                parameters,
                ALL_SPLITS,
                metric,
                float(value),
            )
            for parameters, metric, value in told
        ],
        {
            "X": X,
            "codes": y,
            "first": found.first,
            "second": found.second,
            "region_codes": found.codes.astype(np.int8),
            "region_fields": found.fields.astype(np.float32),
            "largest": P.max(axis=1).reshape(found.codes.shape).astype(np.float32),
            "length": length,
            "width": width,
            "shares": model.predict_proba(np.column_stack([length, width])),
        },
    )


def _moved(model: Any) -> Any:
    """The same model with one vector added to the weights of every class: another w, no other p."""
    other = copy.deepcopy(model)
    other.coef_ = model.coef_ + np.array([3.0, -2.0])
    other.intercept_ = model.intercept_ + 5.0
    return other


def _off_sigmoid(model: Any, positions: Matrix) -> float:
    """Two classes: softmax of (-f/2, f/2) is the sigmoid of f."""
    f = model.decision_function(positions)
    both = shares_of(np.column_stack([-f / 2, f / 2]), axis=1)
    return float(np.abs(both - model.predict_proba(positions)).max())
