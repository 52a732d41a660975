"""The experiments that have a name: where each is, which document it reproduces, what it needs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from separatrix.data.catalogue.find import find
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Experiment


@dataclass(frozen=True)
class Named:
    """One experiment of the house."""

    module: str  # with `experiment`, and of the same name in `report` with `page`
    caption: str
    data: str


NAMED = {
    "usps-kernel-perceptron": Named(
        "usps", "kernel perceptrons on handwritten digits, parts 1 to 7 of the document", "usps"
    ),
    "knn-and-perceptron": Named(
        "knn_and_perceptron", "nearest neighbours and perceptrons: accuracy, k, features", "iris"
    ),
    "linear-classifiers": Named(
        "linear", "twelve claims about linear classifiers, each a picture and a table", "built in"
    ),
    "kernel-methods": Named(
        "kernel_methods",
        "primal and dual, the bound, feature maps, one Gram for any object",
        "built in, promoters, mutag",
    ),
    "mnist-parity": Named(
        "mnist_parity", "odd or even digits by subgradient descent, and by kernels", "mnist"
    ),
    "mnist-all": Named("mnist_all", "every family on MNIST: error, time, memory", "mnist"),
    "mnist-virtual-sv": Named(
        "mnist_virtual_sv", "support vectors, moved by a pixel or two, trained again", "mnist"
    ),
    "splice": Named(
        "splice", "splice junctions by string kernels, and the letters that decide", "splice"
    ),
    "promoters": Named(
        "promoters", "promoters by string kernels, with and without overlaps", "promoters"
    ),
    "mutag": Named("mutag", "molecules by kernels on graphs, and the atoms that decide", "mutag"),
    "reuters-strings": Named(
        "reuters_strings", "news by subsequences, runs of letters and words", "r8"
    ),
}


def make(name: str, **options: Any) -> Experiment:
    """The experiment of that name, with the options that were given; its data may be a file.

    >>> make("usps-kernel-perceptron", quick=True).options["data"]
    'digits'
    """
    if name not in NAMED:
        raise ExperimentError(f"no experiment is called {name!r}; there are {', '.join(NAMED)}")
    build = import_module(f"separatrix.studies.{NAMED[name].module}_steps").experiment
    known = list(inspect.signature(build).parameters)
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            listed = ", ".join(f"--{word.replace('_', '-')}" for word in known)
            error = ExperimentError(f"{name} has no option --{key.replace('_', '-')}")
            error.hint = f"it has {listed}"
            raise error
    experiment: Experiment = build(**given)
    return replace(experiment, load=find)
