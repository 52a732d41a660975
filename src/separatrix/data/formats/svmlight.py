"""The svmlight format, which is LIBSVM's: a line is `label index:value index:value ... # comment`.

Indices rise along a line and begin at 1, or at 0 in some files. Blank lines, comments and `qid:`
pairs are skipped. Numbers are plain decimals: `nan`, `inf` and `1_000` are refused.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from separatrix.data.dataset import Dataset
from separatrix.data.formats import pairs
from separatrix.data.streams import ByteSource, locate, newlines
from separatrix.errors import DataFileError, ParameterError
from separatrix.validation import require_integer

_THREADS = min(4, os.cpu_count() or 1)
_WIDEST = 2**53  # so that ten times an index still fits 64 bits

ZeroBased = bool | Literal["auto"]
Csr = Any  # scipy.sparse.csr_array, which has no types of its own

_EXPECTED = {
    pairs.LABEL: "a label that is a number",
    pairs.INDEX: "index:value",
    pairs.VALUE: "a number after the colon",
    pairs.ORDER: "indices that rise along the line",
    pairs.BASE: "indices from 1 on, as zero_based=False says",
}


class _SparseRows(NamedTuple):
    """Rows of a file."""

    labels: npt.NDArray[np.float64]  # shape: (n,)
    ends: npt.NDArray[np.int64]  # shape: (n,); where each row ends among the values
    indices: npt.NDArray[Any]  # shape: (values,)
    values: npt.NDArray[np.float64]  # shape: (values,)
    queries: bool  # whether there were qid pairs


def read_svmlight(
    source: ByteSource,
    *,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
) -> Dataset:
    """The samples of a file as a CSR matrix; labels are integers if all of them are integral.

    Parameters
    ----------
    n_features
        Width of X. A larger index is refused. None: as wide as the largest index needs.
    zero_based
        Whether indices begin at 0. "auto": they do if there is a 0 among them.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> path = Path(tempfile.mkdtemp()) / "two.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2  # a comment\\n-1 2:1\\n")
    >>> with open_(path) as source:
    ...     data = read_svmlight(source)
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    _require_options(n_features, zero_based, "read_svmlight")
    found = _concatenate(list(_parse(source, n_features, zero_based)))
    base = _base(found.indices, zero_based)
    if base == 0 and n_features is not None and _widest(found.indices) > n_features:
        source.rewind()
        return read_svmlight(source, n_features=n_features, zero_based=True)
    width = n_features or max(_widest(found.indices) - base, 1)
    notes = ("qid pairs were ignored",) if found.queries else ()
    X, y = _csr(found, base, width), _integral(found.labels)
    return Dataset(Path(source.name).name, X, y, notes=notes)


def svmlight_blocks(
    source: ByteSource,
    *,
    n_features: int,
    zero_based: bool = False,
    rows: int = 65_536,
) -> Iterator[tuple[Csr, npt.NDArray[np.float64]]]:
    """The samples of a file and their labels, `rows` at a time, for files larger than memory.

    Labels stay float64, since whether all of them are integral is known only at the end.
    """
    _require_options(n_features, zero_based, "svmlight_blocks")
    require_integer("svmlight_blocks", "rows", rows, least=1)
    if not isinstance(zero_based, bool):
        raise ParameterError("svmlight_blocks", "zero_based", "True or False", zero_based)
    base, held = int(not zero_based), _concatenate([])
    for part in _parse(source, n_features, zero_based):
        held = _concatenate([held, part])
        complete = len(held.labels) - len(held.labels) % rows
        for start in range(0, complete, rows):
            block = _slice(held, start, start + rows)
            yield _csr(block, base, n_features), block.labels
        held = _slice(held, complete, len(held.labels))
    if len(held.labels):
        yield _csr(held, base, n_features), held.labels


def _require_options(n_features: int | None, zero_based: object, owner: str) -> None:
    if n_features is not None:
        require_integer(owner, "n_features", n_features, least=1)
        if n_features > _WIDEST:
            raise ParameterError(owner, "n_features", f"at most {_WIDEST}", n_features)
    if not isinstance(zero_based, bool) and zero_based != "auto":
        raise ParameterError(owner, "zero_based", "True, False or 'auto'", zero_based)


def _parse(
    source: ByteSource, n_features: int | None, zero_based: ZeroBased
) -> Iterator[_SparseRows]:
    """The rows of a file, block by block, each checked against the limits."""
    widest = min(source.limits.features, _WIDEST) if n_features is None else n_features
    least, most = int(zero_based is False), widest - int(zero_based is True)
    dtype = np.int32 if most < 2**31 else np.int64
    rows, line = 0, source.line
    with ThreadPoolExecutor(_THREADS) as pool:
        pending: deque[Future[_SparseRows]] = deque()
        for block in chain(source.blocks(), repeat(b"", _THREADS)):
            if block:
                pending.append(pool.submit(_parse_block, source, block, line, least, most, dtype))
                line += newlines(block)
            if pending and (not block or len(pending) > _THREADS):
                part = pending.popleft().result()
                rows += len(part.labels)
                source.require_limit("rows", rows)
                yield part


