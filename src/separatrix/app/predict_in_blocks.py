"""Predict a large Parquet file block by block: memory does not grow with its rows.

A block is decoded in a thread while the one before is predicted and written.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from separatrix.app.novelty import classes_of
from separatrix.app.predict_from_file import predict_rows, print_predictions, write_file
from separatrix.app.read_data import encoder_of
from separatrix.data.data_table import ColumnSpec
from separatrix.data.dataset import Dataset
from separatrix.data.read_table import table_of
from separatrix.data.role_notes import count_missing, note_missing, unseen_words
from separatrix.errors import DataError
from separatrix.runtime.atomic_files import atomic_write

BLOCK_ROWS = 2**16
BUFFER_BYTES = 2**20  # of each column; without it a whole row group would be read at once


class BlockPredictor:
    """Predictions of a Parquet file, in blocks.

    Given
        model           with named columns, or an encoder of mixed columns
        path            the file
        probabilities   whether those of every class are wanted
    """

    def __init__(self, model: Any, path: Path, *, probabilities: bool) -> None:
        self.model, self.path, self.probabilities = model, path, probabilities
        self.specs = _columns(model)
        self.classes = np.asarray(classes_of(model))
        self._notes: dict[str, str] = {}
        self._missing = Counter[str]()
        self._rows_read = 0

    def write(self, out: Path) -> int:
        """Write predictions as CSV, or as Parquet by the name of the file; returns their number."""
        if out.suffix == ".parquet":
            return self._write_parquet(out)
        count = 0

        def print_all(file: TextIO) -> None:
            nonlocal count
            count = self.print_csv(file)

        write_file(out, print_all)
        return count

    def print_csv(self, file: TextIO) -> int:
        """Print predictions as CSV; returns their number."""
        text = io.StringIO()
        print_predictions(text, [], self.classes, np.empty((0, 0)) if self.probabilities else None)
        file.write(text.getvalue())
        count = 0
        for labels, P in self.predictions():
            file.write(_lines(count, labels, self.classes, P))
            count += len(labels)
        return count

    def _write_parquet(self, out: Path) -> int:
        count, writer = 0, None
        names = [f"p({label})" for label in self.classes.tolist()]
        with atomic_write(out) as part:
            try:
                for labels, P in self.predictions():
                    columns = {"prediction": labels}
                    if P is not None:
                        columns |= dict(zip(names, np.asarray(P).T, strict=True))
                    table = pa.table(columns)
                    writer = writer or pyarrow.parquet.ParquetWriter(part, table.schema)
                    writer.write_table(table)
                    count += len(labels)
            finally:
                if writer is not None:
                    writer.close()
        return count

    def predictions(self) -> Iterator[tuple[Any, Any]]:
        """Labels and probabilities of each block."""
        with _open(self.path) as file, ThreadPoolExecutor(1) as reader:
            names = [spec.name for spec in self.specs if spec.kept]
            batches = file.iter_batches(BLOCK_ROWS, columns=names)
            ahead = reader.submit(self._next_block, batches)
            while (data := ahead.result()) is not None:
                ahead = reader.submit(self._next_block, batches)
                yield predict_rows(self.model, data, probabilities=self.probabilities)

    def _next_block(self, batches: Iterator[Any]) -> Dataset | None:
        with _name_damage(self.path):
            batch = next(batches, None)
            if batch is None:
                return None
            frame, first = pa.Table.from_batches([batch]), not self._rows_read
            table, notes = table_of(frame, specs=self.specs, detect=first)
        self.specs = table.specs  # all blocks are read in the form of the first
        encoder = encoder_of(self.model)
        if encoder is not None:
            notes = (*notes, *unseen_words(table, encoder.known_values()))
            self._missing += count_missing(table)
        self._keep_notes(notes, len(table))
        if encoder is not None:
            return Dataset(self.path.name, table, None, kind="table")
        return Dataset(self.path.name, np.ascontiguousarray(table.numbers), None)

    def _keep_notes(self, notes: Sequence[str], rows: int) -> None:
        """Keep the first note of each column."""
        self._rows_read += rows
        for note in notes:
            where = f"rows {self._rows_read - rows:,} to {self._rows_read - 1:,}: "
            self._notes.setdefault(note.partition(":")[0], where + note)

    @property
    def notes(self) -> list[str]:
        """Missing cells; those that could not be read, and new words: the first of each column."""
        return [*self._notes.values(), *note_missing(self._missing, self._rows_read)]


def takes_blocks(model: Any, data: str) -> bool:
    """Whether DATA is a Parquet file of several blocks that has all columns of the model."""
    path, specs = Path(data), _columns(model)
    if path.suffix != ".parquet" or not path.is_file() or not specs:
        return False
    try:
        with _open(path) as file:
            found = set(file.schema_arrow.names)
            large = file.metadata.num_rows > BLOCK_ROWS
    except DataError:
        return False  # the reader of whole files says what is wrong
    return large and hasattr(model, "predict") and {s.name for s in specs if s.kept} <= found


def _columns(model: Any) -> tuple[ColumnSpec, ...]:
    """The columns that a model selects by name."""
    encoder = encoder_of(model)
    if encoder is not None:
        return tuple(encoder.columns_)
    names = getattr(model, "feature_names_in_", None)
    return tuple(ColumnSpec(str(name), "number") for name in (() if names is None else names))


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    with (
        _name_damage(path),
        pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False) as file,
    ):
        yield file


@contextmanager
def _name_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        reason = str(error).split("\n")[0][:120]
        raise DataError(f"{path.name}: a damaged Parquet file ({reason})") from None


def _lines(start: int, labels: Any, classes: Any, P: Any) -> str:
    """Lines of CSV, as `print_predictions` prints them."""
    words = [str(label) for label in classes.tolist()]
    found = np.asarray(labels)
    plain = not any(mark in word for word in words for mark in ',"\r\n') and all(words)
    if P is None and plain and np.isin(found[:1], classes).all():
        codes = np.minimum(np.searchsorted(classes, found), len(classes) - 1)
        if (classes[codes] == found).all():
            rows = pa.array(np.arange(start, start + len(found)))
            texts = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
            buffer = io.BytesIO()
            options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
            pyarrow.csv.write_csv(pa.table([rows, texts], ["row", "label"]), buffer, options)
            return buffer.getvalue().decode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    shares = [[]] * len(found) if P is None else np.asarray(P).tolist()
    for number, (label, share) in enumerate(zip(found.tolist(), shares, strict=True), start):
        writer.writerow([number, label, *share])
    return text.getvalue()
