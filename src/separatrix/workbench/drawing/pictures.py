"""The data sets of pictures that models learn from, and how they are split.

Pixels are stored once, in float32, divided by the largest value that a pixel can have. Rows are numbered
as in the data set; corrections have the numbers after those.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data import catalogue
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.errors import DataError
from separatrix.types import Codes, Matrix
from separatrix.workbench.drawing.canvas import KNOWN, Canvas, measure_canvas, side_of
from separatrix.workbench.drawing.canvas import OWN as OWN_CANVAS
from separatrix.workbench.drawing.requests import OWN
from separatrix.workbench.local_data import download_hint, is_local, require_local

USPS_TRAINING = 7291  # the rows that came as zip.train
MAX_ROWS, MAX_TESTED = 6_000, 2_000
MAX_CLASSES = 100
TEST_SHARE = 5  # one row in so many is held out if a data set has no test part
TITLES = {
    "digits": "Digits, 8 x 8 (built in)",
    "usps": "USPS digits, 16 x 16",
    "mnist": "MNIST digits, 28 x 28",
}


@dataclass(frozen=True)
class Pictures:
    """Training pictures, held-out pictures, and the Python that loads them."""

    name: str
    canvas: Canvas
    rows: Codes  # shape: (n,); their numbers in the data set
    X: Matrix  # shape: (n, d); float32
    y: Any  # shape: (n,)
    X_test: Matrix  # shape: (m, d)
    y_test: Any  # shape: (m,)
    total: int  # rows of the data set
    caption: str
    code: str


def first_data_set() -> str:
    """MNIST, whose pictures are the most like drawings, if it is here; else the built-in digits."""
    return "mnist" if is_local("mnist") else "digits"


def list_data_sets(extra: str | None) -> list[dict[str, Any]]:
    """The data sets to choose from, `extra` among them."""
    return [_entry(name) for name in dict.fromkeys([*TITLES, extra or "digits"])]


def load_pictures(name: str) -> Pictures:
    """A data set of the catalogue, or a file, as pictures; raises a DataError if it is not one."""
    require_local(name)
    data = find(name)
    _require_pictures(data)
    canvas = KNOWN.get(name) or measure_canvas(np.asarray(data.X))
    train, test, code = _split(data)
    with_test = data.X_test is not None
    X_other, y_other = (data.X_test, data.y_test) if with_test else (data.X, data.y)
    n, unit = len(data.y), canvas.unit
    some = f"{len(train):,} of {n:,}" if len(train) < n else f"{n:,}"
    part = "_test" if with_test else ""
    return Pictures(
        name=name,
        canvas=canvas,
        rows=train,
        X=_scale(data.X, train, unit),
        y=np.asarray(data.y)[train],
        X_test=_scale(X_other, test, unit),
        y_test=np.asarray(y_other)[test],
        total=n,
        caption=f"models learn from {some} pictures and are tested on {len(test):,} others",
        code=f"data = find({name!r})\n{code}\n"
        f"X, y = (data.X[train] / {unit!r}).astype(np.float32), data.y[train]\n"
        f"X_test = (data.X{part}[test] / {unit!r}).astype(np.float32)\n"
        f"y_test = data.y{part}[test]",
    )


def make_blank(side: int) -> Pictures:
    """A canvas without a data set, for a model whose data is missing."""
    canvas = next((c for c in KNOWN.values() if c.side == side), None)
    canvas = canvas or Canvas(side=side, box=side * 0.9, pen=side * 0.1, widest=side * 0.1)
    none = np.empty((0, side * side), dtype=np.float32)
    no_labels = np.empty(0, dtype=np.intp)
    return Pictures(
        blank_name(side), canvas, no_labels, none, no_labels, none, no_labels, 0, "no data set", ""
    )


def make_own(images: list[Matrix], labels: list[str]) -> Pictures:
    """Drawings, ink from 0 to 1 on the canvas `OWN_CANVAS`, as a data set."""
    d = OWN_CANVAS.side**2
    none, no_labels = np.empty((0, d), dtype=np.float32), np.empty(0, dtype=np.intp)
    X = np.array([OWN_CANVAS.values(ink.ravel()) for ink in images], dtype=np.float32)
    return Pictures(
        name=OWN,
        canvas=OWN_CANVAS,
        rows=np.arange(len(images)),
        X=X.reshape(-1, d),
        y=np.array(labels, dtype=object if not labels else None),
        X_test=none,
        y_test=no_labels,
        total=len(images),
        caption=f"models learn from your {len(images)} drawings; none is held out",
        code="",
    )


def own_entry(rows: int) -> dict[str, Any]:
    """The entry of one's own classes in the list of data sets."""
    entry = {"name": OWN, "title": "Your own classes", "rows": rows, "side": OWN_CANVAS.side}
    return {**entry, "state": "available", "hint": ""}


