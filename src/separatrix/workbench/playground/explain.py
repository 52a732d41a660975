"""Why a position of the plane gets its class: neighbours, kernel terms, probabilities, distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.evaluation.regions import Regions
from separatrix.types import Matrix, Vector
from separatrix.workbench.playground.scene import Scene, final_estimator

MAX_TERMS = 20  # kernel terms that are sent, the largest first


def explain_position(scene: Scene, regions: Regions, at: tuple[float, float]) -> dict[str, Any]:
    """The class at a position, and what speaks for it; rows are those of the request."""
    x = np.array([at], dtype=np.float64)
    code = int(regions.codes_at(x)[0])
    answer: dict[str, Any] = {
        "label": None if code < 0 else scene.labels[code],
        "undecided": regions.undecided_at(at),
        "scores": [],
        "kind": None,
        "distance": None,
        "neighbours": [],
        "terms": [],
    }
    if scene.rule != "predict":
        return answer
    model = regions.machines[0].fitted
    machine = final_estimator(model)
    Z = model[0].transform(x) if scene.standardise else x
    return {
        **answer,
        **_scores(model, x),
        **_distance(scene, machine, Z),
        **_rows(scene, machine, Z),
    }


def _scores(model: Any, x: Matrix) -> dict[str, Any]:
    """Probabilities if the model has them, else scores."""
    if hasattr(final_estimator(model), "predict_proba"):
        values = model.predict_proba(x)[0]
        return {"kind": "probability", "scores": _plain(values)}
    if hasattr(final_estimator(model), "decision_function"):
        return {"kind": "score", "scores": _plain(np.ravel(model.decision_function(x)))}
    return {}


def _distance(scene: Scene, machine: Any, Z: Matrix) -> dict[str, Any]:
    """Distance to a straight boundary between two classes, in the coordinates that the model sees."""
    W: Any = getattr(machine, "coef_", None)
    straight = isinstance(W, np.ndarray) and W.shape == (1, 2) and bool(np.any(W))
    if not straight or (scene.model.key == "svm" and scene.values.get("kernel") != "linear"):
        return {}
    return {"distance": float((Z[0] @ W[0] + machine.intercept_[0]) / np.linalg.norm(W))}


def _rows(scene: Scene, machine: Any, Z: Matrix) -> dict[str, Any]:
    """The points that decide: the k nearest, or the terms of a kernel machine."""
    if scene.model.key == "knn":
        distances, found = machine.kneighbors(Z)
        pairs = zip(scene.rows[found[0]].tolist(), distances[0].tolist(), strict=True)
        return {"neighbours": [{"row": row, "distance": distance} for row, distance in pairs]}
    terms = kernel_terms(scene, machine, Z)
    if terms is None:
        return {}
    largest = np.argsort(-np.abs(terms), kind="stable")[:MAX_TERMS]
    rows = scene.rows[machine.support_[largest]]
    listed = [
        {"row": row, "value": value}
        for row, value in zip(rows.tolist(), terms[largest].tolist(), strict=True)
    ]
    sums = {"for": float(terms[terms > 0].sum()), "against": float(terms[terms < 0].sum())}
    return {"terms": listed, "sums": sums, "term_count": len(terms)}


def kernel_terms(scene: Scene, machine: Any, Z: Matrix) -> Vector | None:
    """Coefficient times kernel value of each support vector, for the second of two classes."""
    if len(scene.labels) != 2 or not hasattr(machine, "support_"):
        return None
    K = machine.kernel_.block(Z, machine.support_vectors_)[0].astype(np.float64)
    coefficients = machine.alpha_[:, 0] if hasattr(machine, "alpha_") else machine.dual_coef_[0]
    return np.asarray(coefficients * K)


def _plain(values: Vector) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
