"""What every compiled function promises."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest
from numba.core.dispatcher import Dispatcher

import separatrix
from separatrix.errors import MissingPackageError

OPTIONAL = ("torch", "triton", "fastapi", "starlette", "uvicorn", "orjson", "jinja2", "matplotlib")


def compiled():
    found = {}
    for info in pkgutil.walk_packages(separatrix.__path__, "separatrix."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except MissingPackageError:
            continue
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            continue
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.__module__ == info.name:
                found[f"{info.name}.{name}"] = value
    return found


def test_every_compiled_function_lets_go_of_the_interpreter_and_is_single_threaded():
    assert len(compiled()) > 10
    for name, dispatcher in compiled().items():
        assert dispatcher.targetoptions.get("nogil"), name
        assert not dispatcher.targetoptions.get("parallel"), name


def test_fast_mathematics_never_assumes_away_nan_and_infinity():
    for name, dispatcher in compiled().items():
        flags = dispatcher.targetoptions.get("fastmath", False)
        assert flags is not True, name
        assert not {"nnan", "ninf", "fast"} & set(flags or ()), name


SETUP = """
import json, pathlib, tempfile, warnings
import numpy as np
import scipy.sparse
from separatrix.data.formats.plain_rows import parse_plain
from separatrix.data.images import deskewed
from separatrix.data.limits import Limits
from separatrix.data.read import read
import separatrix.kernels.prepared as vectors
from separatrix import *
from separatrix.estimators.registry import REGISTRY
from separatrix.kernels import *
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.kernels.strings.subsequence_attribution import attribute_letters
from separatrix.solvers.perceptron.dual import solve_dual, solve_primal
from tests.contracts.test_numba import compiled
warnings.simplefilter("ignore")
vectors.SMALL = 0
folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, size=400)
"""
# Each use stands alone: `compile_all` runs them in several processes, the longest first.
USES = (
    """
pixels = np.tile((8 * abs(X)).astype(np.uint8), (40, 5))
bits = (pixels > 4).astype(np.uint8)
for metric, rows, methods in (
    ("euclidean", pixels, ("exhaustive", "projections", "products", "boxes")),
    ("manhattan", pixels, ("manhattan", "boxes")),
    ("chebyshev", pixels, ("boxes",)),
    ("euclidean", bits, ("bits",)),
    ("euclidean", scipy.sparse.csr_array(bits.astype(float)), ("bits",)),
    ("euclidean", scipy.sparse.csr_array(pixels.astype(float)), ("sparse",)),
    ("manhattan", scipy.sparse.csr_array(pixels.astype(float)), ("sparse",)),
):
    for method in methods:
        NeighborIndex(rows, metric, method=method).search(rows[:40], 3)
for options in ({}, {"metric": "cosine"}, {"kernel": "poly"}, {"weights": "distance"}):
    KNeighborsClassifier(**options, k_max=3).fit(X, y).predict_proba(X)
KNeighborsClassifier().fit(X, y).predict(X[:9])
RadiusNeighborsClassifier(9.0).fit(X, y).predict(X)
NeighborIndex(pixels.astype(float), n_jobs=2).search(pixels[:64], 3)
for distances in (abs(X @ X.T), scipy.sparse.csr_array(abs(X @ X.T))):
    KNeighborsClassifier(metric="precomputed").fit(distances, y).predict(distances)
""",
    """
SVC(kernel="precomputed").fit(X @ X.T, y)
SVC(warm_start=True).fit(X, y).fit(X, y)
SVC().fit(X[:140], np.arange(140) % 14).predict(X)
for model in (SVC(), SVC(cache_size=0.3), SVC(stop="gap", C=5.0)):
    model.fit(X, y).fit(X.repeat(2, axis=0), y.repeat(2))
""",
    """
for multi_class in ("argmax", "ovr", "ovo"):
    for predictor in ("last", "vote", "random"):
        for kernel in ("rbf", Polynomial(3)):
            model = KernelPerceptron(kernel, multi_class=multi_class, predictor=predictor, max_iter=2)
            model.fit(X, y).predict(X)
            model.set_params(cache_size=0.3).fit(X, y)
KernelPerceptron(budget=5, max_iter=2).fit(X, y)
signs = np.where(y > 0, 1, -1).astype(np.int8)
solve_primal(X, signs, max_iter=2), solve_dual(X @ X.T, signs, max_iter=2)
""",
    """
