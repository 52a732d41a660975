"""
A model that answers over HTTP
==============================

``separatrix serve`` answers predictions of saved models. Requests that arrive together are computed together, in micro-batches, with the
bits that each would have had alone. The picture shows how long single rows waited for their answer.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import SVC, save

X, y = load_digits(return_X_y=True)
model = SVC(C=10, gamma=0.001).fit(X[:1000], y[:1000])
path = save(model, Path(tempfile.mkdtemp()) / "digits.model", slim=True)
INSTALLED = find_spec("starlette") is not None and find_spec("uvicorn") is not None


def ask(url, row):
    """Label of one row, and milliseconds until it came."""
    start = time.perf_counter()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/predict", json.dumps([row]).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        label = json.load(answer)["labels"][0]
    return label, 1000 * (time.perf_counter() - start)


def serve_and_ask(rows):
    """Start a server, ask one row at a time, then eight at a time, and stop it."""
    options = ["--port", "0", "--json", "--no-access-log", "--drain", "0"]
    command = [sys.executable, "-m", "separatrix", "serve", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = json.loads(server.stdout.readline())["url"]
        alone = [ask(url, row) for row in rows]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda row: ask(url, row), rows))
        server.terminate()
    return {"one at a time": alone, "eight at a time": together}


# %%
# The server needs ``pip install 'separatrix[serve]'``.

waits = {}
if INSTALLED:
    rows = X[1000:1200].tolist()
    for name, answers in serve_and_ask(rows).items():
        labels, waits[name] = zip(*answers, strict=True)
        print(f"{name}: same labels {np.array_equal(labels, model.predict(X[1000:1200]))}")

figure, panel = plt.subplots(figsize=(6, 3.2))
for name, values in waits.items():
    panel.plot(np.sort(values), np.linspace(0, 100, len(values)), label=name)
panel.set(xscale="log", xlabel="milliseconds until the answer", ylabel="% of the requests")
if waits:
    panel.legend()
plt.show()
