"""Can a plane separate the classes? Then the likelihood of logistic regression has no maximum.

Reference: Albert and Anderson, On the Existence of Maximum Likelihood Estimates in Logistic
Regression Models, Biometrika 71 (1984).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse, vstack

from separatrix.types import Codes

LONGEST = 10.0  # seconds


def is_separated(
    X: Any,  # shape: (n, d)
    y: Codes,  # shape: (n,)
    *,
    n_classes: int,
    intercept: bool,
) -> bool | None:
    """Whether some weights put every sample on its right side or on the boundary, and one beside it.

    Problem
        max over U of  sum_i sum_(c != y_i) t_ic   subject to   t_ic = f_(y_i)(x_i) - f_c(x_i) >= 0,
        |U_cj| <= 1

    Given
        X, y       samples and class codes
        intercept  whether scores have a bias

    Returns whether the largest value is above 0, by linear programming, exactly to its tolerance;
    None where the program could not be solved.
    """
    if intercept and not issparse(X):  # the tolerances of linear programming know no offset
        X = X - (X.min(axis=0) / 2.0 + X.max(axis=0) / 2.0)
    rows = csr_array(X)
    scale = np.abs(rows).max(axis=0).toarray().ravel()
    rows = rows * np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
    rows = csr_array(rows)
    if intercept:
        rows = hstack([rows, csr_array(np.ones((rows.shape[0], 1)))], format="csr")
    T = _differences(rows, y, n_classes)
    towards = -np.asarray(T.sum(axis=0)).ravel() / T.shape[0]
    constraints = {"A_ub": -T, "b_ub": np.zeros(T.shape[0]), "bounds": (-1.0, 1.0)}
    from scipy.optimize import linprog  # slow to import, seldom needed

    found = linprog(towards, **constraints, method="highs", options={"time_limit": LONGEST})
    return None if found.status != 0 else bool(-found.fun > 1e-7)


def _differences(rows: Any, y: Codes, n_classes: int) -> Any:
    """One line for each sample and other class: the weights of own score minus the other's."""
    if n_classes == 2:
        return csr_array(rows * np.where(y == 1, 1.0, -1.0)[:, None])
    lines = []
    for own in range(n_classes):
        part = rows[y == own]
        if not part.shape[0]:
            continue
        for other in range(n_classes):
            if other != own:
                pieces = [csr_array(part.shape) for _ in range(n_classes)]
                pieces[own], pieces[other] = part, -part
                lines.append(hstack(pieces, format="csr"))
    return vstack(lines, format="csr")
