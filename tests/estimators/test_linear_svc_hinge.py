"""`LinearSVC(loss="hinge")` on columns as they are measured, whose ranges differ by powers of ten."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning

from separatrix import LinearSVC


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine], ids=["breast cancer", "wine"])
@pytest.mark.parametrize("regularize_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
def test_raw_columns_are_solved_without_a_warning(C, regularize_intercept, load):
    X, y = load(return_X_y=True)
    model = LinearSVC(loss="hinge", C=C, regularize_intercept=regularize_intercept, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, y)
    assert (model.dual_gap_ <= 1e-3).all()
    assert np.isfinite(model.coef_).all()
    assert model.n_iter_ <= model.max_iter
    assert model.solver_.startswith("dual, then interior point: ")
