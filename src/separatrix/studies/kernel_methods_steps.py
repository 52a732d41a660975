"""S3: kernel methods, each of their claims as numbers that can be checked.

Samples of the first three parts are multiples of 1/64, so that sums and products are exact and two
forms of one algorithm can be held against each other mistake by mistake. The last part makes one
matrix for each kind of object in `KINDS`: a further kind is one more line there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.dataset import Dataset
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.svc import SVC
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
    eigen_embedding,
    is_positive_semidefinite,
    quadratic_map,
)
from separatrix.solvers.perceptron.dual import mistake_bound, solve_dual, solve_primal
from separatrix.types import Matrix, Signs
from separatrix.validation import require_integer

NAME = "kernel-methods"
FORMS = "1 primal and dual"
BOUND = "2 the bound"
MAP = "3 the degree-2 map"
DEFINITE = "4 positive semi-definite"
OLIGONUCLEOTIDES = "5 oligonucleotides"
KIND = "6 one matrix for each kind"
MADE = "made up"
GRID = 64  # made-up coordinates are multiples of 1 over this
PASSES = 100_000
MARGINS = (1.0, 0.5, 0.25, 0.125, 0.0625)
HARD = 1e6  # C of a machine that allows no sample inside its margin
SIGMA = 8.0  # exp(-|x - z|^2 / (2 sigma)), not its square
SEQUENCES = ("AATCGAGTCAC", "ATGGACGTCT", "TGCACTACT")
BASES = "ACGT"
WORD = 2  # letters
DRAWN = 120  # samples of a matrix that is drawn


class Problem(NamedTuple):
    """Two classes to tell apart."""

    data: str
    X: Matrix  # shape: (n, d)
    y: Signs  # shape: (n,)


class Kind(NamedTuple):
    """A kind of object and a kernel for it; objects come as the kernel takes them."""

    name: str
    data: str
    objects: Callable[[Dataset], Any]
    kernel: Kernel


KINDS = (
    Kind("vectors", "iris", lambda data: np.asarray(data.X), Gaussian(0.5)),
    Kind("images", "digits", lambda data: np.asarray(data.X) / 16.0, Gaussian.from_variance(SIGMA)),
    Kind("strings", "promoters", lambda data: data.X, Normalized(Spectrum(3))),
    Kind("molecules", "mutag", lambda data: data.X, Normalized(WeisfeilerLehman(3))),
)


def experiment(*, quick: bool = False, seed: int = 0) -> Experiment:
    """Primal and dual, the bound, the degree-2 map, definiteness, and objects as a matrix.

    Parameters
    ----------
    quick
        Fewer draws and fewer digits, and no kind of object that would have to be downloaded.
    """
    require_integer(NAME, "seed", seed, least=0)
    kinds = [kind for kind in KINDS if not quick or state(kind.data) != TO_DOWNLOAD]
    claims = _Claims(draws=3 if quick else 20, digits=150 if quick else 500, seed=seed)
    steps = [
        Step(FORMS, claims.forms),
        Step(BOUND, claims.bound),
        Step(MAP, claims.degree_two),
        Step(DEFINITE, claims.definite),
        Step(OLIGONUCLEOTIDES, claims.oligonucleotides),
        *(Step(f"{KIND}: {kind.name}", partial(claims.kind, kind=kind)) for kind in kinds),
    ]
    return Experiment(
        NAME,
        "Kernel methods, claim by claim",
        {"quick": quick, "seed": seed},
        tuple(kind.data for kind in kinds),
        steps,
    )


def word_counts(sequence: str, length: int = WORD) -> Any:  # shape: (4 ** length,)
    """How often each word over A, C, G, T occurs in the sequence, overlaps counted, words in order.

    >>> dict(zip(words(1), word_counts("GATTA", 1).tolist(), strict=True))
    {'A': 2, 'C': 0, 'G': 1, 'T': 2}
    """
    met = [sequence[start : start + length] for start in range(len(sequence) - length + 1)]
    return np.array([met.count(word) for word in words(length)])


def words(length: int = WORD) -> list[str]:
    """All words of that many letters, as in a dictionary."""
    return ["".join(letters) for letters in product(BASES, repeat=length)]


class _Claims:
    """The steps, under one seed."""

    def __init__(self, *, draws: int, digits: int, seed: int) -> None:
        self.draws, self.digits, self.seed = draws, digits, seed

    def forms(self, workshop: RunContext) -> StepResult:
        """Rosenblatt's algorithm twice: on vectors, and on their inner products alone."""
        rows: list[Row] = []
        arrays: dict[str, Any] = {}
        iris, digits = workshop.data("iris"), workshop.data("digits")
        few = np.flatnonzero(digits.y <= 1)
        plane = separable(np.random.default_rng(self.seed), n=60, margin=0.125)
        problems = [
            plane,
            Problem("iris", np.round(10 * np.asarray(iris.X)), _signs(iris.y == 0)),
            Problem("digits", np.asarray(digits.X)[few], _signs(digits.y[few] == 0)),
        ]
        for data, X, y in problems:
            primal = solve_primal(X, y, max_iter=PASSES)
            dual = solve_dual(X @ X.T, y, max_iter=PASSES)
            rows += [
                _row(FORMS, data, "Rosenblatt", metric, value)
                for metric, value in (
                    ("samples", len(y)),
                    ("primal_mistakes", len(primal.mistakes)),
                    ("dual_mistakes", len(dual.mistakes)),
                    ("same_mistakes", _same(primal.mistakes, dual.mistakes)),
                    ("weight_difference", np.abs((dual.alpha * y) @ X - primal.w).max()),
                    ("bias_difference", abs(dual.b - primal.b)),
                    ("clean_pass", primal.clean and dual.clean),
                )
            ]
            name = data.replace(" ", "_")
            arrays[f"{name}_primal"], arrays[f"{name}_dual"] = primal.mistakes, dual.mistakes
            if data == MADE:
                arrays |= {"X": X, "y": y, "w": primal.w, "b": np.array([primal.b])}
                arrays["alpha"] = dual.alpha
        return StepResult(rows, arrays)

    def bound(self, workshop: RunContext) -> StepResult:
        """Mistakes beside (2R / gamma)^2, gamma the margin of the machine that has the widest."""
        rows = []
        for draw in range(self.draws):
            rng = np.random.default_rng([self.seed, draw])
            for margin in MARGINS:
                _, X, y = separable(rng, n=100, margin=margin)
                found = solve_primal(X, y, max_iter=PASSES)
                machine = SVC(C=HARD, kernel=Linear(), tol=1e-4).fit(X, y)
                limit = mistake_bound(X, y, machine.coef_[0], float(machine.intercept_[0]))
                rows += [
                    _row(BOUND, MADE, "Rosenblatt", metric, value, draw, margin=margin)
                    for metric, value in (("mistakes", len(found.mistakes)), ("bound", limit))
                ]
            ring, kernel = circle(rng, n=100), Gaussian(2.0)
            mistakes, limit = _in_feature_space(ring.X, ring.y, kernel)
            rows += [
                _row(
                    BOUND, ring.data, "kernel Rosenblatt", metric, value, draw, kernel=repr(kernel)
                )
                for metric, value in (("mistakes", mistakes), ("bound", limit))
            ]
        return StepResult(rows)

    def degree_two(self, workshop: RunContext) -> StepResult:
        """Products of (x1^2, x2^2, sqrt2 x1 x2) are <x, z>^2, so the kernel learns the same."""
        rows = []
        digits = self._digits(workshop)
        ring = circle(np.random.default_rng(self.seed), n=100)
        problems = [ring, Problem("digits", digits.X, _signs(digits.y % 2 == 0))]
        for data, X, y in problems:
            mapped, K = quadratic_map(X), Polynomial(2).block(X, X)
            primal = solve_primal(mapped, y, max_iter=PASSES)
            dual = solve_dual(K, y, max_iter=PASSES)
            rows += [
                _row(MAP, data, "degree-2 map", metric, value)
                for metric, value in (
                    ("features", X.shape[1]),
                    ("mapped_features", mapped.shape[1]),
                    ("relative_difference", np.abs(mapped @ mapped.T - K).max() / K.max()),
                    ("primal_mistakes", len(primal.mistakes)),
                    ("dual_mistakes", len(dual.mistakes)),
                    ("same_mistakes", _same(primal.mistakes, dual.mistakes)),
                )
            ]
            if data == ring.data:
                weights, bias = primal.w, primal.b
        return StepResult(
            rows,
            {
                "X": ring.X,
                "y": ring.y,
                "mapped": quadratic_map(ring.X),
                "w": weights,
                "b": np.array([bias]),
            },
        )

    def definite(self, workshop: RunContext) -> StepResult:
        """Eigenvalues of the matrix of each kernel, and vectors whose products are that matrix."""
        digits = self._digits(workshop)
        X = digits.X / 16.0
        kernels = (
            Linear(),
            Polynomial(2),
            Polynomial(3),
            Gaussian.from_variance(SIGMA),
            Laplacian(0.1),
            Sigmoid(1.0, -1.0),
        )
        rows, spectra = [], []
        for kernel in kernels:
            K = np.asarray(kernel.block(X, X), dtype=np.float64)
            K = (K + K.T) / 2
            values = np.linalg.eigvalsh(K)[::-1]
            definite = is_positive_semidefinite(K)
            found = [
                ("largest_eigenvalue", values[0]),
                ("lowest_eigenvalue", values[-1]),
                ("positive_semidefinite", definite),
            ]
            if definite:
                F = eigen_embedding(K, tol=1e-12)
                error = np.abs(F @ F.T - K).max() / np.abs(K).max()
                found += [("dimensions", F.shape[1]), ("embedding_error", error)]
            rows += [
                _row(DEFINITE, "digits", "kernel matrix", metric, value, kernel=repr(kernel))
                for metric, value in found
            ]
            spectra.append(values)
        K = np.asarray(Gaussian.from_variance(SIGMA).block(X, X), dtype=np.float64)
        centre = np.eye(len(K)) - 1.0 / len(K)
        position = eigen_embedding(centre @ ((K + K.T) / 2) @ centre, 2)
        signs = np.sign(
            position[np.abs(position).argmax(axis=0), [0, 1]]
        )  # an axis may point either way
        return StepResult(
            rows,
            {"spectra": np.array(spectra), "embedding": position * signs, "labels": digits.y},
        )

    def oligonucleotides(self, workshop: RunContext) -> StepResult:
        """Three sequences as counts of words, and as 3 x 3 similarities, which say as much."""
        counts = np.array([word_counts(sequence) for sequence in SEQUENCES], dtype=np.float64)
        K = Spectrum(WORD).block(SEQUENCES, SEQUENCES)
        cosine = Normalized(Spectrum(WORD)).block(SEQUENCES, SEQUENCES)
        F = eigen_embedding(K)
        rows = [
            _row(OLIGONUCLEOTIDES, s, "words", "count", counts[i, j], word=word)
            for i, s in enumerate(SEQUENCES)
            for j, word in enumerate(words())
        ]
        rows += [
            _row(OLIGONUCLEOTIDES, s, "words", metric, matrix[i, j], other=other)
            for metric, matrix in (("products", K), ("similarity", cosine))
            for i, s in enumerate(SEQUENCES)
            for j, other in enumerate(SEQUENCES)
        ]
        found = (
            ("difference_from_counts", np.abs(K - Linear().block(counts, counts)).max()),
            ("positive_semidefinite", is_positive_semidefinite(K)),
            ("dimensions", F.shape[1]),
            ("embedding_error", np.abs(F @ F.T - K).max()),
        )
        rows += [_row(OLIGONUCLEOTIDES, "all three", "words", name, v) for name, v in found]
        return StepResult(
            rows, {"counts": counts, "products": K, "similarity": cosine, "embedding": F}
        )

    def kind(self, workshop: RunContext, kind: Kind) -> StepResult:
        """The n x n matrix of one kind of object; the same estimators learn from it."""
        data = workshop.data(kind.data)
        objects, y = kind.objects(data), np.asarray(data.y)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(y))[: 3 * self.digits]
        train, test = np.split(order, [2 * len(order) // 3])
        chosen = [_taken(objects, rows) for rows in (train, test)]
        K = kind.kernel.block(chosen[0], chosen[0])
        K_test = kind.kernel.block(chosen[1], chosen[0])
        found = [
            ("objects", len(train)),
            ("positive_semidefinite", is_positive_semidefinite((K + K.T) / 2)),
        ]
        for model in (KernelPerceptron, SVC):
            direct = model(kernel=kind.kernel).fit(chosen[0], y[train])
            ready = model(kernel=Precomputed()).fit(K, y[train])
            guesses, again = direct.predict(chosen[1]), ready.predict(K_test)
            found += [
                (f"{model.__name__}_test_accuracy", (guesses == y[test]).mean()),
                (f"{model.__name__}_agreement_with_ready_matrix", (guesses == again).mean()),
            ]
        rows = [
            _row(KIND, kind.data, kind.name, metric, value, kernel=repr(kind.kernel))
            for metric, value in found
        ]
        few = train[:DRAWN][np.argsort(y[train[:DRAWN]], kind="stable")]
        drawn = _taken(objects, few)
        codes = np.unique(y, return_inverse=True)[1]
        return StepResult(rows, {"matrix": kind.kernel.block(drawn, drawn), "labels": codes[few]})

    def _digits(self, workshop: RunContext) -> Dataset:
        digits = workshop.data("digits")
        X, y = np.asarray(digits.X)[: self.digits], np.asarray(digits.y)[: self.digits]
        return Dataset("digits", X, y)


def separable(rng: np.random.Generator, *, n: int, margin: float) -> Problem:
    """Points of a square on both sides of a line, none nearer to it than the margin."""
    angle, b = rng.uniform(0, 2 * np.pi), rng.uniform(-0.5, 0.5)
    w = np.array([np.cos(angle), np.sin(angle)])
    X = np.round(GRID * rng.uniform(-2, 2, size=(20 * n, 2))) / GRID
    X = X[np.abs(X @ w + b) >= margin][:n]
    return Problem(MADE, X, _signs(X @ w + b > 0))


def circle(rng: np.random.Generator, *, n: int) -> Problem:
    """Points of a square, inside a circle or well outside of it: no line tells them apart."""
    X = np.round(GRID * rng.uniform(-2, 2, size=(20 * n, 2))) / GRID
    radius = np.hypot(X[:, 0], X[:, 1])
    X = X[(radius < 1.0) | (radius > 1.3)][:n]
    return Problem("a circle", X, _signs(np.hypot(X[:, 0], X[:, 1]) > 1.15))


def _in_feature_space(X: Matrix, y: Signs, kernel: Kernel) -> tuple[int, float]:
    """Mistakes of the dual form, and (2R / gamma)^2 with R^2 = max k(x, x)."""
    K = np.asarray(kernel.block(X, X), dtype=np.float64)
    machine = SVC(C=HARD, kernel=kernel, tol=1e-4).fit(X, y)
    norm = 2.0 / float(machine.margin_width_[0])
    gamma = float((y * machine.decision_function(X)).min()) / norm
    mistakes = len(solve_dual(K, y, max_iter=PASSES).mistakes)
    return mistakes, 4.0 * float(np.diagonal(K).max()) / gamma**2


def _taken(objects: Any, rows: Any) -> Any:
    """Some of the objects, which are rows of a matrix or items of a list."""
    return objects[rows] if isinstance(objects, np.ndarray) else [objects[row] for row in rows]


def _signs(positive: Any) -> Signs:
    return np.where(positive, 1, -1).astype(np.int8)


def _same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(first, second))


def _row(
    part: str, data: str, model: str, metric: str, value: Any, split: int = ALL_SPLITS, **how: Any
) -> Row:
    return Row(part, data, model, params_json(**how), split, metric, float(value))
