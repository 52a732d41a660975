"""Worksheets of Excel: the first with a table, or the one named behind a colon, file.xlsx:sheet.

They are read by python-calamine or openpyxl, whichever is installed: `pip install 'separatrix[excel]'`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import TableContents, format_names
from separatrix.data.formats.layout import default_names
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import memory_source, scan_rows, split_header
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource, open_, split_table, unpacked_suffix
from separatrix.errors import MissingPackageError, SeparatrixError

PACKAGES = ("python_calamine", "openpyxl")
_TITLE_ROWS = 15  # that show how wide a table is
_FORMULA = re.compile(rb"<f[ />]")


def read_excel(path: str, limits: Limits | None = None, **options: Any) -> Dataset:
    """The samples of a worksheet; options as for `read_csv`."""
    return as_dataset(memory_source(path, limits), scan_excel(path, limits, **options))


def scan_excel(
    path: str, limits: Limits | None = None, *, header: bool | None = None, **options: Any
) -> TableContents:
    """The columns of the worksheet behind a colon, else of the first that holds a table."""
    file, wanted = split_table(path)
    with open_(file, limits) as source:
        content = source.read_all()
        _require_sizes(source, content)
        sheets = _read_sheets(source, content, wanted)
        sheet = wanted or next((n for n, rows in sheets.items() if _is_table(rows)), "")
        if sheet not in sheets:
            raise source.error(
                found=f"no sheet named {sheet!r}" if sheet else "no sheet with a table",
                expected=f"one among {format_names(list(sheets))}",
                hint=f"name it behind a colon: {file}:SHEET",
            )
        notes = _note_sheets([name for name in sheets if name != sheet], sheet, wanted)
        rows, title = _skip_title(sheets[sheet])
        contents = _scan_sheet(source, sheet, rows, header, options)
        return contents._replace(
            notes=(*notes, *title, *_note_formulas(content, rows), *contents.notes)
        )


def _is_table(rows: list[list[Any]]) -> bool:
    return len(rows) > 1 and max(map(_count_cells, rows)) > 1


def _count_cells(row: list[Any]) -> int:
    return sum(cell is not None for cell in row)


def _note_sheets(others: list[str], sheet: str, wanted: str) -> list[str]:
    if not others or wanted:
        return []
    word = "sheet" if len(others) == 1 else "sheets"
    return [f"sheet {sheet!r} is read, not the {word} {format_names(others)}: FILE:SHEET names one"]


def _skip_title(rows: list[list[Any]]) -> tuple[list[list[Any]], list[str]]:
    """The rows without those above a table, of one cell, or two where the table is wide; and a note."""
    sizes = [_count_cells(row) for row in rows[:_TITLE_ROWS]]
    width = max(sizes, default=0)
    few = 0 if width < 3 else 1 if width == 3 else 2
    start = next((i for i, size in enumerate(sizes) if size > few), 0)
    start += _is_above_header(rows[start:])
    if not start or len(rows) - start < 2:
        return rows, []
    first = next(str(cell) for cell in rows[0] if cell is not None)
    number = "1 row" if start == 1 else f"{start} rows"
    return rows[start:], [f"{number} above the table skipped: {first[:40]!r}"]


def _is_above_header(rows: list[list[Any]]) -> bool:
    """Whether a row with gaps, such as merged cells, is above the row that names the columns."""
    if len(rows) < 3 or None not in rows[0]:
        return False
    names = rows[1]
    if len(names) < len(rows[0]) or not all(isinstance(cell, str) for cell in names):
        return False
    return len(set(names)) == len(names) and any(
        not isinstance(row[j], str | None)
        for row in rows[2:12]
        for j in range(min(map(len, (row, names))))
    )


def _note_formulas(content: bytes, rows: list[list[Any]]) -> list[str]:
    """A note on named columns without a value in a workbook with formulas: results were not stored."""
    width = max(map(len, rows))
    empty = [
        str(rows[0][j])
        for j in range(min(width, len(rows[0])))
        if rows[0][j] is not None
        and not any(len(row) > j and row[j] is not None for row in rows[1:])
    ]
    if not empty or not content.startswith(b"PK"):
        return []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
        if not any(_FORMULA.search(archive.read(name)) for name in sheets):
            return []
    return [
        f"no values in {format_names(empty)}: the workbook has formulas whose results are not stored; "
        "open it in a spreadsheet and save it"
    ]


def _scan_sheet(
    source: ByteSource,
    sheet: str,
    rows: list[list[Any]],
    header: bool | None,
    options: dict[str, Any],
) -> TableContents:
    width = max(map(len, rows))
    source.require_limit("columns", width, found=f"{width:,} columns")
    rows = [[*row, *[None] * (width - len(row))] for row in rows]
    named = split_header(rows, header)
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    names = names if named else list(default_names(width))
    how = f"sheet {sheet}, {'header' if named else 'no header'}"
    return scan_rows(source, names, rows[named:], how=how, **options)


def _read_sheets(source: ByteSource, content: bytes, wanted: str) -> dict[str, list[list[Any]]]:
    """The rows of each sheet that is not empty, without empty ones; of those that are not wanted, none."""
    old = unpacked_suffix(source.name) in (".xls", ".ods")
    able = PACKAGES[:1] if old else PACKAGES
    package = next((name for name in able if find_spec(name) is not None), None)
    if package is None:
        needs = "python-calamine" if old else "python-calamine or openpyxl"
        raise MissingPackageError(
            f"reading {'such' if old else 'Excel'} files needs {needs}; install one with: "
            "pip install 'separatrix[excel]'"
        )
    reader = _read_by_calamine if package == "python_calamine" else _read_by_openpyxl
    try:
        found = {}
        for name, rows in reader(content):
            kept = [row for row in rows if _count_cells(row)]
            if kept:
                found[name] = [] if wanted and name != wanted else kept
        return found
    except SeparatrixError:
        raise
    except Exception as error:  # each package has its own
        reason = str(error).split("\n")[0][:80]
        raise source.error(
            found=f"a damaged workbook ({reason})", expected="Excel's .xlsx"
        ) from None


def _read_by_calamine(content: bytes) -> Any:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for name in book.sheet_names:
        yield (
            name,
            [[_plain(cell) for cell in row] for row in book.get_sheet_by_name(name).to_python()],
        )


def _read_by_openpyxl(content: bytes) -> Any:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield sheet.title, [[_plain(cell) for cell in row] for row in sheet.values]


def _plain(cell: Any) -> Any:
    return None if cell == "" else cell


def _require_sizes(source: ByteSource, content: bytes) -> None:
    """Refuse a workbook that unpacks to more than the limits allow, before it is unpacked."""
    if not content.startswith(b"PK"):
        return  # an .xls file, which is not compressed
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes: Sequence[int] = [entry.file_size for entry in archive.infolist()]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise source.error(
            found=f"a damaged workbook ({error})", expected="Excel's .xlsx"
        ) from None
    source.require_inflation(sum(sizes), len(content))
