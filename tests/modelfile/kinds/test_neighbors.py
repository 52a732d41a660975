"""Files of nearest neighbours."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.modelfile.cases import TENTHS, X, Y
from tests.modelfile.hostile import load_within_limits, refused, split_file

from separatrix import KNeighborsClassifier, load, save
from separatrix.errors import DataError


@pytest.mark.parametrize("VI", [np.eye(1), np.eye(3), np.full((4, 4), np.nan), np.ones(4), "x"])
def test_a_metric_matrix_of_another_shape_is_refused_before_it_is_read(VI):
    """SciPy reads past its end: once a segmentation fault."""
    model = KNeighborsClassifier(3, metric="mahalanobis", metric_params={"VI": VI})
    with pytest.raises(DataError, match="'VI' in metric_params must be a matrix of 4 x 4"):
        model.fit(X, Y)


def test_rows_are_indexed_when_they_are_first_searched(path):
    """An index may take more memory than its rows."""
    sparse = csr_array(np.random.default_rng(0).random((300, 20_000)) < 0.03).astype(float)
    model = KNeighborsClassifier(3).fit(sparse, np.arange(300) % 3)
    save(model, path)
    assert load_within_limits(path, sparse[:5]) is None
    again = load(path)
    np.testing.assert_array_equal(again.predict(sparse), model.predict(sparse))
    assert repr(again.index_) == repr(model.index_)


def test_saving_leaves_the_model_and_its_rows_alone(path):
    rows = X.copy()
    rows[0, 0] = np.nan
    model = KNeighborsClassifier(1, metric="nan_euclidean").fit(rows, Y)
    load(save(model, path)).predict(rows)
    assert np.isnan(rows).sum() == np.isnan(model.index_.rows).sum() == 1
    for name in ("copy", "out", "squared"):
        model = KNeighborsClassifier(1, metric="nan_euclidean", metric_params={name: False})
        with pytest.raises(ValueError, match=rf"without \['{name}'\] for metric='nan_euclidean'"):
            model.fit(rows, Y)


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.int64, bool])
def test_rows_of_neighbours_lie_as_they_are_searched(kind, path):
    model = KNeighborsClassifier(3).fit(np.tile(TENTHS, 250), Y)
    document, tensors = split_file(model, path)
    rows = tensors["model.rows"]
    tensors["model.rows"] = rows.astype(kind)
    assert refused(document, tensors, path) == "invariant"
    document["model"]["state"]["rows"] = "F"
    tensors["model.rows"] = np.ascontiguousarray(rows.T)
    assert refused(document, tensors, path) == "invariant"


def test_one_row_is_all_that_a_check_of_a_metric_needs(path):
    model = KNeighborsClassifier(1, metric="canberra").fit(X[:1], Y[:1])
    assert load(save(model, path)).predict(X[:3]).tolist() == [Y[0]] * 3
