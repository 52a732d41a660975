"""JSON: one object a line, an array of objects, or one object of columns; their keys are the columns.

An object of two lists, the names of `columns` and the rows in `data`, is what pandas calls orient="split".

An object inside an object gives columns such as address.town, lists of equally many numbers columns such
as x.0; another list is a text. An escape of half a surrogate pair is refused: no UTF-8 can hold it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.encodings import note_encoding
from separatrix.data.formats.columns import TableContents, format_names
from separatrix.data.formats.nested import MOST_VALUES, nested_note
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import scan_rows
from separatrix.data.streams import ByteSource, locate

_UNFINISHED = re.compile(rb'\{(?:\s*"[^"]*"\s*:\s*[\[{]?)?')  # the first line of a long object
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(  # a pair of surrogates; one alone, which is group 1; any other escape
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_BLANKS = " \t\r\n"  # of JSON; a text has others too
_RECORD = "\x1e"  # may begin a record: RFC 7464
_DEEPEST = 4  # objects inside each other that become columns


def read_json_lines(source: ByteSource, **options: Any) -> Dataset:
    """The samples of a file of JSON lines; options as for `read_csv`."""
    return as_dataset(source, scan_json_lines(source, **options))


def scan_json_lines(
    source: ByteSource, *, encoding: str | None = None, **options: Any
) -> TableContents:
    """The columns of a file of JSON lines, or of one array; a key that an object lacks is missing."""
    source.use_encoding(encoding)
    how, found = _objects(source)
    names: dict[str, None] = {}
    records: list[dict[str, Any]] = []
    for line, nested in found:
        record = dict(pairs := list(_flatten(nested)))
        if len(record) < len(pairs):
            [(again, _)] = Counter(name for name, _ in pairs).most_common(1)
            raise source.error(
                line,
                found=f"two values for {again!r}",
                expected="one, under a key or inside an object",
            )
        names.update(dict.fromkeys(record))
        source.require_limit("columns", len(names), line=line)
        source.require_limit("rows", len(records) + 1, line=line)
        records.append(record)
    if not records:
        raise source.error(found="nothing", expected="at least one object")
    records, names, lists = _split_lists(records, names)
    source.require_limit("columns", len(names))
    source.require_limit("values", len(records) * len(names))
    rows = ([record.get(name) for name in names] for record in records)
    contents = scan_rows(source, list(names), rows, how=how, **options)
    notes = (*note_encoding(source.encoding, encoding), *lists, *contents.notes)
    return contents._replace(notes=notes)


def _objects(source: ByteSource) -> tuple[str, Iterator[tuple[int, dict[str, Any]]]]:
    """How the file is organised, and its objects with their lines, 0 where these are not known."""
    first = b""
    while not first and (line := source.read_line()):
        first = line.removeprefix(codecs.BOM_UTF8).strip()
    more = bool(source.read_up_to(1))
    source.rewind()
    if not first.startswith(b"["):
        single = _load(first.decode(errors="replace"))
        unfinished = single is None and first.startswith(b"{")
        columns = (
            isinstance(single, dict) and not more and (_holds_columns(single) or _is_split(single))
        )
        if not unfinished and not columns:
            return "one object a line", _lines(source)
    content = source.read_all()
    _require_pairs(source, content, 1)
    text = source.decode(content, 1).removeprefix("\ufeff")
    del content  # before values take their memory
    whole = _load(text)
    if whole is None and first.startswith(b"{") and not _UNFINISHED.fullmatch(first):
        source.rewind()
        return "one object a line", _lines(source)  # which finds the damaged one
    if isinstance(whole, dict):
        lists = {key: v for key, v in whole.items() if isinstance(v, list)}
        rows = [key for key, v in lists.items() if v and all(isinstance(one, dict) for one in v)]
        if len(rows) == 1:
            return f"an array of objects in {rows[0]!r}", _array(source, whole[rows[0]])
        if len(rows) > 1 and {len(v) if isinstance(v, list) else -1 for v in whole.values()} != {
            len(lists[rows[0]])
        }:
            raise source.error(
                found=f"an object of {len(rows)} arrays of objects: {format_names(rows)}",
                expected="one table",
                hint="write one of them to a file of its own",
            )
        if _is_split(whole):
            names = [str(name) for name in whole["columns"]]
            objects = [dict(zip(names, row, strict=True)) for row in whole["data"]]
            return "names of columns and a list for each row", _array(source, objects)
        if _holds_columns(whole):
            return "one list for each column", _array(source, _transpose(whole))
        whole = [whole]
    if not isinstance(whole, list):
        raise source.error(found="damaged JSON", expected='[{"age": 31}, ...]')
    return "an array of objects", _array(source, whole)


def _holds_columns(found: dict[str, Any]) -> bool:
    """Whether all values are lists, or objects with the same keys, of the same length; or some are rows."""
    values = list(found.values())
    if any(isinstance(v, list) and v and all(isinstance(one, dict) for one in v) for v in values):
        return True
    lists = all(isinstance(v, list) for v in values) and len({len(v) for v in values}) == 1
    objects = all(isinstance(v, dict) for v in values) and len({tuple(v) for v in values}) == 1
    return bool(values) and (lists or objects)


def _is_split(found: dict[str, Any]) -> bool:
    """Whether an object has different names in `columns`, and rows of as many values in `data`.

    >>> _is_split({"columns": ["a", "b"], "index": [0], "data": [[1, 2]]}), _is_split({"data": [[1, 2]]})
    (True, False)
    """
    names, rows = found.get("columns"), found.get("data")
    if not (isinstance(names, list) and isinstance(rows, list) and names and rows):
        return False
    different = len({str(name) for name in names}) == len(names)
    return different and all(isinstance(row, list) and len(row) == len(names) for row in rows)


def _transpose(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns = {key: list(v.values()) if isinstance(v, dict) else v for key, v in found.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _flatten(record: dict[str, Any], depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The keys and values of an object, those of objects inside it as keys of their own.

    >>> list(_flatten({"age": 3, "at": {"town": "Ulm"}}))
    [('age', 3), ('at.town', 'Ulm')]
    """
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            yield from ((f"{key}.{name}", inner) for name, inner in _flatten(value, depth + 1))
        else:
            yield key, value


