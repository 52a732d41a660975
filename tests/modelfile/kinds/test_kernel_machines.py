"""Files of kernel machines."""

import numpy as np
from tests.modelfile.cases import BY_NAME, X, Y
from tests.modelfile.hostile import refused, signed, split_file

from separatrix import SVC, KernelPerceptron, load, save


def test_boundaries_are_counted_from_the_classes(path):
    document, tensors = split_file(SVC().fit(X, Y), path)
    many = 150_000
    for name, array in tensors.items():
        if array.shape == (3,) and name != "model.classes_":
            tensors[name] = np.zeros(many, array.dtype)
    assert refused(document, tensors, path) == "invariant"


def test_a_machine_on_a_ready_matrix_has_no_support_vectors(path):
    model = SVC(kernel="precomputed").fit(X @ X.T, Y)
    again = load(save(model, path))
    assert again.support_vectors_.shape == model.support_vectors_.shape == (0, 0)
    np.testing.assert_array_equal(again.predict(X @ X.T), model.predict(X @ X.T))


def test_the_square_of_a_perceptron_is_not_negative(path):
    document, tensors = split_file(KernelPerceptron(max_iter=2).fit(X, Y), path)
    for square in (0.0, 0.5):
        document["model"]["state"]["_square"] = square
        path.write_bytes(signed(document, tensors))
        assert load(path)._square == square
    document["model"]["state"]["_square"] = -0.5
    assert refused(document, tensors, path) == "invariant"


def test_the_bias_of_a_perceptron_comes_back(path):
    model = BY_NAME["kernel-perceptron-bias"].fitted()
    again = load(save(model, path))
    assert again.intercept_.shape == (3,)
    assert np.any(again.intercept_ != 0)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_slim_perceptron_keeps_its_mistakes_only_to_vote(path):
    for predictor, kept in (("last", False), ("average", False), ("vote", True), ("random", True)):
        model = KernelPerceptron(predictor=predictor, max_iter=3).fit(X, Y)
        document, tensors = split_file(model, path, slim=True)
        assert document["model"]["state"]["_projectron"] is None
        assert (len(tensors["model._log.steps"]) > 0) == kept
        assert len(split_file(model, path)[1]["model._log.steps"]) > 0


def test_the_steps_of_a_perceptron_are_at_most_those_it_made(path):
    model = KernelPerceptron(max_iter=3).fit(X, Y)
    document, tensors = split_file(model, path)
    last = int(tensors["model._log.steps"].max())
    for steps in (last, last + 5):
        document["model"]["state"]["_n_steps"] = steps
        path.write_bytes(signed(document, tensors))
        assert load(path)._n_steps == steps
    document["model"]["state"]["_n_steps"] = last - 1
    assert refused(document, tensors, path) == "invariant"


def test_an_exact_machine_stays_exact(path):
    for tol in (1e-3, 1e-10):
        model = SVC(tol=tol).fit(X, Y)
        assert load(save(model, path))._tolerance == model._tolerance
