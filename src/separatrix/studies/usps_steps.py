"""S0: the kernel perceptron on handwritten digits, parts 1 to 7 of its document.

One Gram matrix serves it all: every degree and width, class and pair, split and fold. What part 2
trains again, part 1 has trained already on the same rows, so part 2 costs only its folds. All numbers
of neighbours on all splits and folds come from one search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix.data.splits import Split, random_splits
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.svc import SVC
from separatrix.experiments.protocol import Candidate, Family, Protocol, Samples
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels.vector_kernels import Gaussian, Polynomial
from separatrix.runtime.device import choose_device
from separatrix.validation import require_integer

NAME = "usps-kernel-perceptron"
FOLDS = 5
TEST_SIZE = 0.2
DEGREES = tuple(range(1, 8))
K_MOST = 9
AGAINST_THE_REST: dict[str, Any] = {"multi_class": "ovr", "max_iter": 20}

REST, ARGMAX = "1-4 one against the rest", "1 argmax"
SWEEP, GAUSSIAN, PAIRS = "5 coarse sweep", "5 Gaussian", "6 one against one"
MACHINE, NEIGHBORS = "7 support vectors", "7 nearest neighbours"
CONFUSIONS, HARDEST = "3 confusions", "4 hardest"


def families(gamma: float, device: str = "auto") -> list[Family]:
    """What is trained, in the order of the document; gamma is where the machine's widths begin."""
    rest = {**AGAINST_THE_REST, "device": device}
    argmax = {"multi_class": "argmax", "min_gain": 0.001, "min_iter": 5, "device": device}
    pairs = {"multi_class": "ovo", "max_iter": 20, "device": device}
    wide = [
        _given(SVC(C=10.0, kernel=Gaussian(gamma * 2.0**step), device=device), C=10.0)
        for step in range(-1, 3)
    ]
    ks = [
        _plain(
            {"n_neighbors": k, "metric": "cosine"},
            KNeighborsClassifier(k, metric="cosine", device=device),
        )
        for k in range(1, K_MOST + 1)
    ]
    return [
        Family(REST, [_polynomial(degree, rest) for degree in DEGREES], "gram"),
        Family(ARGMAX, [_polynomial(degree, argmax) for degree in DEGREES], "gram"),
        Family(GAUSSIAN, [_swept(step, rest) for step in range(-3, 4)], "gram"),
        Family(PAIRS, [_polynomial(degree, pairs) for degree in DEGREES], "gram"),
        Family(MACHINE, wide, "gram"),
        Family(NEIGHBORS, ks, "neighbors", "cosine"),
    ]


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    repeats: int | None = None,
    device: str = "auto",
) -> Experiment:
    """The whole protocol; quick is three splits of the digits that scikit-learn ships."""
    require_integer(NAME, "seed", seed, least=0)
    choose_device(NAME, device, worth=False)
    data = data or ("digits" if quick else "usps")
    repeats = (3 if quick else 20) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    protocol = Protocol(
        data=data,
        samples=partial(samples, data=data, repeats=repeats, seed=seed),
        repeats=repeats,
        seed=seed,
        folds=FOLDS,
    )
    # 1/256 is the published width, for pixels from -1 to 1; the digits' go from 0 to 16
    trained = families(1 / 256 if data == "usps" else 0.001, device)
    steps = [Step(SWEEP, partial(_sweep, protocol=protocol, device=device))]
    for family in trained:
        steps += protocol.steps(family)
    steps += [
        Step(CONFUSIONS, partial(_confusions, protocol=protocol, family=trained[0])),
        Step(HARDEST, partial(_hardest, protocol=protocol, family=trained[0])),
    ]
    options = {"quick": quick, "seed": seed, "data": data, "repeats": repeats}
    title = "Kernel perceptrons on handwritten digits"
    return Experiment(NAME, title, options, (data,), steps)


