"""Model files against pickle, joblib and plain safetensors: seconds, bytes, and flipped bits let in."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import joblib
import numpy as np
import safetensors.numpy

from benchmarks.measure import Row, best_of_each, seconds
from separatrix import SVC, KNeighborsClassifier, LogisticRegression
from separatrix import load as load_model
from separatrix import save as save_model
from separatrix.data.catalogue import load
from separatrix.modelfile.container import read_container

FLIPS = 2000
IN_MEMORY = Path("/dev/shm")  # so that no disk is measured


def read_tensors(path):
    """The arrays of one of our files."""
    return read_container(path, versions=lambda _: None).tensors


def writers_and_readers(model, folder):
    """Functions that write and read, by library; plain safetensors stores the same arrays, and nothing else."""
    arrays = read_tensors(save_model(model, folder / "arrays"))
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


def compare_libraries(what, model):
    rows, notes = [], []
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.exists() else None) as name:
        folder = Path(name)
        writing, reading = writers_and_readers(model, folder)
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
        more, more_notes = compare_libraries(what, model)
        rows += more
        notes += more_notes
    with tempfile.TemporaryDirectory() as name:
        again = load_model(save_model(neighbors, Path(name) / "x"))
        took, _ = seconds(lambda: again.index_.nbytes)
    notes.append(
        f"k-NN builds its index at the first search after a load: {took:.2f} s; joblib stores it"
    )
    return rows, notes


def flipped_bits():
    """One random bit flipped at a time in the file of a logistic regression on Iris, 2,000 times. Silent: it loads without an error."""
    data = load("iris")
    model = LogisticRegression().fit(data.X, data.y)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "asked.npz", X=data.X, right=model.decision_function(data.X))
        writing, _ = writers_and_readers(model, folder)
        counts = {}
        for way in ("separatrix", "safetensors", "joblib", "pickle"):
            writing[way]()
            bits = rng.choice(8 * os.path.getsize(folder / way), FLIPS, replace=False).tolist()
            counts[way] = Counter(_run_flips(folder, way, bits))

    def share(way, *words):
        return f"{100 * sum(counts[way][word] for word in words) / FLIPS:.1f} %"

    rows = [
        Row(
            f"flipped bits let in, against {way}",
            share("separatrix", "same", "other"),
            f"{way} {share(way, 'same', 'other')}"
            + (
                ""
                if way == "safetensors"
                else f", of all {share(way, 'other')} predict differently"
            ),
            "-",
            "0 %",
        )
        for way in ("safetensors", "joblib", "pickle")
    ]
    return rows, [f"{way}: {dict(counts[way])}" for way in counts]


def _run_flips(folder, way, bits):
    """The result of each flip, in a process of its own, since some libraries crash."""
    while bits:
        child = subprocess.run(
            [sys.executable, "-m", "benchmarks.flips", folder, way, *map(str, bits)],
            capture_output=True,
            text=True,
        )
        found = child.stdout.split()
        yield from found
        if len(found) < len(bits):
            yield "crashed"
        bits = bits[len(found) + 1 :]


SUITES = [model_files, flipped_bits]
