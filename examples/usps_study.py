"""The kernel-perceptron study: tables over random splits, folds inside, confusions, hardest images.

By default on the built-in digits. `--data usps` needs zipcombo.dat.gz in the folder that
SEPARATRIX_DATA names. Tables go to stdout, two pictures to the folder demo-output.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from separatrix import KernelPerceptron, evaluate
from separatrix.data.catalogue import Dataset, load
from separatrix.evaluation.result import Evaluation
from separatrix.kernels import Gaussian, Polynomial
from separatrix.report import plot_confusion, plot_hardest

Kernels = list[Polynomial] | list[Gaussian]


def study(
    title: str, data: Dataset, kernels: Kernels, rule: str, repeats: int
) -> tuple[Evaluation, Evaluation]:
    """Tables 1 and 2: every kernel on every split; then folds inside choose the kernel."""
    model = KernelPerceptron(multi_class=rule, max_iter=20)
    every = evaluate(model, data.X, data.y, kernels=kernels, repeats=repeats)
    chosen = evaluate(model, data.X, data.y, kernels=kernels, repeats=repeats, folds=5)
    numbers = [k.degree if isinstance(k, Polynomial) else k.gamma for k in kernels]
    picked = np.array(numbers)[chosen.chosen]
    print(f"\n{title}\nTable 1: every kernel. {every}\n\nTable 2: chosen by 5 folds. {chosen}")
    print(f"degree or gamma chosen: {picked.mean():.4f} ± {picked.std():.4f}")
    return every, chosen


def widths(data: Dataset) -> list[Gaussian]:
    """Seven Gaussians around the best of a coarse sweep: one split, 5 folds inside."""
    middle = 1.0 / (data.X.shape[1] * float(np.var(data.X)))
    coarse = [Gaussian(middle * 4.0**step) for step in range(-3, 4)]
    model = KernelPerceptron(multi_class="ovr", max_iter=20)
    found = evaluate(model, data.X, data.y, kernels=coarse, repeats=1, folds=5)
    return [Gaussian(coarse[found.chosen[0]].gamma * 2.0 ** (step / 2)) for step in range(-3, 4)]


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=("digits", "usps"), default="digits")
    parser.add_argument("--repeats", type=int, default=20)
    asked = parser.parse_args()
    data, out = load(asked.data), Path("demo-output")
    degrees = [Polynomial(degree) for degree in range(1, 8)]
    every, chosen = study("Polynomials, one-vs-rest", data, degrees, "ovr", asked.repeats)
    print("\nTable 3: % of each class (row) taken for another (column), mean ± sd over the splits")
    for mean, sd in zip(*chosen.confusion(), strict=True):
        print("  ".join(f"{100 * m:4.2f}±{100 * s:4.2f}" for m, s in zip(mean, sd, strict=True)))
    for row, share, guess in every.hardest(5):
        print(f"row {row}: labelled {data.y[row]}, taken for {guess}, {share:.0%} wrong")
    out.mkdir(exist_ok=True)
    plot_confusion(chosen).savefig(out / "study-confusion.png")
    plot_hardest(every, data.X, data.image or (1, 1)).savefig(out / "study-hardest.png")
    study("Gaussians, one-vs-rest", data, widths(data), "ovr", asked.repeats)
    study("Polynomials, one-vs-one", data, degrees, "ovo", asked.repeats)


if __name__ == "__main__":
    main()
