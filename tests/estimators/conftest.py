"""Fixtures of the tests of estimators."""

import pytest

from separatrix.runtime import device


@pytest.fixture
def gpu(monkeypatch):
    """torch's CPU device stands in for a GPU."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(device, "default_gpu", lambda: torch.device("cpu"))
    monkeypatch.setattr(device, "has_driver", lambda: True)
    monkeypatch.setattr(device, "_warned", set())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
