"""
Are the probabilities right?
============================

Of the samples with a predicted probability of 80 %, 80 % should belong to the class. Naive Bayes is far too sure, because it
counts correlated features several times; `CalibratedClassifier` learns a curve from scores of held-out samples.
"""

from sklearn.datasets import load_breast_cancer

from separatrix import CalibratedClassifier, GaussianNB, evaluate
from separatrix.plots import plot_reliability

X, y = load_breast_cancer(return_X_y=True)
plain = evaluate(GaussianNB(), X, y, repeats=10, progress=False)
before = plot_reliability(plain)

# %%
# After calibration with a non-decreasing curve:

calibrated = evaluate(
    CalibratedClassifier(GaussianNB(), method="isotonic"), X, y, repeats=10, progress=False
)
after = plot_reliability(calibrated)
for name, found in (("naive Bayes", plain), ("calibrated", calibrated)):
    error = found.reliability().expected_calibration_error
    print(
        f"{name:12} expected calibration error {error:.3f}, test error {100 * found.test_error.mean():.2f} %"
    )
