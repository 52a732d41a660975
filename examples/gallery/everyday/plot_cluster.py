"""
What the workers of a cluster do
================================

The same estimators take Dask arrays: each block is checked and summed up where it is, and each pair of classes of an
``SVC`` is a task that reads the rows of two classes. The picture shows which worker ran which task, and when.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import SVC, LinearDiscriminantAnalysis

X, y = load_digits(return_X_y=True)
DASK = find_spec("dask") is not None and find_spec("distributed") is not None
MODELS = (LinearDiscriminantAnalysis(), SVC(gamma=0.001))


def fit_on_workers():
    """Fit both models on two workers, threads of this process; their tasks as (worker, name, start, stop)."""
    import dask.array as da
    from distributed import Client, LocalCluster, get_task_stream

    two = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    blocks, labels = da.from_array(X, chunks=(300, 64)), da.from_array(y, chunks=300)
    with LocalCluster(silence_logs=50, **two) as cluster, Client(cluster) as client:
        with get_task_stream(client) as stream:
            for model in MODELS:
                model.fit(blocks, labels)
        return [
            (task["worker"], str(task["key"]).rpartition("-")[0].rpartition("-")[0], *times)
            for task in stream.data
            for times in [(step["start"], step["stop"]) for step in task["startstops"]]
            if task["status"] == "OK"
        ]


# %%
# The fits are those in memory: the sums of the discriminant to rounding, the machine to its tolerance.

tasks = fit_on_workers() if DASK else []
if not DASK:
    print("dask is not installed, so there is no picture: pip install 'separatrix[dask]'")
for model in MODELS if DASK else ():
    here = type(model)(**model.get_params()).fit(X, y)
    off = np.abs(model.decision_function(X) - here.decision_function(X)).max()
    print(f"{type(model).__name__}: decision values differ by at most {off:.0e}")

# %%
# Tasks are named after the model and the step, here and on Dask's dashboard.

if tasks:
    colors = {"lda": "#3b6ea5", "svc-pair": "#c8553d", "svc": "#7a9e7e"}
    workers = sorted({worker for worker, *_ in tasks})
    first = min(start for _, _, start, _ in tasks)
    figure, panel = plt.subplots(figsize=(7, 2.2))
    for worker, name, start, stop in tasks:
        kind = next((kind for kind in colors if name.startswith(kind)), "")
        panel.barh(
            f"worker {workers.index(worker)}",
            max(stop - start, 0.002),
            left=start - first,
            color=colors.get(kind, "#bbbbbb"),
        )
    for kind, color in {**colors, "other": "#bbbbbb"}.items():
        panel.barh(["worker 0"], [0], color=color, label=kind)
    panel.set_xlabel("seconds")
    panel.legend(ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.3), frameon=False)
    plt.show()
