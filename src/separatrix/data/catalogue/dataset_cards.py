"""The cards of the data sets of the catalogue, from `datasets.toml`, and the files they consist of."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from separatrix.data.limits import MIB


@dataclass(frozen=True)
class File:
    """One file of a data set."""

    name: str  # in a folder of data; with or without the .gz
    addresses: tuple[str, ...]  # tried in this order
    sha256: str = ""  # of the unpacked bytes; empty if unknown
    size: int = 64 * MIB  # unpacked bytes; an upper limit without a hash
    member: str = ""  # its name in the zip file at the address; empty if there is no zip file
    md5: str = ""  # of the packed bytes, if only that is published
    checked: bool = False  # whether somebody has tried the addresses

    @property
    def plain(self) -> str:
        """The name without .gz."""
        return self.name.removesuffix(".gz")


@dataclass(frozen=True)
class DatasetCard:
    """What a data set is, where it comes from and whom to cite for it."""

    name: str
    what: str
    rows: int
    features: str
    classes: tuple[tuple[str, int], ...]  # name and count of each class, of the training part
    source: str
    licence: str
    citation: str
    kind: str = "vectors"
    test_rows: int = 0
    files: tuple[File, ...] = ()  # none if it is built in

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "classes": dict(self.classes)}


def _read_datasets() -> dict[str, DatasetCard]:
    text = files(__package__).joinpath("datasets.toml").read_text(encoding="utf-8")
    found = {}
    for name, fields in tomllib.loads(text).items():
        fields["classes"] = tuple(fields["classes"].items())
        listed = (
            File(**file | {"addresses": tuple(file["addresses"])})
            for file in fields.pop("files", ())
        )
        found[name] = DatasetCard(name, files=tuple(listed), **fields)
    return found


DATASET_CARDS = _read_datasets()
