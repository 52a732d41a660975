"""Files of kernel machines."""

import numpy as np
from tests.modelfile.cases import X, Y
from tests.modelfile.hostile import refused, split_file

from separatrix import SVC


def test_boundaries_are_counted_from_the_classes(path):
    document, tensors = split_file(SVC().fit(X, Y), path)
    many = 150_000
    for name, array in tensors.items():
        if array.shape == (3,) and name != "model.classes_":
            tensors[name] = np.zeros(many, array.dtype)
    assert refused(document, tensors, path) == "invariant"
