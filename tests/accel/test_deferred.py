"""pandas and scipy.stats are loaded when a program uses them, not when scikit-learn is imported."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.utils.fixes import _mode

from separatrix.accel.deferred import DEFERRED, deferred_imports, lowest_ranks, row_modes

START = """
import sys
from separatrix import accel
accel.patch()
import sklearn.calibration, sklearn.inspection, sklearn.model_selection, sklearn.preprocessing, sklearn.svm
names = "pandas scipy.stats scipy.stats._stats_py scipy.optimize narwhals asyncio".split()
heavy = [name for name in names if name in sys.modules]
assert not heavy, heavy
"""
USES = """
import numpy as np
from sklearn import covariance, isotonic, metrics, preprocessing
from sklearn.model_selection import GridSearchCV
from sklearn.linear_model import RidgeClassifier
X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
table = GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 1e6, 1.0]}).fit(X, y).cv_results_
print(table["rank_test_score"].tolist(), table["rank_test_score"].dtype)
assert "scipy.stats" not in sys.modules and "pandas" not in sys.modules
print(round(metrics.label_ranking_average_precision_score(np.eye(3), X[:3]), 6))
print(isotonic.check_increasing([1, 2, 3], [3, 2, 1]))
print(round(float(preprocessing.PowerTransformer().fit(X).lambdas_[0]), 6))
print(round(float(covariance.MinCovDet(random_state=0).fit(X).covariance_[0, 0]), 6))
import scipy.stats, scipy
from scipy.stats import norm
print(type(scipy.stats).__name__, scipy.stats is sys.modules["scipy.stats"], norm.cdf(0.0))
import pandas
print(type(pandas).__name__, pandas.DataFrame is sys.modules["pandas"].DataFrame)
frame = pandas.DataFrame(X, columns=list("abc"))
print(RidgeClassifier().fit(frame, y).feature_names_in_.tolist())
"""

MORE_USES = """
import numpy as np, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import make_classification
X, y = make_classification(80, 4, n_informative=3, n_redundant=0, random_state=0)
from sklearn import gaussian_process, isotonic, kernel_approximation, linear_model, metrics, neighbors
from sklearn import compose, neural_network, preprocessing
print(preprocessing.SplineTransformer().fit_transform(X).sum().round(6))
print(round(metrics.auc([0, 0.5, 1], [0, 0.8, 1]), 6))
print(metrics.consensus_score((np.eye(2, 4), np.eye(2, 4)), (np.eye(2, 4), np.eye(2, 4))))
print(neighbors.NeighborhoodComponentsAnalysis(max_iter=5, random_state=0).fit(X, y).components_.shape)
print(gaussian_process.GaussianProcessClassifier().fit(X, y).score(X, y))
print(gaussian_process.GaussianProcessRegressor().fit(X, y).score(X, y) > 0.9)
print(neural_network.MLPClassifier(4, solver="lbfgs", random_state=0, max_iter=20).fit(X, y).score(X, y))
from sklearn.linear_model import (
    HuberRegressor, LassoLarsCV, LinearRegression, PoissonRegressor, QuantileRegressor, Ridge
)
for model in (HuberRegressor(), QuantileRegressor(), PoissonRegressor(), LassoLarsCV(),
              Ridge(positive=True), LinearRegression(positive=True), isotonic.IsotonicRegression()):
    data = X[:, 0] if "Isotonic" in repr(model) else X
    print(model, model.fit(data, y).predict(data).sum().round(3))
for solver in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear"):
    print(linear_model.LogisticRegression(solver=solver).fit(X, y).score(X, y))
print(kernel_approximation.PolynomialCountSketch(random_state=0).fit_transform(X).shape)
print(compose.ColumnTransformer([("all", "passthrough", [0, 1])]).fit_transform(X).sum().round(6))
import joblib, tempfile
with tempfile.TemporaryDirectory() as folder:
    print(joblib.Memory(folder, verbose=0).cache(np.sum)(X).round(6))
