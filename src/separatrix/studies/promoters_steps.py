"""Promoters of E. coli: leave-one-out over string kernels, everything chosen inside the 105 others.

The sequences without a promoter were cut from one stretch of DNA, and most of them overlap: 52 of the 53
share 14 letters or more in a row with another. A kernel on words finds its neighbour's words in the
training part. So all is done twice: one row left out, as was published, and with it all rows that
overlap with it, where nothing is known of it but what promoters have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from separatrix.data.catalogue.find import find
from separatrix.experiments.steps import Experiment, Step
from separatrix.kernels import Kernel, Normalized, Spectrum, Subsequence, WeightedDegree
from separatrix.studies.sequence_candidates import machines
from separatrix.studies.sequence_samples import (
    drawn_from,
    group_out_way,
    one_out_way,
    related,
)
from separatrix.studies.sequence_study import DATA, Study, look
from separatrix.validation import require_integer

NAME = "promoters"
ONE, RELATED = "one row left out", "its relatives left out too"
DEGREE, SPECTRUM, GAPS = "weighted degree", "spectrum", "subsequence"
ANY = "any of the three"
SHARED = 12  # letters in a row: no two sequences of different classes share so many
CS = (0.1, 1.0, 10.0, 100.0)
FOLDS = 10  # inside each training part
QUICK_ROWS = 40


def kernels(quick: bool) -> dict[str, Sequence[Kernel]]:
    """What is chosen from, the simplest first."""
    longest, words, gapped = (4, 3, 3) if quick else (10, 6, 5)
    decays = (0.5,) if quick else (0.3, 0.5, 0.7, 0.9)
    one = [Spectrum(k) for k in range(1, words + 1)]
    all_lengths = [Spectrum(k, shortest=1) for k in range(2, words + 1)]
    found: dict[str, Sequence[Kernel]] = {
        DEGREE: [WeightedDegree(k) for k in range(1, longest + 1)],
        SPECTRUM: [*one, *all_lengths],
        GAPS: [Subsequence(k, decay) for decay in decays for k in range(2, gapped + 1)],
    }
    return {name: [Normalized(kernel) for kernel in some] for name, some in found.items()}


def experiment(
    *, quick: bool = False, seed: int = 0, data: str = "promoters", subsample: int | None = None
) -> Experiment:
    """Leave-one-out of three families of kernels, each under its own nested choice, and of all three.

    Parameters
    ----------
    quick
        Forty sequences and fewer kernels.
    data
        A name of the catalogue, or a file of sequences.
    subsample
        Draw this many sequences. None: all.
    """
    require_integer(NAME, "seed", seed, least=0)
    if subsample is None and quick:
        subsample = QUICK_ROWS
    if subsample is not None:
        require_integer(NAME, "subsample", subsample, least=8)
    inner = 3 if quick else FOLDS
    study = Study(
        data=data,
        sequences=partial(
            drawn_from,
            data=data,
            subsample=subsample,
            seed=seed,
            groups=partial(related, letters=SHARED),
        ),
        ways={
            ONE: partial(one_out_way, inner=inner, seed=seed),
            RELATED: partial(group_out_way, inner=inner, seed=seed),
        },
        families={name: machines(some, CS) for name, some in kernels(quick).items()},
        unions={ANY: (DEGREE, SPECTRUM, GAPS)},
    )
    options = {"quick": quick, "seed": seed, "data": data, "subsample": subsample}
    steps = [Step(DATA, partial(look, study=study)), *study.steps()]
    title = "Promoters told by string kernels"
    return Experiment(NAME, title, options, (data,), steps, find)