def blank_name(side: int) -> str:
    """The name of a canvas without a data set."""
    return f"blank {side} x {side}"


def blank_entry(side: int) -> dict[str, Any]:
    """Its entry in the list of data sets."""
    title = f"{side} x {side}, without a data set"
    entry = {"name": blank_name(side), "title": title, "rows": 0, "side": side}
    return {**entry, "state": "available", "hint": ""}


def label_text(label: Any) -> str:
    """A label as text.

    >>> label_text(np.int64(3)), label_text(3.0), label_text("spam")
    ('3', '3', 'spam')
    """
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _entry(name: str) -> dict[str, Any]:
    known, available = name in catalogue.names(), is_local(name)
    return {
        "name": name,
        "title": TITLES.get(name, Path(name).name),
        "rows": catalogue.dataset_card(name).rows if known else 0,
        "side": KNOWN[name].side if name in KNOWN else 0,
        "state": "available" if available else "missing",
        "hint": "" if available else download_hint(name),
    }


def _require_pictures(data: Dataset) -> None:
    X = data.X
    if data.kind != "vectors" or not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
        raise DataError(
            f"{data.name} does not hold pictures: its rows must be numbers, one for each pixel"
        )
    side_of(X.shape[1])
    classes = 0 if data.y is None else len(np.unique(np.asarray(data.y)))
    if classes < 2:
        raise DataError(f"{data.name} has fewer than two different labels")
    if classes > MAX_CLASSES:
        raise DataError(f"{data.name} has {classes} classes; at most {MAX_CLASSES} are supported")
    if not np.isfinite(X).all():
        raise DataError(f"{data.name} has pixels that are not finite numbers")


def _split(data: Dataset) -> tuple[Codes, Codes, str]:
    """Training rows, held-out rows, and the lines of Python that give both."""
    n = len(data.y)
    if data.name == "usps":
        code = f"train, test = np.arange({USPS_TRAINING}), np.arange({USPS_TRAINING}, len(data.y))"
        return np.arange(USPS_TRAINING), np.arange(USPS_TRAINING, n), code
    order = np.random.default_rng(0).permutation(n)
    shuffle = "order = np.random.default_rng(0).permutation(len(data.y))"
    if data.X_test is None:
        held = min(n // TEST_SHARE, MAX_TESTED)
        code = f"{shuffle}\ntrain, test = order[{held}:][:{MAX_ROWS}], order[:{held}]"
        return order[held:][:MAX_ROWS], order[:held], code
    step = max(1, len(data.y_test) // MAX_TESTED)
    code = f"{shuffle}\ntrain, test = order[:{MAX_ROWS}], np.arange(0, len(data.y_test), {step})"
    return order[:MAX_ROWS], np.arange(0, len(data.y_test), step), code


def _scale(X: Any, rows: Codes, unit: float) -> Matrix:
    return np.ascontiguousarray((np.asarray(X)[rows] / unit).astype(np.float32))
