"""Parser of LIBSVM's model files: a header of keys and values, then one line for each support vector."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from separatrix.errors import ModelFileError, ParameterError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.vector_kernels import Gaussian, Linear, Polynomial, Sigmoid
from separatrix.modelfile.container import one_line
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks
from separatrix.types import Codes, Matrix, Vector

LONGEST_LINE = 32 * MEBIBYTE
ENTRIES_AT_ONCE = 4096  # of a line, parsed at a time
LONGEST_HEADER_LINE = MEBIBYTE
MOST_CLASSES = 10_000
LARGEST_INT = 2**31 - 1  # LIBSVM's labels, indices and degrees are of type int

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?")


KERNELS: dict[str, Any] = {
    **{"linear": Linear, "polynomial": Polynomial, "rbf": Gaussian},
    **{"sigmoid": Sigmoid, "precomputed": Precomputed},
}
REQUIRED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
OF_CLASSES = ("label", "nr_sv")  # not in a file of a one-class machine
MACHINES = ("c_svc", "nu_svc", "one_class")
PROBABILITIES = ("probA", "probB", "prob_density_marks")
KEYS = (*REQUIRED, *OF_CLASSES, "degree", "gamma", "coef0", *PROBABILITIES)
BY_PAIR = ("rho", "probA", "probB")  # a number for each pair of classes


class NumberedLines:
    """The lines of a file, and errors with their numbers."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = one_line(path), file
        self.number = 0  # of the last line read

    def __iter__(self) -> Iterator[str]:
        while raw := self.file.readline(LONGEST_LINE + 1):
            self.number += 1
            if len(raw) > LONGEST_LINE:
                raise self.error("limit", "a longer line", f"at most {in_words(LONGEST_LINE)}")
            if not raw.endswith(b"\n"):
                expected = "a line break: it was cut short"
                raise self.error("size", "the end of the file within a line", expected)
            if not raw.isascii() or b"\0" in raw:
                raise self.error("schema", "bytes that are no ASCII", "a text file of LIBSVM")
            yield raw.decode("ascii")

    def error(
        self, reason: str, found: str, expected: str, number: int | None = None
    ) -> ModelFileError:
        """The error for a line, by default the last one read."""
        at = self.number if number is None else number
        return ModelFileError(reason, f"{self.path}:{at}: found {found}, expected {expected}")


class LibsvmHeader(NamedTuple):
    """What precedes the support vectors."""

    kernel: Kernel
    params: dict[str, Any]  # of the estimator, for this kernel
    machine: str  # one of MACHINES
    labels: list[int]  # in the order of the file; of a one-class machine, none
    counts: Codes  # shape: (k,); support vectors of each class
    rho: Vector  # shape: (p,)
    platt: Matrix | None  # shape: (p, 2); A and B of each boundary
    marks: bool  # whether the file has marks of a density

    @property
    def n_columns(self) -> int:
        """Coefficients of each support vector."""
        return max(1, len(self.labels) - 1)


def read_header(lines: NumberedLines) -> LibsvmHeader:
    """The header, checked."""
    found = _HeaderLines(lines)
    machine = found.word("svm_type", MACHINES)
    (k,) = found.integers("nr_class", 1)
    if machine == "one_class":
        return _read_one_class(found)
    found.require(OF_CLASSES)
    if not 2 <= k <= MOST_CLASSES:
        reason, bound = ("invariant", "least 2") if k < 2 else ("limit", f"most {MOST_CLASSES}")
        raise found.error(reason, "nr_class", f"nr_class {k}", f"at {bound}")
    labels = found.integers("label", k, least=-LARGEST_INT - 1)
    if len(set(labels)) < k:
        twice = Counter(labels).most_common(1)[0][0]
        raise found.error("invariant", "label", f"label {twice} twice", "each once")
    counts = found.integers("nr_sv", k)
    (total,) = found.integers("total_sv", 1)
    if sum(counts) != total:
        have = f"{sum(counts)} support vectors"
        raise found.error("invariant", "nr_sv", have, f"{total}, as total_sv says")
    n_pairs = k * (k - 1) // 2
    rho = found.numbers("rho", n_pairs)
    given = set(PROBABILITIES) & set(found.entries)
    values = {key: found.numbers(key, n_pairs if key in BY_PAIR else None) for key in given}
    platt = None
    if {"probA", "probB"} & given:
        found.require(("probA", "probB"))
        platt = np.stack([values["probA"], values["probB"]], axis=1)
    marks = "prob_density_marks" in given
    counted = np.array(counts, dtype=np.int64)
    return LibsvmHeader(*found.kernel(), machine, labels, counted, rho, platt, marks)


