"""Every estimator, one record each; lists of models anywhere else are derived from these records.

Plain data: importing the registry imports neither NumPy nor scikit-learn.
"""

from separatrix.estimators.registry import (
    generative,
    kernel_machines,
    linear,
    transformers,
)
from separatrix.estimators.registry.record import DATA_KINDS, EstimatorRecord, SuiteModel

__all__ = [
    "CLASSIFIERS",
    "DATA_KINDS",
    "REGISTRY",
    "SUITE",
    "TITLES",
    "EstimatorRecord",
    "SuiteModel",
]

REGISTRY: tuple[EstimatorRecord, ...] = (
    *kernel_machines.RECORDS,
    *linear.RECORDS,
    *generative.RECORDS,
    linear.PERCEPTRON,
    linear.PASSIVE_AGGRESSIVE,
    *transformers.RECORDS,
)
CLASSIFIERS = {record.name: record for record in REGISTRY if record.kind == "classifier"}
SUITE: dict[str, tuple[SuiteModel, EstimatorRecord]] = {
    model.key: (model, record) for record in REGISTRY for model in record.suite
}
"""Models by the key that `compare`, `fit` and `tune` know them by, with the record of their estimator."""
TITLES = {key: model.title for key, (model, _) in SUITE.items()}
