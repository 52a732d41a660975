"""What makes the numbers of a fit or of a comparison less sure than they look."""

from __future__ import annotations

import numpy as np

from separatrix.app.data_summary import find_variants
from separatrix.app.train_from_file import SavedFit
from separatrix.data.dataset import Dataset
from separatrix.evaluation.data_checks import find_problems


def doubts_of(data: Dataset, done: SavedFit) -> list[str]:
    """Sentences on the data and on the fit."""
    words = problems_of(data)
    for name, end in done.edges.items():
        words.append(f"{name} is the {end} value tried: others may be better")
    if not done.converged:
        words.append("a fit missed its tolerance; the model card says so")
    held = done.held_out
    if held is not None and held.error >= held.majority_error > 0:
        always = f"always predicting {held.majority}"
        words.append(f"on held-out rows the model is no better than {always}")
    return words


def problems_of(data: Dataset) -> list[str]:
    """Sentences on classes of one row, repeated rows and columns that give the class away."""
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    words = [
        f"class {label} has one row, which cannot be both learned and tested"
        for label, count in zip(labels.tolist(), counts, strict=True)
        if count == 1
    ]
    return [
        *words[:5],
        *find_variants(labels.tolist()),
        *find_problems(data.X, data.y, data.features),
    ]
