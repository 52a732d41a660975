"""The commands that are killed and disturbed, each on a small file, and what must come of them."""

import atexit
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout, suppress
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from tests.campaigns.nursery import Nursery

SPEC = """
data = "{data}"
[split]
repeats = 2
[[model]]
type = "SVC"
grid = {{ C = [1.0, 10.0] }}
[[model]]
type = "KNeighborsClassifier"
"""
STUDY = {"kind": "named", "name": "splice", "quick": True, "seed": 0}
SCHEDULER = "cluster.json"
TIMES = ("seconds", "memory", "fit_seconds", "predict_seconds", "time")


def write_inputs(folder):
    """The data and the experiment that all commands use."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:60]
    lines = [",".join([*map(str, X[i]), "abc"[y[i]]]) for i in rows]
    (folder / "flowers.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    (folder / "small.toml").write_text(SPEC.format(data=folder / "flowers.csv"))


def tasks(inputs, out):
    """Every command that writes files, by name; its files go into the folder `out`."""
    data = [str(inputs / "flowers.csv"), "--target", "kind"]
    model = str(out / "a.model")
    cheap = ["--models", "knn,lda", "--cv", "2", "--repeats", "1", "--budget", "none"]
    page = ["--out", str(out), "--save-best", model, "--json", "-q"]
    study = ["run", str(inputs / "small.toml"), "--out", str(out), "-q"]
    return {
        "run": study,
        "cluster run": [*study, "--cluster", str(inputs / SCHEDULER)],
        "compare": ["compare", *data, *cheap, *page],
        "tune": [
            "tune",
            *data,
            "--model",
            "svm",
            "--folds",
            "2",
            "--no-held-out",
            "-o",
            model,
            "-q",
        ],
        "fit": ["fit", *data, "--model", "logistic", "-o", model, "-q"],
        "predict": [
            "predict",
            str(inputs / "old.model"),
            data[0],
            "--out",
            str(out / "p.csv"),
            "-q",
        ],
        "workbench job": ["job", str(inputs / "flowers.csv"), str(out)],
    }


def warm(name):
    """Run a command once, in this process: compiled code is loaded when it forks.

    A cluster is not used here: its client has threads, which a fork would lose.
    """
    if name == "cluster run":
        import distributed  # noqa: F401 - an extra, needed by the children

        name = "run"
    if name in ("run", "compare", "workbench job"):
        from separatrix.report import page  # needs an extra

        # Pictures are made but not drawn: that takes most of the time and touches no file.
        page.draw_svg = lambda *_, **__: "<svg></svg>"
    with tempfile.TemporaryDirectory() as folder:
        inputs, out = Path(folder), Path(folder) / "out"
        out.mkdir()
        write_inputs(inputs)
        for task in (old_model(inputs), tasks(inputs, out)[name]):
            with suppress(SystemExit), redirect_stdout(io.StringIO()):
                run(task)


def old_model(inputs):
    """The command that fits the model of `predict`, and the one that is there before."""
    data = [str(inputs / "flowers.csv"), "--target", "kind", "--no-held-out"]
    return ["fit", *data, "--model", "lda", "-o", str(inputs / "old.model"), "-q"]


def run(task):
    """Run a command line; its exit code."""
    if task[0] == "job":
        return _run_job(*map(Path, task[1:]))
    from separatrix.cli import main

    main(task, prog_name="separatrix", standalone_mode=True)
    return 0


class _Channel:
    """Stands for the pipe to the server."""

    def __init__(self):
        self.last = {}

    def send(self, header, body=b""):
        if header["kind"] != "progress":
            self.last = header


def _run_job(data, folder):
    """A job of the workbench; an error that the server would answer with is printed."""
    from separatrix.web.request_error import RequestError

    try:
        return _run_or_resume_job(data, folder)
    except RequestError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        return 1


def _run_or_resume_job(data, folder):
    """What the server and the process of a job do on disk."""
    from separatrix.web.request_error import RequestError
    from separatrix.workbench import job
    from separatrix.workbench.job_store import JobStore
    from separatrix.workbench.records import FileRequest, JobRecord

    store, number = JobStore(folder / "jobs"), "0" * 16
    store.load()
    request = FileRequest(
        kind="file", upload="1" * 16, target="kind", models=["knn", "lda"], folds=2
    )
    try:
        record = store.get(number)
    except RequestError:
        record = JobRecord(id=number, title="compare", request=request, created=time.time())
        store.add(record)
    store.change(record, status="running", started=time.time())
    channel = _Channel()
    task = {"request": request.model_dump(), "folder": str(store.run_folder(record))}
    task |= {"path": str(data), "file_name": data.name, "column": "kind"}
    job.main(channel, task)
    if channel.last.get("kind") != "done":
        store.finish(record, "failed")
        print(f"Error: {channel.last.get('message')}", file=sys.stderr)
        return 1
    store.finish(record, "done", summary=channel.last["summary"])
    if record.status != "done":  # the disk is full: on disk the job still runs
        print(f"Error: {record.error.message}", file=sys.stderr)
        return 1
    return 0


class Workplace:
    """A nursery of one command, its data, and what the command makes of them if nothing happens."""

    def __init__(self, name):
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="campaign-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        write_inputs(self.folder)
        if name == "cluster run":
            start_scheduler(self.folder / SCHEDULER)
        self._nursery = Nursery(name)
        atexit.register(self._nursery.close)
        assert self.run(old_model(self.folder)).status == 0
        self._old = {"p.csv": b"row,old\n", "a.model": (self.folder / "old.model").read_bytes()}
        out, task = self.begin()
        begun = time.perf_counter()
        ended = self.run(task, disturb=["kill", -1, str(out)])
        self.seconds, self.points = time.perf_counter() - begun, ended.points
        assert ended.status == 0, ended.err
        self.expected = outcome(out, ended.out)

    @cached_property
    def allocations(self):
        """How many the command makes."""
        out, task = self.begin()
        return self.run(task, disturb=["memory", -1, str(out)]).points

    def begin(self):
        """An empty folder with the file that was there before; the command that replaces it."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        none = {"run": None, "cluster run": None, "workbench job": None}
        file = {"predict": "p.csv", **none}.get(self.name, "a.model")
        if file is not None:
            (out / file).write_bytes(self._old[file])
        return out, tasks(self.folder, out)[self.name]

    def run(self, task, **disturbed):
        """Run a command in a child of the nursery."""
        return self._nursery.run(task, self.folder / "log", **disturbed)

    def require_whole(self, out):
        """Every file is whole: the one from before, or the one that takes its place."""
        for path in out.rglob("*"):
            if path.is_dir() or path.suffix == ".part" or self._is_old(path):
                continue
            found, file = content(path), str(path.relative_to(out))
            same = path.name == "job.json" or found == self.expected[file]  # its status changes
            assert same, f"{file} is neither the old one nor the new one"

    def _is_old(self, path):
        return path.name in self._old and path.read_bytes() == self._old[path.name]

    def require_result(self, out, ended):
        """The command came to its end, and left what it leaves if nothing happens."""
        assert ended.status == 0, f"exit code {ended.status}: {ended.err[-200:]}"
        found = outcome(out, ended.out)
        wrong = [key for key, right in self.expected.items() if found.get(key) != right]
        assert not wrong, f"differs: {wrong}"
        assert len(found) == len(self.expected), list(found)


