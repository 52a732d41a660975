import pytest

from separatrix.workbench.playground.service import Playground
from separatrix.workbench.settings import Settings


@pytest.fixture(scope="session")
def playground():
    return Playground(Settings())
