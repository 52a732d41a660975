"""What all named studies share: options, reproducible runs, and a `device` that is no part of a run."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.studies.quick_runs import OPTIONS, quick_run

from separatrix.data.catalogue import load
from separatrix.errors import DeviceError, ExperimentError, ParameterError, UnsupportedError
from separatrix.experiments.plan import plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import parse_spec
from separatrix.studies import inputs, mnist_all, usps
from separatrix.studies.catalogue import make

NAMES = (
    "usps-kernel-perceptron",
    "knn-and-perceptron",
    "mnist-parity",
    "mnist-all",
    "mnist-virtual-sv",
)
BAD_OPTIONS = {
    "kernel-methods": {"seed": [-1]},
    "knn-and-perceptron": {
        **{"classifier": ["tree"], "distance": ["cosine"], "k_max": [0], "subsample": [1]},
        "k": [0, 2.5],
        **{"test_size": [1.0], "repeats": [0], "max_iter": [0], "seed": [-1]},
    },
    "mnist-parity": {
        **{"v": [[], "a,b", 3, "5-3"], "alpha": [0.0, float("nan")], "eps": [-1.0], "mu": [-1e-9]},
        **{"test_size": [0.0, 1.0], "max_iter": [0]},
    },
    "mnist-virtual-sv": {
        **{"C": [0.0], "degree": [0], "copies": ["no"], "deskew": ["maybe"], "test_size": [2.0]},
        **{"jitters": [[], "a", [0], [1, 9], 3]},
    },
    "mnist8m": {"C": [0.0], "gamma": [0.0], "sizes": [[], "a", [19]], "test_size": [2.0]},
    "mutag": {"seed": [-1], "repeats": [-1]},
    "reuters-strings": {"seed": [-1], "repeats": [-1]},
    "splice": {"subsample": [2]},
    "usps-kernel-perceptron": {
        **{"degrees": ["0-3", "1-99", "a", [], "1,,2"], "max_iter": [0], "subsample": [3]},
        **{"test_size": [0.0, 1.5], "repeats": [0]},
    },
}
MISATTRIBUTED = r"(?i)\bthe document\b|document's|parts 1 to 7"  # figures are of original projects
NEIGHBORS = {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [1, 3]}}
MACHINE = {"type": "SVC", "parameters": {"kernel": "rbf", "gamma": 0.5}, "grid": {"C": [1.0]}}


def written(*models, device="auto", **document):
    document = {"data": "iris", "split": {"repeats": 1}, "model": list(models), **document}
    return plan(parse_spec(document, "small"), load, device)


def placed(model, device):
    return {**model, "parameters": {**model.get("parameters", {}), "device": device}}


def models_of(planned):
    return [
        make_one(None).model
        for _, family in planned.protocols.values()
        for make_one in family.candidates
    ]


@pytest.fixture
def no_gpu(monkeypatch):
    def none():
        raise DeviceError("there is no GPU")

    monkeypatch.setattr("separatrix.runtime.device.default_gpu", none)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_two_runs_differ_only_in_times_and_memory(name, tmp_path):
    first = quick_run(name).results
    again = run(make(name, quick=True, **OPTIONS[name]), tmp_path, progress=False)
    # as texts, because NaN is not equal to itself
    assert [repr(row[:7]) for row in again.rows] == [repr(row[:7]) for row in first.rows]
    for step, arrays in first.arrays.items():
        for key, array in arrays.items():
            np.testing.assert_array_equal(again.arrays[step][key], array)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        (name, option, value)
        for name, options in BAD_OPTIONS.items()
        for option, values in options.items()
        for value in values
    ],
)
def test_bad_options_are_named(name, option, value):
    with pytest.raises(ParameterError, match=f"^`{option}` of {name} must be"):
        make(name, **{option: value})


@pytest.mark.parametrize(
    ("name", "kind"),
    [("knn-and-perceptron", "vectors"), ("mnist-parity", "images"), ("mnist-virtual-sv", "images")],
)
def test_data_of_another_kind_are_refused(name, kind, tmp_path):
    path = tmp_path / "mails.txt"
    path.write_text("ham\tsee you at noon\nspam\tyou have won\n", encoding="utf-8")
    with pytest.raises(ExperimentError, match=f"needs {kind} with labels; mails.txt holds text"):
        run(make(name, data=str(path)), tmp_path / "run", progress=False)


@pytest.mark.parametrize("name", ["mnist-parity", "mnist-virtual-sv"])
def test_a_quick_run_without_mnist_takes_the_digits_of_scikit_learn(name, monkeypatch):
    monkeypatch.setattr(inputs, "state", lambda name: "to download")
    assert make(name, quick=True).options["data"] == "digits"
    assert make(name).options["data"] == "mnist"
    monkeypatch.setattr(inputs, "state", lambda name: "on disk")
    assert make(name, quick=True).options["data"] == "mnist"


def test_figures_are_attributed_to_the_projects_that_report_them():
    folder = Path(usps.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    assert len(texts) > 20
    for path, text in texts.items():
        assert not re.search(MISATTRIBUTED, text), path


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_gpu_is_reported_before_anything_runs(name, no_gpu):
    with pytest.raises(DeviceError, match="there is no GPU"):
        make(name, quick=True, device="cuda")
    with pytest.raises(ParameterError, match=f"`device` of {name} must be one of 'auto', 'cpu'"):
        make(name, quick=True, device="gpu")


@pytest.mark.parametrize("name", NAMES)
def test_the_device_is_no_part_of_what_is_run(name):
    here, anywhere = make(name, quick=True, device="cpu"), make(name, quick=True)
    assert here.options == anywhere.options
    assert "device" not in here.options


def test_the_device_reaches_every_model_that_has_one():
    kept = [family for family in usps.families(0.1, "cpu") if family.name != usps.GAUSSIAN]
    models = [make_one(None).model for family in kept for make_one in family.candidates]
    models += mnist_all.classifiers(0, "cpu").values()
    found = [model.device for model in models if hasattr(model, "device")]
    assert set(found) == {"cpu"}
    assert len(found) == 7 + 7 + 7 + 4 + 9 + 12
    assert make("mnist-parity", quick=True, device="cpu").steps[0].run.__self__.device == "cpu"


def test_a_run_goes_on_with_what_another_device_has_found(tmp_path):
    options = {"quick": True, "repeats": 1, "k_max": 3, "max_iter": 2}
    run(make("knn-and-perceptron", device="cpu", **options), tmp_path)
    there = []

    again = make("knn-and-perceptron", **options)
    run(again, tmp_path, done=lambda _name, kept: there.append(kept))

    assert there == [True] * len(again.steps)


@pytest.mark.parametrize(
    ("options", "caption"),
    [
        ({"distance": "manhattan"}, "on a GPU with distance='manhattan'"),
        ({"classifier": "perceptron"}, "on a GPU with classifier='perceptron'"),
    ],
)
def test_what_cannot_run_on_a_gpu_is_refused_at_once(options, caption):
    with pytest.raises(DeviceError, match=caption):
        make("knn-and-perceptron", device="cuda", **options)
    make("knn-and-perceptron", device="cpu", **options)


def test_a_device_in_a_file_leaves_what_is_shared_and_what_is_run_as_they_were():
    plain = written(NEIGHBORS, {**MACHINE, "name": "machine"})
    there = written(placed(NEIGHBORS, "cpu"), {**placed(MACHINE, "cpu"), "name": "machine"})

    assert [family.shares for _, family in there.protocols.values()] == ["neighbors", "gram"]
    assert {model.device for model in models_of(there)} == {"cpu"}
    assert there.experiment.options == plain.experiment.options


def test_shared_neighbours_are_searched_for_on_the_device_of_the_file(no_gpu, tmp_path):
    run(written(placed(NEIGHBORS, "cpu")).experiment, tmp_path / "here")
    with pytest.raises(DeviceError, match="there is no GPU"):
        run(written(placed(NEIGHBORS, "cuda")).experiment, tmp_path / "there")


def test_a_device_from_outside_holds_for_all_models_of_a_file(no_gpu):
    models = (
        placed(NEIGHBORS, "cuda"),
        {**MACHINE, "scale": "standard"},
        {"type": "NearestCentroid"},
    )
    found = models_of(written(*models, device="cpu"))
    assert [model.get_params().get("svc__device", "cpu") for model in found] == ["cpu"] * 4
    assert found[0].device == "cpu"
    with pytest.raises(DeviceError, match="there is no GPU"):
        written(*models, device="cuda")
    with pytest.raises(UnsupportedError, match="no part of this model can run on a GPU"):
        written({"type": "NearestCentroid"}, device="cuda")


def test_a_word_that_is_no_device_is_refused_in_a_file():
    for model in (NEIGHBORS, MACHINE):
        with pytest.raises(Exception, match=r"`device` of .* must be one of 'auto', 'cpu', 'cuda'"):
            written(placed(model, "gpu"))
