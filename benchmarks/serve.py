"""The model server beside a FastAPI server of scikit-learn's model, with load from a separate process."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import separatrix
from benchmarks.measure import Row

SECONDS = float(os.environ.get("SERVE_SECONDS", "5"))
CONNECTIONS, SLOW = 64, 200
ROWS = int(os.environ.get("SERVE_ROWS", "10000000"))
BATCH_PEER = """
import sys
import joblib, pandas as pd
frame = pd.read_parquet(sys.argv[2])
pd.Series(joblib.load(sys.argv[1]).predict(frame)).to_csv(sys.argv[3])
"""
PEER = """
import sys
import joblib, numpy as np, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app, model = FastAPI(), joblib.load(sys.argv[1])

class Rows(BaseModel):
    rows: list[list[float]]

def answer(body):
    X = np.array(body.rows)
    found = {"labels": model.predict(X).tolist()}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(X).tolist()
    return found

if sys.argv[3] == "thread":
    @app.post("/predict")
    def predict(body: Rows):
        return answer(body)
else:
    @app.post("/predict")
    async def predict(body: Rows):
        return answer(body)

@app.get("/v2/health/ready")
def ready():
    return {}

uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level="error")
"""


def one_row_requests():
    """One-row requests over 64 connections, load by a separate process on the same two cores.

    The peer is a FastAPI server of 30 lines around scikit-learn's model, the faster of its two forms (in
    the event loop, or in threads). Both answer labels, for logistic regression also probabilities. At 70 %
    load the requests are sent at their times, and the latency counts from when they are sent. Processor
    time of the server for a request differs less than rates where other work runs beside.
    """
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, pair, reach in (
            ("logistic, digits", _logistic, 1.5),
            ("SVC, {} vectors", _svc, 5),
        ):
            ours, peers, bodies, size = pair(Path(folder))
            name = name.format(size)
            peer = max(
                (_measure(_peer(peers, form), bodies) for form in ("loop", "thread")),
                key=lambda found: found["rate"],
            )
            with _server(ours) as server:
                found = load(server, bodies)
                steady = load(server, bodies, rate=0.7 * found["rate"])
            ratio = found["rate"] / peer["rate"]
            spent = (f"{found['cpu_ms']:.2f} ms", f"{peer['cpu_ms']:.2f} ms")
            ratio_cpu = f"{peer['cpu_ms'] / found['cpu_ms']:.2f}x"
            rows.append(Row(f"{name}: processor time", *spent, ratio_cpu, f"{reach}x"))
            rates = (f"{found['rate']:,.0f}/s", f"{peer['rate']:,.0f}/s")
            rows.append(Row(f"{name}: requests", *rates, f"{ratio:.2f}x", f"{reach}x"))
            p99 = (f"{steady['ms']['99']:.1f} ms", "")
            rows.append(Row(f"{name}: p99 at 70 % load", *p99, "", "50 ms"))
            notes.append(f"{name}: ours {found}, at 70 % {steady}, peer {peer}")
    return rows, notes


def hostile_load():
    """Ten times as many connections as at full load, and 200 clients that trickle bytes.

    Goodput is the rate of answers 200; the others are 429, after which a client asks again at once.
    """
    with tempfile.TemporaryDirectory() as folder:
        ours, _, bodies, _ = _svc(Path(folder))
        with _server(ours) as server:
            full = load(server, bodies)
            before = server.resident()
            over = load(server, bodies, connections=10 * CONNECTIONS)
            grown = server.resident() - before
            after = load(server, bodies, warm=0.0, seconds=2.0)
            with _trickle(server.port):
                time.sleep(1)
                beside = load(server, bodies)
    share = [one["rate"] / full["rate"] for one in (over, after, beside)]
    slower = over["ms"]["99"] / full["ms"]["99"]
    rows = [
        Row(
            "goodput at 10x the connections",
            f"{over['rate']:,.0f}/s",
            f"{full['rate']:,.0f}/s",
            f"{share[0]:.2f}x",
            "0.9x",
        ),
        Row(
            "p99 of accepted requests",
            f"{over['ms']['99']:.0f} ms",
            f"{full['ms']['99']:.0f} ms",
            f"{slower:.1f}x",
            "3x",
        ),
        Row("memory", f"{grown:+.1f} MB", "", "", "flat"),
        Row(
            "the first 2 s afterwards",
            f"{after['rate']:,.0f}/s",
            "",
            f"{share[1]:.2f}x",
            "recovered",
        ),
        Row("beside 200 slow clients", f"{beside['rate']:,.0f}/s", "", f"{share[2]:.2f}x", "0.9x"),
    ]
    return rows, [f"full {full}", f"over {over}", f"after {after}", f"slow clients {beside}"]


def batch():
    """`separatrix predict MODEL table.parquet --out labels.csv`, 30 columns, beside pandas and scikit-learn.

    Rates include the start of Python; the slope, between a tenth of the rows and all, does not. Processor
    time is that of all threads.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, peer = _make_batch(folder, ROWS)
        own = [sys.executable, "-m", "separatrix", "predict", str(model)]
        runs = {
            n: _run([*own, str(folder / f"{n}.parquet"), "--out", str(folder / "own.csv")])
            for n in (ROWS // 10, ROWS)
        }
        script = [sys.executable, "-c", BATCH_PEER, str(peer), str(folder / f"{ROWS}.parquet")]
        theirs = _run([*script, str(folder / "peer.csv")])
    (small, large), rows = runs.values(), ROWS
    wall, spent, memory = large
    slope = (rows - rows // 10) / (wall - small[0])
    processor = (rows - rows // 10) / (spent - small[1])
    return [
        Row(
            f"{rows:,} rows",
            f"{rows / wall:,.0f}/s",
            f"{rows / theirs[0]:,.0f}/s",
            f"{theirs[0] / wall:.1f}x",
            "",
        ),
        Row("slope", f"{slope:,.0f}/s", "", "", "1,000,000/s"),
        Row("rows a processor second", f"{processor:,.0f}", "", "", ""),
        Row("peak memory", f"{memory:,.0f} MB", f"{theirs[2]:,.0f} MB", "", "1,000 MB"),
    ], []


def _make_batch(folder, rows):
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(30)]
    X = pd.DataFrame(rng.normal(size=(4000, 30)), columns=names)
    y = np.where(X.to_numpy() @ rng.normal(size=30) > 0, "yes", "no")
    model = separatrix.save(separatrix.LogisticRegression().fit(X, y), folder / "batch.model")
    joblib.dump(LogisticRegression().fit(X, y), folder / "batch.joblib")
    for n in (rows // 10, rows):
        block = min(n, 200_000)
        part = pa.table({one: rng.normal(size=block).round(3) for one in names})
        with pq.ParquetWriter(folder / f"{n}.parquet", part.schema) as file:
            for _ in range(n // block):
                file.write_table(part)
    return model, folder / "batch.joblib"


def _run(command):
    """Wall and processor seconds, and peak memory in MB, of a command."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


class Server(NamedTuple):
    """A server that listens."""

    port: int
    pid: int

    def resident(self):
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def processor_seconds(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server, bodies, *, connections=CONNECTIONS, rate=None, seconds=SECONDS, warm=1.0):
    """Send requests from another process; the rate and latencies of answers 200."""
    task = {"port": server.port, "path": "/predict", "bodies": bodies, "connections": connections}
    task |= {"seconds": seconds, "rate": rate, "warm": warm}
    command = [sys.executable, "-m", "benchmarks.serve_load"]
    before = server.processor_seconds()
    done = subprocess.run(
        command, input=json.dumps(task), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert not found["wrong"], found
    found["cpu_ms"] = 1000 * (server.processor_seconds() - before) / max(1, found.pop("all"))
    return found


def _logistic(folder):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    path = separatrix.save(
        separatrix.LogisticRegression().fit(X, y), folder / "digits.model", slim=True
    )
    joblib.dump(LogisticRegression().fit(X, y), folder / "digits.joblib")
    return path, folder / "digits.joblib", _bodies(X), None


def _svc(folder):
    X, y = make_classification(
        8000, 30, n_informative=10, n_classes=4, flip_y=0.2, class_sep=0.7, random_state=0
    )
    X, y = X[:5200], y[:5200]
    model = separatrix.SVC(C=1.0).fit(X, y)
    path = separatrix.save(model, folder / "svc.model", slim=True)
    joblib.dump(SVC(C=1.0).fit(X, y), folder / "svc.joblib")
    return path, folder / "svc.joblib", _bodies(X), len(model.support_)


def _bodies(X):
    return [{"rows": [row]} for row in X[:200].tolist()]


def _measure(server, bodies):
    with server as running:
        return load(running, bodies)


@contextmanager
def _server(path):
    words = ["serve", str(path), "--no-access-log", "--json", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "separatrix", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        try:
            yield Server(port, process.pid)
        finally:
            process.terminate()


@contextmanager
def _peer(path, form):
    script = path.with_suffix(".py")
    script.write_text(PEER)
    port = 8731
    with subprocess.Popen([sys.executable, str(script), str(path), str(port), form]) as process:
        try:
            _wait_for(port)
            yield Server(port, process.pid)
        finally:
            process.kill()


def _wait_for(port):
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready").close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the peer does not start")


@contextmanager
def _trickle(port):
    task = {"trickle": 1, "port": port, "connections": SLOW, "seconds": 600}
    command = [sys.executable, "-m", "benchmarks.serve_load"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        process.stdin.write(json.dumps(task))
        process.stdin.close()
        try:
            yield
        finally:
            process.kill()


SUITES = [one_row_requests, hostile_load, batch]
