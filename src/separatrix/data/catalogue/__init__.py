"""Data sets by name: those of scikit-learn, and others from files that are found or downloaded.

Files are searched in the folder of the environment variable `SEPARATRIX_DATA`, then in the user's cache.
`get` downloads missing files into the cache, and so does `load` unless the variable is set: then a
missing file is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.catalogue.dataset_cards import DATASET_CARDS, DatasetCard, File
from separatrix.data.catalogue.download import fetch, pooch
from separatrix.data.dataset import Dataset
from separatrix.data.read import read
from separatrix.errors import DataError, MissingDataError, MissingPackageError

VARIABLE = "SEPARATRIX_DATA"
BUILT_IN, ON_DISK, TO_DOWNLOAD = "built in", "on disk", "to download"
_BOTH_PARTS = "zipcombo.dat.gz"  # zip.train, then zip.test: read where it is there


def class_names(name: str, labels: Any) -> dict[Any, str]:
    """Names of the sorted labels of a data set, by label; empty if a label is its own name.

    >>> import numpy as np
    >>> class_names("iris", np.array([0, 1, 2]))
    {0: 'setosa', 1: 'versicolor', 2: 'virginica'}
    """
    if name not in names():
        return {}
    known = [title for title, _ in dataset_card(name).classes]
    same = len(known) != len(labels) or sorted(known) == sorted(map(str, labels.tolist()))
    return {} if same else dict(zip(labels.tolist(), known, strict=True))


def names() -> tuple[str, ...]:
    """Names of all data sets.

    >>> names()[:4]
    ('iris', 'digits', 'wine', 'breast_cancer')
    """
    return tuple(DATASET_CARDS)


def dataset_card(name: str) -> DatasetCard:
    """Description of a data set.

    >>> dataset_card("mutag").rows, dataset_card("mutag").kind
    (188, 'graphs')
    """
    if name not in DATASET_CARDS:
        raise MissingDataError(
            f"no data set is called {name!r}; there are {', '.join(sorted(DATASET_CARDS))}"
        )
    return DATASET_CARDS[name]


def state(name: str) -> str:
    """Whether it is "built in", "on disk" or "to download".

    >>> state("iris")
    'built in'
    """
    files = dataset_card(name).files
    if not files:
        return BUILT_IN
    return ON_DISK if _found(name, files) is not None else TO_DOWNLOAD


def load(name: str, *, progress: bool | None = None) -> Dataset:
    """Return the data set of that name: its samples `X`, labels `y` and names of columns.

    Parameters
    ----------
    name
        A name that `separatrix data list` prints. A set that is not on this machine is downloaded
        first, unless SEPARATRIX_DATA names a folder of data sets.
    progress
        Whether to show the progress of a download; None: on a terminal.

    Examples
    --------
    >>> load("iris").X.shape
    (150, 4)
    """
    known = dataset_card(name)
    if not known.files:
        return _shipped(known)
    paths = _found(name, known.files)
    if paths is None:
        if os.environ.get(VARIABLE):
            raise MissingDataError(_what_is_missing(name, known.files))
        get(name, progress=progress)
        paths = _found(name, known.files) or []
    data = replace(_READERS[name](paths), name=name)
    _require_rows(known, data, paths)
    return data


def get(name: str, *, progress: bool | None = None) -> Path | None:
    """Download the files of a data set if necessary; their folder, None if it is built in.

    progress=None shows a progress bar if stderr is a terminal.
    """
    files = dataset_card(name).files
    if not files:
        return None
    paths = _found(name, files)
    if paths is not None:
        return paths[0].parent
    listed = " and ".join(file.name for file in files)
    advice = f"put {listed} into a folder and set {VARIABLE} to that folder"
    try:
        folder = cache_folder()
        fetch(files, folder, progress=progress)
    except MissingDataError as error:
        raise MissingDataError(f"{name} is not on this machine; {error}; {advice}") from None
    except MissingPackageError as error:
        raise MissingPackageError(f"{name} is not on this machine; {error}; or {advice}") from None
    except OSError as error:
        raise MissingDataError(f"{name} has no place in the cache ({error}); {advice}") from None
    return (folder / files[0].plain).parent


def cache_folder() -> Path:
    """The folder of downloads."""
    return Path(pooch().os_cache("separatrix"))


def _found(name: str, files: tuple[File, ...]) -> list[Path] | None:
    """Paths of the files, in their order; None if one is missing."""
    for folder in _folders():
        if name == "usps" and (both := _find_file(folder, _BOTH_PARTS)):
            return [both]
        paths = [_find_file(folder, file.name) for file in files]
        if all(paths):
            return [path for path in paths if path]
    return None


def _folders() -> list[Path]:
    named = os.environ.get(VARIABLE)
    folders = [Path(named)] if named else []
    try:
        return [*folders, cache_folder()]
    except MissingPackageError:
        return folders


def _find_file(folder: Path, name: str) -> Path | None:
    paths = (folder / name, folder / name.removesuffix(".gz"))
    return next((path for path in paths if path.is_file()), None)


def _what_is_missing(name: str, files: tuple[File, ...]) -> str:
    folder = os.environ[VARIABLE]
    if name == "usps":
        missing = f"{_BOTH_PARTS} in it, nor {' and '.join(file.name for file in files)}"
    else:
        names = (file.name for file in files if not _find_file(Path(folder), file.name))
        missing = f"{next(names, '')} in it"
    return (
        f"{VARIABLE} is {folder}, but there is no file {missing}; put it there, or download it "
        f"with: separatrix data get {name}"
    )


def _require_rows(known: DatasetCard, data: Dataset, paths: list[Path]) -> None:
    found = (len(data.y), 0 if data.y_test is None else len(data.y_test))
    if found != (known.rows, known.test_rows):
        raise DataError(
            f"{known.name} in {paths[0].parent} has {found[0]} rows and {found[1]} to test; it "
            f"should have {known.rows} and {known.test_rows}: these are other files of that name"
        )


def _shipped(known: DatasetCard) -> Dataset:
    from sklearn import datasets

    found = getattr(datasets, f"load_{known.name}")()
    image = (8, 8) if known.name == "digits" else None
    features = None if image else tuple(str(name) for name in found.feature_names)
    return Dataset(known.name, found.data, found.target, image=image, features=features)


def _usps(paths: list[Path]) -> Dataset:
    """9298 digits of 16 x 16, from one file or from two."""
    parts = [read(path, format="esl") for path in paths]
    X, y = (np.concatenate(arrays) for arrays in zip(*((p.X, p.y) for p in parts), strict=True))
    return Dataset("usps", X, y, image=(16, 16))


def _idx(paths: list[Path]) -> Dataset:
    train, test = (read(path, format="idx") for path in (paths[0], paths[2]))
    return replace(train, X_test=test.X, y_test=test.y)


def _adult(paths: list[Path]) -> Dataset:
    import scipy.sparse

    parts = []
    for path in paths:
        found = read(path, format="svmlight", n_features=123)
        X = scipy.sparse.csr_matrix(found.X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        parts += [X, found.y.astype(np.intp)]
    return Dataset("", *parts)


def _texts(paths: list[Path]) -> Dataset:
    train, *test = (read(path, format="text") for path in paths)
    return replace(train, X_test=test[0].X, y_test=test[0].y) if test else train


_READERS: dict[str, Callable[[list[Path]], Dataset]] = {
    "usps": _usps,
    **dict.fromkeys(("mnist", "fashion_mnist"), _idx),
    **dict.fromkeys(("a4a", "a9a"), _adult),
    **dict.fromkeys(("sms_spam", "r8"), _texts),
    **dict.fromkeys(("promoters", "splice"), lambda paths: read(paths[0], format="dna")),
    "mutag": lambda paths: read(paths[0].parent, format="tu"),
}
