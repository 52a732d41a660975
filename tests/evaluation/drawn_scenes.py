"""Generated scenes of the plane, and what is wrong with the lines that are drawn for them.

Every piece of a line must separate two classes, or a class and an undecided part, and wherever the class
of two neighbouring cells differs there must be a piece within two pixels. Both are asked of `predict`.
"""

import warnings
from typing import NamedTuple

import numpy as np

import separatrix
from separatrix.errors import SeparatrixError
from separatrix.evaluation.boundaries import UNDECIDED
from separatrix.evaluation.regions import decision_regions

CELLS_OF_PLANE, PIXELS_OF_PLANE = 160, 500
NEAR = 2 * CELLS_OF_PLANE / PIXELS_OF_PLANE  # two pixels, in cells
STEPS = 65  # places on an edge between two cells at which the class is asked for
LAYOUTS = ("blobs", "coincident", "collinear", "outliers", "integers", "ring", "noise")


class Faults(NamedTuple):
    """What is wrong with a picture, with the numbers of what was looked at."""

    cells: int  # that are decided, but not as predict does
    pieces: int  # that separate nothing
    changes: int  # without a piece within two pixels
    n_pieces: int
    n_changes: int
    undecided: float  # share of the area


def log_uniform(rng, least, most):
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def points_of(rng):
    """Points of 2 to 20 classes."""
    k = int(rng.choice([2, 2, 3, 3, 4, 5, 8, 20]))
    n = int(rng.integers(2 * k, 2 * k + 60))
    layout = str(rng.choice(LAYOUTS))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.normal(size=(n, 2))
    if layout == "blobs":
        X = 0.6 * X + 3.0 * rng.normal(size=(k, 2))[y]
    elif layout == "coincident":
        X = np.repeat(rng.normal(size=(max(1, k // 2), 2)), n, axis=0)[:n]
        X = X[rng.permutation(n)]
    elif layout == "collinear":
        X = np.outer(rng.normal(size=n), rng.normal(size=2))
    elif layout == "outliers":
        X[: max(1, n // 10)] *= log_uniform(rng, 1e1, 1e6)
    elif layout == "integers":
        X = rng.integers(-2, 3, size=(n, 2)).astype(float)
    elif layout == "ring":
        angle = 2 * np.pi * (y + 0.1 * rng.normal(size=n)) / k
        X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X, np.array([f"c{code:02}" for code in range(k)])[y]


def model_of(rng):
    """A classifier with parameters from 1e-3 to 1e3."""
    gamma, C = log_uniform(rng, 1e-3, 1e3), log_uniform(rng, 1e-3, 1e3)
    hard = bool(rng.random() < 0.15)
    kernel = str(rng.choice(["rbf", "rbf", "laplacian", "linear", "poly"]))
    kernel = {"kernel": kernel, "gamma": min(gamma, 1.0) if kernel == "poly" else gamma}
    limit = {"time_limit": 3.0}
    makers = {
        "SVC": lambda: {**kernel, **limit, "C": np.inf if hard else C},
        "KernelPerceptron": lambda: {**kernel, "max_iter": 20, "multi_class": _scheme(rng)},
        "KernelLogisticRegression": lambda: {**kernel, "C": C},
        "KernelFisherDiscriminant": lambda: {**kernel, "ridge": log_uniform(rng, 1e-3, 1e2)},
        "KNeighborsClassifier": lambda: {
            "n_neighbors": int(rng.integers(1, 6)),
            "weights": str(rng.choice(["uniform", "distance"])),
            "metric": str(rng.choice(["euclidean", "manhattan"])),
        },
        "LinearSVC": lambda: {"C": C, **limit},
        "LogisticRegression": lambda: {"C": C},
        "LeastSquaresClassifier": lambda: {"ridge": log_uniform(rng, 1e-3, 1e3)},
        "LinearDiscriminantAnalysis": lambda: {},
        "QuadraticDiscriminantAnalysis": lambda: {"reg_param": float(rng.uniform(0.01, 1))},
        "GaussianNB": lambda: {},
        "NearestCentroid": lambda: {},
        "Perceptron": lambda: {"max_iter": 20},
    }
    names = [*makers, "SVC", "SVC", "SVC", "KernelPerceptron", "KernelPerceptron"]
    name = str(rng.choice(names))
    return getattr(separatrix, name)(**makers[name]())


def _scheme(rng):
    return str(rng.choice(["auto", "ovr", "ovo"]))


def fitted_scene(number, seed=45):
    """A fitted model and its points; None if the library refuses them."""
    rng = np.random.default_rng([seed, number])
    X, y = points_of(rng)
    model = model_of(rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y).predict(X)
    except (SeparatrixError, ValueError):
        return None
    return model, X, y


def find_faults(model, X, y, grid=CELLS_OF_PLANE):
    """Recompute a picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regions = decision_regions(model, X, y, grid=grid)
        ask = _labels(model, regions)
        cells = np.stack(np.meshgrid(regions.first, regions.second), axis=-1).reshape(-1, 2)
        codes = np.concatenate([*map(model.predict, np.array_split(cells, 1 + len(cells) // 2000))])
        other = np.flatnonzero(codes != regions.labels[regions.codes.ravel()])
        wrong_cells = np.count_nonzero(~regions.undecided.ravel()[other])
        pieces, classes = _pieces(regions)
        drawn = classes.min(axis=1) >= 0 if len(classes) else np.zeros(0, dtype=bool)
        idle = int(np.count_nonzero(~_separate(ask, pieces[drawn]))) if drawn.any() else 0
        changes = _changes(ask, regions)
    far = _distance(changes, pieces) > NEAR
    return Faults(
        int(wrong_cells),
        idle,
        int(np.count_nonzero(far)),
        len(pieces),
        len(changes),
        regions.undecided_share,
    )


def _labels(model, regions):
    """The class of places in cells as `predict` gives it for few at a time: in float64."""
    steps = [(side[-1] - side[0]) / (len(side) - 1) for side in (regions.first, regions.second)]
    start = np.array([regions.first[0], regions.second[0]])

    def ask(places):
        positions = start + steps * np.reshape(places, (-1, 2))
        if not len(positions):
            return np.zeros(0, dtype=int)
        blocks = np.array_split(positions, 1 + len(positions) // 2000)
        return np.searchsorted(regions.labels, np.concatenate([*map(model.predict, blocks)]))

    return ask


def _pieces(regions):
    start = np.array([regions.first[0], regions.second[0]])
    steps = np.array([np.ptp(regions.first), np.ptp(regions.second)]) / (len(regions.first) - 1)
    return (regions.segments.ends - start) / steps, regions.segments.codes


def _separate(ask, pieces):
    """Whether the class changes at the middle of a piece, or at most two pixels off it."""
    middle = pieces.mean(axis=1)
    here, found = ask(middle), np.zeros(len(pieces), dtype=bool)
    for away in (0.02, 0.1, 0.2, 0.3, NEAR):
        for angle in 2 * np.pi * np.arange(8) / 8:
            left = np.flatnonzero(~found)
            if len(left) and away <= NEAR:
                off = away * np.array([np.cos(angle), np.sin(angle)])
                found[left] = ask(middle[left] + off) != here[left]
    return found


def _changes(ask, regions):
    """Places between neighbouring cells of different classes where the class changes first, in cells."""
    codes = regions.codes_with_undecided
    found = [np.empty((0, 2))]
    for axis, step in ((1, (1, 0)), (0, (0, 1))):
        i, j = np.nonzero(np.diff(codes, axis=axis))
        ends = codes[i, j], codes[i + step[1], j + step[0]]
        own = np.minimum(*ends) > UNDECIDED
        start = np.stack([j, i], axis=1)[own].astype(float)
        shares = np.linspace(0, 1, STEPS)
        labels = ask(start[:, None] + shares[:, None] * step).reshape(-1, STEPS)
        as_drawn = (labels[:, [0, -1]] == np.stack(ends, axis=1)[own]).all(axis=1)
        start, labels = start[as_drawn], labels[as_drawn]  # others are on a line: rounding decides
        first = np.argmax(labels != labels[:, :1], axis=1)
        found.append(start + (shares[first] - 0.5 / (STEPS - 1))[:, None] * step)
    return np.concatenate(found)


def _distance(places, pieces):
    """Distance of each place to the nearest piece."""
    least = np.full(len(places), np.inf)
    for start, end in pieces:
        along = end - start
        share = np.clip((places - start) @ along / (along @ along), 0, 1)
        np.minimum(least, np.hypot(*(places - start - share[:, None] * along).T), out=least)
    return least