def start_scheduler(file):
    """Start a cluster that ends with this process."""
    command = [sys.executable, "-m", "tests.campaigns.scheduler", str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    atexit.register(process.communicate)
    assert process.stdout.readline() == "listening\n"


@cache
def workplace(name):
    """The workplace of a command in this process; it is removed when the process ends."""
    return Workplace(name)


def outcome(out, printed):
    """All that a command left behind, times aside; raises if a file is torn."""
    found = {}
    if printed.startswith("{"):  # not a table for people, with times in it
        found["printed"] = _without_times(json.loads(printed))
        found["printed"].pop("files")  # their paths
    for path in sorted(Path(out).rglob("*")):
        if path.is_file() and path.suffix != ".part":
            found[str(path.relative_to(out))] = content(path)
    return found


def content(path):
    """What a file says, times aside; raises if it is not whole."""
    if path.suffix == ".model":
        from separatrix import load

        load(path)
        return path.read_bytes()
    if path.suffix == ".step":
        from separatrix.modelfile.container import read_container

        document, tensors, _ = read_container(path, versions=lambda _: None)
        rows = json.loads(tensors.pop("rows").tobytes())
        arrays = {name: array.tobytes() for name, array in tensors.items()}
        return document, [[*row[:7], *row[9:]] for row in rows], arrays
    if path.suffix == ".csv":
        rows = csv.DictReader(io.StringIO(path.read_text()))
        return [_without_times(row) for row in rows]
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        return [_without_times(row) for row in parquet.read_table(path).to_pylist()]
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text()))
    if path.suffix == ".html":
        text = path.read_text()
        assert text.rstrip().endswith("</html>"), f"{path.name} is torn"
        return "a page"
    raise AssertionError(f"{path} was not expected")


def _without_times(value):
    if isinstance(value, dict):
        times = (*TIMES, "created", "started", "finished")
        return {k: _without_times(v) for k, v in value.items() if k not in times}
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    return value
