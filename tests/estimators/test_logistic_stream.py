"""`partial_fit` of LogisticRegression: its relation to `fit`, cuts of a stream, refusals."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from separatrix import LogisticRegression
from separatrix.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)


def stream(n, k, seed=0, d=4):
    rng = np.random.default_rng(seed)
    T = np.random.default_rng(1).normal(size=(d, k))
    S = rng.normal(size=(n, d))
    return S, (S @ T + rng.gumbel(size=(n, k))).argmax(axis=1)


def objective(model, X, y, C):
    S = model.decision_function(X)
    S = np.column_stack([np.zeros(len(S)), S]) if S.ndim == 1 else S
    loss = np.logaddexp.reduce(S, axis=1) - S[np.arange(len(y)), y]
    return (loss.sum() + (model.coef_**2).sum() / (2 * C)) / len(y)


@pytest.mark.parametrize("k", [2, 4])
def test_a_stream_converges_to_the_minimum_of_fit(k):
    excess = []
    for n in (1000, 16_000):
        S, y = stream(n, k)
        online = LogisticRegression(C=0.5).partial_fit(S, y, classes=range(k))
        batch = LogisticRegression(C=0.5, tol=1e-8).fit(S, y)
        excess.append(objective(online, S, y, 0.5) - objective(batch, S, y, 0.5))
    assert 0 <= excess[1] < excess[0] / 4
    assert excess[1] < 1e-3
    np.testing.assert_allclose(online.predict_proba(S), batch.predict_proba(S), atol=0.04)


def test_repeated_passes_converge_to_the_fit_on_the_repeated_rows():
    S, y = stream(400, 2)
    online = LogisticRegression()
    for _ in range(50):
        online.partial_fit(S, y, classes=[0, 1])
    repeated = LogisticRegression(C=50.0, tol=1e-8).fit(S, y)  # 50 times the rows is 50 times C
    assert online.n_samples_seen_ == 20_000
    np.testing.assert_allclose(online.coef_, repeated.coef_, atol=0.02)
    assert objective(online, S, y, 50.0) - objective(repeated, S, y, 50.0) < 1e-4


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("k", [2, 3])
def test_one_stream_cut_differently_gives_the_same_model(form, k):
    images, digits = load_digits(return_X_y=True)
    keep = digits < k
    S, y = form(images[keep]), digits[keep]
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    whole = LogisticRegression().partial_fit(S, y, classes=range(k), sample_weight=weights)
    parts = LogisticRegression()
    for rows in np.array_split(np.arange(len(y)), 17):
        parts.partial_fit(S[rows], y[rows], classes=range(k), sample_weight=weights[rows])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.intercept_, whole.intercept_)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == np.count_nonzero(weights)
    assert (parts.n_iter_[0], whole.n_iter_[0]) == (17, 1)
    left = LogisticRegression().partial_fit(
        S[weights > 0], y[weights > 0], classes=range(k), sample_weight=weights[weights > 0]
    )
    np.testing.assert_array_equal(left.coef_, whole.coef_)


def test_the_average_is_that_of_a_plain_loop():
    S, y = stream(40, 2)
    model = LogisticRegression(C=2.0).partial_fit(S, y, classes=[0, 1])
    w, total, squares = np.zeros(5), np.zeros(5), 0.0
    for t, (row, label) in enumerate(zip(S, y, strict=True), start=1):
        x, side = np.append(row, 1.0), 2 * label - 1
        squares += x @ x
        rate = 2.0 / (squares / t * np.sqrt(1 + t / 40))
        w = w + min(rate, 2.0 / (x @ x)) * side * x / (1 + np.exp(side * (w @ x)))
        w[:4] *= 1 - min(0.5, rate / (2.0 * t))
        total += t * w
    average = total / (40 * 41 / 2)
    np.testing.assert_allclose(model.coef_[0], average[:4], rtol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], average[4], rtol=1e-12)


def test_a_stream_goes_on_from_a_fit_and_a_fit_forgets_the_stream():
    S, y = stream(8000, 3)
    first = LogisticRegression().fit(S[:4000], y[:4000])
    goes_on = clone(first).fit(S[:4000], y[:4000]).partial_fit(S[4000:], y[4000:])
    batch = LogisticRegression().fit(S, y)
    assert goes_on.n_samples_seen_ == 8000
    assert objective(goes_on, S, y, 1.0) < objective(first, S, y, 1.0)
    assert objective(goes_on, S, y, 1.0) - objective(batch, S, y, 1.0) < 5e-4
    assert not hasattr(goes_on, "objective_")
    again = goes_on.fit(S, y)
    np.testing.assert_array_equal(again.coef_, batch.coef_)
    assert not hasattr(again, "_stream")


def test_a_batch_that_is_refused_leaves_the_model_unchanged():
    model = LogisticRegression().partial_fit(X, Y, classes=[0, 1, 2])
    before = model.coef_.copy()
    with pytest.raises(DataError, match=r"labels .* that are not in classes"):
        model.partial_fit(X, Y + 1)
    with pytest.raises(DataError, match="weights overflowed; scale the features"):
        model.partial_fit(X * 1e200, Y)
    np.testing.assert_array_equal(model.coef_, before)
    same = LogisticRegression().partial_fit(X, Y, classes=[0, 1, 2]).partial_fit(X, Y)
    np.testing.assert_array_equal(model.partial_fit(X, Y).coef_, same.coef_)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (LogisticRegression(l1_ratio=0.5), "`l1_ratio` .* 0 for partial_fit"),
        (LogisticRegression(C="evidence"), "`C` .* a number for partial_fit"),
        (LogisticRegression(posterior="laplace"), "`posterior` .* None for partial_fit"),
    ],
)
def test_what_does_not_suit_a_stream_has_no_partial_fit_and_says_why(model, sentence):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model.partial_fit(X, Y, classes=[0, 1, 2])
    assert re.search(sentence, str(raised.value.__cause__))


def test_what_a_first_batch_lacks_is_refused_in_one_sentence():
    with pytest.raises(ParameterError, match="a dict or None for partial_fit"):
        LogisticRegression(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        LogisticRegression().partial_fit(X, Y)
