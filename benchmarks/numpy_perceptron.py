"""The peer: a straightforward NumPy kernel perceptron.

One float32 Gram matrix for each degree, contiguous training rows, alpha of shape (k, n), one product
`alpha @ K[t]` for each sample; stops after a pass without mistakes.
"""

import numpy as np


def train(K, y, n_classes, max_iter):
    """Coefficients, (k, n), and passes made. K (n, n) float32, y (n,)."""
    alpha = np.zeros((n_classes, len(y)), dtype=np.float32)
    for epochs in range(1, max_iter + 1):  # noqa: B007
        mistakes = 0
        for t in range(len(y)):
            guess = int(np.argmax(alpha @ K[t]))
            if guess != y[t]:
                alpha[y[t], t] += 1
                alpha[guess, t] -= 1
                mistakes += 1
        if not mistakes:
            break
    return alpha, epochs


def train_each(K, y, n_classes, max_iter):
    """The same with one binary perceptron for each class, updated on its own mistakes."""
    alpha = np.zeros((n_classes, len(y)), dtype=np.float32)
    signs = np.where(y[None, :] == np.arange(n_classes)[:, None], 1, -1).astype(np.float32)
    for epochs in range(1, max_iter + 1):  # noqa: B007
        mistakes = 0
        for t in range(len(y)):
            wrong = signs[:, t] * (alpha @ K[t]) <= 0
            if wrong.any():
                alpha[wrong, t] += signs[wrong, t]
                mistakes += 1
        if not mistakes:
            break
    return alpha, epochs


def train_and_test(K, y, train_rows, test_rows, n_classes, max_iter):
    """Train error, test error and passes."""
    K_train = np.ascontiguousarray(K[np.ix_(train_rows, train_rows)])
    alpha, epochs = train(K_train, y[train_rows], n_classes, max_iter)
    guess = (alpha @ K_train).argmax(axis=0)
    guess_test = (alpha @ K[np.ix_(train_rows, test_rows)]).argmax(axis=0)
    return np.mean(guess != y[train_rows]), np.mean(guess_test != y[test_rows]), epochs
