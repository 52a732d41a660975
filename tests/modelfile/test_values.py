"""Hyper-parameters of kernels."""

import pytest
from tests.modelfile.cases import (
    BY_NAME,
)
from tests.modelfile.hostile import refused, split_file


def changed_kernel(name, path, **params):
    """A file whose kernel has other parameters."""
    document, tensors = split_file(BY_NAME[name].fitted(), path)
    for position in (document["model"]["params"]["kernel"], document["model"]["state"]["kernel_"]):
        position["params"].update(params)
    return document, tensors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("svc-on-spectrum", {"k": 2**40}, "limit"),
        ("svc-on-spectrum", {"k": 0}, "invariant"),
        ("svc-on-spectrum", {"k": 2.0}, "schema"),
        ("svc-on-spectrum", {"k": True}, "schema"),
        ("svc-on-spectrum", {"k": None}, "schema"),
        ("svc-on-spectrum", {"shortest": 3}, "invariant"),
        ("svc-on-spectrum", {"shortest": "1"}, "schema"),
        ("svc-on-spectrum", {"weights": {"tuple": [1.0, 2.0]}}, "invariant"),
        ("svc-on-spectrum", {"weights": {"tuple": [-1.0]}}, "invariant"),
        ("svc-on-spectrum", {"weights": {"tuple": ["x"]}}, "schema"),
        ("svc-on-spectrum", {"weights": {"tuple": [True]}}, "schema"),
        ("svc-on-spectrum", {"weights": [1.0]}, "schema"),
        ("svc-on-spectrum", {"weights": {"array": "C"}}, "schema"),
        ("svc-on-spectrum", {"alphabet": ""}, "invariant"),
        ("svc-on-spectrum", {"alphabet": 7}, "schema"),
        ("svc-on-spectrum", {"alphabet": "a" * 10_001}, "limit"),
        ("svc-on-spectrum", {"decay": 0.5}, "schema"),
        ("svc-on-subsequence", {"decay": 1.5}, "invariant"),
        ("svc-on-subsequence", {"decay": None}, "schema"),
        ("svc-on-words", {"lowercase": 1}, "schema"),
        ("svc-on-subtrees", {"iterations": 10**9}, "limit"),
        ("svc-on-subtrees", {"iterations": -1}, "invariant"),
        ("svc-on-subtrees", {"edge_labels": "yes"}, "schema"),
        ("svc-on-paths", {"k": 1}, "schema"),
    ],
)
def test_hostile_parameters_of_kernels_are_refused(name, params, reason, path):
    document, tensors = changed_kernel(name, path, **params)
    assert refused(document, tensors, path) == reason
