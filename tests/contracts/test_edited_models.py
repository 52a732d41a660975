"""Learned arrays that are edited in place count at the next prediction: no cache answers for them."""

import pickle

import numpy as np
import pytest
from scipy.sparse import issparse
from tests.modelfile.cases import CASES

METHODS = ("predict", "decision_function", "predict_proba", "transform")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def copy_of(model):
    """A model with the same attributes and nothing prepared from them."""
    return pickle.loads(pickle.dumps(model))


def answers(model, X):
    """What the methods of a model return, or the error that they raise."""
    answered = {}
    for name in METHODS:
        if hasattr(model, name):
            try:
                answer = getattr(model, name)(X)
            except Exception as error:
                answer = type(error).__name__
            answered[name] = answer.toarray() if issparse(answer) else np.asarray(answer)
    return answered


def learned_arrays(model):
    """Names of the public arrays of floats that a fit has set."""
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            values = getattr(model, name, None)
            if isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.size:
                yield name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_edits_of_learned_arrays_count(case):
    model = case.fitted()
    for name in learned_arrays(model):
        edited = copy_of(model)
        answers(edited, case.X)  # whatever it keeps for later calls is there now
        values = getattr(edited, name)
        if not values.flags.writeable:
            continue
        values *= 1.5
        values += 0.25
        ours, expected = answers(edited, case.X), answers(copy_of(edited), case.X)
        for method, answer in expected.items():
            if answer.dtype.kind == "f":
                np.testing.assert_allclose(
                    ours[method], answer, rtol=1e-9, atol=1e-12, err_msg=name
                )
            else:
                np.testing.assert_array_equal(ours[method], answer, err_msg=name)
