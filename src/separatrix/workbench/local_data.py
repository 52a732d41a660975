"""Data sets that can be read without a download, which is for a person to decide."""

from __future__ import annotations

from separatrix.data import catalogue
from separatrix.errors import MissingDataError


def is_local(name: str) -> bool:
    """Whether a data set of the catalogue, or a file, is on this machine."""
    return name not in catalogue.names() or catalogue.state(name) != catalogue.TO_DOWNLOAD


def download_hint(name: str) -> str:
    """How to get a data set."""
    return f"get it with: separatrix data get {name}"


def require_local(name: str) -> None:
    """Raise an error for a data set that would have to be downloaded."""
    if not is_local(name):
        error = MissingDataError(f"the data set {name} is not on this machine")
        error.hint = download_hint(name)
        raise error
