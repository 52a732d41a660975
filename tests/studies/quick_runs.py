"""Quick runs of named studies, each done once for all tests that read its results."""

import atexit
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.studies.synthetic_dna import sequences, write

from separatrix.experiments.run import run
from separatrix.experiments.steps import Results
from separatrix.studies.catalogue import make


class QuickRun(NamedTuple):
    results: Results
    folder: Path


def temporary_folder():
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


OPTIONS = {
    "kernel-methods": {},
    "knn-and-perceptron": {"repeats": 2, "max_iter": 5, "k_max": 12},
    "linear-classifiers": {},
    "mnist-all": {"subsample": 400},
    "mnist-parity": {"data": "digits"},
    "mnist-virtual-sv": {"data": "digits", "subsample": 400, "jitters": "1", "copies": "all"},
    "mnist8m": {"data": "digits", "sizes": "120,300"},
    "splice": {"data": write(temporary_folder() / "synthetic.data", *sequences(90))},
}


@cache
def quick_run(name, **options):
    """The results of the quick version of a study, and the folder of the run."""
    folder = temporary_folder()
    options = options or OPTIONS.get(name, {})
    return QuickRun(run(make(name, quick=True, **options), folder, progress=False), folder)
