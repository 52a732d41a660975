"""The GPU programs, compiled before they are needed."""

import sys

import pytest
from click.testing import CliRunner

from separatrix.app import warm_up as module
from separatrix.cli import main
from separatrix.runtime import device as backends


@pytest.fixture
def pretended_gpu(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(backends, "default_gpu", lambda: torch.device("cpu"))
    monkeypatch.setattr(module, "ROWS", (160, 161))
    monkeypatch.setattr(module, "FEATURES", 6)


def test_every_model_with_gpu_programs_is_fitted(pretended_gpu, monkeypatch):
    monkeypatch.setattr(module, "default_gpu", backends.default_gpu)
    seconds = module.warm_up(progress=False)
    assert list(seconds) == [
        "SVC",
        "KernelPerceptron",
        "KNeighborsClassifier",
        "LogisticRegression",
    ]
    assert min(seconds.values()) > 0


def test_the_command_names_what_is_missing_without_a_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        pytest.skip("this process has found a GPU already")
    done = CliRunner().invoke(main, ["warm-up", "--quiet"])
    assert done.exit_code != 0
    assert "device='cuda' needs" in done.output
