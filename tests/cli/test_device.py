"""`--device` on the commands that train or predict."""

import pytest
from tests.cli.command import run, run_json

from separatrix.errors import DeviceError
from separatrix.runtime import device as backends


@pytest.fixture
def no_gpu(monkeypatch):
    def none():
        raise DeviceError("no GPU was found")

    monkeypatch.setattr(backends, "default_gpu", none)


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_a_missing_gpu_is_one_line_and_nothing_is_written(command, no_gpu, tmp_path):
    words = (command, "iris", "--device", "cuda", "--out", tmp_path / "a.model", "-q")

    assert run(*words, code=1).stderr == "Error: no GPU was found\n"
    assert not (tmp_path / "a.model").exists()


def test_a_saved_model_predicts_on_the_chosen_device(no_gpu, tmp_path):
    path = tmp_path / "iris.model"
    run("fit", "iris", "--device", "cpu", "--out", path, "-q")
    for command in ("predict", "evaluate"):
        run(command, path, "iris")
        run(command, path, "iris", "--device", "cpu")
        assert "no GPU was found" in run(command, path, "iris", "--device", "cuda", code=1).stderr


def test_a_gpu_is_refused_for_models_without_a_device(tmp_path):
    words = ("fit", "iris", "--model", "perceptron", "--out", tmp_path / "a.model", "--device")

    refused = run(*words, "cuda", code=1).stderr
    run(*words, "cpu")

    assert "no part of this model can run on a GPU" in refused
    assert "hint: svm, logistic, lda and knn can" in refused


def test_a_comparison_sets_the_device_of_the_models_that_have_one(no_gpu):
    words = ("compare", "iris", "--cv", 2, "--repeats", 1, "-q", "--models")
    missing = run(*words, "lda,svm", "--device", "cuda", code=1)
    assert missing.stderr == "Error: no GPU was found\n"
    run(*words, "perceptron", "--device", "cuda", code=1)
    run(*words, "perceptron", "--device", "cpu")


def test_the_plan_of_a_fit_names_the_device():
    assert "device='cpu'" in run_json("fit", "iris", "--device", "cpu", "--dry-run")["model"]
    assert "device=" not in run("fit", "iris", "--dry-run").stdout


def test_other_devices_are_a_usage_error():
    found = run("fit", "iris", "--device", "gpu", code=2)
    assert "'gpu' is not one of 'auto', 'cpu', 'cuda'" in found.stderr


@pytest.fixture
def experiment_file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('data = "iris"\n[split]\nrepeats = 1\n[[model]]\ntype = "SVC"\n')
    return path


def test_experiments_run_on_the_chosen_device(no_gpu, experiment_file):
    for name in ("knn-and-perceptron", experiment_file):
        run("run", name, "--device", "cpu", "--dry-run")
        missing = run("run", name, "--device", "cuda", "--dry-run", code=1)
        assert missing.stderr == "Error: no GPU was found\n"
    refused = run("run", "promoters", "--device", "cpu", "--dry-run", code=1).stderr
    assert refused.startswith("Error: promoters has no option --device\nhint: it has --quick")


@pytest.mark.slow
def test_an_experiment_file_is_resumed_on_another_device(experiment_file, tmp_path):
    words = ("run", experiment_file, "--out", tmp_path / "out", "-q")
    run(*words, "--device", "cpu")
    run(*words)
