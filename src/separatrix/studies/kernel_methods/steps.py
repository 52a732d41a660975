"""Steps of `kernel-methods`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from separatrix import SVC, KernelPerceptron, kernels
from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsample
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels import Gaussian, Kernel, Linear, Normalized, Polynomial, Spectrum
from separatrix.solvers.perceptron.dual import mistake_bound, solve_dual, solve_primal
from separatrix.studies.inputs import ScaledSamples, scaled_samples
from separatrix.types import Matrix, Signs

NAME = "kernel-methods"
FORMS = "1 primal and dual"
BOUND = "2 the bound"
MAP = "3 the degree-2 map"
DEFINITE = "4 positive semi-definite"
OLIGONUCLEOTIDES = "5 oligonucleotides"
OBJECTS = "6 one matrix for each kind"
SYNTHETIC = "made up"
GRID = 64  # synthetic coordinates are multiples of 1 / GRID
PASSES = 100_000
GIVEN_PASSES = 200  # over given data
MARGINS = (1.0, 0.5, 0.25, 0.125, 0.0625)
HARD = 1e6  # C of a hard-margin SVM
SIGMA = 8.0  # of exp(-|x - z|^2 / (2 sigma)), not its square
SEQUENCES = ("AATCGAGTCAC", "ATGGACGTCT", "TGCACTACT")
BASES = "ACGT"
WORD = 2  # letters
MATRIX_ROWS = 120  # of a matrix in the figure


class BinaryProblem(NamedTuple):
    """Samples of two classes."""

    data: str
    X: Matrix  # shape: (n, d)
    y: Signs  # shape: (n,)


class ObjectType(NamedTuple):
    """A type of object with a kernel for it; `objects` extracts what the kernel takes."""

    name: str
    data: str
    objects: Callable[[Dataset], Any]
    kernel: Kernel


OBJECT_TYPES = (
    ObjectType("vectors", "iris", lambda data: np.asarray(data.X), Gaussian(0.5)),
    ObjectType(
        "images", "digits", lambda data: np.asarray(data.X) / 16.0, Gaussian.from_variance(SIGMA)
    ),
    ObjectType("strings", "promoters", lambda data: data.X, Normalized(Spectrum(3))),
    ObjectType("molecules", "mutag", lambda data: data.X, Normalized(kernels.WeisfeilerLehman(3))),
)


def experiment(*, quick: bool = False, seed: int = 0, data: str | None = None) -> Experiment:
    """Primal and dual, the mistake bound, the degree-2 map, definiteness, and objects as a matrix.

    A quick run has fewer draws and digits, and no object type whose data would have to be downloaded.
    Given `data` take the place of iris, digits and all objects: up to 600 rows and the 20 features that
    differ most between the classes, scaled; the first class is against the others where there are two.
    """
    types = [one for one in OBJECT_TYPES if not quick or state(one.data) != TO_DOWNLOAD]
    types = types if data is None else [ObjectType("vectors", data, np.asarray, Gaussian(0.05))]
    steps = [
        Step(FORMS, compare_forms),
        Step(BOUND, check_bound),
        Step(MAP, check_map),
        Step(DEFINITE, check_definite),
        Step(OLIGONUCLEOTIDES, compare_sequences),
        *(Step(f"{OBJECTS}: {one.name}", partial(classify, kind=one)) for one in types),
    ]
    options = {"quick": quick, "seed": seed, "data": data}
    names = tuple(one.data for one in types)
    return Experiment(NAME, "Kernel methods, claim by claim", options, names, steps, find)


def word_counts(sequence: str, length: int = WORD) -> Any:  # shape: (4 ** length,)
    """How often each word over A, C, G, T occurs in the sequence, overlaps counted, words in order.

    >>> dict(zip(words(1), word_counts("GATTA", 1).tolist(), strict=True))
    {'A': 2, 'C': 0, 'G': 1, 'T': 2}
    """
    found = [sequence[start : start + length] for start in range(len(sequence) - length + 1)]
    return np.array([found.count(word) for word in words(length)])


def words(length: int = WORD) -> list[str]:
    """All words of that length in lexicographic order."""
    return ["".join(letters) for letters in product(BASES, repeat=length)]


def compare_forms(context: RunContext) -> StepResult:
    """Rosenblatt's algorithm on vectors (primal) and on inner products alone (dual)."""
    rows: list[Row] = []
    arrays: dict[str, Any] = {}
    rng = np.random.default_rng(context.options["seed"])
    for data, X, y in [separable(rng, n=60, margin=0.125), *_own_problems(context)]:
        limit = _most_passes(context, data)
        primal = solve_primal(X, y, max_iter=limit)
        dual = solve_dual(X @ X.T, y, max_iter=limit)
        values = {
            "samples": len(y),
            "primal_mistakes": len(primal.mistakes),
            "dual_mistakes": len(dual.mistakes),
            "same_mistakes": np.array_equal(primal.mistakes, dual.mistakes),
            "weight_difference": np.abs((dual.alpha * y) @ X - primal.w).max(),
            "bias_difference": abs(dual.b - primal.b),
            "clean_pass": primal.clean and dual.clean,
        }
        rows += metric_rows(FORMS, data, "Rosenblatt", values)
        name = "given" if data == context.options["data"] else data.replace(" ", "_")
        arrays[f"{name}_primal"], arrays[f"{name}_dual"] = primal.mistakes, dual.mistakes
        if data == SYNTHETIC:
            arrays |= {"X": X, "y": y, "w": primal.w, "b": np.array([primal.b])}
            arrays["alpha"] = dual.alpha
    return StepResult(rows, arrays)


