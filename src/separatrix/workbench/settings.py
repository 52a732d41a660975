"""The settings of a workbench."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from separatrix.errors import ParameterError

PORT = 8642
MEGABYTE = 1024**2


@dataclass(frozen=True)
class Settings:
    """Where the workbench keeps its files, what it shows first, and the limits of a job."""

    folder: Path = Path("workbench")
    """Holds corrections, uploads and jobs."""
    data: str | None = None
    """The data set of Draw: a name of the catalogue, or a file. None: the built-in digits."""
    chosen: str | None = None
    """The data set that the page chose since: a worker that replaces another begins with it."""
    models: tuple[Path, ...] = ()
    """Files of saved models that answer beside the workbench's own."""
    port: int = PORT
    """0: any free one."""
    memory: int = 2048 * MEGABYTE
    """Memory limit of a job in bytes."""
    time_limit: float = 3600.0
    """Time limit of a job in seconds."""
    open_browser: bool = True

    def __post_init__(self) -> None:
        for name, good, must_be in (
            ("port", 0 <= self.port < 2**16, "in 0..65535"),
            ("memory", self.memory > 0, "above 0"),
            ("time_limit", 0 < self.time_limit < float("inf"), "above 0 and finite"),
        ):
            if not good:
                raise ParameterError("Settings", name, must_be, getattr(self, name))
