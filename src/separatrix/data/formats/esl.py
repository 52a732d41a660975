"""The zip format of *The Elements of Statistical Learning*: a label, then numbers, separated by blanks.

`zip.train` and `zip.test` come in it, and so does `zipcombo.dat`, which is the two together.
"""

from __future__ import annotations

import math
import os

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.formats.numbers import number_rows, refuse_first
from separatrix.data.streams import ByteSource

_LARGEST_LABEL = 2**53


def read_esl(source: ByteSource) -> Dataset:
    """One sample a line, its class first, as an integer; 256 values are an image of 16 x 16.

    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> name = os.path.join(tempfile.mkdtemp(), "zip.train")
    >>> with open(name, "w") as file:
    ...     _ = file.write("6.0000 -1.0000 0.5000\\n5.0000 0.2500 1.0000\\n")
    >>> with open_(name) as source:
    ...     data = read_esl(source)
    >>> data.y.tolist(), data.X.tolist()
    ([6, 5], [[-1.0, 0.5], [0.25, 1.0]])
    """
    table = number_rows(source)
    labels = table[:, 0]
    if not ((labels == np.rint(labels)) & (np.abs(labels) < _LARGEST_LABEL)).all():
        refuse_first(source, _is_label, "an integer, the class", column=0)
    if table.shape[1] < 2:
        raise source.error(1, found="one number a line", expected="a class and at least one value")
    X = np.ascontiguousarray(table[:, 1:])
    side = math.isqrt(X.shape[1])
    image = (side, side) if side > 1 and side * side == X.shape[1] else None
    return Dataset(os.path.basename(source.name), X, labels.astype(np.intp), image=image)


def _is_label(value: float) -> bool:
    return value == round(value) and abs(value) < _LARGEST_LABEL
