"""Checks between the attributes of a model."""

import pytest
from sklearn.preprocessing import (
    StandardScaler,
)
from tests.modelfile.cases import BY_NAME, X
from tests.modelfile.hostile import refused, split_file

from separatrix.modelfile import schema as kind


@pytest.mark.parametrize("config", [5, {"transform": 5}, {"transform": [1]}, {"x": "pandas"}, []])
def test_the_output_of_transform_is_one_of_three(config, path):
    document, tensors = split_file(StandardScaler().fit(X), path)
    document["model"]["state"]["_sklearn_output_config"] = config
    assert refused(document, tensors, path) == "schema"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("svc-on-spectrum", {"kernel": "Linear", "params": {}}),
        ("svc-on-spectrum", {"kernel": "ShortestPath", "params": {}}),
        ("knn-on-subtrees", {"kernel": "BagOfWords", "params": {"lowercase": True}}),
        ("kernel-perceptron-on-subtrees", {"kernel": "Linear", "params": {}}),
        ("nystroem-on-subtrees", {"kernel": "Precomputed", "params": {}}),
        ("svc", {"kernel": "VertexHistogram", "params": {}}),
        ("knn-gaussian", {"kernel": "VertexHistogram", "params": {}}),
    ],
)
@pytest.mark.parametrize("position", ["both", "kernel", "kernel_"])
def test_a_kernel_on_other_samples_is_refused(name, kernel, position, path):
    document, tensors = split_file(BY_NAME[name].fitted(), path)
    if position != "kernel_":
        document["model"]["params"]["kernel"] = kernel
    if position != "kernel":
        document["model"]["state"]["kernel_"] = kernel
    assert refused(document, tensors, path) in ("invariant", "schema")


def test_a_search_over_other_samples_is_refused(path):
    for name in ("svc-cv-on-sequences", "perceptron-cv-on-graphs"):
        document, tensors = split_file(BY_NAME[name].fitted(), path)
        document["model"]["params"]["kernels"] = [{"kernel": "Linear", "params": {}}]
        assert refused(document, tensors, path) == "invariant"
        document, tensors = split_file(BY_NAME[name].fitted(), path)
        document["model"]["state"]["n_features_in_"] = 4
        assert refused(document, tensors, path) == "invariant"


@pytest.mark.parametrize(
    "name", ["svc-on-spectrum", "knn-on-subtrees", "nystroem-on-subsequence", "svc-on-paths"]
)
def test_objects_have_no_number_of_features(name, path):
    document, tensors = split_file(BY_NAME[name].fitted(), path)
    document["model"]["state"]["n_features_in_"] = 4
    assert refused(document, tensors, path) == "invariant"


def test_rows_have_a_number_of_features(path):
    for name in ("svc", "knn", "nystroem", "kernel-perceptron", "svc-cv", "perceptron-cv"):
        document, tensors = split_file(BY_NAME[name].fitted(), path)
        del document["model"]["state"]["n_features_in_"]
        assert refused(document, tensors, path) == "invariant"


def test_the_shape_of_objects_has_one_axis(path):
    for name in ("svc-on-spectrum", "svc"):
        document, tensors = split_file(BY_NAME[name].fitted(), path)
        shape = document["model"]["state"]["shape_fit_"]
        document["model"]["state"]["shape_fit_"] = [30, 4] if len(shape) == 1 else [30]
        assert refused(document, tensors, path) == "invariant"


def test_paths_that_no_memory_holds_are_refused(path, monkeypatch):
    document, tensors = split_file(BY_NAME["svc-on-normalized-graphs"].fitted(), path)
    monkeypatch.setattr(kind, "memory_of_this_machine", lambda: 10_000)
    assert refused(document, tensors, path) == "limit"
