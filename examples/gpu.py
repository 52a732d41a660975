"""Run one grid search on the CPU and, if present, on a GPU: same result, different time.

The samples are synthetic, of ten overlapping classes. On a GPU use more of them: --rows 60000.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from separatrix import SVCCV
from separatrix.errors import DeviceError


def main() -> None:
    """Search on each device and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="number of training samples")
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, arguments.rows)
    X = rng.normal(size=(10, 40))[y] + rng.normal(scale=1.8, size=(arguments.rows, 40))
    for device in ("cpu", "cuda"):
        search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.005, 0.02], cv=5, device=device)
        start = time.perf_counter()
        try:
            search.fit(X, y)
        except DeviceError as error:
            print(f"{device}: {error}")
            continue
        seconds = time.perf_counter() - start
        print(
            f"{device}: {search.best_params_}, accuracy {search.best_score_:.4f}, {seconds:.1f} s"
        )
        print(f"    {search.best_estimator_.gram_}")


if __name__ == "__main__":
    main()
