"""The learning trajectory of kernel perceptrons: errors after each pass, on training and held-out rows.

One training gives the whole trajectory: the hypothesis after a pass is the sum of the corrections up to
its end, so scores after the next pass cost as many kernel rows as that pass corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.splits import Split
from separatrix.errors import ParameterError
from separatrix.estimators.base.multiclass import combine_scores
from separatrix.estimators.base.perceptron_fit import fit_on_rows
from separatrix.estimators.base.prepare import generator
from separatrix.estimators.kernel_perceptron import KernelPerceptron, unweighted
from separatrix.evaluation.study import Products
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.operations import concurrent_fits, scores_of_rows
from separatrix.runtime.device import as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.solvers.perceptron.kernel_perceptron import KernelPerceptronFit
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Gram, Matrix, Vector


class Trajectory(NamedTuple):
    """One value for each pass."""

    train_error: Vector  # of the hypothesis at the end of the pass
    test_error: Vector  # the same on held-out rows
    # share of the training rows predicted wrong just before they were learned from
    online_error: Vector
    corrected: Codes  # training rows that were corrected
    n_rows: int  # that train

    def stop(self, min_gain: float, min_iter: int = 1) -> int:
        """The pass, from 1, after which a fit with this `min_gain` and `min_iter` would have ended.

        >>> errors = np.array([0.5, 0.2, 0.19, 0.1])
        >>> flat = Trajectory(errors, errors, errors, np.array([50, 20, 19, 10]), 100)
        >>> flat.stop(0.05), flat.stop(0.05, min_iter=4), flat.stop(0.0)
        (3, 4, 4)
        """
        rule: dict[str, Any] = {"min_gain": min_gain, "min_iter": min_iter, "monitor": FitMonitor()}
        wrong = np.rint(self.online_error * self.n_rows).astype(int).tolist()
        for end in range(1, len(wrong) + 1):
            corrected = self.corrected[:end].tolist()
            if reason_to_stop(corrected, wrong[:end], self.n_rows, whole=True, **rule):
                return end
        return len(wrong)


def learning_trajectories(
    model: KernelPerceptron,
    X: Any,  # shape: (n, d)
    y: Any,  # shape: (n,)
    *,
    kernel: Kernel,
    splits: Sequence[Split],
    products: Products | None = None,
) -> list[Trajectory]:
    """The trajectory of a kernel perceptron on each split; all splits share one Gram matrix.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix.data.splits import random_splits
    >>> from separatrix.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> splits = random_splits(150, repeats=2, test_size=0.2, seed=0)
    >>> model = KernelPerceptron(multi_class="ovo", max_iter=5)
    >>> found = learning_trajectories(model, X, y, kernel=Gaussian(0.5), splits=splits)
    >>> [len(one.test_error) for one in found]
    [5, 5]
    """
    if model.predictor not in ("last", "average") or model.budget is not None:
        must_be = "without a budget, with predictor 'last' or 'average', for a trajectory"
        raise ParameterError("learning_trajectories", "model", must_be, model)
    model._check_parameters()
    classes, codes = np.unique(y, return_inverse=True)
    order = np.argsort(codes, kind="stable")  # a class is one segment of the Gram matrix
    rank = np.argsort(order)
    ranked = [Split(rank[split.train], rank[split.test]) for split in splits]

    def train(device: Any) -> list[Trajectory]:
        kept = products or Products()
        shared = kept.of(model, X[order], codes[order], len(classes), device)
        (gram,) = shared.grams([kernel])
        at_once = concurrent_fits(gram, shared.threads)
        return in_threads(
            lambda split: _trace(model, gram, codes[order], split, len(classes)),
            ranked,
            threads=at_once if device is None else 1,
        )

    policy = model._training_policy(X, kernel, owner="learning_trajectories")
    found: list[Trajectory] = run_on(policy, train)
    return found


def _trace(
    model: KernelPerceptron, gram: Gram, y: Codes, split: Split, n_classes: int
) -> Trajectory:
    """One training, and the errors of the hypothesis at the end of each pass."""
    options, rows = model._options()._replace(threads=1), split.train
    square = options.square_of(gram, rows)
    given = unweighted(y, n_classes), rows, options, generator(model), None
    found = fit_on_rows(gram, *given, square=square)
    assert isinstance(found, KernelPerceptronFit)
    train, test = [], []
    for S in _scores_by_pass(gram, found, len(rows), options, n_classes, square):
        guess = combine_scores(S, n_classes, options.scheme, options.ties, options.at_zero)
        train.append(float(np.mean(guess[split.train] != y[split.train])))
        test.append(float(np.mean(guess[split.test] != y[split.test])))
    online = found.misclassified_by_epoch / len(rows)
    return Trajectory(np.array(train), np.array(test), online, found.mistakes_by_epoch, len(rows))


def _scores_by_pass(
    gram: Gram, found: KernelPerceptronFit, n_rows: int, options: Any, n_classes: int, square: float
) -> Iterator[Matrix]:
    """Scores of all rows of the Gram after each pass, (n, p)."""
    log, p = found.mistakes, options.n_boundaries(n_classes)
    ends = np.searchsorted(log.steps, n_rows * np.arange(found.n_iter + 1))
    last, lag = np.zeros((gram.shape[0], p)), np.zeros((gram.shape[0], p))
    for number in range(found.n_iter):
        part = log._replace(
            **{k: v[slice(*ends[number : number + 2])] for k, v in log._asdict().items()}
        )
        support, index = np.unique(part.rows, return_inverse=True)
        own = part._replace(rows=index)
        sums = [
            own.coefficients(len(support), p, share=share)
            for share in (None, part.steps.astype(float))
        ]
        both = np.hstack(sums)
        added = as_numpy(scores_of_rows(gram, support, both)) + square * both.sum(axis=0)
        last, lag = last + added[:, :p], lag + added[:, p:]
        steps = min(found.n_steps, n_rows * (number + 1))
        yield last - lag / steps if options.predictor == "average" else last
