"""Tables as delimited text: CSV, TSV and the like, with numbers and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from separatrix.data.dataset import Dataset
from separatrix.data.encodings import MIXED, note_encoding, require_encoding
from separatrix.data.formats.columns import (
    MissingLabel,
    TableContents,
    choose_columns,
    drop_repeated_headers,
    drop_unlabelled,
    require_target,
)
from separatrix.data.formats.layout import DELIMITER_NAMES, DELIMITERS, detect_layout
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.records import read_columns
from separatrix.data.streams import ByteSource
from separatrix.errors import EncodingError
from separatrix.validation import require_choice


def read_csv(
    source: ByteSource,
    *,
    target: str | int | None = "auto",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_label: MissingLabel = "error",
    features: Sequence[str] | None = None,
) -> Dataset:
    """The samples of a table: columns of numbers, then one-hot columns of categories.

    Numbers may have a decimal comma, thousands separators, a currency or a percent sign or a unit, the
    same in all rows of a column. A column of other texts is a category: X has a column "name=value" of
    zeros and ones for each of its values, sorted, after the columns of numbers. Missing values are "", ?,
    NA, N/A, n/a, #N/A, NaN, nan, -nan, null, NULL, None and \\N, among numbers also -, n.a. and Excel's
    errors: NaN in a column of numbers, zero in all columns of a category. X is a CSR matrix if categories
    make it over 1,000 columns wide and ten times as wide as the table. `read_table` keeps the columns as
    they are.

    Parameters
    ----------
    target
        The column of labels: its name, or its position, negative from the end; None for no labels.
        "auto": the column named target, label, class or y, in any case; without a header the first if
        only that one holds texts; else the last. Labels are integers if all are integral, and texts if
        any is not a number or begins with a 0 as in 007.
    header
        Whether the first row names the columns. None: it does if it has a text above a column of
        numbers, or if all of it is text that does not recur in the first 100 rows. Columns without a
        name are x1, x2, ... by their position.
    delimiter
        One of , ; tab | ^ blank and :, a run of blanks counts as one. None: what Excel's line sep=; says,
        a tab for .tsv and .tab, else the first of these that splits the first 20 rows into equally many
        cells, more than one; colons more than two.
    encoding
        Of the text. None: detected: UTF-8, UTF-16, else Windows-1252 with a note.
    missing_label
        What becomes of rows without a label: "error", or "drop" with a note.
    features
        Names of the columns X must have, in their order, as a fitted model keeps them: "age" is a
        column of numbers, "job=clerk" is 1 where the job is clerk. target="auto" is then a column that
        is not a feature, if there is one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from separatrix.data.streams import open_
    >>> path = Path(tempfile.mkdtemp()) / "three.csv"
    >>> _ = path.write_text("age,job,class\\n31,clerk,a\\n45,cook,b\\n?,clerk,a\\n")
    >>> with open_(path) as source:
    ...     data = read_csv(source)
    >>> data.features, data.y.tolist()
    (('age', 'job=clerk', 'job=cook'), ['a', 'b', 'a'])
    >>> data.X.tolist()
    [[31.0, 1.0, 0.0], [45.0, 0.0, 1.0], [nan, 1.0, 0.0]]
    """
    options = {"target": target, "header": header, "delimiter": delimiter, "encoding": encoding}
    contents = scan_csv(source, missing_label=missing_label, features=features, **options)  # type: ignore[arg-type]
    return as_dataset(source, contents)


def scan_csv(
    source: ByteSource,
    *,
    target: str | int | None = "auto",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_label: MissingLabel = "error",
    features: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    as_text: Sequence[str] = (),
    by_columns: bool = False,
) -> TableContents:
    """The columns of a table of text; options as for `read_csv`, `columns` as for `choose_columns`.

    With `by_columns`, the matrix of numbers is in Fortran order, and columns of codes, 007, are texts.
    """
    delimiter = DELIMITER_NAMES.get(delimiter or "", delimiter)
    require_choice("read_csv", "header", header, (None, True, False))
    require_choice("read_csv", "delimiter", delimiter, (None, *DELIMITERS))
    require_choice("read_csv", "missing_label", missing_label, ("error", "drop"))
    require_target("read_csv", target)
    require_encoding("read_csv", encoding)
    source.use_encoding(encoding)

    def scan() -> TableContents:
        layout = detect_layout(
            source, delimiter=delimiter, header=header, features=columns or features
        )
        codes = layout.codes if by_columns and columns is None else ()
        seen = {
            "columns": columns,
            "as_text": (*as_text, *codes),
            "texts": layout.texts,
            "header": layout.header,
        }
        choice = choose_columns(source, layout.columns, target, features, **seen)  # type: ignore[arg-type]
        table = read_columns(source, layout, choice, missing_label, "F" if by_columns else "C")
        table, repeated = drop_repeated_headers(table) if layout.header else (table, [])
        table, dropped = drop_unlabelled(table, choice.target)
        about = note_encoding(source.encoding, encoding)
        notes = (*layout.notes, *about, *table.notes, *repeated, *dropped)
        return TableContents(replace(table, order=tuple(choice.used)), choice, notes, str(layout))

    try:
        return scan()
    except EncodingError:
        if encoding is not None or source.encoding != "utf-8":
            raise
        source.use_encoding(MIXED)  # bytes that are not UTF-8, after the first megabyte
        return scan()
