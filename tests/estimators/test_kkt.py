"""The conditions of linear machines against a plain recomputation and the kernel machine."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from separatrix import SVC, LinearSVC, SubgradientSVC, kkt_report
from separatrix.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
X = scale(X)
TIGHT = {"tol": 1e-9, "max_iter": 100_000}


def counts(report):
    return [(row.n_zero, row.n_free, row.n_bound) for row in report.rows]


def test_a_linear_svc_meets_the_conditions_of_the_linear_kernel():
    linear = LinearSVC(loss="hinge", C=2.0, regularize_intercept=False, **TIGHT).fit(X, Y)
    kernel = SVC(kernel="linear", multi_class="ovr", C=2.0, tol=1e-9).fit(X, Y)
    ours, theirs = kkt_report(linear, X, Y), kkt_report(kernel)
    assert counts(ours) == counts(theirs)
    assert [row.boundary for row in ours.rows] == [row.boundary for row in theirs.rows]
    for row in ours.rows:
        assert max(row.worst_zero, row.worst_free, row.worst_bound, row.violation) < 1e-7
        assert row.balance < 1e-9
        assert abs(row.gap) < 1e-7
    assert len(str(ours).splitlines()) == 4


@pytest.mark.parametrize("scaling", [1.0, 3.0])
def test_the_squared_hinge_by_a_plain_recomputation(scaling):
    weights, side = np.linspace(0.5, 2.0, 150), np.where(Y == 1, 1.0, -1.0)
    model = LinearSVC(C=0.7, intercept_scaling=scaling, max_iter=2, class_weight={0: 2.0})
    with pytest.warns(UserWarning, match="LinearSVC stopped"):
        model.fit(X, Y, sample_weight=weights)  # not at its optimum
    row = kkt_report(model, X, Y, weights).rows[1]
    w, b = model.coef_[1], model.intercept_[1]
    margins = side * (X @ w + b)
    a = 2 * 0.7 * weights * np.maximum(0, 1 - margins)  # class 0 is part of the rest: weight 1
    assert (row.n_zero, row.n_free, row.n_bound) == ((a == 0).sum(), (a > 0).sum(), 0)
    v, bias = X.T @ (a * side), scaling**2 * (a @ side)
    slack = 1 - side * (X @ v + bias) - a / (2 * 0.7 * weights)
    worst = max(np.maximum(slack[a == 0], 0).max(), np.abs(slack[a > 0]).max())
    primal = w @ w / 2 + (b / scaling) ** 2 / 2 + 0.7 * weights @ np.maximum(0, 1 - margins) ** 2
    square = (v @ v + (a @ side) ** 2 * scaling**2 + a**2 @ (1 / (1.4 * weights))) / 2
    dual = a.sum() ** 2 / (4 * square)  # at the best multiple of a
    assert row.violation == pytest.approx(worst)
    assert row.balance == pytest.approx(abs(a @ side - b / scaling**2))
    assert row.gap == pytest.approx((primal - dual) / max(primal, 1))
    assert row.gap > 1e-6
    assert row.worst_free < 1e-12


def test_a_descent_reports_how_far_from_the_optimum_it_stopped():
    two, mu = Y == 0, 0.01
    descent = SubgradientSVC(alpha=0.01, eps=1e-9, mu=mu, max_iter=2000)
    with pytest.warns(UserWarning, match="still changed"):
        descent.fit(X, two)
    (row,) = kkt_report(descent, X, two).rows
    w, b = descent.coef_[0], descent.intercept_[0]
    optimum = SVC(kernel="linear", C=1 / (2 * mu * 150), tol=1e-9).fit(X, two)
    primal = w @ w / 2 + np.maximum(0, 1 - np.where(two, 1, -1) * (X @ w + b)).sum() / (300 * mu)
    assert row.n_zero + row.n_free + row.n_bound == 150
    assert row.gap >= primal - optimum.objective_[0] - 1e-9  # a certificate: never too small
    assert row.gap < 0.5
    assert kkt_report(SubgradientSVC(mu=mu).fit(X, two), X, two).rows[0].gap <= 1.0
    exact = LinearSVC(loss="hinge", C=1 / (2 * mu * 150), regularize_intercept=False, **TIGHT).fit(
        X, two
    )
    descent.coef_, descent.intercept_ = exact.coef_, exact.intercept_
    (solved,) = kkt_report(descent, X, two).rows
    assert solved.gap < 1e-7
    assert counts(kkt_report(optimum)) == [(solved.n_zero, solved.n_free, solved.n_bound)]


def test_sparse_rows_weights_of_zero_and_searches_are_taken():
    weights = np.ones(150)
    weights[::5] = 0.0
    model = LinearSVC(loss="hinge", **TIGHT).fit(csr_array(X), Y, sample_weight=weights)
    sparse = kkt_report(model, csr_array(X), Y, weights)
    left = kkt_report(model, X[weights > 0], Y[weights > 0])
    assert counts(sparse) == counts(left)
    assert sum(counts(sparse)[0]) == 120
    assert max(row.gap for row in sparse.rows) < 1e-6
    search = GridSearchCV(LinearSVC(**TIGHT), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert len(kkt_report(search, X, Y).rows) == 3


@pytest.mark.parametrize(
    ("model", "given", "sentence"),
    [
        (LinearSVC(), (), r"LinearSVC keeps no rows; pass its training set: kkt_report\(model"),
        (SVC(), (X, Y), "for linear machines only; SVC holds its rows: leave them out"),
        (LinearSVC(penalty="l1", dual=False), (X, Y), "'l2', with multi_class='ovr'"),
        (LinearSVC(multi_class="crammer_singer"), (X, Y), "'l2', with multi_class='ovr'"),
        (SubgradientSVC("logistic", alpha=0.1), (X, Y), "'hinge' or 'squared_hinge'"),
        (SubgradientSVC(mu=0.0, alpha=0.1), (X, Y), "`mu` .* above 0 for kkt_report"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_has_no_such_conditions_is_refused_in_one_sentence(model, given, sentence):
    with pytest.raises((DataError, ParameterError), match=sentence):
        kkt_report(model.fit(X, Y), *given)