def _read_one_class(found: _HeaderLines) -> LibsvmHeader:
    """The header of a one-class machine, which has no labels."""
    (total,) = found.integers("total_sv", 1)
    rho = found.numbers("rho", 1)
    for key in (*OF_CLASSES, "probA", "probB"):
        if key in found.entries:
            raise found.error("schema", key, f"{key} of a one-class machine", "none")
    marks = "prob_density_marks" in found.entries
    if marks:
        found.numbers("prob_density_marks", None)
    return LibsvmHeader(*found.kernel(), "one_class", [], np.array([total]), rho, None, marks)


class _HeaderLines:
    """The lines of the header by their first word."""

    def __init__(self, lines: NumberedLines) -> None:
        self.lines = lines
        self.entries: dict[str, tuple[int, str]] = {}  # number and rest of a line
        for line in lines:
            if line.strip() == "SV":
                break
            self._add(line)
        else:
            raise lines.error("size", "the end of the file", "a line SV, and the support vectors")
        self.require(REQUIRED)

    def require(self, keys: tuple[str, ...]) -> None:
        """Refuse a header without lines of some keys."""
        for key in keys:
            if key not in self.entries:
                raise self.lines.error("schema", f"no {key} before SV", "a line of it")

    def _add(self, line: str) -> None:
        key, *rest = line.split(None, 1) or [""]
        if key not in KEYS:
            expected = f"SV or one of {', '.join(KEYS)}, as LIBSVM writes them"
            raise self.lines.error("schema", repr(key[:40]), expected)
        if key in self.entries:
            raise self.lines.error("schema", f"{key} for the second time", "it once")
        if len(line) > LONGEST_HEADER_LINE and key not in BY_PAIR:
            most = in_words(LONGEST_HEADER_LINE)
            raise self.lines.error("limit", f"a longer line of {key}", f"at most {most}")
        self.entries[key] = (self.lines.number, rest[0] if rest else "")

    def error(self, reason: str, key: str, found: str, expected: str) -> ModelFileError:
        return self.lines.error(reason, found, expected, self.entries[key][0])

    def word(self, key: str, choices: tuple[str, ...]) -> str:
        found = self.entries[key][1].strip()
        if found not in choices:
            raise self.error("schema", key, f"{key} {found[:40]!r}", " or ".join(choices))
        return found

    def integers(self, key: str, count: int, *, least: int = 0) -> list[int]:
        values = self._parse(key, count, INTEGER, int, f"a whole number of {key}")
        if not all(least <= value <= LARGEST_INT for value in values):
            found, expected = f"{min(values)} to {max(values)}", f"from {least} to {LARGEST_INT}"
            raise self.error("invariant", key, found, f"{key} {expected}")
        return values

    def numbers(self, key: str, count: int | None) -> Vector:
        values = np.array(self._parse(key, count, NUMBER, float, f"numbers of {key}"))
        if not np.isfinite(values).all():
            raise self.error("invariant", key, f"{key} that is not finite", "finite numbers")
        return values

    def _parse(
        self, key: str, count: int | None, pattern: re.Pattern[str], kind: type, expected: str
    ) -> list[Any]:
        text = self.entries[key][1]
        if count is not None and text.count(" ") > 2 * count + 8:  # before they are split
            raise self.error("invariant", key, f"more values of {key}", str(count))
        words = text.split()
        if count is not None and len(words) != count:
            raise self.error("invariant", key, f"{len(words)} values of {key}", str(count))
        try:
            if "_" in text or (kind is int and max(map(len, words)) > 19):
                raise ValueError  # Python allows the first in numbers, and any number of digits
            return list(map(kind, words))
        except ValueError:
            bad = next((word[:40] for word in words if not pattern.fullmatch(word)), "")
            raise self.error("schema", key, repr(bad), expected) from None

    def kernel(self) -> tuple[Kernel, dict[str, Any]]:
        """The kernel, and the parameters of an estimator with it."""
        kind = self.word("kernel_type", tuple(KERNELS))
        needed = [field.name for field in fields(KERNELS[kind])]
        values: dict[str, Any] = {}
        for name in ("degree", "gamma", "coef0"):
            if name in self.entries:
                read: Any = self.integers if name == "degree" else self.numbers
                values[name] = np.asarray(read(name, 1)).item()
            elif name in needed:
                raise self.error("schema", "kernel_type", f"{kind} without {name}", "a line of it")
        used = {name: values[name] for name in needed}
        try:
            ours = "poly" if kind == "polynomial" else kind
            return KERNELS[kind](**used), {"kernel": ours, **used}
        except ParameterError as error:
            found = f"invalid kernel parameters ({error})"
            raise self.error("invariant", "kernel_type", found, "valid ones") from None