def _split_lists(
    records: list[dict[str, Any]], names: dict[str, None]
) -> tuple[list[dict[str, Any]], dict[str, None], list[str]]:
    """Lists of equally many numbers as columns x.0, x.1, ..., and notes about them.

    >>> _split_lists([{"x": [1, 2]}, {"x": None}], {"x": None})[0]
    [{'x.0': 1, 'x.1': 2}, {}]
    """
    columns: dict[str, list[str]] = {}
    for name in names:
        values = [v for record in records if (v := record.get(name)) is not None]
        lists = bool(values) and all(map(_is_vector, values))
        if lists and len(lengths := {len(value) for value in values}) == 1:
            parts = [f"{name}.{i}" for i in range(lengths.pop())]
            if names.keys().isdisjoint(parts):
                columns[name] = parts
    if not columns:
        return records, names, []
    for record in records:
        for name in columns:
            record |= dict(zip(columns[name], record.pop(name, None) or (), strict=False))
    flat = dict.fromkeys(part for name in names for part in columns.get(name, [name]))
    return records, flat, [nested_note(name, parts) for name, parts in columns.items()]


def _is_vector(value: Any) -> bool:
    numbers = isinstance(value, list) and 0 < len(value) <= MOST_VALUES
    return numbers and all(type(one) in (int, float) for one in value)


def _lines(source: ByteSource) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line that is not empty, with its number."""
    for number, line in source.lines():
        _require_pairs(source, line, number)
        text = source.decode(line, number).removeprefix("\ufeff" if number == 1 else "")
        if text := text.removeprefix(_RECORD).strip(_BLANKS):
            yield number, _require_object(source, _load(text), text, number)


def _array(source: ByteSource, found: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array, which may have many lines."""
    for record in found:
        yield 0, _require_object(source, record, str(record), 0)


def _require_pairs(source: ByteSource, text: bytes, line: int) -> None:
    """Refuse the escape of a surrogate without the other half of its pair."""
    if _SURROGATE.search(text) is None:
        return
    for escape in _ESCAPE.finditer(text):
        if escape[1]:
            found = f"{escape[0].decode()}, half of a surrogate pair"
            where = locate(text, line, escape.start())
            raise source.error(*where, found=found, expected="both halves, or another character")


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _require_object(source: ByteSource, record: Any, text: str, line: int) -> dict[str, Any]:
    if not isinstance(record, dict) or not record:
        raise source.error(
            line, int(line > 0), found=f"{text[:40]!r}", expected='an object such as {"age": 31}'
        )
    return record
