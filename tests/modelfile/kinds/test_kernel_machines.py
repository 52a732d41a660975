"""Files of kernel machines."""

import numpy as np
from tests.modelfile.cases import X, Y
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
