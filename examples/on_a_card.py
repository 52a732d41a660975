"""The same search on the CPU and, where there is one, on a card: same choice, other time.

Made-up rows of ten classes that overlap. Take more of them, say --rows 60000, where there is a card.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from separatrix import SVCCV
from separatrix.errors import DeviceError


def main() -> None:
    """Parse, search on each device, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="how many to learn from")
    asked = parser.parse_args()

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, asked.rows)
    X = rng.normal(size=(10, 40))[y] + rng.normal(scale=1.8, size=(asked.rows, 40))
    for device in ("cpu", "cuda"):
        search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.005, 0.02], cv=5, device=device)
        began = time.perf_counter()
        try:
            search.fit(X, y)
        except DeviceError as error:
            print(f"{device}: {error}")
            continue
        seconds = time.perf_counter() - began
        print(f"{device}: {search.best_params_}, {search.best_score_:.4f} right, {seconds:.1f} s")
        print(f"    {search.best_estimator_.gram_}")


if __name__ == "__main__":
    main()
