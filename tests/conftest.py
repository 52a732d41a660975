"""What tests share: real data where it is at hand, small made-up problems, plain reference loops."""

import os
import sys

import numpy as np
import pytest
from tests import interpreted

if interpreted.is_asked_for():
    interpreted.install()

from separatrix.data.catalogue import VARIABLE, load


def pytest_configure(config):
    os.environ.setdefault("MPLBACKEND", "Agg")
    if interpreted.is_asked_for():  # integers wrap around; threads begin with NumPy's own settings
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def one_thread_of_torch():
    """Workers share the cores already; torch's own threads would only wait for each other."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _real(name):
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no {name} here")
    return load(name)  # where the variable is set, a missing file is a failure


@pytest.fixture(scope="session")
def usps():
    return _real("usps")


@pytest.fixture(scope="session")
def mnist():
    return _real("mnist")


@pytest.fixture(scope="session")
def a4a():
    return _real("a4a")


@pytest.fixture
def whole_numbers():
    """Samples whose inner products are exact in any precision, with three overlapping classes."""
    rng = np.random.default_rng(0)
    return rng.integers(-3, 4, size=(60, 4)).astype(float), rng.integers(0, 3, size=60)
