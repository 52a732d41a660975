"""Stopping rules that solvers share, and the relative duality gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.runtime.monitor import FitMonitor


def reason_to_stop(
    wrong: Sequence[int],
    n_rows: int,
    *,
    whole: bool,
    min_iter: int,
    min_gain: float | None,
    monitor: FitMonitor,
) -> str | None:
    """The name of the rule that ends the passes, or None to go on.

    `wrong` counts the mistakes of each pass so far; the last pass is complete (`whole`) or was cut short.
    From pass min_iter on, an online accuracy that rises by less than min_gain also ends the passes.

    >>> reason_to_stop([9, 0], 10, whole=True, min_iter=1, min_gain=None, monitor=FitMonitor())
    'clean pass'
    >>> reason_to_stop([9, 8], 10, whole=True, min_iter=1, min_gain=0.2, monitor=FitMonitor())
    'min_gain'
    """
    if whole and wrong[-1] == 0:
        return "clean pass"
    if monitor.should_stop():
        return "stopped"
    late_enough = len(wrong) >= max(2, min_iter)
    if min_gain is not None and late_enough and (wrong[-2] - wrong[-1]) / n_rows < min_gain:
        return "min_gain"
    return None


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / max(|P|, 1); infinite without a primal.

    >>> relative_gap(10.0, 9.0), relative_gap(0.5, 0.25)
    (0.1, 0.25)
    """
    return np.inf if primal == np.inf else (primal - dual) / max(abs(primal), 1.0)
