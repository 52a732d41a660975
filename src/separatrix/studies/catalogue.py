"""The table of named studies: module, caption and data of each."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
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
    quick_data: str = ""  # of the quick version, if it is another


FLAGS = {"distance": "--metric", "subsample": "--rows", "test_size": "--test-share"}
"""Flags of options that are not called as the option is."""
NAMED = {
    "usps-kernel-perceptron": NamedStudy(
        "usps",
        "kernel perceptrons on digits: degrees, widths, confusions, hardest digits, SVM and k-NN",
        "usps",
        quick_data="digits",
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
    "mnist-all": NamedStudy(
        "mnist_all",
        "every classifier on one data set: error, time, memory",
        "mnist",
        quick_data="digits",
    ),
    "mnist-virtual-sv": NamedStudy(
        "mnist_virtual_sv", "virtual support vectors: shifted copies, trained again", "mnist"
    ),
    "mnist8m": NamedStudy(
        "mnist8m", "one exact SVC on up to 8,100,000 deformed digits, and its error", "mnist"
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
            error = ExperimentError(f"{name} has no option {flag_of(key)}")
            error.hint = f"it has {', '.join(map(flag_of, known))}"
            raise error
    experiment: Experiment = build(**given)
    return replace(experiment, load=find)


def flag_of(option: str) -> str:
    """The flag of `separatrix run` that sets an option.

    >>> flag_of("test_size"), flag_of("k_max")
    ('--test-share', '--k-max')
    """
    return FLAGS.get(option, f"--{option.replace('_', '-')}")


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line; those that are not set are left out.

    >>> option_words({"quick": True, "degrees": [1, 2], "subsample": None})
    ['--quick', '--degrees', '1,2']
    """
    words: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            words += [flag_of(key)] if value else []
        elif isinstance(value, list | tuple):
            words += [flag_of(key), ",".join(map(str, value))]
        elif value is not None:
            words += [flag_of(key), str(value)]
    return words


def page_of(results: Results) -> Page:
    """The page of a named study."""
    page: Page = import_module(f"separatrix.studies.{NAMED[results.name].module}").page(results)
    return page
