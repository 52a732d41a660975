"""scikit-learn's own tests of its classes, run on ours of the same name."""

import json
import subprocess
import sys

import pytest

WORDS = "other words"
PRIVATE = "reads or sets private attributes of theirs"
NEGATIVE = "negative weights are refused"
L1 = "only l1_ratio=0"

SVM = {
    "test_tweak_params": PRIVATE,
    "test_gamma_scale": "reads a private attribute of theirs; the width is kernel_.gamma here",
    "test_svc_raises_error_internal_representation": PRIVATE,
    "test_svc_nusvc_probA_probB_deprecated": "no probA_, probB_: another sigmoid",
    "test_bad_input": "sparse samples are welcome after training on dense ones",
    "test_svc_nonfinite_params": "the overflow is found before the fit, and said otherwise",
    "test_custom_kernel_not_array_input": "lists of objects: with the string kernels",
    "test_negative_sample_weights_mask_all_samples": NEGATIVE,
    "test_negative_weights_svc_leave_just_one_label": NEGATIVE,
    "test_negative_weights_svc_leave_two_labels": NEGATIVE,
    "test_negative_weight_equal_coeffs": NEGATIVE,
}
DISCRIMINANTS = {
    "test_lda_predict": WORDS,
    "test_lda_priors": WORDS,
    "test_lda_dimension_warning": WORDS,
    "test_lda_dtype_match": "what is learned is float64",
    "test_qda_covariance_estimator": "a singular covariance warns, and is made regular",
    "test_qda_regularization": "a singular covariance warns, and is made regular",
}
BAYES = {
    "test_gnb": WORDS,
    "test_gnb_neg_priors": WORDS,
    "test_gnb_wrong_nb_priors": WORDS,
    "test_gnb_prior_greater_one": WORDS,
    "test_gnb_check_update_with_no_data": PRIVATE,
    "test_discretenb_provide_prior": WORDS,
    "test_discretenb_provide_prior_with_partial_fit": "categories are whole numbers",
    "test_categoricalnb_min_categories_errors": WORDS,
    "test_NB_partial_fit_no_first_classes": WORDS,
    "test_alpha_vector": PRIVATE,
    "test_check_alpha": PRIVATE,
}
LOGISTIC = {
    "test_check_solver_option": "names of solvers are hints here: more of them go together",
    "test_dtype_match": "what is learned is float64",
    "test_max_iter": WORDS,
    "test_logistic_regression_callback_support": "callbacks see iterations, not classes",
    "test_logistic_regression_callback_fitted_estimator": "callbacks see iterations, not classes",
    "test_logistic_regression_callback_support_warning": "callbacks see iterations, not classes",
    "test_logisticregression_warns_with_n_jobs": "n_jobs has an effect",
    "test_logreg_predict_proba_multinomial": PRIVATE,
    "test_newton_cholesky_fallback_to_lbfgs": "a singular Hessian is solved, not left",
}
NEIGHBORS = {
    "test_unsupervised_inputs": "their trees and models are not taken for samples",
    "test_neigh_predictions_algorithm_agnosticity": "takes what lacks their base class for a radius",
    "test_neighbors_minkowski_semimetric_algo_warn": PRIVATE,
}

MODULES = {  # where theirs live, the tests, what is replaced, which tests, how many at least
    "svm": ("svm", ["svm.tests.test_svm", "svm.tests.test_sparse"], ["SVC"], "", 200, SVM),
    "discriminants": (
        "discriminant_analysis",
        ["tests.test_discriminant_analysis"],
        ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
        "",
        40,
        DISCRIMINANTS,
    ),
    "naive Bayes": (
        "naive_bayes",
        ["tests.test_naive_bayes"],
        ["MultinomialNB", "BernoulliNB", "GaussianNB", "ComplementNB", "CategoricalNB"],
        "",
        60,
        BAYES,
    ),
    "neighbors": (
        "neighbors",
        ["neighbors.tests.test_neighbors"],
        ["KNeighborsClassifier"],
        "not radius and (classifier or precomputed or iris or digits or ball or same_knn or "
        "knn_forcing or dtype_convert or dataframe or metric_params)",
        100,
        NEIGHBORS,
    ),
    "logistic": (
        None,  # LogisticRegressionCV goes on with theirs
        ["linear_model.tests.test_logistic"],
        ["LogisticRegression"],
        "not CV and not liblinear and not sag and not elastic and not l1",
        70,
        LOGISTIC,
    ),
}

RUN = """
import importlib, json, sys
import pytest
import separatrix
home, modules, names, chosen = json.loads(sys.argv[1])
modules = ["sklearn." + module for module in modules]
if home is not None:
    for name in names:
        setattr(importlib.import_module("sklearn." + home), name, getattr(separatrix, name))

class Failures:
    failed, ran = set(), 0
    def pytest_collection_finish(self, session):
        for module in {item.module for item in session.items}:
            for key, value in list(vars(module).items()):
                kind = getattr(value, "func", value)  # some are wrapped in partial
                if getattr(kind, "__name__", "") in names and "sklearn" in kind.__module__:
                    setattr(module, key, getattr(separatrix, kind.__name__))
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and not report.skipped:
            self.ran += 1
        if report.failed:
            self.failed.add(report.nodeid.split("::")[-1].split("[")[0])

found = Failures()
quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=no", "-c", "/dev/null"]
pytest.main([*quiet, "-k", chosen, "--pyargs", *modules], plugins=[found])
print(json.dumps({"failed": sorted(found.failed), "ran": found.ran}), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("family", MODULES)
def test_only_what_is_documented_differs(family):
    *asked, least, differences = MODULES[family]
    run = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    found = json.loads(run.stderr.splitlines()[-1])
    assert found["ran"] >= least, run.stdout
    assert found["failed"] == sorted(differences)
