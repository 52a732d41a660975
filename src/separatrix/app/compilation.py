"""Compile the loops of the classifiers into numba's cache before the first fit needs them.

numba compiles a function when it is first called with arguments of some types, and keeps the machine code
in its cache: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache folder. One
function after the other that takes longer than most fits. Here each group of classifiers is fitted to
small generated tables in a process of its own: `python -m separatrix.app.compilation TABLES MODEL...`.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import separatrix
from separatrix.errors import SeparatrixError
from separatrix.jit import keeps_code
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.solvers.subgradient import _tile
from separatrix.validation import require_choice

GROUPS: tuple[
    tuple[str, ...], ...
] = (  # the slowest first; a function is compiled in one group only
    ("KNeighborsClassifier", "RadiusNeighborsClassifier"),
    (
        *("SVC", "SVCCV", "NuSVC", "OneClassSVM"),
        *("KernelLogisticRegression", "KernelFisherDiscriminant"),
    ),
    ("KernelPerceptron", "KernelPerceptronCV", "Perceptron", "PassiveAggressiveClassifier"),
    (
        *("LogisticRegression", "LinearSVC", "LeastSquaresClassifier", "SubgradientSVC"),
        *("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
        *("GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"),
        "NearestCentroid",
    ),
)
MODELS = tuple(model for group in GROUPS for model in group)
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {  # beside the defaults
    "SVC": ({"kernel": "poly"}, {"kernel": "linear"}),
    "KNeighborsClassifier": ({"weights": "distance"},),
}
ONLY = {"CategoricalNB": ("uint8", "binary")}  # tables of classifiers that do not take all
WIDTHS = {"sparse": 8, "wide": 5_000, "text": 70_000}  # indices of one, two and four bytes
SHAPES = {"broad": (5_000, 256), "long": (20_000, 16)}  # dense, for other indices of neighbours
TABLES = ("dense", "large", "float32", "uint8", "binary", *WIDTHS, *SHAPES)
MANY_FEATURES = (  # what is fitted to wide tables
    *("LogisticRegression", "LinearSVC", "SubgradientSVC", "Perceptron"),
    *("PassiveAggressiveClassifier", "MultinomialNB", "ComplementNB", "BernoulliNB"),
)
MANY_PROBLEMS = ("SVC", "NuSVC")  # which solve few pairs of classes and many in different ways
FEW, MANY = 400, 2200  # rows of a kernel matrix in float64, and of one in float32


def compile_models(
    models: Sequence[str] = MODELS,
    *,
    tables: Sequence[str] = TABLES,
    progress: bool | None = None,
) -> dict[str, float]:
    """Compile what these classifiers use; return the seconds of each group, by its models.

    Parameters
    ----------
    models
        Names of classifiers, from `MODELS`.
    tables
        Kinds of samples, from `TABLES`; "large" is for more than 2,000 dense samples, "wide" and "text"
        are sparse with up to 65,536 and more features, "broad" and "long" for neighbours.
    progress
        Whether to draw a progress bar on stderr. None: if stderr is a terminal.
    """
    for model in models:
        require_choice("compile_models", "models", model, MODELS)
    for table in tables:
        require_choice("compile_models", "tables", table, TABLES)
    if not keeps_code(_tile):
        raise SeparatrixError(
            "compiled code cannot be kept here: set NUMBA_CACHE_DIR to a folder that can be written"
        )
    groups = [[model for model in group if model in models] for group in GROUPS]
    groups = [group for group in groups if group]

    with bar("compiling", len(groups), show=progress) as advance:

        def compile_group(group: list[str]) -> float:
            begin = time.perf_counter()
            _run(["-m", __name__, ",".join(tables), *group])
            advance()
            return time.perf_counter() - begin

        seconds = in_threads(compile_group, groups, threads=min(len(groups), thread_count()))
    return {", ".join(group): spent for group, spent in zip(groups, seconds, strict=True)}


def is_compiled() -> bool:
    """Whether numba's cache holds functions of the solvers, of this version of Python, or cannot keep any.

    It does not tell for which types; those that are missing are compiled when they are called.
    """
    if not keeps_code(_tile):
        return True
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    return any(Path(_tile.stats.cache_path).glob(f"*.py{version}*.nbi"))


def _run(words: list[str]) -> None:
    """Run Python in a process of its own; an error there is an error here."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise SeparatrixError(f"compilation ended with status {done.returncode}: {' '.join(last)}")


def _main(tables: str, *models: str) -> None:
    warnings.simplefilter("ignore")  # of convergence: the tables have no meaning
    for table in tables.split(","):
        for model in models:
            _fit(model, table)


def _fit(model: str, table: str) -> None:
    """Fit a classifier to a generated table, and predict some of its rows."""
    wide = WIDTHS.get(table, 0) > WIDTHS["sparse"]
    if table not in ONLY.get(model, TABLES) or (wide and model not in MANY_FEATURES):
        return
    if table in SHAPES and model != "KNeighborsClassifier":
        return
    X, y = _samples(table)
    if table == "large" and model in MANY_PROBLEMS:
        getattr(separatrix, model)().fit(X, np.arange(len(y)) % 12)
    for options in ({}, *OPTIONS.get(model, ())):
        fitted = getattr(separatrix, model)(**options).fit(X, y)
        many = table == "large" or table in SHAPES  # which have other loops than few
        fitted.predict(X[:2200] if many else X[:10])
        if hasattr(fitted, "predict_proba"):
            fitted.predict_proba(X[:10])


def _samples(table: str) -> tuple[Any, Any]:
    """Samples of three classes, none with a negative value."""
    n, d = SHAPES.get(table, (MANY if table == "large" else FEW, 8))
    y = np.arange(n) % 3
    X = abs(np.random.default_rng(0).normal(y[:, None], 1.0, size=(n, d)))
    if table in ("float32", "uint8"):
        return X.astype(table), y
    if table == "binary":
        return (X > 1).astype(float), y
    if table not in WIDTHS:
        return X, y
    rows, columns = np.nonzero(X > 1)
    step = WIDTHS[table] // X.shape[1]
    return csr_array((X[rows, columns], (rows, step * columns)), (len(y), WIDTHS[table])), y


if __name__ == "__main__":
    _main(*sys.argv[1:])