def check_bound(context: RunContext) -> StepResult:
    """Mistakes and (2R / gamma)^2, gamma being the margin of a hard-margin SVM."""
    rows: list[Row] = []
    for draw in range(3 if context.options["quick"] else 20):
        rng = np.random.default_rng([context.options["seed"], draw])
        for margin in MARGINS:
            data, X, y = separable(rng, n=100, margin=margin)
            found = solve_primal(X, y, max_iter=PASSES)
            svm = SVC(C=HARD, kernel=Linear(), tol=1e-4).fit(X, y)
            limit = mistake_bound(X, y, svm.coef_[0], float(svm.intercept_[0]))
            values = {"mistakes": len(found.mistakes), "bound": limit}
            rows += metric_rows(BOUND, data, "Rosenblatt", values, split=draw, margin=margin)
        ring, kernel = circle(rng, n=100), Gaussian(2.0)
        values = _feature_space_bound(ring.X, ring.y, kernel)
        rows += metric_rows(
            BOUND, ring.data, "kernel Rosenblatt", values, split=draw, kernel=repr(kernel)
        )
    if context.options["data"] is not None:
        (own,) = _own_problems(context)
        values = _feature_space_bound(own.X, own.y, kernel)
        if np.isfinite(values["bound"]):  # the classes can be separated
            rows += metric_rows(
                BOUND, own.data, "kernel Rosenblatt", values, split=0, kernel=repr(kernel)
            )
    return StepResult(rows)


def check_map(context: RunContext) -> StepResult:
    """Products of (x1^2, x2^2, sqrt2 x1 x2) are <x, z>^2, so the kernel learns the same."""
    rows: list[Row] = []
    digits = _few_samples(context)
    ring = circle(np.random.default_rng(context.options["seed"]), n=100)
    arrays: dict[str, Any] = {"X": ring.X, "y": ring.y, "mapped": kernels.quadratic_map(ring.X)}
    own = BinaryProblem("digits", digits.X, _signs(digits.y % 2 == 0))
    if context.options["data"] is not None:
        (own,) = _own_problems(context)
    for data, X, y in (ring, own):
        mapped, K = kernels.quadratic_map(X), Polynomial(2).block(X, X)
        limit = _most_passes(context, data)
        primal = solve_primal(mapped, y, max_iter=limit)
        dual = solve_dual(K, y, max_iter=limit)
        values = {
            "features": X.shape[1],
            "mapped_features": mapped.shape[1],
            "relative_difference": np.abs(mapped @ mapped.T - K).max() / K.max(),
            "primal_mistakes": len(primal.mistakes),
            "dual_mistakes": len(dual.mistakes),
            "same_mistakes": np.array_equal(primal.mistakes, dual.mistakes),
        }
        rows += metric_rows(MAP, data, "degree-2 map", values)
        if data == ring.data:
            arrays |= {"w": primal.w, "b": np.array([primal.b])}
    return StepResult(rows, arrays)


