"""The kernel perceptron on a card: the same mistakes in the same order, so the same machine exactly."""

import numpy as np
from tests.gpu.at_hand import case, digits, mnist, unfinished

from separatrix import KernelPerceptron, KernelPerceptronCV, evaluate
from separatrix.kernels import Gaussian, Polynomial

SCHEMES = ("argmax", "ovr", "ovo")


def both(X, y, kernel, **parameters):
    with unfinished():
        return [
            KernelPerceptron(kernel, device=device, random_state=3, **parameters).fit(X, y)
            for device in ("cpu", "cuda")
        ]


def require_the_same_mistakes(here, there):
    np.testing.assert_array_equal(there.mistakes_, here.mistakes_)
    np.testing.assert_array_equal(there.support_, here.support_)
    np.testing.assert_array_equal(there.alpha_, here.alpha_)
    assert (there.n_iter_, there.stop_) == (here.n_iter_, here.stop_)


def test_every_scheme_makes_the_mistakes_of_the_cpu():
    X, y = digits(1200)
    for scheme in SCHEMES:
        for predictor in ("last", "average"):
            with case(scheme, predictor):
                here, there = both(
                    X, y, Polynomial(2), multi_class=scheme, predictor=predictor, max_iter=8
                )  # fmt: skip
                require_the_same_mistakes(here, there)
                asked = digits()[0][1200:]
                np.testing.assert_array_equal(there.predict(asked), here.predict(asked))


def test_votes_and_a_shuffled_order_are_the_same():
    X, y = digits(700)
    parameters = {"multi_class": "ovr", "shuffle": True, "max_iter": 5}
    here, there = both(X, y, Polynomial(2), predictor="vote", **parameters)
    require_the_same_mistakes(here, there)
    asked = digits()[0][1500:]
    np.testing.assert_array_equal(there.predict(asked), here.predict(asked))


def test_rows_computed_when_needed_make_the_mistakes_of_the_whole_matrix():
    X, y = digits()
    same = {"max_iter": 4, "device": "cuda", "random_state": 3}
    with unfinished():
        whole, rows = (
            KernelPerceptron(Polynomial(2), cache_size=size, **same).fit(X, y) for size in (None, 3)
        )
    assert whole.gram_ != rows.gram_
    require_the_same_mistakes(whole, rows)


def test_a_search_over_kernels_scores_as_on_the_cpu():
    X, y = digits(800)
    kernels = [Polynomial(1), Polynomial(2), Gaussian(1e-3)]
    with unfinished():
        here, there = (
            KernelPerceptronCV(kernels, cv=3, device=device).fit(X, y) for device in ("cpu", "cuda")
        )
    found, wanted = (search.cv_results_["mean_test_score"] for search in (there, here))
    np.testing.assert_array_equal(found[:2], wanted[:2])  # their values are whole numbers
    assert abs(found[2] - wanted[2]) * len(y) <= 2.5


def test_a_study_of_splits_and_degrees_is_the_one_of_the_cpu():
    X, y = digits(800)
    degrees = [Polynomial(degree) for degree in (1, 2)]
    study = {"kernels": degrees, "repeats": 3, "folds": 3}
    with unfinished():
        here, there = (
            evaluate(KernelPerceptron(max_iter=5, device=device), X, y, **study)
            for device in ("cpu", "cuda")
        )
    np.testing.assert_array_equal(there.test_error, here.test_error)


def test_mnist_makes_the_same_mistakes():
    X, y, asked, _ = mnist(5000)
    X, asked = (np.floor(255 * part / 16) for part in (X, asked))  # products are exact in float32
    parameters = {"multi_class": "ovr", "predictor": "average", "max_iter": 3}
    here, there = both(X, y, Polynomial(2), **parameters)
    require_the_same_mistakes(here, there)
    assert np.mean(here.predict(asked) == there.predict(asked)) >= 0.999
