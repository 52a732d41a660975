"""Quick runs of named experiments, each done once for all tests that look at what it found."""

import atexit
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from separatrix.experiments.run import run
from separatrix.experiments.table import Results


class QuickRun(NamedTuple):
    results: Results
    folder: Path


@cache
def quick_run(module, **options):
    """What the quick version of an experiment found, and the folder that it was run in."""
    experiment = import_module(f"separatrix.experiments.{module}").experiment
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    found = run(experiment(quick=True, **options), Path(folder.name), progress=False)
    return QuickRun(found, Path(folder.name))