def check_definite(context: RunContext) -> StepResult:
    """Eigenvalues of the matrix of each kernel, and vectors whose products are that matrix."""
    digits = _few_samples(context)
    X = digits.X if context.options["data"] else digits.X / 16.0
    gaussian = Gaussian.from_variance(SIGMA)
    tried = (
        *(Linear(), Polynomial(2), Polynomial(3), gaussian),
        *(kernels.Laplacian(0.1), kernels.Sigmoid(1.0, -1.0)),
    )
    rows, spectra = [], []
    for kernel in tried:
        K = _symmetric(kernel, X)
        eigenvalues = np.linalg.eigvalsh(K)[::-1]
        definite = kernels.is_positive_semidefinite(K)
        values: dict[str, Any] = {
            "largest_eigenvalue": eigenvalues[0],
            "lowest_eigenvalue": eigenvalues[-1],
            "positive_semidefinite": definite,
        }
        if definite:
            F = kernels.eigen_embedding(K, tol=1e-12)
            values["dimensions"] = F.shape[1]
            values["embedding_error"] = np.abs(F @ F.T - K).max() / np.abs(K).max()
        rows += metric_rows(DEFINITE, digits.name, "kernel matrix", values, kernel=repr(kernel))
        spectra.append(eigenvalues)
    K = _symmetric(gaussian, X)
    centre = np.eye(len(K)) - 1.0 / len(K)
    F = kernels.eigen_embedding(centre @ K @ centre, 2)
    signs = np.sign(F[np.abs(F).argmax(axis=0), [0, 1]])  # the sign of an axis is arbitrary
    arrays = {"spectra": np.array(spectra), "embedding": F * signs, "labels": digits.y}
    return StepResult(rows, arrays)


def compare_sequences(_context: RunContext) -> StepResult:
    """Three sequences as word counts, and as 3 x 3 similarities with the same information."""
    counts = np.array([word_counts(sequence) for sequence in SEQUENCES], dtype=np.float64)
    K = Spectrum(WORD).block(SEQUENCES, SEQUENCES)
    cosine = Normalized(Spectrum(WORD)).block(SEQUENCES, SEQUENCES)
    F = kernels.eigen_embedding(K)
    rows: list[Row] = []
    for s, line in zip(SEQUENCES, counts, strict=True):
        for word, count in zip(words(), line, strict=True):
            rows += metric_rows(OLIGONUCLEOTIDES, s, "words", {"count": count}, word=word)
    for metric, matrix in (("products", K), ("similarity", cosine)):
        for (i, j), value in np.ndenumerate(matrix):
            about = {"other": SEQUENCES[j]}
            rows += metric_rows(OLIGONUCLEOTIDES, SEQUENCES[i], "words", {metric: value}, **about)
    values = {
        "difference_from_counts": np.abs(K - Linear().block(counts, counts)).max(),
        "positive_semidefinite": kernels.is_positive_semidefinite(K),
        "dimensions": F.shape[1],
        "embedding_error": np.abs(F @ F.T - K).max(),
    }
    rows += metric_rows(OLIGONUCLEOTIDES, "all three", "words", values)
    arrays = {"counts": counts, "products": K, "similarity": cosine, "embedding": F}
    return StepResult(rows, arrays)


