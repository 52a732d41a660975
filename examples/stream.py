"""A stream of digits in batches: a kernel perceptron that never keeps more than 100 of them.

Each batch is first predicted, then learned from: accuracy on samples not yet seen, as it goes.
"""

from __future__ import annotations

import argparse

import numpy as np

from separatrix import KernelPerceptron
from separatrix.data.catalogue import load
from separatrix.kernels import Gaussian


def main() -> None:
    """Parse, stream, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100, help="support vectors at most")
    parser.add_argument("--batch", type=int, default=200, help="samples at a time")
    asked = parser.parse_args()

    digits = load("digits")
    classes = np.unique(digits.y)
    order = np.random.default_rng(0).permutation(len(digits.y))
    model = KernelPerceptron(Gaussian(0.001), budget=asked.budget, predictor="average")
    print("samples seen  support vectors  accuracy on the next batch")
    for start in range(0, len(order), asked.batch):
        batch = order[start : start + asked.batch]
        if start:
            accuracy = model.score(digits.X[batch], digits.y[batch])
            print(f"{start:12}  {len(model.support_):15}  {accuracy:26.3f}")
        model.partial_fit(digits.X[batch], digits.y[batch], classes=classes)
    print(f"{len(order):12}  {len(model.support_):15}")


if __name__ == "__main__":
    main()
