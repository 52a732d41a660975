"""The ellipses of the Gaussians behind a discriminant or naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.evaluation.rules import RegionClassifier
from separatrix.types import Matrix
from separatrix.workbench.playground.scene import Scene, final_estimator


def class_ellipses(scene: Scene, machines: Sequence[RegionClassifier]) -> list[dict[str, Any]]:
    """The mean and covariance of each class as the model sees it, in the coordinates of the points."""
    if scene.rule != "predict" or scene.model.key not in ("lda", "qda", "gaussian-nb"):
        return []
    model = machines[0].fitted
    scale = model[0].scale_ if scene.standardise else np.ones(2)
    shift = model[0].mean_ if scene.standardise else np.zeros(2)
    machine = final_estimator(model)
    means = machine.theta_ if scene.model.key == "gaussian-nb" else machine.means_
    found = zip(scene.labels, means, _covariances(scene, machine), strict=True)
    return [
        {
            "label": label,
            "mean": (mean * scale + shift).tolist(),
            "covariance": (covariance * np.outer(scale, scale)).tolist(),
        }
        for label, mean, covariance in found
    ]


def _covariances(scene: Scene, machine: Any) -> list[Matrix]:
    if scene.model.key == "gaussian-nb":
        return [np.diag(variance) for variance in machine.var_]
    if scene.model.key == "lda":
        return [_pooled(scene, machine)] * len(scene.labels)
    return [
        rotation @ np.diag(scaling) @ rotation.T
        for rotation, scaling in zip(machine.rotations_, machine.scalings_, strict=True)
    ]


def _pooled(scene: Scene, machine: Any) -> Matrix:
    """The common covariance: the model's, if it keeps one, else that of the points."""
    if hasattr(machine, "covariance_"):
        return np.asarray(machine.covariance_)
    X = (scene.X - scene.X.mean(axis=0)) / scene.X.std(axis=0) if scene.standardise else scene.X
    sizes = np.bincount(scene.y)
    parts = [np.cov(X[scene.y == code].T, bias=True) * size for code, size in enumerate(sizes)]
    return np.asarray(np.sum(parts, axis=0) / len(X))
