"""LogisticRegression compared with scikit-learn's solvers at the same gradient norm or objective."""

import warnings

import numpy as np
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression as Peer

from benchmarks.measure import Row, best_of_each, seconds
from benchmarks.peers import TITLES, find_peers
from separatrix.data.catalogue import load
from separatrix.estimators.logistic_regression import LogisticRegression

GRADIENT = 1e-6  # relative to its norm at zero
TOLERANCES = [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9]
SOLVERS = ("newton-cholesky", "newton-cg", "lbfgs")


def relative_gradient(model, X, y):
    """Norm of the gradient at C = 1, with the bias, relative to that at zero."""
    second = (y == model.classes_[1]).astype(float)
    at_zero = _gradient(X, 0.5 - second, np.zeros(X.shape[1]))
    residual = expit(model.decision_function(X)) - second
    return np.linalg.norm(_gradient(X, residual, model.coef_[0])) / np.linalg.norm(at_zero)


def _gradient(X, residual, w):
    return np.append(X.T @ residual + w, residual.sum())


def _find_tolerance(make, X, y):
    for tol in TOLERANCES:
        found = relative_gradient(make(tol).fit(X, y), X, y)
        if found <= GRADIENT:
            return tol, found
    raise RuntimeError(f"{make(0.1)} does not reach a gradient of {GRADIENT}")


def _compare(name, X, y, *, repeat):
    makers = {"ours": lambda tol: LogisticRegression(tol=tol, max_iter=1000)}
    for library, cls in find_peers("linear_model", "LogisticRegression").items():
        for solver in SOLVERS if library == "sklearn" else ("lbfgs", "newton-cg"):
            makers[f"{TITLES[library]} {solver}"] = lambda tol, solver=solver, cls=cls: cls(
                tol=tol, solver=solver, max_iter=5000
            )
    peers = [name for name in makers if name != "ours"]
    tols = {key: _find_tolerance(make, X, y) for key, make in makers.items()}
    calls = {key: lambda key=key: makers[key](tols[key][0]).fit(X, y) for key in makers}
    times = best_of_each({peer: calls[peer] for peer in peers}, repeat=2)
    best = min(peers, key=times.get)
    times |= best_of_each({"ours": calls["ours"], best: calls[best]}, repeat=repeat)
    model = makers["ours"](tols["ours"][0]).fit(X, y)
    others = ", ".join(f"{peer} {times[peer]:.3f} s" for peer in peers if peer != best)
    return Row(
        f"LogisticRegression, {name}, relative gradient {GRADIENT:g} ({model.solver_}; "
        f"{tols['ours'][1]:.1g} reached, {tols[best][1]:.1g} by the peer)",
        f"{times['ours']:.3f} s",
        f"{best} {times[best]:.3f} s ({others})",
        f"{times[best] / times['ours']:.1f}x faster",
        "1.5x",
    )


def logistic():
    """a9a, dense; 1,000,000 x 20, synthetic; best of alternating runs."""
    adult = load("a9a")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 20))
    y = (rng.random(len(X)) < expit(X @ rng.normal(size=20) - 0.5)).astype(int)
    return [
        _compare("a9a dense, 32,561 x 123", adult.X.toarray(), adult.y, repeat=10),
        _compare("1,000,000 x 20", X, y, repeat=4),
    ], []


def _objective(model, X, y, C):
    S = X @ model.coef_.T + model.intercept_
    loss = -log_softmax(S, axis=1)[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()
    return C * loss + 0.5 * (model.coef_**2).sum()


def logistic_softmax():
    """MNIST, 60,000 x 784, ten classes, pixels / 255, C = 0.01, both at their default tolerance."""
    mnist = load("mnist")
    X, C = mnist.X / 255.0, 0.01
    ours_time, ours = seconds(
        lambda: LogisticRegression(C=C, max_iter=1000).fit(X, mnist.y), repeat=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer_time, peer = seconds(lambda: Peer(C=C, max_iter=1000).fit(X, mnist.y))
    mine, other = (_objective(model, X, mnist.y, C) for model in (ours, peer))
    accuracy = ours.score(mnist.X_test / 255.0, mnist.y_test)
    return [
        Row(
            f"LogisticRegression, MNIST 60k, softmax ({ours.solver_}; {ours.n_iter_[0]} steps, "
            f"peer {peer.n_iter_[0]}; test accuracy {accuracy:.4f}, peer "
            f"{peer.score(mnist.X_test / 255.0, mnist.y_test):.4f})",
            f"{ours_time:.2f} s",
            f"scikit-learn lbfgs {peer_time:.2f} s",
            f"{peer_time / ours_time:.1f}x faster",
            "1.5x",
        ),
        Row(
            "its objective, in C times the loss",
            f"{mine:.6f}",
            f"{other:.6f}",
            f"{(mine - other) / other:+.1e}",
            "equal or lower",
        ),
    ], []


SUITES = [logistic, logistic_softmax]
