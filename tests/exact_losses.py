"""Losses of logistic regression with 60 digits."""

from mpmath import mp, mpf

mp.dps = 60


class ExactLosses:
    """Losses of weights and biases, or of scores of rows of a kernel matrix, with 60 digits."""

    def __init__(self, X, y, weights):
        self.Z = [[mpf(v) for v in row] for row in X.tolist()]
        self.y, self.weights = y.tolist(), [mpf(float(v)) for v in weights]
        self.weight = sum(self.weights)

    def at(self, W, b):
        """Summed losses, residuals and probabilities of each sample."""
        loss, R, shares = mpf(0), [], []
        for z, own, weight in zip(self.Z, self.y, self.weights, strict=True):
            f = [
                sum(v * x for v, x in zip(w, z, strict=True)) + c for w, c in zip(W, b, strict=True)
            ]
            if len(f) == 1:
                f, picked = [mpf(0), f[0]], [1]
            else:
                picked = range(len(f))
            highest = max(f)
            e = [mp.exp(v - highest) for v in f]
            p = [v / sum(e) for v in e]
            loss -= weight * mp.log(p[own])
            R.append([weight * (p[c] - (c == own)) for c in picked])
            shares.append(p)
        return loss, R, shares

    def gradient(self, R):
        """Sums of residuals times samples, and of residuals: a row for each class."""
        G = [[sum(r[c] * z[j] for r, z in zip(R, self.Z, strict=True)) for j in range(len(self.Z[0]))]
             for c in range(len(R[0]))]  # fmt: skip
        return G, [sum(r[c] for r in R) for c in range(len(R[0]))]

    def best_biases(self, W, b):
        """The biases at which residuals add up to 0, by Newton's method."""
        for _ in range(20):
            _, R, shares = self.at(W, b)
            slope = self.gradient(R)[1]
            if max(map(abs, slope)) < mpf(10) ** -40 * self.weight:
                break
            p = [s[1:] if len(b) == 1 else s for s in shares]
            B = mp.matrix(len(b), len(b))
            for s, weight in zip(p, self.weights, strict=True):
                for i in range(len(b)):
                    for j in range(len(b)):
                        B[i, j] += weight * s[i] * ((i == j) - s[j]) + (
                            weight / 100 if len(b) > 1 else 0
                        )
            step = mp.lu_solve(B, mp.matrix(slope))
            b = [v - step[i] for i, v in enumerate(b)]
        return b
