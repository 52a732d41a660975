"""The search over C and gamma on a card beside that on the CPU."""

import numpy as np
from tests.gpu.at_hand import case, clouds, digits, mnist, size

from separatrix import SVC, SVCCV


def scores(search):
    folds = [name for name in search.cv_results_ if name.startswith("split")]
    return np.array([search.cv_results_[name] for name in sorted(folds)])


def search(X, y, device, **parameters):
    parameters = {"Cs": [1.0, 10.0, 100.0], "gammas": [5e-4, 2e-3], "cv": 3} | parameters
    return SVCCV(device=device, **parameters).fit(X, y)


def test_all_cells_of_a_grid_score_as_on_the_cpu():
    X, y = digits(size(900, 300))
    for scheme in ("ovo", "ovr"):
        with case(scheme):
            estimator = SVC(multi_class=scheme, tol=1e-5)
            here, there = (search(X, y, d, estimator=estimator) for d in ("cpu", "cuda"))
            np.testing.assert_array_equal(scores(there), scores(here))
            assert there.best_params_ == here.best_params_
            np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_at_the_usual_tolerance_a_fold_differs_by_a_row_at_most():
    X, y = clouds(size(1800, 500), 8)
    grid = {"Cs": [0.1, 1.0, 1000.0], "gammas": [0.2, 5.0]}
    here, there = (search(X, y, d, **grid) for d in ("cpu", "cuda"))
    assert np.abs(scores(there) - scores(here)).max() * len(y) / 3 <= 1.5


def test_sample_weights_reach_the_folds():
    X, y = clouds(size(600, 300), 5)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    grid = {"Cs": [0.5, 5.0], "gammas": [0.5], "cv": 3, "estimator": SVC(tol=1e-6)}
    here, there = (
        SVCCV(device=d, **grid).fit(X, y, sample_weight=weights) for d in ("cpu", "cuda")
    )
    np.testing.assert_array_equal(scores(there), scores(here))


def test_mnist_chooses_as_on_the_cpu():
    X, y, _, _ = mnist(3000)
    here, there = (
        search(X, y, d, Cs=[1.0, 10.0, 100.0], gammas=[0.01, 0.02, 0.04]) for d in ("cpu", "cuda")
    )
    assert np.abs(scores(there) - scores(here)).max() * len(y) / 3 <= 1.5
