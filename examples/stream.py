"""A stream of digits in batches: a kernel perceptron with at most 100 support vectors.

Each batch is first predicted, then learned: the accuracy is that of unseen samples.
"""

from __future__ import annotations

import argparse

import numpy as np

from separatrix import KernelPerceptron
from separatrix.data.catalogue import load
from separatrix.kernels import Gaussian


def main() -> None:
    """Learn batch by batch and print the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100, help="largest number of support vectors")
    parser.add_argument("--batch", type=int, default=200, help="samples per batch")
    arguments = parser.parse_args()

    digits = load("digits")
    classes = np.unique(digits.y)
    order = np.random.default_rng(0).permutation(len(digits.y))
    model = KernelPerceptron(Gaussian(0.001), budget=arguments.budget, predictor="average")
    print("samples seen  support vectors  accuracy on the next batch")
    for start in range(0, len(order), arguments.batch):
        batch = order[start : start + arguments.batch]
        if start:
            accuracy = model.score(digits.X[batch], digits.y[batch])
            print(f"{start:12}  {len(model.support_):15}  {accuracy:26.3f}")
        model.partial_fit(digits.X[batch], digits.y[batch], classes=classes)
    print(f"{len(order):12}  {len(model.support_):15}")


if __name__ == "__main__":
    main()
