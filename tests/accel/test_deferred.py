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
heavy = [name for name in ("pandas", "scipy.stats", "scipy.stats._stats_py") if name in sys.modules]
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


def test_a_program_that_imported_them_keeps_them():
    run(
        "import sys, scipy.stats as own, pandas\n"
        + START.replace("assert not heavy", "assert len(heavy) == 3")
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


def test_ranks_are_scipys():
    values = np.random.default_rng(0).integers(0, 9, size=50) / 7.0
    wanted = rankdata(values, method="min")
    found = lowest_ranks(values, method="min")
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    assert lowest_ranks(values) is None
    assert lowest_ranks(np.array([np.nan, 1.0]), method="min") is None
    assert lowest_ranks(values.reshape(5, 10), method="min") is None
