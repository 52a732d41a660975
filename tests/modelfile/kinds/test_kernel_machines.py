"""Files of kernel machines."""

import numpy as np
from tests.modelfile.cases import X, Y
from tests.modelfile.hostile import refused, split_file

from separatrix import SVC, load, save


def test_boundaries_are_counted_from_the_classes(path):
    document, tensors = split_file(SVC().fit(X, Y), path)
    many = 150_000
    for name, array in tensors.items():
        if array.shape == (3,) and name != "model.classes_":
            tensors[name] = np.zeros(many, array.dtype)
    assert refused(document, tensors, path) == "invariant"


def test_a_memory_budget_may_be_as_large_as_a_number_can(path):
    """The 52,875th."""
    model = SVC(cache_size=1e308).fit(X, Y)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), SVC().fit(X, Y).predict(X))
