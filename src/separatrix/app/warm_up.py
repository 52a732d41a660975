"""Compile the GPU programs before the first fit of a process needs them.

Triton compiles a program when it is first launched with arguments of some types, with sizes that are or are
not multiples of 16, and keeps it in its cache: TRITON_CACHE_DIR, else ~/.triton. Here models are fitted on
the GPU to small generated tables of both kinds of sizes, so that later processes find the programs there.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import separatrix
from separatrix.runtime.device import default_gpu
from separatrix.runtime.progress import bar

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SVC", {}),
    ("SVC", {"kernel": "poly"}),
    ("SVC", {"kernel": "linear"}),
    ("SVC", {"cache_size": 8.0}),  # in chunks of rows
    ("KernelPerceptron", {"max_iter": 2}),
    ("KNeighborsClassifier", {}),
    ("LogisticRegression", {"solver": "lbfgs"}),
)
ROWS, FEATURES = (4800, 4801), 48
CLASSES = (2, 10)


def warm_up(*, progress: bool | None = None) -> dict[str, float]:
    """Fit models on the GPU and predict, once for each kind of size; return the seconds of each model.

    Parameters
    ----------
    progress
        Whether to draw a progress bar on stderr. None: if stderr is a terminal.
    """
    default_gpu()  # an error explains why there is none
    seconds: dict[str, float] = {}
    with bar("compiling", len(CALLS), show=progress) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: the tables have no meaning
        for name, options in CALLS:
            begin = time.perf_counter()
            for n in ROWS:
                for k in CLASSES:
                    X, y = _samples(n, k)
                    model = getattr(separatrix, name)(**options, device="cuda").fit(X, y)
                    model.predict(X[: n // 2])
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin
            advance()
    return seconds


def _samples(n: int, n_classes: int) -> tuple[Any, Any]:
    """Samples of overlapping classes, in float32."""
    y = np.arange(n) % n_classes
    rng = np.random.default_rng(0)
    return rng.normal(y[:, None] % 3, 1.0, size=(n, FEATURES)).astype(np.float32), y
