"""Models of LIBSVM in its text format, as `svm-train` writes and `svm-predict` reads them.

There, classes lie in any order. The score of a pair is positive on the side of the class that comes
first in the file, 0 is the other's, and the first of those with the most votes wins. Here, classes are
sorted, and of two classes the score is positive on the second's side. `_Pairs` has LIBSVM's signs for
any order of the classes.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from separatrix.errors import ModelFileError, ParameterError, UnsupportedError
from separatrix.estimators.base.support import Support
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.vector_kernels import Gaussian, Linear, Polynomial, Sigmoid
from separatrix.modelfile.container import one_line, open_container, unwritable
from separatrix.modelfile.files import PathLike, as_path, require_fitted
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer

LONGEST_LINE = 32 * MEBIBYTE
ENTRIES_AT_ONCE = 4096  # of a line, taken apart at a time
LONGEST_HEADER_LINE = MEBIBYTE
MOST_CLASSES = 10_000
LARGEST_INT = 2**31 - 1  # LIBSVM's labels, indices and degrees are of type int
BLOCK_BYTES = 16 * MEBIBYTE  # of support vectors that are written at a time
SPARSE_BELOW = 0.25  # share of stored values

WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?")


class _KernelWords(NamedTuple):
    """A kernel as LIBSVM and as scikit-learn name it."""

    make: type[Kernel]
    theirs: str
    ours: str
    parameters: tuple[str, ...]


KERNELS = (
    _KernelWords(Linear, "linear", "linear", ()),
    _KernelWords(Polynomial, "polynomial", "poly", ("degree", "gamma", "coef0")),
    _KernelWords(Gaussian, "rbf", "rbf", ("gamma",)),
    _KernelWords(Sigmoid, "sigmoid", "sigmoid", ("gamma", "coef0")),
    _KernelWords(Precomputed, "precomputed", "precomputed", ()),
)
BY_MAKE = {words.make: words for words in KERNELS}
BY_NAME = {words.theirs: words for words in KERNELS}

NEEDED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv")
PROBABILITIES = ("probA", "probB", "prob_density_marks")
KEYS = (*NEEDED, "degree", "gamma", "coef0", *PROBABILITIES)
BY_PAIR = ("rho", "probA", "probB")  # a number for each pair of classes


def save_libsvm(model: Any, path: PathLike) -> Path:
    """Write a fitted `SVC` as a text file of LIBSVM, for `svm-predict` and whatever else reads those.

    Every number is written so that it is read back exactly. The format has room for whole numbers as
    labels, one boundary for each pair of classes, and the kernels "linear", "poly", "rbf", "sigmoid"
    and "precomputed"; other models are refused. Probabilities are left out, with a warning. To keep all
    of a model, use `save`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, load_libsvm, save_libsvm
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_libsvm(save_libsvm(model, f"{folder}/iris.model"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    path = as_path(path)
    _require_svc(model)
    labels = _whole_labels(model.classes_)
    _tell_what_is_left_out(model)
    try:
        with (
            atomic_write(path) as temporary,
            temporary.open("w", encoding="ascii", newline="\n") as file,
        ):
            for line in _lines_of(model, labels):
                file.write(_in_limits(path, line))
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def load_libsvm(path: PathLike, *, n_features: int | None = None) -> SVC:
    """The `SVC` in a text file of LIBSVM; it predicts what `svm-predict` does, and cannot go on learning.

    Of the kinds of models there, C-SVC is read. Probabilities (`svm-train -b 1`) are left out, with a
    warning. A file that is damaged, cut short or no such file is refused with a `ModelFileError`.

    Parameters
    ----------
    path
        The file.
    n_features
        How many features samples have, or, of a precomputed kernel, how many training samples there
        were. The file does not say; by default as many as the largest index in it.
    """
    path = as_path(path)
    if n_features is not None:
        require_integer("load_libsvm", "n_features", n_features, least=1)
    with open_container(path) as file:
        lines = _Lines(path, file)
        header = _read_header(lines)
        rows = _read_rows(lines, header)
        model = _machine(lines, header, rows, n_features)
    if header.probabilities:
        warn_user(
            f"{path} has probabilities (svm-train -b 1), which are left out: LIBSVM's are not those of "
            "`predict_proba`; to have some, fit an SVC with calibration='sigmoid'"
        )
    return model


class _Pairs(NamedTuple):
    """One boundary for each pair of classes, its score positive on the side of the pair's first."""

    counts: Codes  # shape: (k,); support rows of each class, which lie class after class
    coef: Matrix  # shape: (k - 1, s); of each row against each other class
    intercept: Vector  # shape: (p,)

    @classmethod
    def of(cls, support: Support) -> _Pairs:
        """Those of a fitted machine."""
        counts = np.diff(support.cuts)
        sign = _sign(len(counts))
        return cls(counts, sign * support.coef, sign * support.intercept)

    def as_support(self) -> Support:
        """As a machine has them."""
        k, s = len(self.counts), self.coef.shape[1]
        cuts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
        classes = np.repeat(np.arange(k), self.counts)
        coef, intercept = _sign(k) * self.coef, _sign(k) * self.intercept
        return Support(np.arange(s), classes, cuts, coef, intercept, paired=k > 2)

    def in_order(self, order: Codes) -> tuple[_Pairs, Codes]:
        """The same boundaries with the classes in another order, and the rows in theirs.

        >>> one = _Pairs(np.array([1, 2]), np.array([[0.5, -0.2, -0.3]]), np.array([7.0]))
        >>> turned, rows = one.in_order(np.array([1, 0]))
        >>> rows.tolist(), turned.coef.tolist(), turned.intercept.tolist()
        ([1, 2, 0], [[0.2, 0.3, -0.5]], [-7.0])
        """
        ends = np.cumsum(self.counts)
        rows = [np.arange(*part) for part in zip(ends - self.counts, ends, strict=True)]
        coef = np.hstack([self._coef(order, position, rows[c]) for position, c in enumerate(order)])
        turned = _Pairs(self.counts[order], coef, self._intercept(order))
        return turned, np.concatenate([rows[c] for c in order])

    def _coef(self, order: Codes, position: int, rows: Codes) -> Matrix:
        """Coefficients of the rows of the class that comes at `position`, (k - 1, rows)."""
        own, others = order[position], np.delete(order, position)
        was_first, is_first = own < others, position <= np.arange(len(others))
        sign = np.where(was_first == is_first, 1.0, -1.0)
        return np.asarray(sign[:, None] * self.coef[np.ix_(others - was_first, rows)])

    def _intercept(self, order: Codes) -> Vector:
        k = len(order)
        first, second = order[pairs(k)].T
        low, high = np.minimum(first, second), np.maximum(first, second)
        numbers = low * (2 * k - low - 1) // 2 + high - low - 1
        return np.asarray(np.where(first < second, 1.0, -1.0) * self.intercept[numbers])


def _sign(n_classes: int) -> float:
    """From this house's signs to those of `_Pairs`, or back."""
    return -1.0 if n_classes == 2 else 1.0


def _require_svc(model: Any) -> None:
    if type(model) is not SVC:
        raise ModelFileError(
            "unsupported", f"`save_libsvm` takes a fitted SVC; got {type(model).__name__}"
        )
    require_fitted(model)
    if model.kernel_.takes != "vectors":
        raise UnsupportedError(
            f"LIBSVM's files hold vectors, and this SVC was trained on {model.kernel_.takes}; `save` "
            "writes a file of separatrix, which can hold them"
        )
    if type(model.kernel_) not in BY_MAKE:
        raise ModelFileError(
            "unsupported",
            f"LIBSVM has no kernel {model.kernel_!r:.80}; it has {', '.join(BY_NAME)}. `save` writes "
            "a file of separatrix, which can hold more",
        )
    if model.multi_class == "ovr" and len(model.classes_) > 2:
        raise ModelFileError(
            "unsupported",
            "LIBSVM has one boundary for each pair of classes, and this SVC one for each class against "
            "the rest; fit it with multi_class='ovo', or use `save`",
        )


def _whole_labels(classes: Any) -> list[int]:
    """Labels as the file has them."""
    if classes.dtype.kind not in "iuf" or (classes.dtype.kind == "f" and (classes % 1 != 0).any()):
        raise ModelFileError(
            "unsupported",
            f"labels of LIBSVM are whole numbers, and these are {classes.tolist()!r:.60}; encode them, "
            "for example with sklearn.preprocessing.LabelEncoder, and fit again",
        )
    labels = [int(label) for label in classes.tolist()]
    beyond = [label for label in labels if not -LARGEST_INT - 1 <= label <= LARGEST_INT]
    if beyond:
        raise ModelFileError(
            "unsupported",
            f"labels of LIBSVM have 32 bits, and {beyond[0]} has more; encode them, for example with "
            "sklearn.preprocessing.LabelEncoder, and fit again",
        )
    return labels


def _tell_what_is_left_out(model: Any) -> None:
    if hasattr(model, "_calibration"):
        warn_user(
            "LIBSVM's format has no place for the probabilities of this SVC: they are left out; `save` "
            "keeps them"
        )
    if model.break_ties and len(model.classes_) > 2:
        warn_user(
            "LIBSVM's format has no place for break_ties=True: in this file equal votes go to the class "
            "that comes first; `save` keeps it"
        )


def _in_limits(path: Path, line: str) -> str:
    if len(line) >= LONGEST_LINE:
        raise ModelFileError(
            "limit",
            f"a line of {path} would have {in_words(len(line))}, and `load_libsvm` reads at most "
            f"{in_words(LONGEST_LINE)}; use `save`",
        )
    return line + "\n"


def _lines_of(model: Any, labels: list[int]) -> Iterator[str]:
    k = len(labels)
    order = getattr(model, "_ties", np.arange(k))  # of a model that came from such a file, as there
    boundaries, rows = _Pairs.of(model._support).in_order(order)
    words, kernel = BY_MAKE[type(model.kernel_)], model.kernel_
    yield "svm_type c_svc"
    yield f"kernel_type {words.theirs}"
    for name in words.parameters:
        value = getattr(kernel, name)
        yield f"{name} {int(value) if name == 'degree' else repr(float(value))}"
    yield f"nr_class {k}"
    yield f"total_sv {len(rows)}"
    yield f"rho {_joined(-boundaries.intercept)}"
    yield f"label {' '.join(str(labels[c]) for c in order)}"
    yield f"nr_sv {' '.join(map(str, boundaries.counts.tolist()))}"
    yield "SV"
    for coef, entries in zip(boundaries.coef.T, _entries(model, rows), strict=True):
        yield f"{_joined(coef)} {entries}"


def _joined(values: Vector) -> str:
    return " ".join(map(repr, values.tolist()))


def _entries(model: Any, rows: Codes) -> Iterator[str]:
    """Indices and values of support vectors; of a precomputed kernel, their numbers."""
    if isinstance(model.kernel_, Precomputed):
        yield from (f"0:{number}" for number in (model.support_[rows] + 1).tolist())
        return
    vectors = model.support_vectors_
    for part in row_blocks(len(rows), rows_that_fit(8 * vectors.shape[1], BLOCK_BYTES, most=256)):
        block = csr_array(vectors[rows[part]], dtype=np.float64)
        block.sum_duplicates()
        block.eliminate_zeros()
        words = [
            f"{index}:{value!r}"
            for index, value in zip((block.indices + 1).tolist(), block.data.tolist(), strict=True)
        ]
        yield from (" ".join(words[start:end]) for start, end in pairwise(block.indptr.tolist()))


class _Lines:
    """The lines of a file, one after the other."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = one_line(path), file
        self.number = 0  # of the last line that was read

    def __iter__(self) -> Iterator[str]:
        while raw := self.file.readline(LONGEST_LINE + 1):
            self.number += 1
            if len(raw) > LONGEST_LINE:
                raise self.wrong("limit", "a longer line", f"at most {in_words(LONGEST_LINE)}")
            if not raw.endswith(b"\n"):
                raise self.wrong(
                    "size", "the end of the file within a line", "a line break: it was cut short"
                )
            if not raw.isascii() or b"\0" in raw:
                raise self.wrong("schema", "bytes that are no ASCII", "a text file of LIBSVM")
            yield raw.decode("ascii")

    def wrong(
        self, reason: str, found: str, expected: str, number: int | None = None
    ) -> ModelFileError:
        """The error for a line, by default the last one that was read."""
        at = self.number if number is None else number
        return ModelFileError(reason, f"{self.path}:{at}: found {found}, expected {expected}")


class _Header(NamedTuple):
    """What a file says before its support vectors."""

    kernel: Kernel
    params: dict[str, Any]  # of the SVC, that mean this kernel
    labels: list[int]  # in the order of the file
    counts: Codes  # shape: (k,); support vectors of each class
    rho: Vector  # shape: (p,)
    probabilities: bool  # whether there are any, which are not taken over


def _read_header(lines: _Lines) -> _Header:
    found = _Found(lines)
    found.word("svm_type", ("c_svc",))
    k = found.n_classes()
    labels = found.wholes("label", k, least=-LARGEST_INT - 1)
    if len(set(labels)) < k:
        twice = Counter(labels).most_common(1)[0][0]
        raise found.wrong("invariant", "label", f"label {twice} twice", "each once")
    counts = found.wholes("nr_sv", k)
    (total,) = found.wholes("total_sv", 1)
    if sum(counts) != total:
        raise found.wrong(
            "invariant", "nr_sv", f"{sum(counts)} support vectors", f"{total}, as total_sv says"
        )
    rho = found.numbers("rho", k * (k - 1) // 2)
    probabilities = found.probabilities(k * (k - 1) // 2)
    counted = np.array(counts, dtype=np.int64)
    return _Header(*found.kernel(), labels, counted, rho, probabilities)


class _Found:
    """The header's lines by their first word, each with its number."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.entries: dict[str, tuple[int, str]] = {}
        for line in lines:
            if line.strip() == "SV":
                break
            self._keep(line)
        else:
            raise lines.wrong("size", "the end of the file", "a line SV, and the support vectors")
        for key in NEEDED:
            if key not in self.entries:
                raise lines.wrong("schema", f"no {key} before SV", "a line of it")

    def _keep(self, line: str) -> None:
        key, *rest = line.split(None, 1) or [""]
        if key not in KEYS:
            raise self.lines.wrong(
                "schema", repr(key[:40]), f"SV or one of {', '.join(KEYS)}, as LIBSVM writes them"
            )
        if key in self.entries:
            raise self.lines.wrong("schema", f"{key} for the second time", "it once")
        if len(line) > LONGEST_HEADER_LINE and key not in BY_PAIR:
            most = in_words(LONGEST_HEADER_LINE)
            raise self.lines.wrong("limit", f"a longer line of {key}", f"at most {most}")
        self.entries[key] = (self.lines.number, rest[0] if rest else "")

    def wrong(self, reason: str, key: str, found: str, expected: str) -> ModelFileError:
        """The error for the line of a key."""
        return self.lines.wrong(reason, found, expected, self.entries[key][0])

    def word(self, key: str, choices: tuple[str, ...]) -> str:
        """One of some words."""
        found = self.entries[key][1].strip()
        if found not in choices:
            raise self.wrong("schema", key, f"{key} {found[:40]!r}", " or ".join(choices))
        return found

    def wholes(self, key: str, count: int, *, least: int = 0) -> list[int]:
        """So many whole numbers."""
        words = self._words(key, count)
        bad = next((word for word in words if not WHOLE.fullmatch(word)), None)
        if bad is not None:
            raise self.wrong("schema", key, repr(bad[:40]), f"a whole number of {key}")
        values = [int(word) for word in words]
        if not all(least <= value <= LARGEST_INT for value in values):
            raise self.wrong(
                "invariant",
                key,
                f"{min(values)} to {max(values)}",
                f"{key} from {least} to {LARGEST_INT}",
            )
        return values

    def numbers(self, key: str, count: int | None) -> Vector:
        """So many finite numbers, or any number of them."""
        words = self._words(key, count)
        try:
            values = np.array(_floats(words))
        except ValueError:
            raise self.wrong("schema", key, _first_bad(words), f"numbers of {key}") from None
        if not np.isfinite(values).all():
            raise self.wrong("invariant", key, f"{key} that is not finite", "finite numbers")
        return values

    def _words(self, key: str, count: int | None) -> list[str]:
        text = self.entries[key][1]
        if count is not None and text.count(" ") > 2 * count + 8:  # before that many are words
            raise self.wrong("invariant", key, f"more values of {key}", str(count))
        words = text.split()
        if count is not None and len(words) != count:
            raise self.wrong("invariant", key, f"{len(words)} values of {key}", str(count))
        return words

    def n_classes(self) -> int:
        """k."""
        (k,) = self.wholes("nr_class", 1)
        if k < 2:
            raise self.wrong("invariant", "nr_class", f"nr_class {k}", "at least 2")
        if k > MOST_CLASSES:
            raise self.wrong("limit", "nr_class", f"nr_class {k}", f"at most {MOST_CLASSES}")
        return k

    def kernel(self) -> tuple[Kernel, dict[str, Any]]:
        """The kernel, and the parameters of an SVC that mean it."""
        words = BY_NAME[self.word("kernel_type", tuple(BY_NAME))]
        values: dict[str, Any] = {}
        for name in ("degree", "gamma", "coef0"):
            if name in self.entries:
                read: Any = self.wholes if name == "degree" else self.numbers
                values[name] = np.asarray(read(name, 1)).item()
            elif name in words.parameters:
                raise self.wrong(
                    "schema", "kernel_type", f"{words.theirs} without {name}", "a line of it"
                )
        used = {name: values[name] for name in words.parameters}
        try:
            return words.make(**used), {"kernel": words.ours, **used}
        except ParameterError as error:
            raise self.wrong(
                "invariant", "kernel_type", f"a kernel that cannot be ({error})", "one that can"
            ) from None

    def probabilities(self, n_pairs: int) -> bool:
        """Whether there are any; refused where they cannot be."""
        for key in PROBABILITIES:
            if key in self.entries:
                self.numbers(key, n_pairs if key in BY_PAIR else None)
        return "probA" in self.entries or "probB" in self.entries


def _floats(words: list[str]) -> list[float]:
    if any("_" in word for word in words):  # Python would take them
        raise ValueError
    return list(map(float, words))


def _first_bad(words: list[str]) -> str:
    """The first word that is no number, for a person."""
    return repr(next((word[:40] for word in words if not NUMBER.fullmatch(word)), ""))


class _Rows(NamedTuple):
    """Support vectors as they lie in a file, and where."""

    first: int  # number of the line of the first one
    coef: Matrix  # shape: (s, k - 1)
    indices: Codes  # shape: (stored,); as in the file, from 1
    values: Vector  # shape: (stored,)
    indptr: Codes  # shape: (s + 1,); where each row begins among them

    def line_of(self, entry: int) -> int:
        """The number of the line that a stored value lies in."""
        return self.first + int(np.searchsorted(self.indptr, entry, side="right")) - 1


def _read_rows(lines: _Lines, header: _Header) -> _Rows:
    total, wide = int(header.counts.sum()), len(header.labels) - 1
    first = lines.number + 1
    coef, values, indices, indptr = array("d"), array("d"), array("q"), array("q", [0])
    for line in lines:
        if len(indptr) > total:
            raise lines.wrong("size", "one more line", f"the end after {total} support vectors")
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
        raise lines.wrong(
            "size", f"the end after {len(indptr) - 1} support vectors", f"{total} of them"
        )
    rows = _Rows(
        first,
        np.array(coef).reshape(total, wide),
        np.array(indices, dtype=np.int64),
        np.array(values),
        np.array(indptr, dtype=np.int64),
    )
    _check_rows(lines, rows, precomputed=isinstance(header.kernel, Precomputed))
    return rows


def _bad_row(lines: _Lines, words: list[str], wide: int) -> ModelFileError:
    expected = (
        f"{wide} coefficients, then index:value with rising whole indices up to {LARGEST_INT}"
    )
    if len(words) < wide:
        return lines.wrong("schema", f"{len(words)} numbers", expected)
    ok = [bool(NUMBER.fullmatch(word)) for word in words[:wide]]
    for word in words[wide:]:
        index, _, value = word.partition(":")
        ok.append(bool(WHOLE.fullmatch(index) and NUMBER.fullmatch(value)))
    bad = next((word for word, fine in zip(words, ok, strict=True) if not fine), "")
    return lines.wrong("schema", repr(bad[:40]), expected)


def _check_rows(lines: _Lines, rows: _Rows, *, precomputed: bool) -> None:
    """Refuse numbers that are not finite, and indices that cannot be."""
    bad = ~np.isfinite(rows.coef).all(axis=1)
    if bad.any():
        at = rows.first + int(bad.argmax())
        raise lines.wrong("invariant", "a coefficient that is not finite", "finite numbers", at)
    _refuse(lines, rows, ~np.isfinite(rows.values), "invariant", "finite numbers")
    if precomputed:
        _check_serial_numbers(lines, rows)
    else:
        _check_indices(lines, rows)


def _refuse(lines: _Lines, rows: _Rows, bad: Any, reason: str, expected: str) -> None:
    """The error for the first bad one of the stored values, if there is one."""
    if bad.any():
        entry = int(bad.argmax())
        found = f"{rows.indices[entry]}:{rows.values[entry]:.17g}"
        raise lines.wrong(reason, found, expected, rows.line_of(entry))


def _check_serial_numbers(lines: _Lines, rows: _Rows) -> None:
    expected = "one entry, 0:number of a training sample"
    entries = np.diff(rows.indptr)
    if (entries != 1).any():
        row = int((entries != 1).argmax())
        raise lines.wrong("schema", f"{entries[row]} entries", expected, rows.first + row)
    numbers = rows.values
    _refuse(lines, rows, rows.indices != 0, "invariant", expected)
    _refuse(lines, rows, (numbers < 1) | (numbers % 1 != 0), "invariant", "a whole number from 1")
    _refuse(lines, rows, numbers > LARGEST_INT, "limit", f"at most {LARGEST_INT}")


def _check_indices(lines: _Lines, rows: _Rows) -> None:
    indices, starts = rows.indices, rows.indptr[:-1]
    _refuse(lines, rows, indices < 1, "invariant", "an index of at least 1")
    _refuse(lines, rows, indices > LARGEST_INT, "limit", f"an index of at most {LARGEST_INT}")
    falls = np.diff(indices, prepend=0) <= 0
    falls[starts[starts < len(falls)]] = False  # nothing comes before the first of a row
    _refuse(lines, rows, falls, "invariant", "an index above the one before")


def _machine(lines: _Lines, header: _Header, rows: _Rows, n_features: int | None) -> SVC:
    """An SVC as a fit would have left it, but for what only a fit knows."""
    labels = np.array(header.labels, dtype=np.int64)
    order = np.argsort(labels)
    boundaries, which = _Pairs(header.counts, rows.coef.T, -header.rho).in_order(order)

    model = SVC(**header.params)
    model.kernel_, model.classes_ = header.kernel, labels[order]
    model._support = boundaries.as_support()
    _set_vectors(model, rows, which, _width(lines, header, rows, n_features))
    model._show_coefficients()
    model._exact, model._slim = True, True
    if (np.diff(order) < 0).any():
        model._ties = np.argsort(order)
    return model


def _width(lines: _Lines, header: _Header, rows: _Rows, n_features: int | None) -> int:
    """Features of a sample, or columns of a kernel matrix."""
    precomputed = isinstance(header.kernel, Precomputed)
    largest = int((rows.values if precomputed else rows.indices).max(initial=1))
    if n_features is None:
        return largest
    if not largest <= n_features <= LARGEST_INT:
        raise ModelFileError(
            "invariant",
            f"{lines.path}: found indices up to {largest}, expected none above n_features={n_features}; "
            f"give one from {largest} to {LARGEST_INT}, or none",
        )
    return int(n_features)


def _set_vectors(model: Any, rows: _Rows, which: Codes, d: int) -> None:
    """Give a model its support vectors, or their places in a kernel matrix."""
    s = len(which)
    model.n_features_in_ = d
    if isinstance(model.kernel_, Precomputed):
        model.shape_fit_ = (max(s, d), d)
        model.support_ = (rows.values[which] - 1).astype(np.int32)
        model.support_vectors_ = np.empty((0, 0))
        return
    model.shape_fit_ = (s, d)
    model.support_ = np.arange(s, dtype=np.int32)
    model.support_vectors_ = _vectors(rows, d)[which]


def _vectors(rows: _Rows, d: int) -> Any:
    """Samples, (s, d): dense, or CSR where few values are stored."""
    s = len(rows.indptr) - 1
    kind = np.int32 if len(rows.values) <= LARGEST_INT else np.int64
    positions = (rows.indices - 1).astype(kind), rows.indptr.astype(kind)
    sparse = csr_array((rows.values, *positions), shape=(s, d))
    return sparse if len(rows.values) < SPARSE_BELOW * s * d else sparse.toarray()
