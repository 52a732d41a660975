"""Quick runs of named studies, each done once for all tests that read its results."""

import atexit
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from separatrix.experiments.run import run
from separatrix.experiments.table import Results
from separatrix.studies.catalogue import make

VIRTUAL_SV = {"data": "digits", "subsample": 400, "jitters": "1", "copies": "all"}


class QuickRun(NamedTuple):
    results: Results
    folder: Path


@cache
def quick_run(name, **options):
    """The results of the quick version of a study, and the folder of the run."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    found = run(make(name, quick=True, **options), Path(folder.name), progress=False)
    return QuickRun(found, Path(folder.name))
