"""Predict a table larger than memory on a cluster, a piece of it at a time.

A piece is a row group of a Parquet file, or whole lines of a CSV file. A task writes a piece to a file of
its own, reads it as `predict` reads a whole file, and writes its predictions: so they are the same, and
a run that was interrupted computes the missing pieces.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.app.decisions import DecisionOptions
from separatrix.app.novelty import classes_of
from separatrix.app.predict_from_file import predict_rows
from separatrix.app.read_data import read_for
from separatrix.data.regular_files import open_regular, read_regular
from separatrix.errors import DataError
from separatrix.modelfile.files import load
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.progress import bar
from separatrix.runtime.warnings import warn_user

PIECE_BYTES = 64 * 2**20  # of a CSV file
FORMATS = (".parquet", ".csv", ".tsv")
NO_DECISION = DecisionOptions()


class Piece(NamedTuple):
    """A part of a table: bytes of a CSV file, or row groups of a Parquet file."""

    start: int
    stop: int


def predict_on_cluster(
    model: Path,
    data: Path,
    out: Path,
    cluster: str,
    *,
    decision: DecisionOptions = NO_DECISION,
    probabilities: bool = False,
    piece_bytes: int = PIECE_BYTES,
    **file: Any,
) -> int:
    """Predict all pieces that the folder `out` does not have, as Parquet files; returns their number."""
    from separatrix.cluster.connection import connect, run_tasks

    pieces = cut_table(data, piece_bytes)
    _claim(out, model, data, [len(pieces), probabilities, repr(decision)])
    left = [number for number in range(len(pieces)) if not part_path(out, number).exists()]
    names = [f"predict-part-{number}" for number in left]
    paths, options = (model.resolve(), data.resolve()), (decision, probabilities, file)
    calls = [
        (*paths, pieces[number], part_path(out.resolve(), number), *options) for number in left
    ]
    if left:
        with connect(cluster) as client, bar("predict", len(left)) as advance:
            for number, notes in run_tasks(client, names, predict_piece, calls):
                for note in notes:
                    warn_user(f"part {left[number]}: {note}")
                advance()
    return len(pieces)


def part_path(out: Path, number: int) -> Path:
    """The file of the predictions of one piece."""
    return out / f"part-{number:05d}.parquet"


def cut_table(data: Path, piece_bytes: int) -> list[Piece]:
    """The pieces of a table."""
    if data.suffix not in FORMATS:
        raise DataError(
            f"--cluster reads {', '.join(FORMATS)} files; got {data.name}: convert it, or leave out "
            "--cluster"
        )
    if data.suffix == ".parquet":
        import pyarrow.parquet as parquet

        with open_regular(data) as file, parquet.ParquetFile(file) as table:
            return [Piece(i, i + 1) for i in range(table.num_row_groups)]
    size = data.stat().st_size
    with open_regular(data) as file:
        cuts = [len(file.readline())]  # after the header
        while cuts[-1] < size:
            file.seek(min(cuts[-1] + piece_bytes, size))
            file.readline()
            cuts.append(file.tell())
    return [Piece(a, b) for a, b in pairwise(cuts)]


def predict_piece(
    model: Path,
    data: Path,
    piece: Piece,
    out: Path,
    decision: DecisionOptions,
    probabilities: bool,
    file: dict[str, Any],
) -> tuple[str, ...]:
    """Predict one piece and write it; returns the notes on its cells.

    A piece is not the file: its cells are read in the form of the training rows alone.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    fitted = decision.decide(load(model))
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"piece{data.suffix}"
        _write_piece(data, piece, own)
        samples = read_for(fitted, str(own), detect=False, **file)
        labels, P = predict_rows(fitted, samples, probabilities=probabilities)
    columns = {"prediction": np.asarray(labels)}
    if P is not None:
        names = [f"p({label})" for label in np.asarray(classes_of(fitted)).tolist()]
        columns |= dict(zip(names, np.asarray(P).T, strict=True))
    with atomic_write(out) as part:
        parquet.write_table(pa.table(columns), part)
    return samples.notes


def _write_piece(data: Path, piece: Piece, own: Path) -> None:
    if data.suffix == ".parquet":
        import pyarrow.parquet as parquet

        groups = list(range(piece.start, piece.stop))
        parquet.write_table(parquet.ParquetFile(data).read_row_groups(groups), own)
        return
    with open_regular(data) as source, own.open("wb") as target:
        target.write(source.readline())
        source.seek(piece.start)
        target.write(source.read(piece.stop - piece.start))


def _claim(out: Path, model: Path, data: Path, options: list[Any]) -> None:
    """Claim the folder for these predictions; refuse if it holds others."""
    state = data.stat()
    about = {
        "model": hashlib.sha256(read_regular(model)).hexdigest(),
        "data": [str(data.resolve()), state.st_size, state.st_mtime_ns],
        "options": options,
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / "predictions.json"
    if path.exists():
        if json.loads(path.read_text(encoding="utf-8")) != about:
            error = DataError(f"{out} holds predictions of another model or of other data")
            error.hint = "take another folder with --out, or remove this one"
            raise error
        return
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
