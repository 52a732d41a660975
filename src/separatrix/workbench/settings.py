"""The settings of a workbench; the command line has checked them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from separatrix.web import MEGABYTE

PORT = 8642


@dataclass(frozen=True)
class Settings:
    """Where the workbench keeps its files, what it shows first, and the limits of a job."""

    folder: Path = Path("workbench")  # for corrections, uploads and jobs
    data: str | None = None  # of Draw: a name of the catalogue, or a file; None: MNIST or digits
    chosen: str | None = None  # by the page since: a process that replaces another begins with it
    models: tuple[Path, ...] = ()  # files of saved models that answer beside the workbench's own
    port: int = PORT
    memory: int = 2048 * MEGABYTE  # limit of a job in bytes
    time_limit: float = 3600.0  # of a job in seconds
    open_browser: bool = True
