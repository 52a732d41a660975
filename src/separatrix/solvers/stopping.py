"""Stopping rules that solvers share, and the relative duality gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.runtime.monitor import FitMonitor


def reason_to_stop(
    wrong: Sequence[int],
    misclassified: Sequence[int],
    n_rows: int,
    *,
    whole: bool,
    min_iter: int,
    min_gain: float | None,
    monitor: FitMonitor,
) -> str | None:
    """The name of the rule that ends the passes, or None to go on.

    `wrong` counts the corrected rows of each pass so far, `misclassified` those whose prediction was
    wrong when they were met; the last pass is complete (`whole`) or was cut short. From pass min_iter on,
    an online accuracy that rises by less than min_gain also ends the passes.

    >>> rest = {"whole": True, "min_iter": 1, "monitor": FitMonitor()}
    >>> reason_to_stop([9, 0], [9, 0], 10, min_gain=None, **rest)
    'clean pass'
    >>> reason_to_stop([9, 4], [4, 3], 10, min_gain=0.2, **rest)
    'min_gain'
    """
    if whole and wrong[-1] == 0:
        return "clean pass"
    if monitor.should_stop():
        return "stopped"
    if min_gain is not None and len(misclassified) >= max(2, min_iter):
        gain = (misclassified[-2] - misclassified[-1]) / n_rows
        return "min_gain" if gain < min_gain else None
    return None


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / max(|P|, 1); infinite without a primal.

    >>> relative_gap(10.0, 9.0), relative_gap(0.5, 0.25)
    (0.1, 0.25)
    """
    return np.inf if primal == np.inf else (primal - dual) / max(abs(primal), 1.0)
