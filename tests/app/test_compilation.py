import os
import subprocess
import sys

import pytest
from tests.cli.command import run, run_json

from separatrix.app import compilation, demo
from separatrix.app.compilation import GROUPS, MODELS, compile_models
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.estimators.registry import REGISTRY, SUITE

FIRST_FIT = """
import numpy as np
import scipy.sparse
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
from separatrix import {model}
rng = np.random.default_rng(1)
X, y = rng.normal(size=({rows}, {features})), rng.integers(0, 4, size={rows})
if {sparse}:
    X = scipy.sparse.random_array(({rows}, {sparse}), density=0.001, format="csr", rng=rng)
{model}({options}).fit(X, y).predict(X[:{asked}])
names = [found.data["dispatcher"].__qualname__ for _, found in compiled.buffer if found.is_start]
print(*names, sep=", ")
"""


EVERYDAY = ("SVC", "KNeighborsClassifier", "LogisticRegression", "LinearSVC", "KernelPerceptron")


def compiled_by(model, options="", rows=300, **more):
    words = {"features": 20, "sparse": 0, "asked": 5, **more}
    code = FIRST_FIT.format(model=model, options=options, rows=rows, **words)
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_every_model_of_the_suite_is_in_one_group():
    assert len(set(MODELS)) == len(MODELS)
    assert (
        {record.name for _, record in SUITE.values()}
        <= set(MODELS)
        <= {record.name for record in REGISTRY}
    )


def test_a_first_fit_finds_everything_compiled(empty_cache, monkeypatch):
    assert "_add_rows" in compiled_by("BernoulliNB")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(empty_cache / "another"))
    seconds = compile_models(["BernoulliNB"], tables=["dense"])
    assert list(seconds) == ["BernoulliNB"]
    assert compiled_by("BernoulliNB") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "options", "rows"),
    [
        ("SVC", "", 300),
        ("SVC", "kernel='poly'", 300),
        ("SVC", "", 2500),
        ("KNeighborsClassifier", "", 300),
        ("KNeighborsClassifier", "weights='distance'", 3000),
        ("LogisticRegression", "", 300),
        ("LinearSVC", "", 3000),
        ("KernelPerceptron", "", 300),
    ],
)
def test_everyday_fits_compile_nothing_after_the_command(compiled_once, model, options, rows):
    assert compiled_by(model, options, rows) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "features"), [(9000, 200), (30_000, 12)])
def test_neighbors_of_other_shapes_compile_nothing_after_the_command(compiled_once, rows, features):
    found = compiled_by("KNeighborsClassifier", rows=rows, features=features, asked=3000)
    assert found == ""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["LinearSVC", "LogisticRegression"])
@pytest.mark.parametrize("features", [10_000, 100_000])
def test_fits_to_texts_compile_nothing_after_the_command(compiled_once, model, features):
    assert compiled_by(model, sparse=features) == ""


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path_factory.mktemp("numba")))
        compile_models(EVERYDAY)
        yield


def test_the_command_prints_seconds_of_each_group(monkeypatch):
    started = []
    monkeypatch.setattr(compilation, "_run", started.append)
    assert " s  SVC, SVCCV, NuSVC, OneClassSVM, " in run("compile").stdout
    assert sorted(words[3:] for words in started) == sorted(map(list, GROUPS))
    (row,) = run_json("compile", "SVC")
    assert row["models"] == "SVC"
    assert row["seconds"] >= 0


def test_an_unknown_model_is_refused():
    with pytest.raises(ParameterError, match="got 'SVX'"):
        compile_models(["SVX"])
    assert "got 'SVX'" in run("compile", "SVX", code=1).stderr


def test_an_error_in_the_other_process_is_raised(monkeypatch):
    monkeypatch.setattr(compilation, "sys", type("", (), {"executable": "/bin/false"}))
    with pytest.raises(SeparatrixError, match="status 1"):
        compile_models(["SVC"])


@pytest.mark.parametrize("cold", [True, False])
def test_the_demo_compiles_first_where_nothing_is_compiled(tmp_path, monkeypatch, cold):
    class Reached(Exception):
        pass

    def reach(*_words, **_options):
        raise Reached

    order = []
    monkeypatch.setattr(demo, "is_compiled", lambda: not cold)
    monkeypatch.setattr(demo, "compile_models", lambda models, **_: order.extend(models))
    monkeypatch.setattr(demo, "compare_data", reach)
    with pytest.raises(Reached):
        demo.run_demo(tmp_path)
    assert ("SVC" in order) == cold


def test_an_empty_cache_is_not_compiled(empty_cache):
    code = "from separatrix.app.compilation import is_compiled; print(is_compiled())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
    compiled_by("BernoulliNB")
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
    assert os.listdir(empty_cache)
