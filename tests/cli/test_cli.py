import subprocess
import sys
from functools import partial

import pytest
from sklearn.datasets import load_iris
from tests.cli.command import run, run_json

from separatrix import GaussianNB, __version__, describe, save
from separatrix.app import compare_file
from separatrix.estimators.registry import SUITE


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom separatrix.cli import main\n"
        "for words in (['--help'], ['run', '-h'], ['data', 'list', '-h'], ['svm-train', '--help']):\n"
        "    try:\n        main(words)\n    except SystemExit:\n        pass\n"
        "heavy = {'numpy', 'sklearn', 'scipy', 'numba', 'matplotlib', 'rich', 'pyarrow', 'jinja2'}\n"
        "sys.exit(f'imported {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, separatrix; sys.exit('sklearn' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_version_is_printed():
    assert __version__ in run("--version").output


@pytest.mark.slow
def test_the_demo_prints_a_table_and_writes_a_page_and_pictures(tmp_path):
    done = run("demo", "--out", tmp_path / "new", "--repeats", "1")
    assert "5 folds, once, 1437 rows to train and 360 to test, seed 0" in done.stdout
    suited = [
        model.title
        for model, _ in SUITE.values()
        if "vectors" in model.data_kinds and model.by_default and not model.instead_of
    ]
    listed = [line.lstrip("*") for line in done.stdout.splitlines()]  # * did not converge
    assert all(any(line.startswith(name[:20]) for line in listed) for name in suited)
    assert "<html" in (tmp_path / "new" / "report.html").read_text()
    for name in ("confusion.png", "hardest.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")
        assert name in done.stderr


@pytest.mark.slow
def test_the_demo_prints_json(tmp_path, monkeypatch):
    few = partial(compare_file.suite_for, models=["knn", "lda", "perceptron"])
    monkeypatch.setattr(compare_file, "suite_for", lambda data, models, **more: few(data, **more))
    table = run_json("demo", "--out", tmp_path, "--repeats", "1")
    assert len(table["rows"]) == 3
    assert {"model", "test_error", "low", "high", "p_holm", "seconds"} <= set(table["rows"][0])


def test_models_are_listed():
    assert "KernelPerceptronCV" in run("models").output
    assert {"name", "solver", "paper", "not_for", "keys"} == set(run_json("models")[0])


@pytest.mark.parametrize("words", [["demo", "--repeats", "0"], ["nothing"]])
def test_a_usage_error_is_not_a_traceback(words):
    assert "Error" in run(*words, code=2).stderr


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("demo", "--out", tmp_path / "file" / "inside", "--repeats", "2", code=1)
    assert done.stderr.count("\n") == 1
    assert "Error" in done.stderr


def test_a_model_file_is_described(tmp_path):
    path = save(GaussianNB().fit(*load_iris(return_X_y=True)), tmp_path / "iris.model")
    assert run("info", path).stdout == describe(path).markdown()
    found = run_json("info", path)
    assert found["kind"] == "GaussianNB"
    assert found["classes"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "message"), [("other", "is not a model file"), ("nothing", "there is no file")]
)
def test_a_file_that_is_no_model_is_one_line(tmp_path, name, message):
    (tmp_path / "other").write_bytes(b"PK\x03\x04")
    done = run("info", tmp_path / name, code=1)
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
