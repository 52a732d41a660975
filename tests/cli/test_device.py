"""`--device` on the commands that train or predict."""

import json

import pytest
from click.testing import CliRunner

from separatrix.cli import main
from separatrix.errors import DeviceError
from separatrix.runtime import device as backends


def ask(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def no_card(monkeypatch):
    def none():
        raise DeviceError("there is no card here")

    monkeypatch.setattr(backends, "default_gpu", none)


@pytest.fixture
def model(tmp_path):
    """A machine fitted to iris, in a file."""
    path = tmp_path / "iris.model"
    assert ask("fit", "iris", "--device", "cpu", "--out", path, "-q").exit_code == 0
    return path


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_a_card_that_is_not_there_is_an_error_in_a_line(command, no_card, tmp_path):
    found = ask(command, "iris", "--device", "cuda", "--out", tmp_path / "a.model", "-q")

    assert found.exit_code == 1
    assert found.stderr == "Error: there is no card here\n"
    assert not (tmp_path / "a.model").exists()


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_saved_model_is_told_where_to_work(command, no_card, model):
    assert ask(command, model, "iris").exit_code == 0
    assert ask(command, model, "iris", "--device", "cpu").exit_code == 0

    found = ask(command, model, "iris", "--device", "cuda")

    assert found.exit_code == 1
    assert "there is no card here" in found.stderr


def test_models_that_have_no_device_are_refused_a_card(tmp_path):
    path = tmp_path / "a.model"
    found = ask("fit", "iris", "--model", "logistic", "--device", "cuda", "--out", path)

    assert found.exit_code == 1
    assert "no part of this model can run on a GPU" in found.stderr
    assert "hint: svm, kernel-perceptron and knn can" in found.stderr
    assert (
        ask("fit", "iris", "--model", "logistic", "--device", "cpu", "--out", path).exit_code == 0
    )


def test_a_comparison_tells_those_that_have_a_device(no_card):
    words = ("compare", "iris", "--cv", 2, "--repeats", 1, "--models")
    found = ask(*words, "lda,svm", "--device", "cuda", "-q")
    assert (found.exit_code, found.stderr) == (1, "Error: there is no card here\n")
    assert ask(*words, "lda", "--device", "cuda", "-q").exit_code == 1
    assert ask(*words, "lda", "--device", "cpu", "-q").exit_code == 0


def test_what_would_be_fitted_says_where():
    found = ask("fit", "iris", "--device", "cpu", "--dry-run", "--json")
    assert "device='cpu'" in json.loads(found.stdout)["model"]
    assert "device=" not in ask("fit", "iris", "--dry-run").stdout


def test_other_words_are_refused():
    found = ask("fit", "iris", "--device", "gpu")
    assert found.exit_code == 2
    assert "'gpu' is not one of 'auto', 'cpu', 'cuda'" in found.stderr


@pytest.fixture
def written(tmp_path):
    """An experiment in a file."""
    path = tmp_path / "small.toml"
    path.write_text('data = "iris"\n[split]\nrepeats = 1\n[[model]]\ntype = "SVC"\n')
    return path


def test_experiments_are_told_where_to_work(no_card, written):
    for name in ("knn-and-perceptron", written):
        assert ask("run", name, "--device", "cpu", "--dry-run").exit_code == 0
        found = ask("run", name, "--device", "cuda", "--dry-run")
        assert (found.exit_code, found.stderr) == (1, "Error: there is no card here\n")


@pytest.mark.slow
def test_a_written_experiment_goes_on_on_another_device(written, tmp_path):
    words = ("run", written, "--out", tmp_path / "out", "-q")
    assert ask(*words, "--device", "cpu").exit_code == 0
    assert ask(*words).exit_code == 0


def test_an_experiment_without_such_models_has_no_device():
    found = ask("run", "promoters", "--device", "cpu", "--dry-run")
    assert found.exit_code == 1
    assert found.stderr.startswith("Error: promoters has no option --device\nhint: it has --quick")
