"""The same estimators on a Dask cluster: samples in blocks on worker processes, predictions lazy.

Generates blocks on the workers, fits discriminants, logistic regression and neighbours to them, and shows
that the fits are those in memory. Needs dask: pip install 'separatrix[dask]'.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from separatrix import (
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Nystroem,
)


def make_block(number: int, rows: int) -> Any:
    """Some samples, their labels in the last column."""
    rng = np.random.default_rng(number)
    y = rng.integers(0, 3, size=rows)
    X = rng.normal(size=(rows, 20)) + 0.8 * np.eye(3, 20)[y]
    return np.column_stack([X, y])


def main() -> None:
    """Start workers, fit on them and in memory, and print the differences."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a block")
    parser.add_argument(
        "--scheduler", help="tcp://... of a running cluster  [default: two processes]"
    )
    given = parser.parse_args()
    blocks = [dask.delayed(make_block)(i, given.rows) for i in range(given.blocks)]
    shape = (given.rows, 21)
    rows = da.concatenate([da.from_delayed(block, shape, float) for block in blocks])
    X, y = rows[:, :20], rows[:, 20].astype(int)
    if given.scheduler:
        with Client(given.scheduler):
            fit_all(X, y)
        return
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        fit_all(X, y)


def fit_all(X: Any, y: Any) -> None:
    """Fit on the cluster and in memory."""
    X_here, y_here = X.compute(), y.compute()
    print(f"{X.shape[0]:,} x {X.shape[1]} samples in {X.numblocks[0]} blocks")
    for model in (LinearDiscriminantAnalysis(), LogisticRegression(tol=1e-6)):
        whole = type(model)(**model.get_params()).fit(X_here, y_here)
        model.fit(X, y)
        off = np.abs(model.coef_ - whole.coef_).max()
        name = type(model).__name__
        print(f"{name}: weights differ by {off:.0e} from those in memory")
        print(f"  {model.predict(X)!r}")
        print(f"  share of right predictions {model.score(X, y):.4f}")
    near = KNeighborsClassifier().fit(X, y)
    same = near.predict(X_here[:200]) == KNeighborsClassifier().fit(X_here, y_here).predict(
        X_here[:200]
    )
    print(f"KNeighborsClassifier: {same.sum()} of 200 predictions are those of one index")
    features = Nystroem(gamma=0.02, n_components=50, random_state=0).fit_transform(X)
    print(
        f"LinearSVC on Nystroem features: {LinearSVC().fit(features, y).score(features, y):.4f} right"
    )


if __name__ == "__main__":
    main()
