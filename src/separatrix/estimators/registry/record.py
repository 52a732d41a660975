"""The record of an estimator: plain data that can be read without NumPy or scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from separatrix.estimators.registry.sliders import Parameter

DATA_KINDS = ("vectors", "text", "sequences", "graphs")

# checks of scikit-learn that may fail, with the reasons
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
ORDER_DEPENDENT = dict.fromkeys(
    WEIGHT_CHECKS, "updates depend on the order of the samples; a weight is a step size"
)
WITHIN_TOLERANCE = dict.fromkeys(
    WEIGHT_CHECKS,
    "equal to the tolerance of the fit, and gamma='scale' ignores weights; passes at tol=1e-10 with "
    "a given gamma",
)
ON_THE_BOUNDARY = dict.fromkeys(
    WEIGHT_CHECKS,
    "support vectors have a score of 0 up to rounding, and predict returns its sign; scores are equal to "
    "the tolerance of the fit. scikit-learn lists the same failures",
)
INFEASIBLE = {
    **dict.fromkeys(
        WEIGHT_CHECKS,
        "the weights leave a class too small for nu=0.5, as in scikit-learn; passes with nu=0.3",
    ),
    "check_class_weight_classifiers": "weights that differ 10^7-fold leave no feasible nu; scikit-learn "
    "lists the same failure",
}
VOTES = dict.fromkeys(WEIGHT_CHECKS, "weights are votes; a repeated row is another neighbour")
FOLDS = dict.fromkeys(WEIGHT_CHECKS, "folds consist of rows; a repeated row may be in two folds")


def _identity(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(values)


@dataclass(frozen=True)
class SuiteModel:
    """A model that `compare`, `fit --model KEY` and `tune --model KEY` offer."""

    key: str
    title: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of `fit --model KEY` that differ from the defaults; a kernel as text."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of `compare` and `tune` that differ from the defaults."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Values that `compare` and `tune` choose from by cross-validation."""
    build: str = ""
    """Function of `separatrix.evaluation.candidates` that replaces `tuned` and `grid`."""
    requires: tuple[str, ...] = ()
    """Conditions of `separatrix.evaluation.candidates` that the data must meet."""
    fast_if: tuple[str, ...] = ()
    """Conditions that the data must meet, unless the model is asked for by its key."""
    data_kinds: tuple[str, ...] = DATA_KINDS
    """Kinds of samples for which the model is listed."""
    by_default: bool = True
    """Whether `compare` includes the model unless models are named."""
    instead_of: str = ""
    """Key of a model that this one replaces where that one is too slow, and only there."""


@dataclass(frozen=True)
class PlaygroundRecord:
    """A model of the workbench's Playground."""

    key: str
    title: str
    caption: str
    sliders: tuple[Parameter, ...]
    arguments: Callable[[Mapping[str, Any]], dict[str, Any]] = _identity
    """Arguments of the estimator's class, from checked values of the sliders."""
    steps: str | None = None
    """"mistakes", "descent" or "pairs" if the fit can be shown step by step."""
    limits: tuple[str, ...] = ()
    """Which of time_limit, n_jobs and device the estimator takes."""
    margins: bool = False
    """Whether scores of +1 and -1 are the margins."""


@dataclass(frozen=True)
class EstimatorRecord:
    """One estimator of separatrix, with all that commands, documentation and tests derive from it."""

    name: str
    module: str  # of separatrix.estimators
    solver: str
    paper: str
    not_for: str
    # or "transformer", "novelty"; or "wrapper", a classifier around another
    kind: str = "classifier"
    linear: bool = False
    """Whether it learns `coef_`, weights of the features."""
    counts: bool = False
    """Whether it takes counts, which no scaler may touch."""
    suite: tuple[SuiteModel, ...] = ()
    playground: PlaygroundRecord | None = None
    variants: tuple[str, ...] = ()
    """Calls that the contract tests check like the default one, with the same expected failures."""
    exact_variants: tuple[str, ...] = ()
    """Calls that pass the weight checks as well."""
    endless: tuple[str, ...] = ()
    """Calls whose fit runs until a time limit or Ctrl-C ends it."""
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    """Checks of scikit-learn that fail, with the reason."""
    variant_failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Checks that fail for one of the variants only."""

    def checked_calls(self) -> list[tuple[str, Mapping[str, str]]]:
        """Every call that the contract tests check, with its expected failures."""
        known = dict(self.expected_failures)
        exact = {name: why for name, why in known.items() if name not in WEIGHT_CHECKS}
        calls = [(call, known) for call in (f"{self.name}()", *self.variants)]
        calls += [(call, exact) for call in self.exact_variants]
        return [(call, {**why, **self.variant_failures.get(call, {})}) for call, why in calls]

    def load(self) -> Any:
        """Import the class."""
        return getattr(import_module(f"separatrix.estimators.{self.module}"), self.name)
