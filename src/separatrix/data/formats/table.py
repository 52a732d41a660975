"""Tables as delimited text: CSV, TSV and the like, with numbers and categories."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import as_dataset, choose_columns, require_target
from separatrix.data.formats.layout import DELIMITERS, detect_layout
from separatrix.data.formats.records import read_columns
from separatrix.data.streams import ByteSource
from separatrix.validation import require_choice


def read_csv(
    source: ByteSource,
    *,
    target: str | int | None = "auto",
    header: bool | None = None,
    delimiter: str | None = None,
    features: Sequence[str] | None = None,
) -> Dataset:
    """The samples of a table: columns of numbers, then one-hot columns of categories.

    A column with any cell that is neither a number nor missing is a category: X has a column
    "name=value" of zeros and ones for each of its values, sorted, after the columns of numbers. Missing
    values are "", ?, NA, N/A, n/a, #N/A, NaN, nan, -nan, null, NULL and None: NaN in a column of
    numbers, zero in all columns of a category. X is a CSR matrix if categories make it over 1,000
    columns wide and ten times as wide as the table.

    Parameters
    ----------
    target
        The column of labels: its name, or its position, negative from the end; None for no labels.
        "auto": the column named target, label, class or y, in any case; else the last. Labels are
        integers if all are integral, and texts if any is not a number or begins with a 0 as in 007.
    header
        Whether the first row names the columns. None: it does if it has a text above a column of
        numbers, or if all of it is text that does not recur in the first 100 rows. Columns without a
        name are x1, x2, ... by their position.
    delimiter
        One of , ; tab and blank; a run of blanks counts as one. None: a tab for .tsv and .tab, else the
        first of these that splits the first 20 rows into equally many cells, more than one.
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
    require_choice("read_csv", "header", header, (None, True, False))
    require_choice("read_csv", "delimiter", delimiter, (None, *DELIMITERS))
    require_target("read_csv", target)
    layout = detect_layout(source, delimiter=delimiter, header=header, features=features)
    choice = choose_columns(source, layout.names, target, features)
    return as_dataset(source, read_columns(source, layout, choice), choice)
