"""The tidy table of a run with its provenance, as Parquet and CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.errors import MissingPackageError
from separatrix.experiments.steps import Row
from separatrix.runtime.atomic_files import atomic_write

MEASURED = ("seconds", "memory")  # columns in which two runs of the same experiment differ


@dataclass(frozen=True)
class Results:
    """The results of a run."""

    name: str
    title: str
    options: Mapping[str, Any]
    data_sha256: Mapping[str, str]
    rows: list[Row]
    arrays: Mapping[str, Mapping[str, npt.NDArray[Any]]]  # by step
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0

    def where(self, **fields: Any) -> list[Row]:
        """Rows with these values, in the order of the table."""
        return [row for row in self.rows if all(getattr(row, n) == v for n, v in fields.items())]

    def values(self, **fields: Any) -> npt.NDArray[np.float64]:
        """The values of these rows."""
        return np.array([row.value for row in self.where(**fields)])

    def table(self) -> list[dict[str, Any]]:
        """All rows with their provenance, one dict each."""
        constant = {
            "seed": self.options.get("seed"),
            "threads": self.threads,
            **{name.replace("-", "_"): number for name, number in self.versions.items()},
        }
        return [
            {
                "experiment": self.name,
                **row._asdict(),
                "data_sha256": self.data_sha256.get(row.data, ""),
                **constant,
            }
            for row in self.rows
        ]

    def write(self, folder: Path) -> list[Path]:
        """Write results.csv and, if pyarrow is installed, results.parquet."""
        table = self.table()
        with (
            atomic_write(folder / "results.csv") as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows({n: "" if v != v else v for n, v in row.items()} for row in table)
        try:
            import pyarrow as pa
            import pyarrow.parquet as parquet
        except ImportError:
            return [folder / "results.csv"]
        with atomic_write(folder / "results.parquet") as temporary:
            parquet.write_table(pa.Table.from_pylist(table), temporary)
        return [folder / "results.csv", folder / "results.parquet"]


def read_results(path: Path) -> list[dict[str, Any]]:
    """The rows of a results.parquet."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingPackageError(
            "pyarrow is not installed; install it with: pip install 'separatrix[data]'"
        ) from None
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows
