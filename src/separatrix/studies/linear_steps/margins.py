"""Part 11: the soft margin, its slack and certificates, and the two ways to solve it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from separatrix.estimators.kkt import kkt_report
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.svc import SVC
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.studies.linear_steps.samples import generator, is_quick, line_of, petals, two_kinds
from separatrix.types import Codes, Matrix, Vector

MARGINS = "11 margins and duality"
DATA = "iris petals, two kinds"
PRICES = (0.05, 0.5, 5.0, 50.0)
DRAWN = 0.5  # the price at which the problem is half of |w|^2 + sum of slack
SLACK = 1e-7  # above the tolerance of the solver
FIXED = 20  # features while samples grow, ten times as many samples while features grow
REPEATS = 3


def soft_margin(workshop: RunContext) -> StepResult:
    """At every price: slack is sparse, primal = dual, conditions hold, margin vectors agree on w0."""
    X, y, _ = two_kinds(petals(workshop))
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for price in PRICES:
        model = SVC(kernel="linear", C=price, tol=1e-10).fit(X, y)
        rows += _of_price(model, price, X, y)
        if price == DRAWN:
            w, bias = line_of(model)
            slack = model.training_margins()[1]
            arrays |= {
                "weights": w,
                "bias": np.array([bias]),
                "slack": slack,
                "alpha": _alpha(model),
            }
    return StepResult(rows + _crossover(workshop), arrays)


def _of_price(model: Any, price: float, X: Matrix, y: Codes) -> list[Row]:
    w, bias = line_of(model)
    slack, alpha, side = model.training_margins()[1], _alpha(model), 2.0 * y - 1.0
    kkt = kkt_report(model).rows[0]
    primal = 0.5 * w @ w + price * slack.sum()
    dual = alpha.sum() - 0.5 * np.sum(((alpha * side) @ X) ** 2)
    values = {
        "with_slack": (slack > SLACK).sum(),
        "mistaken": (slack > 1.0).sum(),
        "margin_width": model.margin_width_[0],
        "primal": primal,
        "dual": dual,
        "gap": (primal - dual) / max(abs(primal), 1.0),
        "off_weights_from_dual": np.abs((alpha * side) @ X - w).max(),
        "a_zero": kkt.n_zero,
        "a_between": kkt.n_free,
        "a_at_C": kkt.n_bound,
        "worst_at_zero": kkt.worst_zero,
        "worst_between": kkt.worst_free,
        "worst_at_C": kkt.worst_bound,
        "balance": kkt.balance,
        "violation": kkt.violation,
        "slack_below_C": (slack[alpha < price] > SLACK).sum(),
    }
    if price == DRAWN:  # |w|^2 + sum of slack, with multipliers of at most 1, is twice this problem
        values |= {
            "whole_primal": w @ w + slack.sum(),
            "whole_dual": (2 * alpha).sum() - 0.25 * np.sum(((2 * alpha * side) @ X) ** 2),
            "largest_multiplier": (2 * alpha).max(),
        }
    rows = [
        Row(MARGINS, DATA, "SVC", params_json(C=price), ALL_SPLITS, metric, float(value))
        for metric, value in values.items()
    ]
    return rows + [
        Row(
            MARGINS,
            DATA,
            "SVC",
            params_json(C=price, sample=int(i)),
            ALL_SPLITS,
            metric,
            float(value),
        )
        for i in np.flatnonzero((alpha > 0) & (alpha < price))
        for metric, value in (("w0", side[i] - w @ X[i]), ("off_w0", side[i] - w @ X[i] - bias))
    ]


def _alpha(model: Any) -> Vector:
    alpha = np.zeros(model.shape_fit_[0])
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


def _crossover(workshop: RunContext) -> list[Row]:
    """One problem solved in the dual and in the primal, while samples grow and while features grow."""
    quick = is_quick(workshop)
    samples = (100, 400, 1600) if quick else (100, 400, 1600, 6400, 25600)
    features = (20, 100, 500) if quick else (20, 100, 500, 2500)
    shapes = [("samples", n, FIXED) for n in samples]
    shapes += [("features", 10 * FIXED, d) for d in features]
    rows = []
    for grows, n, d in shapes:
        X, y = _noisy(generator(workshop, 11), n, d)
        for dual in (True, False):
            model = LinearSVC(C=0.1, dual=dual, tol=1e-6, random_state=0, max_iter=100_000)
            seconds = min(_seconds(model, X, y) for _ in range(REPEATS))
            told = params_json(by="dual" if dual else "primal", d=d, grows=grows, n=n)
            rows += [
                Row(
                    MARGINS,
                    "two noisy clouds",
                    "LinearSVC",
                    told,
                    ALL_SPLITS,
                    metric,
                    float(value),
                    seconds,
                )
                for metric, value in (
                    ("objective", model.objective_[0]),
                    ("gap", model.dual_gap_[0]),
                )
            ]
    return rows


def _noisy(rng: np.random.Generator, n: int, d: int) -> tuple[Matrix, Codes]:
    """Two classes that overlap, told apart a little by every feature."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + (2 * y[:, None] - 1) / np.sqrt(d)
    return X, y


def _seconds(model: Any, X: Matrix, y: Codes) -> float:
    begun = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begun
