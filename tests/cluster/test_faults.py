"""Progress, Ctrl-C and workers without memory."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import subprocess
import sys
import time

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from tests.cluster.support import CUTS, in_blocks, samples

from separatrix import SVC, GaussianNB, LogisticRegression
from separatrix.errors import ClusterError
from separatrix.runtime.progress import listen

INTERRUPTED = """
import os, signal, sys, time
import dask.array as da, numpy as np
from distributed import Client, LocalCluster
from separatrix import GaussianNB, LogisticRegression

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
rng = np.random.default_rng(0)
X, y = rng.normal(size=(120, 3)), np.arange(120) % 2

def spoil(block):
    if block.shape[0] and os.environ.pop("INTERRUPT", ""):
        os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C; workers are threads of this process
        time.sleep(0.2)
    return block

one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with LocalCluster(silence_logs=50, **one) as cluster, Client(cluster) as client:
    dX = da.from_array(X, chunks=(10, 3)).map_blocks(spoil, meta=X[:0])
    dy = da.from_array(y, chunks=10)
    for model in (GaussianNB(), LogisticRegression()):
        os.environ["INTERRUPT"] = "once"
        try:
            model.fit(dX, dy)
        except KeyboardInterrupt:
            for _ in range(200):
                if not cluster.scheduler.tasks:
                    break
                time.sleep(0.05)
            print("interrupted", len(cluster.scheduler.tasks))
        model.fit(dX, dy)
        print("fitted", len(model.classes_))
"""


@pytest.mark.slow
def test_ctrl_c_leaves_no_task_on_the_cluster(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)

    assert done.stdout.splitlines() == ["interrupted 0", "fitted 2"] * 2, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(), SVC()], ids=repr)
def test_the_bar_counts_tasks(client, model):
    X, y, _ = samples()
    steps = []

    with listen(lambda label, done, total, _depth: steps.append((label, done, total))):
        model.fit(*in_blocks(X, y))

    tasks = 3 if isinstance(model, SVC) else len(CUTS)  # pairs, or blocks of a sum
    counted = [step for step in steps if step[0] == "tasks" and step[2] == tasks]
    assert counted[: tasks + 1] == [("tasks", done, tasks) for done in range(tasks + 1)]


def use_memory(block):
    """A block, after more memory than a worker may have; the nanny ends the worker meanwhile."""
    held = [np.ones(2**24) for _ in range(8)]  # 1 GiB
    time.sleep(60.0)
    return block + held[0][0]


@pytest.mark.slow
def test_a_worker_beyond_its_memory_is_a_clear_error():
    X, y, _ = samples()
    dX = da.from_array(X, chunks=(75, 4)).map_blocks(use_memory, meta=X[:0])
    small = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "600MiB"}
    with (
        dask.config.set({"scheduler": None, "distributed.scheduler.allowed-failures": 0}),
        LocalCluster(dashboard_address=":0", silence_logs=50, **small) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
        pytest.raises(ClusterError, match=r"died on the same task.*make blocks\s+smaller"),
    ):
        GaussianNB().fit(dX, da.from_array(y, chunks=75))
