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
        variants=("FisherDiscriminant(threshold='midpoint')", "FisherDiscriminant(threshold=0.0)"),
    ),
    EstimatorRecord(
        name="BayesDecision",
        module="decision",
        solver="separatrix.estimators.decision",
        paper="Wald 1950; Chow 1970",
        not_for="uncalibrated probabilities: calibrate them first",
        kind="wrapper",
        variants=("BayesDecision(GaussianNB(), threshold=0.5)",),
    ),
    EstimatorRecord(
        name="PolynomialMap",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Boser, Guyon and Vapnik 1992",
        not_for="many features or a high degree: use a polynomial kernel",
        kind="transformer",
        variants=(
            "PolynomialMap(3, include_bias=False, interaction_only=True)",
            "PolynomialMap(kernel=True)",
            "PolynomialMap(3, kernel=True, gamma=0.5, coef0=1.0)",
        ),
    ),
    EstimatorRecord(
        name="Nystroem",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Williams and Seeger 2001",
        not_for="exact results: it approximates; use SVC while samples are few",
        kind="transformer",
        variants=(
            "Nystroem('poly', degree=2, n_components=4)",
            "Nystroem('laplacian', gamma='scale', random_state=0)",
            "Nystroem(Gaussian(0.1), n_components=7)",
            "Nystroem('precomputed', n_components=5)",
        ),
    ),
    EstimatorRecord(
        name="RandomFourier",
        module="feature_maps",
        solver="separatrix.kernels.features",
        paper="Rahimi and Recht 2007",
        not_for="exact results; kernels other than the Gaussian: use Nystroem",
        kind="transformer",
        variants=("RandomFourier('scale', n_components=3, random_state=0)",),
    ),
)
