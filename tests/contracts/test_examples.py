"""Every example runs, some of them at a smaller size."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
QUICK = {
    "cluster": ["--blocks", "3", "--rows", "300"],
    "larger_than_memory": ["--rows", "5000"],
}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    if path.stem == "cluster":
        pytest.importorskip("distributed", reason="pip install 'separatrix[dask]'")
    if path.stem == "serve_client":
        pytest.importorskip("orjson", reason="pip install 'separatrix[serve]'")
    done = subprocess.run(
        [sys.executable, path, *QUICK.get(path.stem, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
