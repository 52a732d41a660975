"""Records of the transformers, and of classifiers around another one."""

from separatrix.estimators.registry.record import EstimatorRecord

RECORDS = (
    EstimatorRecord(
        name="FisherDiscriminant",
        module="fisher",
        solver="separatrix.solvers.discriminant, separatrix.solvers.moments",
        paper="Fisher 1936; Rao 1948",
        not_for="classification: it is an embedding; use LinearDiscriminantAnalysis",
        kind="transformer",
    ),
    EstimatorRecord(
        name="BayesDecision",
        module="decision",
        solver="separatrix.estimators.decision",
        paper="Wald 1950; Chow 1970",
        not_for="uncalibrated probabilities: calibrate them first",
        kind="wrapper",
    ),
    EstimatorRecord(
        name="PolynomialMap",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Boser, Guyon and Vapnik 1992",
        not_for="many features or a high degree: use a polynomial kernel",
        kind="transformer",
    ),
    EstimatorRecord(
        name="Nystroem",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Williams and Seeger 2001",
        not_for="exact results: it approximates; use SVC while samples are few",
        kind="transformer",
    ),
    EstimatorRecord(
        name="RandomFourier",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Rahimi and Recht 2007",
        not_for="exact results; kernels other than the Gaussian: use Nystroem",
        kind="transformer",
    ),
)
