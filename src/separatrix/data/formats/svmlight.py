"""The svmlight format, which is LIBSVM's: a line is `label index:value index:value ... # comment`.

Indices rise along a line and begin at 1, or at 0 in some files. Blank lines, comments and `qid:`
pairs are skipped. Numbers are plain decimals: `nan`, `inf` and `1_000` are refused.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, islice, repeat
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
    """Rows of a file, with indices as in the file."""

    X: Csr  # shape: (n, widest + 1)
    labels: npt.NDArray[np.float64]  # shape: (n,)
    queries: bool = False  # whether there were qid pairs


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
    X, labels, queries = _concatenate(list(_parse(source, n_features, zero_based)))
    widest = int(X.indices.max(initial=-1)) + 1
    least = int(X.indices.min(initial=widest))
    base = int(0 < least < widest if zero_based == "auto" else not zero_based)
    if base == 0 and n_features is not None and widest > n_features:
        source.rewind()
        return read_svmlight(source, n_features=n_features, zero_based=True)
    X = _shift_columns(X, base, n_features or max(widest - base, 1))
    notes = ("qid pairs were ignored",) if queries else ()
    return Dataset(Path(source.name).name, X, _integral(labels), notes=notes)


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
    base, held = int(not zero_based), list[_SparseRows]()
    for part in _parse(source, n_features, zero_based):
        X, labels, _ = _concatenate([*held, part])
        complete = len(labels) - len(labels) % rows
        for start in range(0, complete, rows):
            block = slice(start, start + rows)
            yield _shift_columns(X[block], base, n_features), labels[block]
        held = [_SparseRows(X[complete:], labels[complete:])]
    if held and len(held[0].labels):
        yield _shift_columns(held[0].X, base, n_features), held[0].labels


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
    numbered, rows = _numbered_blocks(source), 0
    parse = partial(_parse_block, source, least=least, most=most, dtype=dtype)
    for part in _in_order(parse, numbered):
        rows += len(part.labels)
        source.require_limit("rows", rows)
        yield part


def _numbered_blocks(source: ByteSource) -> Iterator[tuple[bytes, int]]:
    """Blocks of complete lines, and the number of the first line of each."""
    line = source.line
    for block in source.blocks():
        yield block, line
        line += newlines(block)


def _in_order(
    parse: Callable[[bytes, int], _SparseRows], numbered: Iterator[tuple[bytes, int]]
) -> Iterator[_SparseRows]:
    """What `parse` makes of each block, in threads if there are several."""
    begun = list(islice(numbered, 2))
    if len(begun) < 2:
        yield from (parse(*one) for one in begun)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        pending: deque[Future[_SparseRows]] = deque()
        for one in chain(begun, numbered, repeat(None, _THREADS)):
            if one is not None:
                pending.append(pool.submit(parse, *one))
            if pending and (one is None or len(pending) > _THREADS):
                yield pending.popleft().result()


def _parse_block(
    source: ByteSource, block: bytes, line: int, least: int, most: int, dtype: Any
) -> _SparseRows:
    """The rows of one block; `line` is the number of its first."""
    text = np.frombuffer(block, dtype=np.uint8)
    n, count = newlines(block) + 1, int(np.count_nonzero(text == 58))
    labels, starts = np.empty(n), np.zeros(n + 1, dtype=np.int64)
    values, indices = np.empty(count), np.empty(count, dtype=dtype)
    long = np.empty((n + count, 3), dtype=np.int64)
    outcome, at, n, count, longs, queries = pairs.parse_pairs(
        text, least, most, labels, starts[1:], indices, values, long
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
    X = scipy.sparse.csr_array(
        (values[:count], indices[:count], starts[: n + 1]), shape=(n, most + 1)
    )
    return _SparseRows(X, labels[:n], bool(queries))


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
    if not parts:
        return _SparseRows(scipy.sparse.csr_array((0, 1)), np.empty(0))
    X, labels, queries = zip(*parts, strict=True)
    return _SparseRows(
        scipy.sparse.vstack(X, format="csr") if len(X) > 1 else X[0],
        np.concatenate(labels),
        any(queries),
    )


def _shift_columns(X: Csr, base: int, width: int) -> Csr:
    """The columns from `base` on, `width` of them, with 32-bit indices if they suffice."""
    dtype = np.int32 if max(X.nnz, width) < 2**31 else np.int64
    indices = (X.indices - base if base else X.indices).astype(dtype, copy=False)
    starts = X.indptr.astype(dtype, copy=False)
    shifted = scipy.sparse.csr_array((X.data, indices, starts), shape=(X.shape[0], width))
    shifted.has_sorted_indices = shifted.has_canonical_format = True
    return shifted


def _integral(labels: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Labels as integers if all of them are integral."""
    with np.errstate(invalid="ignore"):
        codes = labels.astype(np.intp)
    return codes if np.array_equal(codes, labels) else labels
