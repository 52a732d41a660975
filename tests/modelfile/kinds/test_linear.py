"""Files of linear models."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import BY_NAME, TENTHS, X, Y
from tests.modelfile.hostile import refused, signed, split_file

from separatrix import (
    GaussianNB,
    LeastSquaresClassifier,
    LogisticRegression,
    Perceptron,
    load,
    save,
)
from separatrix.errors import UnsupportedError


@pytest.mark.slow
def test_empty_passes_of_a_perceptron_are_not_kept_and_not_taken(path):
    model = BY_NAME["perceptron-vote-sparse"].fitted()
    model.partial_fit(csr_array(TENTHS), Y)
    document, tensors = split_file(model, path)
    for name in ("sample_ends", "log_ends"):
        ends = tensors[f"model._past.{name}"]
        assert (np.diff(ends) > 0).all()
        tensors[f"model._past.{name}"] = np.concatenate([np.zeros(60_000, dtype=np.int64), ends])
    assert refused(document, tensors, path) == "invariant"


def test_features_that_do_not_transform_are_refused(path):
    document, tensors = split_file(
        LeastSquaresClassifier(1.0, features=StandardScaler()).fit(X, Y), path
    )
    other, more = split_file(GaussianNB().fit(X, Y), path)
    document["model"]["state"]["features_"] = other["model"]
    tensors = {name: array for name, array in tensors.items() if ".features_" not in name}
    tensors |= {name.replace("model.", "model.features_.", 1): more[name] for name in more}
    assert refused(document, tensors, path) == "invariant"


def test_a_perceptron_may_have_met_dense_and_sparse_samples(path):
    model = Perceptron(predictor="vote").partial_fit(X, Y, classes=[0, 1, 2])
    model.partial_fit(csr_array(X), Y)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), model.predict(X))


def test_a_fit_that_is_refused_leaves_a_slim_model_slim(path):
    model = load(save(Perceptron().fit(X, Y), path, slim=True))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    with pytest.raises(UnsupportedError, match="slim model file"):
        model.partial_fit(X, Y)


@pytest.mark.parametrize("rows", [1, 2])
def test_two_classes_have_one_boundary(rows, path):
    """Two boundaries for two classes are those of an argmax alone."""
    two = Y < 2
    argmax = Perceptron(multi_class="argmax").fit(X[two], Y[two])
    np.testing.assert_array_equal(load(save(argmax, path)).coef_, argmax.coef_)
    document, tensors = split_file(LogisticRegression().fit(X[two], Y[two]), path)
    tensors["model.coef_"] = np.repeat(tensors["model.coef_"], rows, axis=0)
    tensors["model.intercept_"] = np.repeat(tensors["model.intercept_"], rows)
    path.write_bytes(signed(document, tensors))
    if rows == 1:
        assert load(path).coef_.shape == (1, 4)
    else:
        assert refused(document, tensors, path) == "invariant"
