"""What the tests on a card share: whether there is one, samples, and what to say of a failing case.

No test here imports pytest, so that a machine with a card needs nothing but torch, Triton, NumPy, SciPy,
scikit-learn and numba: `make test-gpu`. Where pytest is, it runs the same functions.
"""

import os
import warnings
from contextlib import contextmanager
from unittest import SkipTest

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.catalogue import VARIABLE, load
from separatrix.errors import DeviceError, MissingDataError
from separatrix.runtime import device as backends


def why_no_card():
    """In a sentence, why there is no card to work on; None where there is one."""
    try:
        backends.default_gpu()
    except DeviceError as error:
        return str(error)
    return None


def pretend():
    """Let torch's CPU pass for a card: shows whether the tests are right, not whether cards are."""
    import torch

    torch.set_num_threads(1)  # many small operations: threads would wait for each other
    backends.default_gpu = lambda: torch.device("cpu")


def real_card():
    """The card; a test that only a real one can pass is skipped elsewhere."""
    position = backends.default_gpu()
    if position.type != "cuda":
        raise SkipTest("this needs the memory, the streams or the clock of a real card")
    return position


def size(on_a_card, otherwise):
    """How large a test is: torch's CPU and Triton's interpreter take their time."""
    return on_a_card if backends.default_gpu().type == "cuda" else otherwise


def tensor(array):
    """An array as a tensor on the card."""
    import torch

    return torch.as_tensor(array, device=backends.default_gpu())


def digits(n=1797):
    """Handwritten digits with whole numbers from 0 to 16: products are exact in float32, too."""
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def clouds(n, d=10, *, classes=3, spread=2.0, seed=0):
    """Overlapping Gaussian clouds, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centres = spread * rng.normal(size=(classes, d)) / np.sqrt(d)
    return centres[y] + rng.normal(size=(n, d)) / np.sqrt(d), y


def mnist(n):
    """The first n images and 2,000 to ask about, pixels from 0 to 1."""
    if not os.environ.get(VARIABLE):
        raise SkipTest(f"{VARIABLE} is not set: no MNIST here")
    try:
        data = load("mnist")
    except MissingDataError as error:
        raise SkipTest(str(error)) from None
    return data.X[:n] / 255.0, data.y[:n], data.X_test[:2000] / 255.0, data.y_test[:2000]


@contextmanager
def case(*what):
    """Name the case that fails, where one test goes through several."""
    try:
        yield
    except Exception as error:
        error.add_note("the case was: " + ", ".join(map(str, what)))
        raise


@contextmanager
def unfinished():
    """A fit may stop before its tolerance or its clean pass, and warn of that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextmanager
def refused(kind, *words):
    """Demand an error of a kind whose sentence has these words."""
    said = None
    try:
        yield
    except kind as error:
        said = str(error)
    assert said is not None, f"no {kind.__name__} was raised"
    assert all(word in said for word in words), f"not all of {words} are in: {said}"
