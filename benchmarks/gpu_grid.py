"""A grid of C by folds on a GPU, beside TorchKM on the same kernel matrix: seconds and objectives.

TorchKM (pip install --no-deps torchkm), at its default number of steps, minimises lambda a'Ka + mean hinge
over all rows for each lambda, and predicts held-out folds. With lambda = 1 / (2 n C) that is our objective
over n C.
"""

from statistics import median

import numpy as np

from benchmarks.gpu_svc import mnist, spread, timed
from benchmarks.measure import Row
from separatrix.estimators.base.support import class_segments
from separatrix.kernels import Gaussian
from separatrix.kernels.gram import make_gram
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import SvmProblem

ROWS, FOLDS = 10_000, 10
CS = np.logspace(-2, 3, 50)
KERNEL = Gaussian(0.02)


def parity():
    """Images in class order, even digits first, their sides, and the fold of each."""
    X, y, _, _ = mnist(ROWS)
    odd = y % 2
    order = np.argsort(odd, kind="stable")
    folds = np.random.default_rng(0).permutation(ROWS) % FOLDS
    return X[order], odd[order], folds


def solve_grid(X, odd, folds, device):
    """All C on all rows, and without each fold, over one matrix; fits by C, then by fold."""
    gram = make_gram(KERNEL, X, segments=class_segments(odd, 2), device=device)
    side, problems = np.array([-1, 1], dtype=np.int8), []
    for C in CS:
        for fold in range(-1, FOLDS):
            problems.append(SvmProblem(side, np.where(folds == fold, 0.0, C)))
    return solve_svms(gram, problems)


def grid():
    """MNIST parity, 10,000 rows, 50 C x 10 folds and a fit of all rows for each C: ours and TorchKM's."""
    import torch

    X, odd, folds = parity()
    there = torch.as_tensor(X, device="cuda")
    device = there.device
    solve_grid(there, odd, folds, device)
    ours, fits = timed(lambda: solve_grid(there, odd, folds, device))
    whole = fits[:: FOLDS + 1]
    objectives = np.array([fit.primal / (ROWS * C) for fit, C in zip(whole, CS, strict=True)])
    wrong = [error_of(fits[i * (FOLDS + 1) + 1 : (i + 1) * (FOLDS + 1)]) for i in range(len(CS))]
    note = f"violation {max(fit.violation for fit in fits):.1e}, {sum(fit.n_iter for fit in fits):,} steps"
    best = f"best C {CS[int(np.argmin(wrong))]:.3g}, error of folds {100 * min(wrong):.2f} %"
    try:
        from torchkm.cvksvm import cvksvm
    except ImportError:
        reason = "TorchKM is not installed: pip install --no-deps torchkm"
        return [Row("50 C x 10 folds, ours", f"{spread(ours)} s; {best}", reason, "-", "5x")], [
            note
        ]
    K = make_gram(KERNEL, there, device=device).storage.double()
    sides = torch.as_tensor(2.0 * odd - 1.0, device="cuda")
    lambdas = torch.as_tensor(1.0 / (2 * ROWS * CS), device="cuda")
    number = torch.as_tensor(folds + 1, device="cuda")

    def theirs():
        model = cvksvm(
            Kmat=K, y=sides, nlam=len(CS), ulam=lambdas, foldid=number, nfolds=FOLDS, eps=1e-5,
            maxit=1000, gamma=1e-8, is_exact=0, device="cuda",
        )  # fmt: skip
        model.fit()
        return model

    peer, model = timed(theirs, repeat=3)
    found = np.array(
        [float(model.obj_value(model.alpmat[:, i], lambdas[i])) for i in range(len(CS))]
    )
    apart = found / objectives - 1.0
    return [Row(
        "MNIST parity, 10,000 rows, 50 C x 10 folds, ours with the matrix", f"{spread(ours)} s; {best}",
        f"TorchKM without the matrix {spread(peer)} s; its objectives are {100 * apart.min():+.3f} to {100 * apart.max():+.3f} % above ours",
        f"{median(peer) / median(ours):.1f}x", "5x, equal or better objective",
    )], [note, "C, our objective, TorchKM's: " + "; ".join(f"{C:.3g} {a:.6f} {b:.6f}" for C, a, b in zip(CS[::7], objectives[::7], found[::7], strict=True))]  # fmt: skip


def error_of(fits):
    """Share of held-out rows on the wrong side."""
    wrong = [np.count_nonzero(fit.scores[fit.box == 0] * fit.y[fit.box == 0] <= 0) for fit in fits]
    return sum(wrong) / ROWS
