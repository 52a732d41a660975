"""Worksheets of Excel: the first sheet of a workbook, or the one named behind a colon.

They are read by python-calamine or openpyxl, whichever is installed: `pip install 'separatrix[excel]'`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import TableContents
from separatrix.data.formats.layout import default_names
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import scan_rows, split_header
from separatrix.data.streams import ByteSource
from separatrix.errors import MissingPackageError, SeparatrixError

PACKAGES = ("python_calamine", "openpyxl")


def read_excel(source: ByteSource, **options: Any) -> Dataset:
    """The samples of the first worksheet; options as for `read_csv`."""
    return as_dataset(source, scan_excel(source, **options))


def scan_excel(source: ByteSource, *, header: bool | None = None, **options: Any) -> TableContents:
    """The columns of the first worksheet that is not empty."""
    content = source.read_all()
    _require_sizes(source, content)
    sheet, rows = _read_sheet(source, content)
    rows = [row for row in rows if any(cell not in (None, "") for cell in row)]
    if not rows:
        raise source.error(found="an empty workbook", expected="at least one row")
    width = max(map(len, rows))
    source.require_limit("columns", width, found=f"{width:,} columns")
    rows = [[*row, *[None] * (width - len(row))] for row in rows]
    named = split_header(rows, header)
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    names = names if named else list(default_names(width))
    how = f"sheet {sheet}, {'header' if named else 'no header'}"
    return scan_rows(source, names, rows[named:], how=how, **options)


def _read_sheet(source: ByteSource, content: bytes) -> tuple[str, list[list[Any]]]:
    package = next((name for name in PACKAGES if find_spec(name) is not None), None)
    if package is None:
        raise MissingPackageError(
            "reading Excel files needs python-calamine or openpyxl; install one with: "
            "pip install 'separatrix[excel]'"
        )
    reader = _read_by_calamine if package == "python_calamine" else _read_by_openpyxl
    try:
        for name, rows in reader(content):
            if rows:
                return name, rows
    except SeparatrixError:
        raise
    except Exception as error:  # each package has its own
        reason = str(error).split("\n")[0][:80]
        raise source.error(
            found=f"a damaged workbook ({reason})", expected="Excel's .xlsx"
        ) from None
    return "", []


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
