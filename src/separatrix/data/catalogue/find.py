"""Data by what a person types: a name of the catalogue, or a file."""

from __future__ import annotations

import os
from typing import Any

from separatrix.data import catalogue
from separatrix.data.dataset import Dataset
from separatrix.data.read import read
from separatrix.errors import MissingDataError


def find(name: str, **options: Any) -> Dataset:
    """The data set of that name, or the file; a file in the way goes first only with its path.

    >>> find("iris").X.shape
    (150, 4)
    """
    if name in catalogue.names():
        given = sorted(key for key, value in options.items() if value not in (None, ...))
        if not given:
            return catalogue.load(name)
        error = MissingDataError(f"{name} is a data set of the catalogue and takes no {given[0]}")
        error.hint = f"a file of that name is meant by ./{name}"
        raise error
    if not os.path.exists(name):
        error = MissingDataError(f"there is no file {name}, and no data set of that name")
        error.hint = f"data sets: {', '.join(catalogue.names())}"
        raise error
    return read(name, **options)
