"""What a workbench was started with. Plain values only: they also travel to the workers, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from separatrix.errors import ParameterError
from separatrix.runtime.strict_json import parsed_json

PORT = 8642
MEGABYTE = 1024**2


@dataclass(frozen=True)
class Settings:
    """Where the workbench keeps its files, what it shows first, and what a job may use.

    >>> settings = Settings(folder=Path("bench"), models=(Path("a.model"),))
    >>> Settings.from_json(settings.to_json()) == settings
    True
    """

    folder: Path = Path("workbench")
    """Corrections, uploads and jobs are kept here."""
    data: str | None = None
    """The data set of Draw: a name of the catalogue, or a file. None: the built-in digits."""
    chosen: str | None = None
    """The one that the page went to since: a worker that starts anew begins with it."""
    models: tuple[Path, ...] = ()
    """Saved models that answer beside the workbench's own."""
    port: int = PORT
    """0 stands for any free one."""
    memory: int = 2048 * MEGABYTE
    """Bytes that a job may use."""
    time_limit: float = 3600.0
    """Seconds that a job may take."""
    open_browser: bool = True

    def __post_init__(self) -> None:
        for name, good, must_be in (
            ("port", 0 <= self.port < 2**16, "in 0..65535"),
            ("memory", self.memory > 0, "above 0"),
            ("time_limit", 0 < self.time_limit < float("inf"), "above 0 and finite"),
        ):
            if not good:
                raise ParameterError("Settings", name, must_be, getattr(self, name))

    def to_json(self) -> str:
        """All fields, for another process."""
        return json.dumps(asdict(self), default=str, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """What `to_json` wrote."""
        kept = parsed_json(text)
        if not isinstance(kept, dict) or set(kept) != {field.name for field in fields(cls)}:
            raise ParameterError("Settings", "text", "what to_json writes", text[:60])
        kept["folder"] = Path(kept["folder"])
        kept["models"] = tuple(Path(path) for path in kept["models"])
        return cls(**kept)