def samples(workshop: RunContext, data: str, repeats: int, seed: int) -> Samples:
    """All digits in an order drawn by the seed, and random splits of them."""
    found = workshop.data(data)
    n = len(found.y)
    order = np.random.default_rng(seed).permutation(n)
    drawn = random_splits(n, repeats=repeats, test_size=TEST_SIZE, seed=seed)
    return Samples(found.X, found.y, [Split(order[s.train], order[s.test]) for s in drawn])


def _sweep(workshop: RunContext, protocol: Protocol, device: str) -> StepResult:
    """The folds of one split try widths far apart; the best is the middle of the fine ones."""
    X = workshop.data(protocol.data).X
    middle = 1.0 / (X.shape[1] * float(np.var(X)))
    first = Protocol(protocol.data, _first_split(protocol), 1, protocol.seed, protocol.folds)
    rows: list[Row] = []
    for step in range(-3, 4):
        kernel = Gaussian(middle * 4.0**step)
        width = _plain_kernel(kernel, {**AGAINST_THE_REST, "device": device})
        rows += first.held_out(workshop, Family(SWEEP, [width], "gram"), 0).rows
    best = int(np.argmin([row.value for row in rows])) - 3
    return StepResult(rows, {"best": np.array([middle * 4.0**best])})


def _first_split(protocol: Protocol) -> Callable[[RunContext], Samples]:
    def first(workshop: RunContext) -> Samples:
        X, y, splits = protocol.samples(workshop)
        return Samples(X, y, splits[:1])

    return first


def _confusions(workshop: RunContext, protocol: Protocol, family: Family) -> StepResult:
    """The share of each class that is taken for another, mean and sd over the splits."""
    study = protocol.study(workshop, family)
    mean, sd = study.confusion()
    labels = study.classes.tolist()
    rows = [
        Row(
            CONFUSIONS,
            protocol.data,
            family.name,
            params_json(of=a, taken_for=b),
            ALL_SPLITS,
            name,
            float(cell),
        )
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        for name, cell in (("mean", mean[i, j]), ("sd", sd[i, j]))
    ]
    return StepResult(rows, {"mean": mean, "sd": sd})


def _hardest(workshop: RunContext, protocol: Protocol, family: Family) -> StepResult:
    """The five digits mistaken most often by all trainings of part 1."""
    data = workshop.data(protocol.data)
    found = protocol.study(workshop, family).hardest(5)
    rows = [
        Row(
            HARDEST,
            protocol.data,
            family.name,
            params_json(row=row, label=data.y[row], taken_for=guess, position=position),
            ALL_SPLITS,
            "share_wrong",
            share,
        )
        for position, (row, share, guess) in enumerate(found, start=1)
    ]
    images = np.asarray(data.X[[row for row, _, _ in found]], dtype=np.float64)
    return StepResult(
        rows, {"images": images, "shape": np.array(data.image or (1, images.shape[1]))}
    )


def _plain(parameters: dict[str, Any], model: Any) -> Callable[[RunContext], Candidate]:
    return lambda _workshop: Candidate(parameters, model)


def _given(model: Any, **more: Any) -> Callable[[RunContext], Candidate]:
    return _plain(_of_kernel(model.kernel) | more, model)


def _polynomial(degree: int, rule: dict[str, Any]) -> Callable[[RunContext], Candidate]:
    return _plain_kernel(Polynomial(degree), rule)


def _plain_kernel(kernel: Any, rule: dict[str, Any]) -> Callable[[RunContext], Candidate]:
    return _given(KernelPerceptron(kernel, **rule))


def _swept(step: int, rule: dict[str, Any]) -> Callable[[RunContext], Candidate]:
    """A width half a power of two from the next, around the best of the coarse sweep."""

    def width(workshop: RunContext) -> Candidate:
        kernel = Gaussian(float(workshop.found(SWEEP).arrays["best"][0]) * 2.0 ** (step / 2))
        return Candidate(_of_kernel(kernel), KernelPerceptron(kernel, **rule))

    return width


def _of_kernel(kernel: Any) -> dict[str, Any]:
    return {"kernel": type(kernel).__name__, **kernel.get_params()}
