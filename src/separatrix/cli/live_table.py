"""The table of a comparison while it runs, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

BARS = "▁▂▃▄▅▆▇█"
REPEATS = 10  # a second, at most


def sparkline(values: Any) -> str:
    """Numbers as bars between the lowest and the highest of them.

    >>> sparkline([1.0, 3.0, 2.0]), sparkline([2.0, 2.0])
    ('▁█▅', '▁▁')
    """
    low, high = min(values), max(values)
    reach = (high - low) or 1.0
    return "".join(BARS[round((len(BARS) - 1) * (value - low) / reach)] for value in values)


class LiveTable:
    """Rows of classifiers, the best on top; nothing unless stderr is a terminal or `show` is True."""

    def __init__(self, *, show: bool | None = None) -> None:
        self.shown = sys.stderr.isatty() if show is None else show
        self._begun = time.monotonic()
        self._live: Any = None

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self._live = Live(console=console, transient=True, refresh_per_second=REPEATS)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, evaluations: Mapping[str, Any], words: str) -> None:
        """Draw the evaluations so far."""
        if self._live is not None:
            self._live.update(self._table(evaluations, words))

    def _table(self, evaluations: Mapping[str, Any], words: str) -> Any:
        from rich.table import Table

        from separatrix.evaluation.comparison import Comparison

        elapsed = time.monotonic() - self._begun
        table = Table(title=f"{words}, {elapsed:.0f} s", title_justify="left", box=None)
        for name in ("classifier", "test error %", "interval", "seconds", "by split"):
            table.add_column(
                name, justify="left" if name in ("classifier", "by split") else "right"
            )
        for row in Comparison(dict(evaluations)).rows():
            errors = evaluations[row["model"]].test_error[0]
            table.add_row(
                row["model"],
                f"{row['test_error']:.2f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['seconds']:.1f}",
                sparkline(errors.tolist()),
            )
        return table
