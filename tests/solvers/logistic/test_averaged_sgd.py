"""Stochastic gradient descent with averaging, against a plain transcription of the formulas."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.logistic.averaged_sgd import (
    DENSE,
    LARGEST,
    STEP,
    WARM,
    StreamState,
    learn_from_stream,
)
from separatrix.solvers.rows import rows_of


def slopes(s, own):
    if len(s) == 1:
        side = 1.0 if own == 1 else -1.0
        return np.array([-side / (1.0 + np.exp(side * s[0]))])
    p = np.exp(s - s.max())
    p /= p.sum()
    p[own] -= 1.0
    return p


def plain(X, y, weights, p, C, intercept, begin=0, start=None):
    """Weights after every sample, in a loop; their average with weights 1, 2, 3, ...

    begin: how many samples a fit had met that gave the weights and biases `start`.
    """
    d = X.shape[1]
    W, b = start or (np.zeros((p, d)), np.zeros(p))
    met, total, past = begin, 0.0, [np.column_stack([W, b])] * begin
    every = max(1, d // DENSE)
    for x, own, v in zip(X, y, weights, strict=True):
        if v == 0:
            continue
        met += 1
        square = x @ x + intercept
        total += v * square
        rate = STEP / (max(total / (met - begin), 1e-300) * np.sqrt(1.0 + met / (WARM * d)))
        step = v * min(rate, LARGEST / max(v * square, 1e-300))
        g = slopes(W @ x + b, own)
        W, b = W - step * np.outer(g, x), b - step * g * intercept
        if np.isfinite(C) and met % every == 0:
            W = W - min(0.5, rate * every / (C * met)) * W
        past.append(np.column_stack([W, b]))
    turns = np.arange(1, met + 1)
    return W, b, np.einsum("t,tij->ij", turns, past) / turns.sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("C", "intercept"), [(0.7, True), (np.inf, False)])
def test_a_stream_is_learned_as_the_formulas_say(sparse, classes, C, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 70)) * (rng.random((60, 70)) < 0.3)
    y, weights = rng.integers(0, classes, 60), rng.integers(0, 3, 60).astype(float)
    p = 1 if classes == 2 else classes
    W, b, average = plain(X, y, weights, p, C, intercept)

    state = StreamState.after(0, np.zeros((p, 70)), np.zeros(p))
    for part in (slice(0, 25), slice(25, 60)):  # nothing depends on where a stream is cut
        rows = rows_of(csr_array(X[part]) if sparse else X[part])
        squares = (X[part] ** 2).sum(axis=1) + intercept
        options = {"C": C, "intercept": intercept}
        state = learn_from_stream(state, rows, y[part], weights[part], squares, **options)

    assert state.met == np.count_nonzero(weights)
    np.testing.assert_allclose(state.online.W, W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.online.b, b, rtol=1e-9, atol=1e-12)
    found = np.column_stack(state.average())
    np.testing.assert_allclose(found, average, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("C", [np.inf, 1.0, 1e-3])
@pytest.mark.parametrize("begin", [0, 4])
def test_a_stream_after_a_fit_with_samples_of_zeros_and_of_all_sizes(p, C, begin):
    """A strong prior halves the weights at most; a long sample moves its score by LARGEST at most."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (12, 2)) * rng.choice([0.5, 1.0, 8.0], (12, 1))
        X[:2] = 0.0
        y, weights = rng.integers(0, max(2, p), 12), rng.choice([0.0, 0.5, 1.0, 3.0], 12)
        intercept = bool(seed % 2)
        start = rng.normal(size=(p, 2)), rng.normal(size=p) * intercept
        wanted = plain(X, y, weights, p, C, intercept, begin, start)
        state = learn_from_stream(
            StreamState.after(begin, *start), rows_of(X), y, weights,
            (X**2).sum(axis=1) + intercept, C=C, intercept=intercept,
        )  # fmt: skip
        np.testing.assert_allclose(state.online.W, wanted[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.online.b, wanted[1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            np.column_stack(state.average()), wanted[2], rtol=1e-9, atol=1e-12
        )
        assert (state.met, state.begin) == (begin + np.count_nonzero(weights), begin)
