"""How many calls of each method separatrix served, and how many scikit-learn, with the reasons."""

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
    seconds: float = 0.0
    """Of the calls that separatrix served."""
    fallback_seconds: float = 0.0
    saved: float = 0.0
    """Estimated seconds that scikit-learn would have taken longer."""


CALLS: dict[str, Calls] = {}
_LOCK = Lock()


def count_served(label: str, seconds: float, expected: float, calls: int = 1) -> None:
    """Count calls that separatrix served; `expected` are the seconds of scikit-learn, estimated."""
    with _LOCK:
        counted = CALLS.setdefault(label, Calls())
        counted.served += calls
        counted.seconds += seconds
        counted.saved += max(0.0, expected - seconds)


def count_fallback(label: str, seconds: float, reason: str) -> None:
    """Count a call that scikit-learn served."""
    with _LOCK:
        counted = CALLS.setdefault(label, Calls())
        counted.fallbacks[reason] += 1
        counted.fallback_seconds += seconds


def reset() -> None:
    """Forget all calls."""
    CALLS.clear()


def report() -> str:
    """One line for each estimator and method: calls, who served them and why, seconds.

    Examples
    --------
    >>> reset()
    >>> count_served("SVC.fit", 0.5, 4.5)
    >>> count_fallback("SVC.fit", 0.25, "probability=True")
    >>> print(report())
    separatrix.accel  calls  ours  scikit-learn  seconds  saved about
    SVC.fit               2     1             1     0.75        4.0 s  probability=True: 1
    >>> reset()
    """
    if not CALLS:
        return "separatrix.accel: no replaced method was called in this process"
    head = ("separatrix.accel", "calls", "ours", "scikit-learn", "seconds", "saved about", "")
    lines = [head, *(_line(name, calls) for name, calls in sorted(CALLS.items()))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(w) for cell, w in zip(line[1:-1], widths[1:], strict=True)),
                line[-1],
            ]
        ).rstrip()
        for line in lines
    )


def _line(name: str, calls: Calls) -> tuple[str, ...]:
    left = calls.fallbacks.total()
    why = ", ".join(f"{reason}: {count}" for reason, count in calls.fallbacks.most_common())
    return (
        name,
        str(calls.served + left),
        str(calls.served),
        str(left),
        f"{calls.seconds + calls.fallback_seconds:.2f}",
        f"{calls.saved:.1f} s",
        why,
    )
