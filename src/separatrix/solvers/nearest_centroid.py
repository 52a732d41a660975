"""Nearest centroids: the centre of each class, shrunken towards the centre of all samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import csc_median_axis_0

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.sums import dense
from separatrix.solvers.moments import Moments
from separatrix.types import Codes, Matrix, Vector

BLOCK_BYTES = MEBIBYTE // 4  # stays in the cache while every class looks at it


class Centroids(NamedTuple):
    """Centres of the classes and how far they are from the centre of all samples."""

    centroids: Matrix  # shape: (k, d)
    deviations: Matrix  # shape: (k, d); in units of their standard error
    deviation: Vector  # shape: (d,); pooled standard deviation within the classes


def shrink_centroids(moments: Moments, centers: Matrix, threshold: float) -> Centroids:
    """Centres whose deviations from the mean of all samples are reduced by a threshold.

    Problem
        d_cj = (m_cj - m_j) / (e_c (s_j + median s)),     e_c = sqrt(1 / n_c - 1 / n)
        m'_cj = m_j + e_c (s_j + median s) sign(d_cj) max(|d_cj| - threshold, 0)

    Given
        moments    of the "features"; m_j is the mean of all samples, s_j their pooled standard
                   deviation about the centres of their classes, with n - k degrees of freedom
        centers    m_cj, (k, d): means or medians of the classes
        threshold  at least 0; 0 leaves the centres as they are

    Returns the centres, and the deviations after shrinking: a feature whose deviations are all 0 has no
    effect. A feature without any spread has infinite deviations, which do not shrink.

    Reference: Tibshirani, Hastie, Narasimhan and Chu, Diagnosis of Multiple Cancer Types by Shrunken
    Centroids of Gene Expression, PNAS 99 (2002).
    """
    n, k = moments.weight.sum(), len(moments.weight)
    about_centers = moments.scatter + moments.weight[:, None] * (moments.mean - centers) ** 2
    deviation = np.sqrt(about_centers.sum(axis=0) / max(n - k, 1.0))
    overall = moments.grand_mean
    error = np.sqrt(1.0 / moments.weight - 1.0 / n)[:, None] * (deviation + np.median(deviation))
    apart = centers - overall
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.where(apart == 0, 0.0, apart / error)
    if not threshold:
        return Centroids(centers, deviations, deviation)
    deviations = np.sign(deviations) * np.maximum(np.abs(deviations) - threshold, 0.0)
    with np.errstate(invalid="ignore"):  # 0 times infinity
        shrunken = overall + error * deviations
    return Centroids(np.where(np.isinf(deviations), centers, shrunken), deviations, deviation)


def class_medians(X: Any, y: Codes, n_classes: int) -> Matrix:
    """Median of every feature in each class, (k, d)."""
    if issparse(X):
        X = X.tocsc()
        return np.array([csc_median_axis_0(X[y == c]) for c in range(n_classes)], dtype=np.float64)
    return np.array([np.median(X[y == c], axis=0) for c in range(n_classes)], dtype=np.float64)


def squared_distances(X: Any, C: Matrix, scale: Vector | None = None) -> Matrix:
    """Squared Euclidean distances of samples, (n, d), to the centres C, (k, d), divided by a scale.

    Dense samples are taken from the mean of the centres, so that nothing is lost far from the origin.
    """
    scale = np.ones(C.shape[1]) if scale is None else scale
    shift = np.zeros(C.shape[1]) if issparse(X) else C.mean(axis=0)
    C = (C - shift) / scale
    norms = np.einsum("ij,ij->i", C, C)
    found = np.empty((X.shape[0], len(C)))
    if issparse(X):
        X = X.multiply(1.0 / scale).tocsr()
        squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1, 1)
        return np.asarray(np.maximum(squares - 2.0 * (X @ C.T) + norms, 0.0))
    for rows in row_blocks(len(X), rows_that_fit(8 * X.shape[1], BLOCK_BYTES)):
        Z = dense(X[rows]) - shift
        Z /= scale
        found[rows] = Z @ (-2.0 * C.T) + norms
        found[rows] += np.einsum("ij,ij->i", Z, Z)[:, None]
    return np.maximum(found, 0.0)


def absolute_distances(X: Any, C: Matrix, scale: Vector | None = None) -> Matrix:
    """Sums of absolute differences between samples, (n, d), and the centres, divided by a scale."""
    found = np.empty((X.shape[0], len(C)))
    for rows in row_blocks(X.shape[0], rows_that_fit(8 * X.shape[1], BLOCK_BYTES)):
        Z = dense(X[rows])
        for c, center in enumerate(C):
            apart = np.abs(Z - center)
            found[rows, c] = (apart if scale is None else apart / scale).sum(axis=1)
    return found
