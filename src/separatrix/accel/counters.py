"""How many calls of each method separatrix served, and how many scikit-learn, with the reasons.

Nothing reads the counts but the report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Calls:
    """The calls of one method of one class."""

    served: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    """Calls that scikit-learn served, by reason."""


CALLS: dict[str, Calls] = {}
_LOCK = Lock()


def count_served(label: str, calls: int = 1) -> None:
    """Count calls that separatrix served."""
    with _LOCK:
        CALLS.setdefault(label, Calls()).served += calls


def count_fallback(label: str, reason: str) -> None:
    """Count a call that scikit-learn served."""
    with _LOCK:
        CALLS.setdefault(label, Calls()).fallbacks[reason] += 1


def reset() -> None:
    """Forget all calls."""
    CALLS.clear()


def report() -> str:
    """One line for each estimator and method: calls, who served them and why.

    Examples
    --------
    >>> reset()
    >>> count_served("SVC.fit")
    >>> count_fallback("SVC.fit", "probability=True")
    >>> print(report())
    separatrix.accel  calls  ours  scikit-learn
    SVC.fit               2     1             1  probability=True: 1
    >>> reset()
    """
    if not CALLS:
        return "separatrix.accel: no replaced method was called in this process"
    lines = [("separatrix.accel", "calls", "ours", "scikit-learn", "")]
    for name, calls in sorted(CALLS.items()):
        left = calls.fallbacks.total()
        why = ", ".join(f"{reason}: {count}" for reason, count in calls.fallbacks.most_common())
        lines.append((name, str(calls.served + left), str(calls.served), str(left), why))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(w) for cell, w in zip(line[1:4], widths[1:], strict=True)),
                line[4],
            ]
        ).rstrip()
        for line in lines
    )
