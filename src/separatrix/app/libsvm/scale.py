"""`svm-scale`: scale the features of a file to one range, with the same bytes as LIBSVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from separatrix.app.libsvm.ranges import (
    LabelRange,
    Ranges,
    compute_ranges,
    read_ranges,
    save_ranges,
    scale,
)
from separatrix.app.libsvm.samples import PathLike, read_samples, with_hint
from separatrix.errors import ParameterError
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.types import Vector

BLOCK_BYTES = 16 * MEBIBYTE  # of scaled values per write
MAX_ROWS = 4096  # of a block


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """The flags of `svm-scale`."""

    lower: float = -1.0  # -l. Lower bound of the scaled features
    upper: float = 1.0  # -u. Upper bound of the scaled features
    target: tuple[float, float] | None = None  # -y. Bounds of the labels; None: not scaled
    save: Path | None = None  # -s. File to write the ranges to
    restore: Path | None = None  # -r. File to read the ranges from


class ScaleResult(NamedTuple):
    """Output of `svm-scale`."""

    before: int  # stored values in the file
    after: int  # values written, without zeros
    notes: list[str]  # LIBSVM's messages for stderr


def scale_file(path: PathLike, options: ScaleOptions, write: Callable[[str], Any]) -> ScaleResult:
    """Scale the samples of a file and pass the text to `write` in blocks.

    Constant features and zeros are omitted. Missing entries are 0: if the new range does not map 0 to 0,
    a sparse file becomes dense.
    """
    _require_ranges(options)
    X, y = read_samples(path, zero_based=True)
    labels = np.asarray(y, dtype=np.float64)
    target = None
    if options.target is not None:
        target = LabelRange(*options.target, float(labels.min()), float(labels.max()))
    ranges = compute_ranges(X, options.lower, options.upper, target)
    notes = []
    from_zero = bool((X.indices == 0).any())
    if from_zero:
        notes.append("WARNING: minimal feature index is 0, but indices should start from 1")
    if options.restore is not None:
        ranges, unseen = read_ranges(options.restore, ranges)
        notes += [
            f"WARNING: feature index {index} appeared in file {path} was not seen in the scaling "
            f"factor file {options.restore}. The feature is scaled to 0."
            for index in unseen
        ]
    if options.save is not None:
        save_ranges(options.save, ranges)
        if from_zero:
            notes.append(
                "WARNING: scaling factors with indices smaller than 1 are not stored to the file "
                f"{options.save}."
            )
    after = 0
    for text, count in _lines(X, labels, ranges):
        write(text)
        after += count
    if after > X.nnz:
        notes += [
            f"WARNING: original #nonzeros {X.nnz}",
            f"       > new      #nonzeros {after}",
            "If feature values are non-negative and sparse, use -l 0 rather than the default -l -1",
        ]
    return ScaleResult(X.nnz, after, notes)


def _require_ranges(options: ScaleOptions) -> None:
    if options.save is not None and options.restore is not None:
        raise with_hint(
            ParameterError("svm-scale", "-s", "omitted if -r is given", str(options.save)),
            "write the ranges of the training file with -s, and apply them to others with -r",
        )
    wanted = {"-u": (options.lower, options.upper), "-y": options.target or (0.0, 1.0)}
    for name, (lower, upper) in wanted.items():
        if not -np.inf < lower < upper < np.inf:
            raise ParameterError("svm-scale", name, f"finite and above the lower {lower:g}", upper)


def _lines(X: Any, labels: Vector, ranges: Ranges) -> Iterator[tuple[str, int]]:
    """Yield the text of a block of rows and its number of values."""
    if ranges.target is not None:
        labels = scale(labels, *ranges.target)
    width = len(ranges.least)
    X = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    zeros = scale(np.zeros(width), *ranges[:4])
    zeros[ranges.least == ranges.greatest] = 0.0
    zeros[:1] = 0.0  # index 0 is written only if it is in the file
    fills = bool(zeros.any())
    step = rows_that_fit(8 * max(1, width), BLOCK_BYTES, most=MAX_ROWS) if fills else MAX_ROWS
    for part in row_blocks(len(labels), step):
        block = _scale_block(X[part], ranges, zeros if fills else None)
        yield _text(block, labels[part].tolist()), block.nnz


def _scale_block(X: Any, ranges: Ranges, zeros: Vector | None) -> Any:
    """Scale samples to CSR without zeros; `zeros` holds the scaled values of missing entries."""
    least, greatest = ranges.least[X.indices], ranges.greatest[X.indices]
    values = scale(X.data, ranges.lower, ranges.upper, least, greatest)
    values[least == greatest] = 0.0
    if zeros is None:
        block = csr_array((values, X.indices, X.indptr), shape=X.shape)
        block.eliminate_zeros()
        return block
    dense = np.tile(zeros, (X.shape[0], 1))
    dense[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = values
    return csr_array(dense)


def _text(block: Any, labels: list[float]) -> str:
    stored = zip(block.indices.tolist(), block.data.tolist(), strict=True)
    entries = [f"{index}:{value:g} " for index, value in stored]
    rows = pairwise(block.indptr.tolist())
    return "".join(
        f"{label:.17g} {''.join(entries[start:end])}\n"
        for label, (start, end) in zip(labels, rows, strict=True)
    )
