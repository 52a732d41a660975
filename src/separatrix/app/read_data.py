"""Read a file or a data set of the catalogue, with labels or with the features that a model needs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.read import FORMATS, format_of
from separatrix.runtime.progress import busy


def parse_column(text: str) -> str | int:
    """Parse a column given on a command line: a position or a name.

    >>> parse_column("income"), parse_column("-1")
    ('income', -1)
    """
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def read_labelled(
    name: str,
    *,
    called: str | None = None,
    progress: bool | None = None,
    keep_none: tuple[str, ...] = (),
    **file: Any,
) -> Dataset:
    """Read labelled data; `called` replaces the path in messages and pages.

    Options that are None keep the reader's defaults, but those in `keep_none`: target=None is no target.
    """
    options = {key: value for key, value in file.items() if value is not None or key in keep_none}
    if options.get("target") is not None:
        options["target"] = parse_column(options["target"])
    with busy(f"reading {called or name}", show=progress):
        data = find(name, **options)
    return data if called is None else replace(data, name=called)


def read_for(
    model: Any, path: str, target: Any = None, *, labelled: bool = False, **file: Any
) -> Dataset:
    """Read data with the features that the model was fitted to, selected by name and in their order.

    With `labelled`, also the labels: column `target`, or the one that the reader detects. A data set of
    the catalogue that has a test part gives that part.
    """
    options = {key: value for key, value in file.items() if value is not None}
    if not Path(path).exists():
        data = find(path, **options)
        if data.X_test is None:
            return data
        return replace(data, name=f"{path}, its test part", X=data.X_test, y=data.y_test)
    accepted = FORMATS[options.get("format") or format_of(path)].options
    names = getattr(model, "feature_names_in_", None)
    if "features" in accepted:
        if target is not None:
            target = parse_column(target)
        options["target"] = "auto" if labelled and target is None else target
        if names is not None:
            options["features"] = tuple(str(name) for name in names)
    if "n_features" in accepted and hasattr(model, "n_features_in_"):
        options["n_features"] = int(model.n_features_in_)
    return find(path, **options)
