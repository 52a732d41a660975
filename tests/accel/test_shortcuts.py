"""Answers that are kept, or known without asking, are scikit-learn's own."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import _param_validation
from sklearn.utils.validation import _get_feature_names, _nw_into_df_or_series

from separatrix import accel


@pytest.fixture(autouse=True)
def _switched_on():
    with accel.patched():
        yield


class Parent(BaseEstimator):
    def __init__(self, b=1, a=2):
        self.b, self.a = b, a


class Child(Parent):
    pass


class OwnNames(BaseEstimator):
    @classmethod
    def _get_param_names(cls):
        return ["own"]


def test_names_of_parameters_follow_the_constructor(monkeypatch):
    assert Child._get_param_names() == Child._get_param_names() == ["a", "b"]
    monkeypatch.setattr(Parent, "__init__", lambda self, c=3: None)
    assert Child._get_param_names() == Parent._get_param_names() == ["c"]
    monkeypatch.undo()
    assert Child._get_param_names() == ["a", "b"]
    assert OwnNames._get_param_names() == ["own"]
    assert BaseEstimator._get_param_names() == []


def test_a_changed_list_of_names_is_not_kept():
    SVC._get_param_names().clear()
    wanted = sorted(set(inspect.signature(SVC.__init__).parameters) - {"self"})
    assert SVC._get_param_names() == wanted
    assert clone(make_pipeline(SVC(C=3.0)))[-1].C == 3.0


def test_constructors_with_many_unnamed_parameters_are_refused_each_time():
    class Unnamed(BaseEstimator):
        def __init__(self, *many):
            pass

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no varargs"):
            Unnamed._get_param_names()


class Inherited(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.zeros((2, 2)), False),
        ([1, 2], False),
        (csr_array(np.eye(2)), False),
        (np.zeros(3).view(Inherited), False),
        (pd.DataFrame({"a": [1]}), True),
        (pd.Series([1]), True),
        ("text", False),
        (None, False),
    ],
)
def test_frames_are_told_from_arrays(given, wanted):
    assert _nw_into_df_or_series(given) is wanted


def test_names_of_features_are_read_with_frames_imported_late():
    assert _get_feature_names(pd.DataFrame({"a": [1], "b": [2]})).tolist() == ["a", "b"]
    program = (
        "from separatrix import accel\naccel.patch()\nimport sys, sklearn.svm, numpy\n"
        "sklearn.svm.SVC().fit([[0.0], [1.0]], [0, 1]).predict(numpy.zeros((2, 1)))\n"
        "import scipy.sparse\nsklearn.svm.SVC().fit(scipy.sparse.csr_matrix([[0.0], [1.0]]), ['a', 'b'])\n"
        "assert 'narwhals' not in sys.modules\n"
        "import pandas\nframe = pandas.DataFrame({'a': [0.0, 1.0]})\n"
        "assert sklearn.svm.SVC().fit(frame, [0, 1]).feature_names_in_.tolist() == ['a']\n"
        "from sklearn.utils.validation import nw\nassert nw.dependencies.is_pandas_dataframe(frame)\n"
        "assert nw.from_native(frame).columns == ['a']\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_signatures_are_kept_and_given_back():
    signature = _param_validation.signature
    assert signature(np.mean) is signature(np.mean)
    accel.unpatch()
    assert _param_validation.signature is inspect.signature