class SupportRows(NamedTuple):
    """Support vectors as in the file."""

    first: int  # number of the line of the first one
    coef: Matrix  # shape: (s, k - 1)
    indices: Codes  # shape: (stored,); as in the file, from 1
    values: Vector  # shape: (stored,)
    indptr: Codes  # shape: (s + 1,); where each row begins among them


def read_rows(lines: NumberedLines, header: LibsvmHeader) -> SupportRows:
    """The support vectors, checked."""
    total, wide = int(header.counts.sum()), header.n_columns
    first = lines.number + 1
    coef, values, indices, indptr = array("d"), array("d"), array("q"), array("q", [0])
    for line in lines:
        if len(indptr) > total:
            raise lines.error("size", "one more line", f"the end after {total} support vectors")
        words = line.split()
        try:
            if "_" in line or len(words) < wide:
                raise ValueError
            coef.extend(map(float, words[:wide]))
            for part in row_blocks(len(words) - wide, ENTRIES_AT_ONCE):
                entries = [
                    word.partition(":") for word in words[wide + part.start : wide + part.stop]
                ]
                indices.extend([int(index) for index, _, _ in entries])
                values.extend([float(value) for _, _, value in entries])
        except (ValueError, OverflowError):
            raise _bad_row(lines, words, wide) from None
        indptr.append(len(values))
    if len(indptr) <= total:
        found = f"the end after {len(indptr) - 1} support vectors"
        raise lines.error("size", found, f"{total} of them")
    rows = SupportRows(
        first,
        np.array(coef).reshape(total, wide),
        np.array(indices, dtype=np.int64),
        np.array(values),
        np.array(indptr, dtype=np.int64),
    )
    _check_rows(lines, rows, precomputed=isinstance(header.kernel, Precomputed))
    return rows


def _bad_row(lines: NumberedLines, words: list[str], wide: int) -> ModelFileError:
    expected = f"{wide} coefficients, then index:value with rising indices up to {LARGEST_INT}"
    if len(words) < wide:
        return lines.error("schema", f"{len(words)} numbers", expected)
    ok = [bool(NUMBER.fullmatch(word)) for word in words[:wide]]
    for word in words[wide:]:
        index, _, value = word.partition(":")
        ok.append(bool(INTEGER.fullmatch(index) and NUMBER.fullmatch(value)))
    bad = next((word for word, fine in zip(words, ok, strict=True) if not fine), "")
    return lines.error("schema", repr(bad[:40]), expected)


def _check_rows(lines: NumberedLines, rows: SupportRows, *, precomputed: bool) -> None:
    """Refuse values that are not finite, and indices out of range or order."""
    indices, starts, numbers = rows.indices, rows.indptr[:-1], rows.values
    bad = ~np.isfinite(rows.coef).all(axis=1)
    if bad.any():
        at = rows.first + int(bad.argmax())
        raise lines.error("invariant", "a coefficient that is not finite", "finite numbers", at)
    expected = "one entry, 0:number of a training sample"
    entries = np.diff(rows.indptr)
    if precomputed and (entries != 1).any():
        row = int((entries != 1).argmax())
        raise lines.error("schema", f"{entries[row]} entries", expected, rows.first + row)
    falls = np.diff(indices, prepend=0) <= 0
    falls[starts[starts < len(falls)]] = False  # the first of a row
    of_vectors = [
        (indices < 1, "invariant", "an index of at least 1"),
        (indices > LARGEST_INT, "limit", f"an index of at most {LARGEST_INT}"),
        (falls, "invariant", "an index above the one before"),
    ]
    of_kernel_values = [
        (indices != 0, "invariant", expected),
        ((numbers < 1) | (numbers != np.floor(numbers)), "invariant", "a whole number from 1"),
        (numbers > LARGEST_INT, "limit", f"at most {LARGEST_INT}"),
    ]
    finite = (~np.isfinite(numbers), "invariant", "finite numbers")
    for bad, reason, what in (finite, *(of_kernel_values if precomputed else of_vectors)):
        if bad.any():
            entry = int(bad.argmax())
            found = f"{indices[entry]}:{numbers[entry]:.17g}"
            row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
            raise lines.error(reason, found, what, rows.first + row)
