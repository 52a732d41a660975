"""Random problems of all scales, and what it means that two answers to them agree."""

import warnings

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning
from tests.campaigns.campaign import chosen


class Drawn:
    """A random problem."""

    def __init__(
        self, number, *, positive=False, widest=8, sparse=True, scales=True, counts=(2, 2, 3, 5)
    ):
        rng = self.rng = np.random.default_rng([4, number])
        k = int(chosen(rng, counts))
        n, d = int(rng.integers(4 * k, 80)), int(rng.integers(1, widest))
        y = np.r_[np.repeat(np.arange(k), 2), rng.integers(0, k, size=n - 2 * k)]
        X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y] * chosen(rng, (0.1, 1.0, 4.0))
        kind = chosen(rng, ("plain", "plain", "whole", "duplicates", "ties", "constant"))
        if kind == "whole":
            X = np.round(3 * X)
        if kind == "duplicates":
            rows = rng.integers(0, n, size=n)
            X[: n // 2] = X[rows[: n // 2]]
        if kind == "ties":
            X = np.sign(X)
        if kind == "constant" and d > 1:
            X[:, 0] = 1.5
        X = np.abs(X) if positive else X
        self.kind, self.scale = kind, 1.0
        if scales:
            self.scale = float(10.0 ** chosen(rng, (-8, -4, -1, 0, 0, 0, 1, 4, 8)))
            X = X * self.scale
            if rng.random() < 0.2:
                X = X * 10.0 ** rng.integers(-3, 4, size=d)
        self.dtype = chosen(rng, (np.float64, np.float64, np.float32))
        self.X, self.y, self.k = X.astype(self.dtype), y, k
        self.given = csr_array(self.X) if sparse and rng.random() < 0.25 else self.X
        names = np.array([7, -3, 12, 5, 0])[:k] if rng.random() < 0.5 else np.arange(k)
        self.labels = names[y]
        draw = rng.random()
        self.weights = None
        if draw < 0.25:
            self.weights = rng.uniform(0.1, 3.0, size=n)
        elif draw < 0.4:
            self.weights = (
                np.maximum(rng.integers(0, 3, size=n), (np.arange(n) < 2 * k).astype(int)) * 1.0
            )

    def __str__(self):
        weights = "weights" if self.weights is not None else "no weights"
        form = "sparse" if issparse(self.given) else "dense"
        kind = f"{self.kind}, scale {self.scale:g}, {form}, {weights}, {self.X.dtype}"
        return f"{self.X.shape}, {self.k} classes, {kind}"

    def fit(self, model):
        """Fit; True with the model if it says that it has converged."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if self.weights is None:
                model.fit(self.given, self.labels)
            else:
                model.fit(self.given, self.labels, sample_weight=self.weights)
        model.sure = not any(issubclass(one.category, ConvergenceWarning) for one in caught)
        return model

    def refuses(self, model, words):
        """The model refuses the problem, for a reason that has these words in it."""
        try:
            self.fit(model)
        except ValueError as error:
            assert words in str(error), f"{error}; {self}"
            return
        raise AssertionError(f"{type(model).__name__} does not refuse; {self}")

    def same_predictions(self, a, b, scores, margin=1e-6):
        """Equal predictions but where the best two scores tie."""
        best = np.sort(np.asarray(scores, dtype=np.float64), axis=1)
        sure = best[:, -1] - best[:, -2] > margin * np.maximum(1.0, np.abs(best).max(axis=1))
        wrong = int((a[sure] != b[sure]).sum())
        assert not wrong, f"{wrong} predictions differ; {self}"

    def close(self, a, b, what, rtol=1e-6):
        a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        scale = np.abs(b[np.isfinite(b)]).max(initial=1e-300)
        rtol = max(rtol, 3e-4) if self.dtype == np.float32 else rtol
        if not np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True):
            raise AssertionError(f"{what} differ by {np.nanmax(np.abs(a - b)) / scale:.2g}; {self}")

    @property
    def spread(self):
        """The size of the samples: features may have scales of their own."""
        return max(float(np.sqrt((self.X.astype(np.float64) ** 2).sum(axis=1).mean())), 1e-150)

    def total(self):
        return np.ones(len(self.y)) if self.weights is None else self.weights
