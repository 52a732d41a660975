"""Checks of scikit-learn that may fail, with the reasons."""

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
VOTES = dict.fromkeys(WEIGHT_CHECKS, "weights are votes; a repeated row is another neighbour")
FOLDS = dict.fromkeys(WEIGHT_CHECKS, "folds consist of rows; a repeated row may be in two folds")
