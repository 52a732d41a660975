"""The table of named studies: module, caption and data of each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from separatrix.data.catalogue.find import find
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Experiment, Results

if TYPE_CHECKING:  # the server reads this catalogue, and must stay light
    from separatrix.report.page import Page


@dataclass(frozen=True)
class NamedStudy:
    """A study that `separatrix run` knows by name."""

    module: str  # of this package, with `experiment` and `page`
    caption: str
    data: str


NAMED = {
    "usps-kernel-perceptron": NamedStudy(
        "usps",
        "kernel perceptrons on digits: degrees, widths, confusions, hardest digits, SVM and k-NN",
        "usps",
    ),
    "knn-and-perceptron": NamedStudy(
        "knn_and_perceptron", "nearest neighbours and perceptrons: accuracy, k, features", "iris"
    ),
    "linear-classifiers": NamedStudy(
        "linear", "twelve claims about linear classifiers, each a picture and a table", "built in"
    ),
    "kernel-methods": NamedStudy(
        "kernel_methods",
        "primal and dual, the mistake bound, feature maps, one Gram matrix for any object",
        "built in, promoters, mutag",
    ),
    "mnist-parity": NamedStudy(
        "mnist_parity", "odd or even digits by subgradient descent, and by kernels", "mnist"
    ),
    "mnist-all": NamedStudy("mnist_all", "every classifier on MNIST: error, time, memory", "mnist"),
    "mnist-virtual-sv": NamedStudy(
        "mnist_virtual_sv", "virtual support vectors: shifted copies, trained again", "mnist"
    ),
    "splice": NamedStudy(
        "splice", "splice junctions by string kernels, and the letters that decide", "splice"
    ),
    "promoters": NamedStudy(
        "promoters", "promoters by string kernels, with and without overlaps", "promoters"
    ),
    "mutag": NamedStudy(
        "mutag", "molecules by kernels on graphs, and the atoms that decide", "mutag"
    ),
    "reuters-strings": NamedStudy(
        "reuters_strings", "news by subsequences, runs of letters and words", "r8"
    ),
}


def make(name: str, **options: Any) -> Experiment:
    """The experiment of a named study with these options; `data` may be a file.

    >>> make("usps-kernel-perceptron", quick=True).options["data"]
    'digits'
    """
    if name not in NAMED:
        raise ExperimentError(f"no experiment is called {name!r}; there are {', '.join(NAMED)}")
    build = import_module(f"separatrix.studies.{NAMED[name].module}").experiment
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


def page_of(results: Results) -> Page:
    """The page of a named study."""
    page: Page = import_module(f"separatrix.studies.{NAMED[results.name].module}").page(results)
    return page
