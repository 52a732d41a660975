"""Counters and histograms in Prometheus' text format, summed over all workers.

The numbers of a worker are a row of one shared array, which it alone writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REFUSALS = (400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429)
CODES = tuple(map(str, (200, 304, *REFUSALS, 499, 500, 503)))  # 499: the client has gone
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 1024, 10_000)
TOTALS = {
    "separatrix_rows_total": "Rows that were predicted.",
    "separatrix_rejected_total": "Requests answered 429, and connections beyond the limit.",
    "separatrix_cut_connections_total": "Connections of clients that were too slow.",
    "separatrix_reloads_total": "Model files that were loaded again.",
    "separatrix_failed_reloads_total": "Changed model files that could not be loaded.",
    "separatrix_refused_reloads_total": "Changed model files that have other columns or classes.",
    "separatrix_worker_restarts_total": "Worker processes that were replaced.",
}
GAUGES = {
    "separatrix_requests_in_progress": "Requests that are read or scored.",
    "separatrix_queue": "Requests that wait for their block.",
    "separatrix_workers_ready": "Worker processes that answer requests.",
}
COUNT = len(CODES) + len(TOTALS) + len(GAUGES) + len(SECONDS) + len(SIZES) + 6


class Metrics:
    """The numbers of one worker, and the sum over all workers as text.

    >>> import numpy as np
    >>> metrics = Metrics(np.zeros((1, COUNT)))
    >>> metrics.add("separatrix_rows_total", 3)
    >>> metrics.add_request(404, 0.004)
    >>> print("\\n".join(line for line in metrics.text().splitlines() if line.endswith(" 3")))
    separatrix_rows_total 3
    """

    def __init__(self, shared: Any, worker: int = 0) -> None:
        self.shared, self.own = shared, shared[worker]
        names = [*CODES, *TOTALS, *GAUGES]
        self.at = {name: position for position, name in enumerate(names)}
        self.seconds = len(names)
        self.sizes = self.seconds + len(SECONDS) + 3
        self.clear_gauges()

    def clear_gauges(self) -> None:
        """Set the gauges to 0: those of a worker that died."""
        self.own[[self.at[name] for name in GAUGES]] = 0

    def total(self, name: str) -> int:
        """A number, summed over the workers."""
        return int(self.shared[:, self.at[name]].sum())

    def add(self, name: str, value: float = 1) -> None:
        """Add to a total or a gauge."""
        self.own[self.at[name]] += value

    def add_request(self, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.own[self.at.get(str(status), self.at["500"])] += 1
        self._observe(self.seconds, SECONDS, seconds)

    def add_block(self, rows: int) -> None:
        """Count a block of rows."""
        self.own[self.at["separatrix_rows_total"]] += rows
        self._observe(self.sizes, SIZES, rows)

    def _observe(self, start: int, bounds: Sequence[float], value: float) -> None:
        """Count in the first bucket that holds the value; the last two slots are count and sum."""
        bucket = next((j for j, bound in enumerate(bounds) if value <= bound), len(bounds))
        self.own[start + bucket] += 1
        self.own[start + len(bounds) + 1] += 1
        self.own[start + len(bounds) + 2] += value

    def text(self) -> str:
        """All metrics, summed over the workers."""
        sums = self.shared.sum(axis=0)
        lines = _head("separatrix_requests_total", "Requests by status.", "counter")
        for code in CODES:
            lines.append(
                f'separatrix_requests_total{{status="{code}"}} {_format_number(sums[self.at[code]])}'
            )
        for kind, names in (("counter", TOTALS), ("gauge", GAUGES)):
            for name, words in names.items():
                lines += [
                    *_head(name, words, kind),
                    f"{name} {_format_number(sums[self.at[name]])}",
                ]
        duration = ("separatrix_request_seconds", "Time from headers to answer.")
        lines += _histogram(*duration, SECONDS, sums[self.seconds :])
        size = ("separatrix_batch_rows", "Rows of a block that was scored.")
        lines += _histogram(*size, SIZES, sums[self.sizes :])
        return "\n".join(lines) + "\n"


def _head(name: str, words: str, kind: str) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]


def _histogram(name: str, words: str, bounds: Sequence[float], values: Any) -> list[str]:
    total, lines = 0.0, _head(name, words, "histogram")
    for bound, value in zip((*bounds, "+Inf"), values, strict=False):
        total += value
        lines.append(f'{name}_bucket{{le="{bound}"}} {_format_number(total)}')
    count, sum_ = values[len(bounds) + 1 : len(bounds) + 3]
    return [*lines, f"{name}_sum {_format_number(sum_)}", f"{name}_count {_format_number(count)}"]


def _format_number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.9g}"
