"""What every compiled function promises."""

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching, config
from numba.core.dispatcher import Dispatcher

import separatrix
from separatrix import jit
from separatrix.app.compilation import compile_models, is_compiled
from separatrix.errors import MissingPackageError, SeparatrixError

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


def half(value):
    return value / 2


@pytest.fixture
def unwritable(monkeypatch):
    """No folder that numba knows of can be written."""

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)
    monkeypatch.setattr(jit, "_WARNED", [])


def test_where_nothing_can_be_written_functions_are_compiled_in_memory_with_one_note(
    unwritable, monkeypatch
):
    monkeypatch.setattr(jit._ReadOnly, "ensure_cache_path", caching._CacheLocator.ensure_cache_path)
    first, second = (jit.njit(cache=True, nogil=True)(half) for _ in range(2))
    with pytest.warns(UserWarning, match="in memory only.*set NUMBA_CACHE_DIR") as notes:
        assert first(3.0) == second(3.0) == 1.5
    assert len(notes) == 1
    assert notes[0].filename == __file__
    assert not jit.keeps_code(first)


def test_code_that_can_only_be_read_is_read(tmp_path, monkeypatch, request):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert jit.njit(cache=True)(half)(3.0) == 1.5
    request.getfixturevalue("unwritable")
    again = jit.njit(cache=True)(half)
    assert again(3.0) == 1.5
    assert sum(again.stats.cache_hits.values()) == 1
    assert not jit.keeps_code(again)


@pytest.mark.parametrize("damage", [b"", b"damaged"])
def test_a_damaged_cache_costs_time_only(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_WARNED", [])
    assert jit.njit(cache=True)(half)(3.0) == 1.5
    for path in tmp_path.rglob("*.nb[ic]"):
        path.write_bytes(damage)
    with pytest.warns(UserWarning, match="in memory only"):
        assert jit.njit(cache=True)(half)(3.0) == 1.5


def test_nothing_is_compiled_ahead_where_it_cannot_be_kept(monkeypatch):
    monkeypatch.setattr("separatrix.app.compilation.keeps_code", lambda _: False)
    assert is_compiled()
    with pytest.raises(SeparatrixError, match="cannot be kept here: set NUMBA_CACHE_DIR"):
        compile_models(["SVC"])


READ_ONLY = """
mount -o remount,ro,bind / || exit 77
unset HOME
touch "$0/new" 2> /dev/null && exit 77
exec "$@"
"""
FIT = """
from separatrix import GaussianNB, LogisticRegression
for model in (GaussianNB(), LogisticRegression()):
    assert model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[2.9]]) == 1
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare on this system")
@pytest.mark.parametrize("folder", [None, "/dev/null/folder", "/etc/passwd", "no folder"])
def test_it_fits_in_a_container_of_which_nothing_can_be_written(folder, tmp_path):
    source, copy = Path(separatrix.__file__).parent, tmp_path / "separatrix"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": folder or ""}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, str(tmp_path), sys.executable, "-c", FIT],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mount namespaces are not permitted here")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("in memory only") == 1
