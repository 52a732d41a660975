"""Tables as delimited text: CSV, TSV and their like, with numbers and categories."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import as_dataset, find_target, find_wanted, require_target
from separatrix.data.formats.layout import DELIMITERS, LOOK_BYTES, Layout, find_layout
from separatrix.data.formats.records import Reading, text_blocks
from separatrix.data.limits import Limits
from separatrix.data.streams import open_, unpacked_suffix
from separatrix.validation import require_choice


def read_csv(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = "auto",
    header: bool | None = None,
    delimiter: str | None = None,
    features: Sequence[str] | None = None,
    limits: Limits | None = None,
) -> Dataset:
    """The samples of a table. Columns of numbers stay; others become one column a value.

    A column with any cell that is neither a number nor missing is a category: X has a column
    "name=value" of zeros and ones for each of its values, sorted, after the columns of numbers. No
    value is one of "", ?, NA, N/A, n/a, #N/A, NaN, nan, -nan, null, NULL, None: NaN among numbers, and
    zero in all columns of a category. X is a CSR matrix where categories make it over 1,000 columns
    wide and ten times as wide as the table.

    Parameters
    ----------
    target
        The column of labels: its name, or its position, negative from the end; None: there are none.
        "auto": the column named target, label, class or y, in any case; else the last. Labels are
        integers where all are whole numbers, and texts where any is none or begins with a 0 as in 007.
    header
        Whether the first row names the columns. None: it does if it has a text above a column of
        numbers, or if all of it is text and none of that is met again below, in the first 100 rows.
        Columns without a name are x1, x2, ... by their position.
    delimiter
        One of , ; tab and blank, of which a run counts as one. None: a tab for .tsv and .tab, else the
        first of them that cuts the first 20 rows into equally many cells, more than one.
    features
        Names of the columns X must have, in their order, as a fitted model keeps them: "age" is a
        column of numbers, "job=clerk" is 1 where the job is clerk. "auto" then takes for the target
        only what is not a feature; there may be none.
    limits
        What to refuse; see `Limits`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "three.csv"
    >>> _ = path.write_text("age,job,class\\n31,clerk,a\\n45,cook,b\\n?,clerk,a\\n")
    >>> data = read_csv(path)
    >>> data.features, data.y.tolist()
    (('age', 'job=clerk', 'job=cook'), ['a', 'b', 'a'])
    >>> data.X.tolist()
    [[31.0, 1.0, 0.0], [45.0, 0.0, 1.0], [nan, 1.0, 0.0]]
    """
    require_choice("read_csv", "header", header, (None, True, False))
    require_choice("read_csv", "delimiter", delimiter, (None, *DELIMITERS))
    require_target("read_csv", target)
    limits = limits or Limits()
    layout = layout_of(path, delimiter, header, features, limits)
    wanted = None if features is None else find_wanted(str(path), layout.names, features)
    taken = () if wanted is None else wanted.columns
    column = find_target(str(path), layout.names, target, taken)
    table = Reading(path, layout, column, wanted, limits).table()
    return as_dataset(Path(path).name, table, column, wanted, limits)


def layout_of(
    path: str | os.PathLike[str],
    delimiter: str | None,
    header: bool | None,
    features: Sequence[str] | None,
    limits: Limits,
) -> Layout:
    """How a table is laid out, by the look of its beginning where nothing was said."""
    with open_(path, limits) as source:
        head = b""
        for block in text_blocks(source):
            head += block
            if len(head) >= LOOK_BYTES:
                break
        return find_layout(
            *(source, head, unpacked_suffix(path)),
            delimiter=delimiter,
            header=header,
            known=tuple(features or ()),
        )