def _parse_block(
    source: ByteSource, block: bytes, line: int, least: int, most: int, dtype: Any
) -> _SparseRows:
    """The rows of one block; `line` is the number of its first."""
    text = np.frombuffer(block, dtype=np.uint8)
    n, count = newlines(block) + 1, int(np.count_nonzero(text == 58))
    labels, ends = np.empty(n), np.empty(n, dtype=np.int64)
    values, indices = np.empty(count), np.empty(count, dtype=dtype)
    long = np.empty((n + count, 3), dtype=np.int64)
    outcome, at, n, count, longs, queries = pairs.parse_pairs(
        text, least, most, labels, ends, indices, values, long
    )
    if longs:
        position, start, end = long[:longs].T
        numbers = _parse_decimals(block, start, end)
        if not np.isfinite(numbers).all():
            at = int(start[np.argmin(np.isfinite(numbers))])
            raise _pair_error(source, block, line, at, "a number within the range of float64")
        labels[-1 - position[position < 0]] = numbers[position < 0]
        values[position[position >= 0]] = numbers[position >= 0]
    if outcome == pairs.WIDTH:
        hint = "pass a larger n_features, or raise `features` of Limits, if this is intended"
        raise _pair_error(source, block, line, at, f"an index of at most {most:,}", hint)
    if outcome != pairs.COMPLETE:
        raise _pair_error(source, block, line, at, _EXPECTED[outcome])
    return _SparseRows(labels[:n], ends[:n], indices[:count], values[:count], bool(queries))


def _parse_decimals(block: bytes, start: Any, end: Any) -> npt.NDArray[np.float64]:
    """Numbers of any length, correctly rounded: pyarrow is faster than `float` in a loop."""
    import pyarrow as pa  # takes a tenth of a second, and most files have only plain numbers

    offsets = np.column_stack([start, end]).astype(np.int32)  # numbers, and the text between them
    words = pa.StringArray.from_buffers(
        2 * len(start) - 1, pa.py_buffer(offsets), pa.py_buffer(block)
    )
    numbers = words.take(pa.array(np.arange(0, len(words), 2))).cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _pair_error(
    source: ByteSource, block: bytes, line: int, at: int, expected: str, hint: str = ""
) -> DataFileError:
    words = block[at : at + 60].split(b"\n")[0].split()
    word = words[0].decode(errors="backslashreplace") if words else ""
    return source.error(
        *locate(block, line, at),
        found=repr(word) if word else "nothing",
        expected=expected,
        hint=hint,
    )


def _concatenate(parts: list[_SparseRows]) -> _SparseRows:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty(0)
        return _SparseRows(none, none.astype(np.int64), none.astype(np.int32), none, False)
    starts = np.cumsum([0] + [len(part.values) for part in parts])
    shifted = [part.ends + start for part, start in zip(parts, starts, strict=False)]
    return _SparseRows(
        np.concatenate([part.labels for part in parts]),
        np.concatenate(shifted),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        any(part.queries for part in parts),
    )


def _slice(rows: _SparseRows, start: int, stop: int) -> _SparseRows:
    """The rows from start to stop."""
    first = int(rows.ends[start - 1]) if start else 0
    last = int(rows.ends[stop - 1]) if stop else 0
    inside = slice(first, last)
    ends = rows.ends[start:stop] - first
    return _SparseRows(
        rows.labels[start:stop], ends, rows.indices[inside], rows.values[inside], rows.queries
    )


def _widest(indices: npt.NDArray[Any]) -> int:
    return int(indices.max()) + 1 if len(indices) else 0


def _base(indices: npt.NDArray[Any], zero_based: ZeroBased) -> int:
    if zero_based == "auto":
        return int(len(indices) > 0 and indices.min() > 0)
    return int(not zero_based)


def _csr(rows: _SparseRows, base: int, width: int) -> Csr:
    """The rows as a matrix, with 32-bit indices if they suffice."""
    largest = max(len(rows.values), width)
    dtype = np.int32 if largest < 2**31 else np.int64
    ends = np.concatenate([[0], rows.ends]).astype(dtype)
    indices = rows.indices.astype(dtype, copy=False)
    if base:
        indices = indices - np.asarray(base, dtype=dtype)
    X = scipy.sparse.csr_array((rows.values, indices, ends), shape=(len(rows.labels), width))
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _integral(labels: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Labels as integers if all of them are integral."""
    with np.errstate(invalid="ignore"):
        codes = labels.astype(np.intp)
    return codes if np.array_equal(codes, labels) else labels
