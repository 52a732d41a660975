"""Model files against pickle, joblib and plain safetensors: seconds, bytes, and flipped bits let in."""

import os
import pickle
import tempfile
import warnings
from pathlib import Path

import joblib
import numpy as np
import safetensors.numpy

from benchmarks.measure import Row, best_of_each
from separatrix import SVC, KNeighborsClassifier, LogisticRegression
from separatrix import load as load_model
from separatrix import save as save_model
from separatrix.compute.container import read_container
from separatrix.data.catalogue import load
from separatrix.errors import ModelFileError

FLIPS = 2000
IN_MEMORY = Path("/dev/shm")  # so that no disk is measured


def tensors_of(path):
    """The arrays of one of our files."""
    return read_container(path, versions=lambda _: None).tensors


def ways(model, folder):
    """How to write and how to read, by name; plain safetensors keeps the same arrays, and nothing else."""
    arrays = tensors_of(save_model(model, folder / "arrays"))
    writing = {
        "separatrix": lambda: save_model(model, folder / "separatrix"),
        "separatrix, slim": lambda: save_model(model, folder / "separatrix, slim", slim=True),
        "pickle": lambda: (folder / "pickle").write_bytes(pickle.dumps(model, protocol=5)),
        "joblib": lambda: joblib.dump(model, folder / "joblib"),
        "safetensors": lambda: safetensors.numpy.save_file(arrays, folder / "safetensors"),
    }
    reading = {
        "separatrix": lambda: load_model(folder / "separatrix"),
        "separatrix, slim": lambda: load_model(folder / "separatrix, slim"),
        "pickle": lambda: pickle.loads((folder / "pickle").read_bytes()),
        "joblib": lambda: joblib.load(folder / "joblib"),
        "safetensors": lambda: safetensors.numpy.load_file(folder / "safetensors"),
    }
    return writing, reading


def measured(what, model):
    rows, notes = [], []
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.exists() else None) as name:
        folder = Path(name)
        writing, reading = ways(model, folder)
        saved = best_of_each(writing, repeat=3)
        loaded = best_of_each(reading, repeat=3)
        size = {name: os.path.getsize(folder / name) / 2**20 for name in writing}
        for verb, took in (("save", saved), ("load", loaded)):
            ours = took["separatrix"]
            rows.append(
                Row(
                    f"{what}, {verb}",
                    f"{1000 * ours:.0f} ms",
                    f"joblib {1000 * took['joblib']:.0f} ms",
                    f"{ours / took['joblib']:.2f}x its time",
                    "-",
                )
            )
        notes.append(
            f"{what}\n"
            + "\n".join(
                f"{name:18} {size[name]:7.1f} MiB  save {1000 * saved[name]:6.0f} ms  "
                f"load {1000 * loaded[name]:6.0f} ms"
                for name in writing
            )
        )
    return rows, notes


def model_files():
    """Nearest neighbours on MNIST (60,000 x 784 bytes), a support vector machine on MNIST's first 10,000 rows; a file in memory."""
    data = load("mnist")
    neighbors = KNeighborsClassifier().fit(data.X, data.y)
    machine = SVC(C=10.0, gamma=0.02).fit(data.X[:10_000] / 255.0, data.y[:10_000])
    rows, notes = [], []
    for what, model in (("k-NN, MNIST 60k", neighbors), ("SVC, MNIST 10k", machine)):
        more, said = measured(what, model)
        rows += more
        notes += said
    return rows, notes


def flipped_bits():
    """One random bit flipped at a time in the file of a logistic regression on Iris, 2,000 times; loaded without an error is silent."""
    data = load("iris")
    model = LogisticRegression().fit(data.X, data.y)
    right = model.decision_function(data.X)
    rng = np.random.default_rng(0)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writing, reading = ways(model, folder)
        counts = {}
        for way in ("separatrix", "safetensors", "joblib", "pickle"):
            writing[way]()
            raw = (folder / way).read_bytes()
            silent = wrong = 0
            for bit in rng.choice(8 * len(raw), min(FLIPS, 8 * len(raw)), replace=False).tolist():
                changed = bytearray(raw)
                changed[bit // 8] ^= 1 << bit % 8
                (folder / way).write_bytes(changed)
                found = _read(reading[way])
                silent += found is not None
                wrong += found is not None and way != "safetensors" and not _same(found, data.X, right)
            counts[way] = (silent / FLIPS, wrong / FLIPS)
        for way in ("safetensors", "joblib", "pickle"):
            silent, wrong = counts[way]
            more = "" if way == "safetensors" else f", {100 * wrong:.0f} % then answer otherwise or fail"
            rows.append(
                Row(
                    f"bits flipped, silent, against {way}",
                    f"{100 * counts['separatrix'][0]:.0f} %",
                    f"{way} {100 * silent:.0f} %{more}",
                    "-",
                    "0 %",
                )
            )
    return rows, []


def _read(way):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return way()
    except (Exception, ModelFileError):
        return None


def _same(model, X, right):
    try:
        return np.array_equal(model.decision_function(X), right)
    except Exception:
        return False


SUITES = [model_files, flipped_bits]
