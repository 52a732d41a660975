"""Peers of `benchmarks/everyday.py`: classes with `fit` and `predict`, of each library that is found.

LIBSVM runs as a program on one thread: its times are with reading of the file, which is written before.
LIBLINEAR is only named: scikit-learn's LinearSVC and its solver "liblinear" are the same code.
"""

import shutil
import subprocess
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.measure import seconds

PACKAGES = {"sklearn": "sklearn", "intelex": "sklearnex"}
TITLES = {"sklearn": "scikit-learn", "intelex": "scikit-learn-intelex"}
LIBSVM = "LIBSVM with reading"
KERNELS = {"linear": "0", "poly": "1", "rbf": "2"}  # of svm-train
HOW = {  # to get what is missing
    "sklearn": "pip install scikit-learn",
    "intelex": "pip install scikit-learn-intelex",
    "faiss": "pip install faiss-cpu",
    "libsvm": "apt install libsvm-tools",
    "liblinear": "apt install liblinear-tools; the same code as scikit-learn's LinearSVC, so not run here",
}


def is_found(peer):
    """Whether a peer can be used on this machine."""
    programs = {"libsvm": ("svm-train", "svm-predict"), "liblinear": ("liblinear-train",)}
    if peer in programs:
        return all(shutil.which(program) for program in programs[peer])
    return find_spec(PACKAGES.get(peer, peer)) is not None


CHOICES = [peer for peer in HOW if peer != "liblinear"]
chosen = [peer for peer in CHOICES if is_found(peer)]


def choose(names):
    """Use these peers only, where they are found."""
    chosen[:] = [name for name in names if is_found(name)]


def missing():
    """One line: which peers are not here, and how to get them."""
    words = [f"{peer} ({how})" for peer, how in HOW.items() if not is_found(peer)]
    return "peers not found: " + ("; ".join(words) or "none")


def find_peers(module, name):
    """The class `name` of each library that was chosen and has it, by the library's name."""
    found = {}
    for library, package in PACKAGES.items():
        try:
            if library in chosen:
                found[library] = getattr(import_module(f"{package}.{module}"), name)
        except (ImportError, AttributeError):
            continue
    if name == "KNeighborsClassifier" and "faiss" in chosen:
        found["faiss"] = FaissNeighbors
    if name == "SVC" and "libsvm" in chosen:
        found[LIBSVM] = LibsvmSVC
    return found


def time_peers(module, name, X, y, Q, **params):
    """Seconds of a fit and of a prediction, and the model, of the class `name` of each library that is here."""
    fits, predictions, models = {}, {}, {}
    for library, cls in find_peers(module, name).items():
        if library in TITLES:
            title = TITLES[library]
            fits[title], models[title] = seconds(lambda cls=cls: cls(**params).fit(X, y))
            predictions[title], _ = seconds(lambda model=models[title]: model.predict(Q))
    return fits, predictions, models


class FaissNeighbors:
    """Five nearest neighbours by FAISS: IndexFlatL2 in float32, and a majority vote in NumPy."""

    def fit(self, X, y):
        self.index = import_module("faiss").IndexFlatL2(X.shape[1])
        self.index.add(np.ascontiguousarray(X, np.float32))
        self.classes, self.codes = np.unique(y, return_inverse=True)
        return self

    def predict(self, Q):
        _, near = self.index.search(np.ascontiguousarray(Q, np.float32), 5)
        k = len(self.classes)
        cells = np.arange(len(Q))[:, None] * k + self.codes[near]
        votes = np.bincount(cells.ravel(), minlength=len(Q) * k)
        return self.classes[votes.reshape(-1, k).argmax(axis=1)]


class LibsvmSVC:
    """SVC of LIBSVM's programs with the defaults of scikit-learn, on files that `write` has made."""

    folder = None

    def __init__(self, *, C=1.0, kernel="rbf"):
        self.C, self.kernel = C, kernel

    @classmethod
    def write(cls, data):
        """Write samples to fit and to predict, before time is taken; by class, so that ties fall as elsewhere."""
        if cls.folder is None:
            cls.folder = tempfile.TemporaryDirectory(prefix="libsvm-")
        for name, X, y in [("fit", data.X, data.y), ("predict", data.Q, data.q)]:
            order = np.argsort(y, kind="stable") if name == "fit" else slice(None)
            dump_svmlight_file(X[order], y[order], str(cls._path(name)), zero_based=False)

    @classmethod
    def _path(cls, name):
        return Path(cls.folder.name) / name

    def fit(self, X, y):
        gamma = 1.0 / (X.shape[1] * X.var())
        words = ["svm-train", "-q", "-t", KERNELS[self.kernel], "-c", f"{self.C:g}"]
        words += ["-g", repr(float(gamma)), "-m", "200"]
        subprocess.run([*words, self._path("fit"), self._path("model")], check=True)
        return self

    def predict(self, Q):
        words = ["svm-predict", *map(self._path, ("predict", "model", "labels"))]
        subprocess.run(words, check=True, capture_output=True)
        return np.loadtxt(self._path("labels")).astype(int)