from sklearn.datasets import fetch_olivetti_faces
import sklearn.datasets._olivetti_faces as faces
print(faces.loadmat.__name__)
np.testing.assert_allclose(1, 1)
import numpy.testing, numpy.f2py, scipy.optimize, scipy.special, asyncio
print(numpy.testing is np.testing, np.f2py is numpy.f2py, type(np.testing).__name__, type(asyncio).__name__)
from scipy.optimize import OptimizeResult
from scipy import optimize, interpolate
print(type(optimize).__name__, optimize is scipy.optimize, issubclass(OptimizeResult, dict))
print("logistic" in scipy.special.expit.__doc__, scipy.linalg.svd.__doc__.count("unitary") > 1)
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, timeout=600, check=False, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_needs_them_gets_them_and_the_same_answers():
    theirs, ours = (
        run("import sys, sklearn\n" + USES.replace("assert", "False and")),
        run(START + USES),
    )
    assert ours == theirs


def test_everything_else_that_is_deferred_works_when_it_is_used():
    assert run(START + MORE_USES) == run("import sys, sklearn\n" + MORE_USES)


def test_placeholders_stand_for_classes_too(monkeypatch):
    monkeypatch.setitem(DEFERRED, "sklearn.later", ("fractions",))
    monkeypatch.delitem(sys.modules, "fractions", raising=False)
    names = {"__name__": "sklearn.later"}
    with deferred_imports("sklearn.later"):
        exec(compile("from fractions import Fraction", "later", "exec"), names)
    assert "fractions" not in sys.modules
    assert isinstance(names["Fraction"](1, 2), names["Fraction"])
    assert issubclass(bool, names["Fraction"]) is False


def test_a_program_that_imported_them_keeps_them():
    run(
        "import sys, scipy.stats as own, pandas\n"
        + START.replace("assert not heavy", "assert len(heavy) == 4")
        + "assert own is sys.modules['scipy.stats'] and pandas is sys.modules['pandas']"
    )


def test_a_module_that_uses_them_at_once_is_imported_all_the_same(tmp_path):
    text = "from scipy.stats import rv_continuous\nclass Own(rv_continuous):\n    pass\n"
    (tmp_path / "later_version.py").write_text(text)
    run(
        "import sys\nfrom separatrix import accel\nfrom separatrix.accel.deferred import DEFERRED\n"
        f"DEFERRED['later_version'] = ('scipy.stats',)\nsys.path.append({str(tmp_path)!r})\n"
        "accel.patch()\nimport later_version\nassert later_version.Own(name='own').cdf"
    )


def test_nothing_is_left_in_place_after_an_error(monkeypatch):
    monkeypatch.setitem(DEFERRED, "of this test", ("scipy.no_such_module",))
    with pytest.raises(ImportError), deferred_imports("of this test"):
        sys.modules["scipy.no_such_module"].something()
    assert "scipy.no_such_module" not in sys.modules


def test_packages_that_are_not_installed_stay_so(monkeypatch):
    monkeypatch.setitem(DEFERRED, "of this test", ("no_such_package",))
    with deferred_imports("of this test"), pytest.raises(ImportError):
        import no_such_package  # noqa: F401


def test_modes_of_rows_are_scipys(monkeypatch):
    codes = np.random.default_rng(0).integers(0, 4, size=(200, 5))
    wanted = _mode(codes, axis=1)
    mode = row_modes(lambda *_: "theirs")
    monkeypatch.delitem(sys.modules, "scipy.stats")
    for found, own in zip(mode(codes, axis=1), wanted, strict=True):
        np.testing.assert_array_equal(found, own)
        assert found.dtype == own.dtype
    assert mode(codes, axis=0) == "theirs"
    assert mode(codes - 1, axis=1) == "theirs"
    assert mode(codes * 1000, axis=1) == "theirs"


def test_ranks_are_scipys(monkeypatch):
    values = np.random.default_rng(0).integers(0, 9, size=50) / 7.0
    wanted = rankdata(values, method="min")
    found = lowest_ranks(values, method="min")
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    for version, kind in (("1.17.1", "i"), ("1.18.0rc1", "f"), ("2.0.0", "f")):
        monkeypatch.setattr("scipy.__version__", version)
        assert lowest_ranks(values, method="min").dtype.kind == kind
    assert lowest_ranks(values) is None
    assert lowest_ranks(np.array([np.nan, 1.0]), method="min") is None
    assert lowest_ranks(values.reshape(5, 10), method="min") is None
