"""LogisticRegressionCV against scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegressionCV as Peer
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from separatrix import LogisticRegression, LogisticRegressionCV
from separatrix.errors import ParameterError


def data(load):
    X, y = load(return_X_y=True)
    return scale(X), y


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("legacy", [True, False])
def test_an_l2_search_has_the_attributes_of_scikit_learn(load, legacy):
    X, y = data(load)
    more = {
        "Cs": 4,
        "l1_ratios": (0.0,),
        "scoring": "neg_log_loss",
        "use_legacy_attributes": legacy,
    }
    ours = LogisticRegressionCV(tol=1e-8, max_iter=1000, **more).fit(X, y)
    with threadpool_limits(1):  # its threads wait by spinning, on cores that other tests use
        theirs = Peer(tol=1e-8, max_iter=5000, **more).fit(X, y)

    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    np.testing.assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    for name in ("scores_", "coefs_paths_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if legacy:
            assert list(mine) == list(other)
            mine, other = np.array(list(mine.values())), np.array(list(other.values()))
        np.testing.assert_allclose(mine, other, atol=2e-2 if name == "coefs_paths_" else 1e-4)


def test_every_cell_of_an_l1_search_is_the_fit_of_its_fold():
    X, y = data(load_breast_cancer)
    folds = [
        (np.arange(0, 569, 2), np.arange(1, 569, 2)),
        (np.arange(1, 569, 2), np.arange(0, 569, 2)),
    ]
    search = LogisticRegressionCV(
        Cs=[1.0, 0.1], l1_ratios=(1.0, 0.5), cv=folds, tol=1e-8, use_legacy_attributes=False
    ).fit(X, y)
    for number, (rows, left) in enumerate(folds):
        for r, ratio in enumerate(search.l1_ratios_):
            for c, C in enumerate(search.Cs_):
                alone = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-8).fit(X[rows], y[rows])
                theta = np.append(alone.coef_[0], alone.intercept_)
                np.testing.assert_allclose(search.coefs_paths_[number, r, c, 0], theta, atol=1e-3)
                assert search.scores_[number, r, c] == alone.score(X[left], y[left])


@pytest.mark.parametrize(
    "params", [{"Cs": 0}, {"Cs": [-1.0]}, {"l1_ratios": [2.0]}, {"scoring": "best"}]
)
def test_bad_parameters_are_refused_in_one_sentence(params):
    with pytest.raises(
        ParameterError, match=f"`{next(iter(params))}` of LogisticRegressionCV must"
    ):
        LogisticRegressionCV(**params).fit(*data(load_iris))
