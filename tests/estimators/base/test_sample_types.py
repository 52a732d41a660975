import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from separatrix import SVC, SVCCV, LogisticRegression
from separatrix.errors import DataError
from separatrix.estimators.base.sample_types import as_native

X = np.array([[0.0, 1.0], [2.0, 0.5], [3.0, 0.0], [0.5, 4.0], [1.0, 1.5], [2.5, 2.0]])
Y = np.array([0, 1, 1, 0, 0, 1])


def foreign(make):
    """A sparse matrix of the other byte order, in values and in indices."""
    found = make(X)
    for name in ("data", "indices", "indptr", "row", "col"):
        values = getattr(found, name, None)
        if isinstance(values, np.ndarray):
            setattr(found, name, values.astype(values.dtype.newbyteorder("S")))
    return found


FORMS = {
    "long": X.astype(np.longdouble),
    "swapped": X.astype(">f8"),
    "swapped float32": X.astype(">f4"),
    "sparse long": csr_array(X.astype(np.longdouble)),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("model", [SVC(), SVCCV([1.0], cv=2), LogisticRegression()], ids=repr)
def test_unusual_number_types_give_the_same_model(name, model):
    plain, found = model.fit(X, Y).decision_function(X), FORMS[name]
    np.testing.assert_allclose(model.decision_function(found), plain, rtol=1e-5)
    np.testing.assert_allclose(model.fit(found, Y).decision_function(found), plain, rtol=1e-5)


@pytest.mark.parametrize("make", [csr_array, coo_array])
def test_sparse_samples_of_another_byte_order_give_the_same_model(make):
    plain = SVC().fit(X, Y)
    np.testing.assert_allclose(
        SVC().fit(foreign(make), Y).decision_function(foreign(make)), plain.decision_function(X)
    )


def test_samples_that_need_nothing_are_not_copied():
    for samples in (X, csr_array(X), [[1.0]]):
        assert as_native(samples, "SVC") is samples


def test_dates_are_refused_in_one_sentence():
    with pytest.raises(DataError, match=r"X holds datetime64\[s\], but SVC takes numbers"):
        SVC().fit(X.astype("datetime64[s]"), Y)


@pytest.mark.parametrize("dtype", ["S1", object])
def test_byte_strings_are_no_labels(dtype):
    with pytest.raises(DataError, match="labels in y are byte strings; decode them"):
        SVC().fit(X, np.array([b"a", b"b"], dtype=dtype)[Y])


@pytest.mark.parametrize("labels", [["a", "a\0"], [2**63 + 1, -1, 2**63]])
def test_labels_that_numpy_takes_for_equal_are_refused(labels):
    with pytest.raises(DataError, match="different labels, of which NumPy tells only"):
        SVC().fit(X, np.array([labels[i % len(labels)] for i in range(6)], dtype=object))
