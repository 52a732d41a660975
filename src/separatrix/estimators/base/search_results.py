"""The table of a search, in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.types import Matrix


def results_table(params: Sequence[dict[str, Any]], scores: Matrix) -> dict[str, Any]:
    """`cv_results_` from the parameters of each cell and its scores, (cells, folds).

    >>> table = results_table([{"C": 1}, {"C": 2}], np.array([[0.5, 0.7], [0.9, 0.9]]))
    >>> table["rank_test_score"].tolist(), table["param_C"]
    ([2, 1], [1, 2])
    """
    mean = scores.mean(axis=1)
    return {
        "params": list(params),
        **{f"param_{name}": [cell[name] for cell in params] for name in params[0]},
        **{f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": np.array([1 + int((mean > value).sum()) for value in mean]),
    }
