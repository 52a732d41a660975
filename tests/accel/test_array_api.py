"""Arrays of other libraries under the switch: scikit-learn's answers, types and errors, unchanged."""

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, warnings
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from separatrix import accel

warnings.simplefilter("ignore")
library = __import__(sys.argv[1])
X, y = make_classification(300, 6, random_state=0)
X, y = library.asarray(X), library.asarray(y)
near = KNeighborsClassifier()
models = [
    near, GridSearchCV(near, {"n_neighbors": [1, 2]}, cv=2),
    SVC(), GridSearchCV(SVC(), {"C": [1, 2]}, cv=2),
]

def outcome(model, dispatched):
    try:
        with sklearn.config_context(array_api_dispatch=dispatched):
            fitted = clone(model).fit(X, y)
            labels = fitted.predict(X)
            kept = {name: type(v).__name__ for name, v in vars(fitted).items() if hasattr(v, "shape")}
        return type(labels).__name__, [int(label) for label in labels], kept
    except Exception as error:
        return type(error).__name__, str(error)

for model in models:
    for dispatched in (True, False):
        plain = outcome(model, dispatched)
        with accel.patched(smallest=0):
            switched = outcome(model, dispatched)
        print("same" if plain == switched else (model, dispatched, plain, switched))
"""


@pytest.mark.slow
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_arrays_of_other_libraries_are_answered_as_without_the_switch(library, tmp_path):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "program.py", library],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert found.stdout.split("\n") == ["same"] * 8 + [""], found.stderr