def classify(context: RunContext, kind: ObjectType) -> StepResult:
    """Estimators trained on objects with a kernel, and on the precomputed n x n matrix."""
    if context.options["data"] is None:
        data = context.data(kind.data)
        objects, y = kind.objects(data), np.asarray(data.y)
    else:
        objects, y = _given(context)[:2]
    rng = np.random.default_rng(context.options["seed"])
    order = rng.permutation(len(y))[: 3 * _digit_count(context)]
    train, test = np.split(order, [2 * len(order) // 3])
    X, X_test = _select(objects, train), _select(objects, test)
    K, K_test = kind.kernel.block(X, X), kind.kernel.block(X_test, X)
    values: dict[str, Any] = {
        "objects": len(train),
        "positive_semidefinite": kernels.is_positive_semidefinite((K + K.T) / 2),
    }
    for model in (KernelPerceptron, SVC):
        direct = model(kernel=kind.kernel).fit(X, y[train]).predict(X_test)
        ready = model(kernel=kernels.Precomputed()).fit(K, y[train]).predict(K_test)
        values[f"{model.__name__}_test_accuracy"] = (direct == y[test]).mean()
        values[f"{model.__name__}_agreement_with_ready_matrix"] = (direct == ready).mean()
    rows = metric_rows(OBJECTS, kind.data, kind.name, values, kernel=repr(kind.kernel))
    few = train[:MATRIX_ROWS][np.argsort(y[train[:MATRIX_ROWS]], kind="stable")]
    drawn = _select(objects, few)
    codes = np.unique(y, return_inverse=True)[1]
    return StepResult(rows, {"matrix": kind.kernel.block(drawn, drawn), "labels": codes[few]})


def _given(context: RunContext) -> ScaledSamples:
    """The given data, made once."""
    name, seed = context.options["data"], context.options["seed"]
    return context.shared("given", lambda: scaled_samples(NAME, context.data(name), seed))


def _own_problems(context: RunContext) -> list[BinaryProblem]:
    """Two classes of real samples, in integers or multiples of 1 / GRID, so that sums are exact."""
    if context.options["data"] is not None:
        own = _few_samples(context)
        X = np.round(GRID * own.X) / GRID
        return [BinaryProblem(own.name, X, _signs(own.y == 0))]
    iris, digits = context.data("iris"), context.data("digits")
    few = np.flatnonzero(digits.y <= 1)
    return [
        BinaryProblem("iris", np.round(10 * np.asarray(iris.X)), _signs(iris.y == 0)),
        BinaryProblem("digits", np.asarray(digits.X)[few], _signs(digits.y[few] == 0)),
    ]


def _most_passes(context: RunContext, data: str) -> int:
    """Of given data, which need not be separable, few."""
    return GIVEN_PASSES if data == context.options["data"] else PASSES


def _few_samples(context: RunContext) -> Dataset:
    n = _digit_count(context)
    if context.options["data"] is not None:
        own = _given(context)
        few = subsample(own.y, min(n, len(own.y)), seed=context.options["seed"])
        return Dataset(context.options["data"], own.X[few], own.y[few])
    digits = context.data("digits")
    return Dataset("digits", np.asarray(digits.X)[:n], np.asarray(digits.y)[:n])


def _digit_count(context: RunContext) -> int:
    return 150 if context.options["quick"] else 500


def separable(rng: np.random.Generator, *, n: int, margin: float) -> BinaryProblem:
    """Points of a square on both sides of a line, at least the margin away from it."""
    angle, b = rng.uniform(0, 2 * np.pi), rng.uniform(-0.5, 0.5)
    w = np.array([np.cos(angle), np.sin(angle)])
    X = np.round(GRID * rng.uniform(-2, 2, size=(20 * n, 2))) / GRID
    X = X[np.abs(X @ w + b) >= margin][:n]
    return BinaryProblem(SYNTHETIC, X, _signs(X @ w + b > 0))


def circle(rng: np.random.Generator, *, n: int) -> BinaryProblem:
    """Points of a square inside a circle or well outside of it: not linearly separable."""
    X = np.round(GRID * rng.uniform(-2, 2, size=(20 * n, 2))) / GRID
    radius = np.hypot(X[:, 0], X[:, 1])
    X = X[(radius < 1.0) | (radius > 1.3)][:n]
    return BinaryProblem("a circle", X, _signs(np.hypot(X[:, 0], X[:, 1]) > 1.15))


def _feature_space_bound(X: Matrix, y: Signs, kernel: Kernel) -> dict[str, float]:
    """Mistakes of the dual form, and (2R / gamma)^2 with R^2 = max k(x, x)."""
    K = np.asarray(kernel.block(X, X), dtype=np.float64)
    svm = SVC(C=HARD, kernel=kernel, tol=1e-4).fit(X, y)
    norm = 2.0 / float(svm.margin_width_[0])
    gamma = float((y * svm.decision_function(X)).min()) / norm
    if gamma <= 0:
        return {"mistakes": np.inf, "bound": np.inf}
    mistakes = len(solve_dual(K, y, max_iter=PASSES).mistakes)
    return {"mistakes": mistakes, "bound": 4.0 * float(np.diagonal(K).max()) / gamma**2}


def _symmetric(kernel: Kernel, X: Matrix) -> Matrix:
    K = np.asarray(kernel.block(X, X), dtype=np.float64)
    return (K + K.T) / 2


def _select(objects: Any, rows: Any) -> Any:
    """Some objects: rows of a matrix or items of a list."""
    return objects[rows] if isinstance(objects, np.ndarray) else [objects[row] for row in rows]


def _signs(positive: Any) -> Signs:
    return np.where(positive, 1, -1).astype(np.int8)
