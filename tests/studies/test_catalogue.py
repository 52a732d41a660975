"""`device` of named and written experiments: it reaches the models, and is no part of a run."""

import pytest

from separatrix.data.catalogue import load
from separatrix.errors import DeviceError, ParameterError, UnsupportedError
from separatrix.experiments.plan import plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import parse_spec
from separatrix.studies import mnist_all, usps
from separatrix.studies.catalogue import make

NAMES = (
    "usps-kernel-perceptron",
    "knn-and-perceptron",
    "mnist-parity",
    "mnist-all",
    "mnist-virtual-sv",
)
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
def no_card(monkeypatch):
    def none():
        raise DeviceError("there is no card here")

    monkeypatch.setattr("separatrix.runtime.device.default_gpu", none)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_that_is_not_there_is_said_before_anything_runs(name, no_card):
    with pytest.raises(DeviceError, match="there is no card here"):
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
    models += [made() for made in mnist_all.classifiers(0, "cpu").values()]
    found = [model.device for model in models if hasattr(model, "device")]
    assert set(found) == {"cpu"}
    assert len(found) == 7 + 7 + 7 + 4 + 9 + 4
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
def test_what_has_no_way_to_a_card_is_refused_at_once(options, caption):
    with pytest.raises(DeviceError, match=caption):
        make("knn-and-perceptron", device="cuda", **options)
    make("knn-and-perceptron", device="cpu", **options)


def test_a_device_in_a_file_leaves_what_is_shared_and_what_is_run_as_they_were():
    plain = written(NEIGHBORS, {**MACHINE, "name": "machine"})
    there = written(placed(NEIGHBORS, "cpu"), {**placed(MACHINE, "cpu"), "name": "machine"})

    assert [family.shares for _, family in there.protocols.values()] == ["neighbors", "gram"]
    assert {model.device for model in models_of(there)} == {"cpu"}
    assert there.experiment.options == plain.experiment.options


def test_shared_neighbours_are_searched_for_where_the_file_says(no_card, tmp_path):
    run(written(placed(NEIGHBORS, "cpu")).experiment, tmp_path / "here")
    with pytest.raises(DeviceError, match="there is no card here"):
        run(written(placed(NEIGHBORS, "cuda")).experiment, tmp_path / "there")


def test_a_device_from_outside_holds_for_all_models_of_a_file(no_card):
    models = (placed(NEIGHBORS, "cuda"), {**MACHINE, "scale": "standard"}, {"type": "GaussianNB"})
    found = models_of(written(*models, device="cpu"))
    assert [model.get_params().get("svc__device", "cpu") for model in found] == ["cpu"] * 4
    assert found[0].device == "cpu"
    with pytest.raises(DeviceError, match="there is no card here"):
        written(*models, device="cuda")
    with pytest.raises(UnsupportedError, match="no part of this model can run on a GPU"):
        written({"type": "GaussianNB"}, device="cuda")


def test_a_word_that_is_no_device_is_refused_in_a_file():
    for model in (NEIGHBORS, MACHINE):
        with pytest.raises(Exception, match=r"`device` of .* must be one of 'auto', 'cpu', 'cuda'"):
            written(placed(model, "gpu"))
