"""Python waits for a GPU before much work is queued on it. No GPU is needed: its events are patched."""

from types import SimpleNamespace

import pytest

from separatrix.runtime import device_queue
from separatrix.runtime.device_queue import BoundedQueue

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def gpu(monkeypatch):
    """Events of a GPU on which each piece takes `seconds` of a clock; those that were waited for."""
    found = SimpleNamespace(waited=[], recorded=0, seconds=0.0, now=0.0)

    class Event:
        def record(self):
            self.number, found.recorded = found.recorded, found.recorded + 1

        def synchronize(self):
            found.waited.append(self.number)
            found.now += found.seconds

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(device_queue, "time", SimpleNamespace(monotonic=lambda: found.now))
    return found


def test_few_pieces_are_queued_behind_the_one_that_runs(gpu):
    queue = BoundedQueue(torch.device("cuda"), ahead=3)
    for _ in range(10):
        queue.wait()
    assert gpu.waited == list(range(7))  # and three are left


def test_one_is_queued_before_it_is_known_how_long_a_piece_takes(gpu):
    queue = BoundedQueue(torch.device("cuda"), ahead=3)
    for expected in ([], [0], [0], [0], [0, 1]):
        queue.wait()
        assert gpu.waited == expected


def test_of_long_pieces_one_is_queued(gpu):
    queue, gpu.seconds = BoundedQueue(torch.device("cuda"), ahead=3), 0.2
    for _ in range(10):
        queue.wait()
    assert gpu.waited == list(range(9))


def test_what_was_waited_for_is_forgotten(gpu):
    queue = BoundedQueue(torch.device("cuda"), ahead=3)
    for _ in range(3):
        queue.wait()
    gpu.waited.clear()
    queue.clear()
    queue.wait()
    assert not gpu.waited


@pytest.mark.parametrize("device", [None, torch.device("cpu")])
def test_the_cpu_has_no_queue(device, gpu):
    queue = BoundedQueue(device, ahead=0)
    queue.wait()
    assert not gpu.recorded
