"""Models in files, and applications that serve them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.serving.asgi_client import AsgiClient

from separatrix import SVC, LinearSVC, LogisticRegression, TableEncoder, save

COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def iris(folder):
    """A pipeline with named columns, labels of text, and its file."""
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(pd.DataFrame(X, columns=COLUMNS), names[y])
    return model, save(model, folder / "iris.model"), X


@pytest.fixture(scope="session")
def digits(folder):
    """A support vector machine without names, labels of numbers, no probabilities."""
    X, y = load_digits(return_X_y=True)
    model = SVC(C=2).fit(X[:600] / 16, y[:600])
    return model, save(model, folder / "digits.model", slim=True), X / 16


@pytest.fixture(scope="session")
def jobs(folder):
    """A model of mixed columns."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n).astype(float),
            "job": rng.choice(["cook", "clerk", "pilot"], n),
            "note": rng.choice(["likes long walks", "reads old books", "sings in the rain"], n),
        }
    )
    y = np.where((frame.age > 45) ^ (frame.job == "cook"), "yes", "no")
    model = make_pipeline(TableEncoder(text=["note"]), LogisticRegression()).fit(frame, y)
    return model, save(model, folder / "jobs.model"), frame


@pytest.fixture(scope="session")
def client(iris, digits, jobs):
    sources = [("iris", "1", iris[1]), ("digits", "1", digits[1]), ("jobs", "7", jobs[1])]
    return AsgiClient(sources)


@pytest.fixture(scope="session")
def linear(folder):
    """A linear support vector machine, which refuses nothing and has no probabilities."""
    X, y = load_iris(return_X_y=True)
    return save(LinearSVC().fit(X, y), folder / "linear.model")
