"""Other libraries' tests with the switch on, and all sizes served: `make test-sklearn`."""

import json
import subprocess
import sys

import pytest

SERVED = [  # modules of which tests reach separatrix
    "svm.tests.test_svm",
    "svm.tests.test_sparse",
    "neighbors.tests.test_neighbors",
    "model_selection.tests.test_search",
    "model_selection.tests.test_validation",
]
OTHERS = [
    "tests.test_calibration",
    "neighbors.tests.test_neighbors_pipeline",
    "linear_model.tests.test_logistic",
    "tests.test_discriminant_analysis",
    "tests.test_naive_bayes",
    "tests.test_multiclass",
    "tests.test_pipeline",
    "model_selection.tests.test_classification_threshold",
    "ensemble.tests.test_bagging",
    "ensemble.tests.test_voting",
    "ensemble.tests.test_stacking",
    "feature_selection.tests",
    "inspection.tests",
    "inspection._plot.tests",
    "imblearn.over_sampling",
    "imblearn.under_sampling",
    "imblearn.combine",
    "imblearn.tests.test_pipeline",
    "mlxtend.classifier",
    "mlxtend.evaluate",
    "mlxtend.feature_selection",
]

pytestmark = pytest.mark.slow


def run(module: str, mode: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contracts.sklearn_tests", "--mode", mode, module],
        capture_output=True,
        text=True,
        timeout=1800,
        check=True,
    )
    text = done.stderr
    return json.loads(text[text.index('{\n "ran"') :])


@pytest.mark.parametrize(
    "module", [*SERVED, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
)
def test_what_passes_without_the_switch_passes_with_it(module):
    switched = run(module, "on")
    if switched["failed"]:  # some fail without the switch as well: missing packages, old tests
        alone = run(module, "off")["failed"]
        switched["failed"] = sorted(set(switched["failed"]) - set(alone))
    assert switched["ran"] > 0
    assert switched["touched"] > 0 or module in OTHERS
    assert not switched["failed"]
