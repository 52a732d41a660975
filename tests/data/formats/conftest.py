"""What the tests of the formats share."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file into a folder of its own; returns its path."""

    def write(content, name="data"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return write