for samples in (X, scipy.sparse.csr_array(X * (X > 1)), scipy.sparse.csr_array((X > 1).astype(float))):
    for options in (
        {}, {"loss": "hinge"}, {"dual": True}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}
    ):
        LinearSVC(max_iter=30, **options).fit(samples, y)
""",
    """
for samples in (X, X.astype(np.float32), (100 * abs(X)).astype(np.uint8), scipy.sparse.csr_array(X)):
    for labels in (y, y > 0):
        SubgradientSVC(max_iter=2).fit(samples, labels)
""",
    """
for labels in (y, y > 0):
    LogisticRegression().fit(X, labels)
    LogisticRegression(l1_ratio=1.0).fit(scipy.sparse.csr_array(X), labels)
    LogisticRegression().partial_fit(X, labels, classes=np.unique(labels))
    LogisticRegression().fit(scipy.sparse.csr_array(np.tile(X * (X > 1), (1, 200))), labels)
""",
    """
for samples in (X, X.astype(np.float32), scipy.sparse.csr_array(X)):
    for multi_class in ("argmax", "ovr"):
        Perceptron(multi_class=multi_class, max_iter=2).fit(samples, y)
    PassiveAggressiveClassifier(max_iter=2).fit(samples, y)
""",
    """
(folder / "a").write_text("1 qid:2 1:1.5e3\\n")
(folder / "b").write_text("a,b,c\\n1,x,p\\n2.5,y,q\\n")
read(folder / "a", format="svmlight")
read(folder / "a", format="svmlight", limits=Limits(features=2**40))
parse_plain(b"1,a\\n2,b\\n", ",", ["n", "t"], ["n"], ["t"])
read(folder / "b", format="csv")
deskewed(rng.integers(0, 256, size=(2, 8, 8), dtype=np.uint8))
""",
    """
words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
for kernel in (Spectrum(5), Subsequence(2)):
    kernel.block(words, words)
    SVC(kernel=kernel).fit(words, y[:60]).predict(words)
load(save(KernelFeatures(Spectrum(5)).fit(words), folder / "words.model"))
graphs = [Graph(3, [[0, 1], [1, 2]]), Graph(2, [[0, 1]])]
WeisfeilerLehman(2).block(graphs, graphs), ShortestPath().block(graphs, graphs)
pair = EncodedSequences(np.array([0, 1, 0, 1]), np.array([0, 2, 4]))
attribute_letters(pair.codes, pair, np.ones(2), 2, 0.5)
""",
    """
for record in REGISTRY:
    for call in (f"{record.name}()", *record.variants, *record.exact_variants):
        for samples in (abs(X[:60]), scipy.sparse.csr_array(abs(X[:60]))):
            samples = abs(X[:60] @ X[:60].T) if "precomputed" in call else samples
            samples = np.round(abs(X[:60])) if "Categorical" in call else samples
            eval(call).fit(samples, y[:60] % 2 if "threshold" in call else y[:60])
CategoricalNB().fit(np.round(abs(X)), y).predict(np.round(abs(X)))
""",
)
COUNT = """
counts = {}
for name, dispatcher in compiled().items():
    counts[name] = [
        sum(dispatcher.stats.cache_hits.values()), sum(dispatcher.stats.cache_misses.values())
    ]
print(json.dumps(counts))
"""
USE_ALL = "".join((SETUP, *USES, COUNT))


def use_all():
    """How often each function came from the cache and was compiled, in a process of its own."""
    return json.loads(subprocess.check_output([sys.executable, "-c", USE_ALL]))


@pytest.mark.slow
def test_what_was_compiled_once_is_read_from_the_cache_in_the_next_process():
    use_all()
    counts = use_all()
    assert not {name: misses for name, (_, misses) in counts.items() if misses}
    assert sum(hits for hits, _ in counts.values()) > 10


@pytest.mark.long
def test_every_compiled_function_is_used_here(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "NUMBA_CACHE_DIR", str(tmp_path)
    )  # what is called by cached code is not counted
    counts = use_all()
    never = {
        name
        for name, dispatcher in compiled().items()
        if counts[name][1] == 0 and dispatcher.targetoptions.get("inline") != "always"
    }
    assert not never, "compiled functions that nothing here runs"
