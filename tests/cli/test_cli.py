import json
import subprocess
import sys
from functools import partial

import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from separatrix import GaussianNB, __version__, describe, save
from separatrix.app import demo
from separatrix.cli import main
from separatrix.estimators.registry import SUITE


def test_help_needs_nothing_heavy():
    code = (
        "import sys\n"
        "from separatrix.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'sklearn', 'scipy', 'numba', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, separatrix; sys.exit('sklearn' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_version_is_printed():
    assert __version__ in CliRunner().invoke(main, ["--version"]).output


@pytest.mark.slow
def test_the_demo_prints_a_table_and_writes_a_page_and_pictures(tmp_path):
    done = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "new"), "--repeats", "1"])
    assert done.exit_code == 0, done.output
    assert "5 folds, once, 1437 rows to train and 360 to test, seed 0" in done.stdout
    suited = [model.title for model, _ in SUITE.values() if "vectors" in model.data_kinds]
    assert all(f"\n{name} " in done.stdout for name in suited)
    assert "<html" in (tmp_path / "new" / "report.html").read_text()
    for name in ("confusion.png", "hardest.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")
        assert name in done.stderr


@pytest.mark.slow
def test_the_demo_can_be_read_by_machines(tmp_path, monkeypatch):
    few = partial(demo.suite, models=["knn", "lda", "perceptron"])
    monkeypatch.setattr(demo, "suite", few)
    done = CliRunner().invoke(main, ["demo", "--out", str(tmp_path), "--repeats", "1", "--json"])
    table = json.loads(done.stdout, parse_constant=pytest.fail)  # Infinity and NaN are not JSON
    assert len(table["rows"]) == 3
    assert {"model", "test_error", "low", "high", "p_holm", "seconds"} <= set(table["rows"][0])


def test_models_are_listed():
    assert "KernelPerceptronCV" in CliRunner().invoke(main, ["models"]).output
    rows = json.loads(CliRunner().invoke(main, ["models", "--json"]).output)
    assert {"name", "solver", "paper", "not_for"} == set(rows[0])


@pytest.mark.parametrize("arguments", [["demo", "--repeats", "0"], ["nothing"]])
def test_wrong_words_are_an_error_and_not_a_traceback(arguments):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "Error" in done.output


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(
        main, ["demo", "--out", str(tmp_path / "file" / "inside"), "--repeats", "2"]
    )
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "Error" in done.stderr


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "separatrix", "models"], capture_output=True, text=True
    )
    assert "Perceptron" in done.stdout


def test_a_model_file_is_described(tmp_path):
    path = save(GaussianNB().fit(*load_iris(return_X_y=True)), tmp_path / "iris.model")
    done = CliRunner().invoke(main, ["info", str(path)])
    assert done.exit_code == 0
    assert done.stdout == describe(path).markdown()
    found = json.loads(CliRunner().invoke(main, ["info", str(path), "--json"]).stdout)
    assert found["kind"] == "GaussianNB"
    assert found["classes"] == [0, 1, 2]


def test_a_file_that_is_no_model_is_one_line(tmp_path):
    (tmp_path / "other").write_bytes(b"PK\x03\x04")
    for name, sentence in (("other", "is not a model file"), ("nothing", "there is no file")):
        done = CliRunner().invoke(main, ["info", str(tmp_path / name)])
        assert done.exit_code == 1
        assert done.stderr.count("\n") == 1
        assert sentence in done.stderr
