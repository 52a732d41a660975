"""Fields of labels, words and tables of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ModelFileError
from separatrix.modelfile import fields as f


@dataclass(frozen=True)
class Labels(f.Field):
    """Class labels or names: numbers as an array, words as UTF-8, a mixture in the document."""

    shape: str
    rising: bool = True  # sorted without duplicates
    distinct: bool = True
    missing: bool = False  # whether NaN and None are labels

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        form = _find_form(value)
        if form == "numbers":
            file.keep(at, np.asarray(value))
        elif form == "objects" or "words" in form:
            _put_words(value, at, file)
        return form

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if document == "numbers":
            value = f.Array(f"{f.NUMBERS} {self.shape} any").read(at, file)
        elif isinstance(document, dict) and list(document) == ["mixed"]:
            value = _get_mixed(document["mixed"], at)
        else:
            value = _as_words(_get_words(at, file), document, at, file)
        file.sizes.unify(at, value.shape, self.shape)
        self.check(value, at)
        return value

    def check(self, value: Any, at: str) -> None:
        """Refuse values that are not labels, duplicates, and another order."""
        if not self.missing:
            f.check_values(value, at, "finite")
            if value.dtype.kind == "O" and not all(map(_is_label, value)):
                found = {type(label).__name__ for label in value}
                raise f.schema_error(at, "words and numbers", found)
        if self.rising and value.dtype.kind != "O":
            if not (value[1:] > value[:-1]).all():
                raise f.mismatch_error(at, "in rising order, none twice", "another order")
        elif self.distinct and len(set(value.tolist())) < len(value):
            raise f.mismatch_error(at, "all different", "one of them twice")


def _is_label(label: Any) -> bool:
    return type(label) in (str, int, bool) or (type(label) is float and bool(np.isfinite(label)))


def _find_form(labels: Any) -> Any:
    """How labels are stored: "numbers", "objects", {"words": letters} or {"mixed": [...]}."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "U":
        return {"words": labels.dtype.itemsize // 4}
    if labels.dtype.kind != "O":
        return "numbers"
    plain = [f.as_plain(label) for label in labels]
    if all(isinstance(label, str) for label in plain):
        return "objects"
    return {"mixed": [f.number_as_json(one) if type(one) is float else one for one in plain]}


def _get_mixed(values: Any, at: str) -> Any:
    if not isinstance(values, list) or any(isinstance(value, list) for value in values):
        raise f.schema_error(at, "a list of words and numbers", values)
    numbers = (f.number_from_json(one, at) if isinstance(one, dict) else one for one in values)
    return np.fromiter(numbers, dtype=object)


def _put_words(words: Iterable[Any], at: str, file: f.Archive) -> None:
    try:
        f.put_parts((str(word).encode() for word in words), at, f"{at}.ends", file)
    except UnicodeEncodeError:
        raise f.schema_error(at, "words that UTF-8 can encode", "a lone surrogate") from None


def _get_words(at: str, file: f.Archive) -> list[str]:
    parts = f.get_parts(at, f"{at}.ends", file, "words", f.MOST_WORDS)
    try:
        return [part.decode() for part in parts]
    except UnicodeDecodeError:
        raise f.schema_error(at, "words in UTF-8", "other bytes") from None


def _as_words(words: list[str], form: Any, at: str, file: f.Archive) -> Any:
    """Words as Python's strings, or as NumPy's strings of one length."""
    if form == "objects":
        return np.fromiter(words, dtype=object)
    length = form.get("words") if isinstance(form, dict) and len(form) == 1 else None
    if type(length) is not int or not 0 <= length <= f.LONGEST_WORD:
        raise f.schema_error(at, f"labels, or words of at most {f.LONGEST_WORD} letters", form)
    file.spend("letters of words", length * len(words), f.MOST_LETTERS, at)
    value = np.array(words, dtype=f"<U{length}")
    if value.tolist() != words:  # cut off, or zeros at the end, which NumPy drops
        raise f.schema_error(at, f"words of up to {length} letters", "others")
    return value


@dataclass(frozen=True)
class CategoryColumns(f.Field):
    """Labels of every column, those of one type one after the other in one array."""

    each: Labels
    letter: str

    def put(self, value: Any, at: str, file: f.Archive) -> list[Any]:
        arrays: dict[str, list[Any]] = {}
        document = []
        for column in value:
            form = _find_form(column)
            name = "mixed" if isinstance(form, dict) and "mixed" in form else "words"
            if form == "numbers":
                name = column.dtype.newbyteorder("<").str[1:]
            arrays.setdefault(name, []).extend(column)
            document.append([name, form, len(column)])
        for name, labels in arrays.items():
            if name == "words":
                _put_words(labels, f"{at}.words", file)
            elif name != "mixed":
                file.keep(f"{at}.{name}", np.array(labels))
        return document

    def get(self, document: Any, at: str, file: f.Archive) -> list[Any]:
        if not isinstance(document, list):
            raise f.schema_error(at, "a list of columns", document)
        file.sizes.unify(at, (len(document),), self.letter)
        file.spend("columns with categories", len(document), f.MOST_COLUMNS, at)
        labels: dict[str, Any] = {}  # of all columns of one type
        taken: dict[str, int] = {}
        columns = []
        for number, entry in enumerate(document):
            name, form, size = entry if isinstance(entry, list) and len(entry) == 3 else ("", 0, -1)
            position, known = f"{at}[{number}]", name in ("mixed", "words", *f.NUMBERS.split("|"))
            if type(size) is not int or size < 0 or not known:
                raise f.schema_error(position, "an array, a kind and a length", entry)
            if name == "mixed":
                value = _get_mixed(form.get("mixed") if isinstance(form, dict) else form, position)
            else:
                if name not in labels:
                    labels[name] = _read_column(name, f"{at}.{name}", file)
                start = taken.get(name, 0)
                taken[name] = start + size
                value = labels[name][start : taken[name]]
                if name == "words":
                    value = _as_words(value, form, position, file)
                elif form != "numbers":
                    raise f.schema_error(position, "numbers", form)
            self.each.check(value, position)
            if len(value) != size:
                raise f.mismatch_error(position, f"{size} labels", len(value))
            columns.append(value)
        for name, found in labels.items():
            if taken[name] != len(found):
                raise f.mismatch_error(f"{at}.{name}", f"{taken[name]} labels", len(found))
        return columns


def _read_column(name: str, at: str, file: f.Archive) -> Any:
    """The labels of all columns of one type."""
    if name == "words":
        return _get_words(at, file)
    array = f.Array(f"{name} n any").read(at, file.scope())
    file.spend("words", len(array), f.MOST_WORDS, at)
    return array


@dataclass(frozen=True)
class WordList(f.Field):
    """A list with few different words: each word once, and an array of codes."""

    letter: str

    def put(self, value: Any, at: str, file: f.Archive) -> list[str]:
        words, codes = np.unique(value, return_inverse=True)
        file.keep(at, codes.astype(np.int32))
        return [str(word) for word in words]

    def get(self, document: Any, at: str, file: f.Archive) -> list[str]:
        words = f.Listed(f.Text()).get(document, at, file)
        if len(words) > f.MOST_DIFFERENT:
            raise f.schema_error(at, f"a list of at most {f.MOST_DIFFERENT} words", len(words))
        scope = file.scope(**{**file.sizes, "w": len(words)})
        codes = f.Array(f"i4 {self.letter} >=0 <w").read(at, scope)
        file.sizes.unify(at, codes.shape, self.letter)
        return [words[code] for code in codes.tolist()]


@dataclass(frozen=True)
class RecordTable(f.Field):
    """A list of named tuples, stored by columns."""

    make: Callable[..., Any]
    arrays: Mapping[str, f.Array]  # attributes with one axis, of the same length within a tuple
    numbers: Mapping[str, str]  # attributes that are one number, with their types
    words: tuple[str, ...]
    letter: str  # the length of the list

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        if len(value) > f.MOST_RECORDS:
            raise ModelFileError(
                "limit",
                f"`{at}` has {len(value)} records, at most {f.MOST_RECORDS} are kept; use slim=True",
            )
        rows = list(value)  # a sequence may make each row when it is taken
        columns = {name: [getattr(row, name) for row in rows] for name in self.make._fields}  # type: ignore[attr-defined]
        first = columns[next(iter(self.arrays))]
        file.keep(f"{at}.ends", np.cumsum([len(part) for part in first], dtype=np.int64))
        for name in self.arrays:
            file.keep(f"{at}.{name}", np.concatenate(columns[name]))
        for name, kind in self.numbers.items():
            file.keep(f"{at}.{name}", np.array(columns[name], dtype=kind))
        words = WordList(self.letter)
        return {name: words.put(columns[name], f"{at}.{name}", file) for name in self.words}

    def get(self, document: Any, at: str, file: f.Archive) -> list[Any]:
        f.require_keys(document, at, set(self.words))
        ends = f.Array(f"i8 {self.letter} >=0 rising").read(f"{at}.ends", file)
        file.spend("records", len(ends), f.MOST_RECORDS, at)
        columns: dict[str, Any] = {}
        for name, column in self.arrays.items():
            array = column.read(f"{at}.{name}", file.scope(**file.sizes))
            if not len(ends) or len(array) != ends[-1]:
                raise f.mismatch_error(f"{at}.{name}", "as long as its parts together", array.shape)
            columns[name] = np.split(array, ends[:-1])
        for name, kind in self.numbers.items():
            columns[name] = f.Array(f"{kind} {self.letter} any").read(f"{at}.{name}", file).tolist()
        for name in self.words:
            columns[name] = WordList(self.letter).get(document[name], f"{at}.{name}", file)
        rows = zip(*columns.values(), strict=True)
        return [self.make(**dict(zip(columns, row, strict=True))) for row in rows]
