"""What turns sequences and graphs into vectors of counts, in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.kernels.object_kernels import FeatureKernel
from separatrix.modelfile.schema import ModelSchema, Values, require, set_all, without
from separatrix.modelfile.values import KernelObject
from separatrix.modelfile.vocabulary_fields import VocabularyField


def _unpack(model: Any, values: Values) -> None:
    """How many features each level has follows from the vocabulary."""
    set_all(model, values)
    meant = model._counting(model.kernel)
    require(meant == model.kernel_, "kernel_", f"{meant!r}, as `kernel` says", model.kernel_)
    tables = set(model.vocabulary_.tables)
    counts = model.kernel_.counts(np.empty(0, dtype=object), model.vocabulary_)
    missing = set(model.vocabulary_.tables) - tables
    require(not missing, "vocabulary_", "with all tables of its kernel", f"without {missing}")
    model.widths_ = tuple(int(part.shape[1]) for part in counts)


KINDS = {
    "KernelFeatures": ModelSchema(
        KernelFeatures,
        {"kernel_": KernelObject((FeatureKernel,)), "vocabulary_": VocabularyField()},
        pack=without("widths_"),
        unpack=_unpack,
    ),
}
