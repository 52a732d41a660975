import subprocess
import sys
import tomllib
import warnings

import matplotlib
import numpy as np
import pytest
from tests.cli.command import run
from tests.workbench.hostile import NAMES
from tests.workbench.playground.scenes import fact, fit, make_scene

from separatrix.app.runs import prepare
from separatrix.data.read import read
from separatrix.errors import DataError
from separatrix.workbench.playground.sliders import MODELS


def training_error(playground, scene):
    return fact(fit(playground, **scene), "training error").partition("(")[2].rstrip(")")


@pytest.mark.slow
def test_the_script_runs_by_itself_and_finds_the_same_error(playground, tmp_path):
    scene = make_scene(parameters={"C": 10.0, "gamma": 2.0})
    file = playground.export(**scene, name="Two moons!")["python"]
    (tmp_path / file["name"]).write_text(file["text"], encoding="utf-8")

    words = [sys.executable, "-W", "ignore", file["name"]]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"training error: {training_error(playground, scene)} (")
    assert (tmp_path / "two-moons.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize(
    ("shape", "rule", "standardise"),
    [("moons", "predict", True), ("blobs3", "predict", False), ("blobs3", "pairs", True)],
)
def test_the_script_of_every_model_fits_the_same_model(
    playground, capsys, key, shape, rule, standardise
):
    scene = make_scene(shape, key, rule=rule, standardise=standardise)
    text = playground.export(**scene)["python"]["text"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text.partition("figure = ")[0], "playground.py", "exec"), {})

    expected = f"training error: {training_error(playground, scene)} ("
    assert capsys.readouterr().out.startswith(expected)


def test_hostile_labels_and_names_come_back_equal(playground, tmp_path):
    rng = np.random.default_rng(0)
    short = [name for name in NAMES if len(name) <= 200]
    for start in range(0, len(short), 20):
        labels = short[start : start + 20]
        points = [[*place, label] for label in labels for place in rng.normal(size=(2, 2)).tolist()]
        scene = {"points": points, "model": "gaussian-nb", "parameters": {}}
        if len(labels) < 2:
            continue

        files = playground.export(
            **scene, name=labels[0], names=labels[:2], source={labels[0][:40]: 1}
        )

        names = {}
        exec(compile(files["python"]["text"].partition("X = np")[0], "script", "exec"), names)
        assert [list(point) for point in names["POINTS"]] == points
        written = tomllib.loads(files["experiment"]["text"])
        assert written["inline"]["rows"] == points
        path = tmp_path / "hostile.toml"
        path.write_text(files["experiment"]["text"], encoding="utf-8")
        job = prepare(str(path), {})
        data = job.experiment.load("points")
        assert data.y.tolist() == [label for *_, label in points]


@pytest.mark.slow
def test_a_script_with_hostile_labels_runs(playground, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    labels = [name for name in NAMES if len(name) <= 200 and "$" in name][:3]
    labels += ['"""', "'''", "\\", "$$", "$\\frac{$"]
    points = [[*place, label] for label in labels for place in rng.normal(size=(4, 2)).tolist()]
    scene = {"points": points, "model": "gaussian-nb", "parameters": {}}

    text = playground.export(**scene, names=["$x", 'y"$'])["python"]["text"]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(matplotlib.rcParams, "text.parse_math", True)  # the script changes it
    exec(compile(text.replace("dpi=150", "dpi=30"), "playground.py", "exec"), {})
    expected = f"training error: {training_error(playground, scene)} ("
    assert capsys.readouterr().out.startswith(expected)
    assert (tmp_path / "playground.png").exists()


@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize("standardise", [False, True])
def test_the_experiment_of_every_model_is_understood(playground, tmp_path, key, standardise):
    file = playground.export(**make_scene("blobs3", key, standardise=standardise))["experiment"]
    path = tmp_path / file["name"]
    path.write_text(file["text"], encoding="utf-8")

    job = prepare(str(path), {})

    assert job.name == "playground"
    assert len(job.steps) in (2, 10)  # on one Gram matrix, or split by split


@pytest.mark.parametrize("key", ["svm", "logistic"])
def test_costs_are_exported_for_any_label(playground, tmp_path, key):
    scene = make_scene("gaussians", key, parameters={"cost": 5.0})
    scene["points"] = [[x, y, {"a": "a", "b": 'b "=\n'}[label]] for x, y, label in scene["points"]]
    files = playground.export(**scene)
    path = tmp_path / "playground.toml"
    path.write_text(files["experiment"]["text"], encoding="utf-8")

    written = tomllib.loads(files["experiment"]["text"])["model"][0]["parameters"]

    assert written["class_weight"] == {'b "=\n': 5.0}
    assert prepare(str(path), {}).name == "playground"
    assert "class_weight={'b \"=\\n': 5.0}" in files["python"]["text"]


@pytest.mark.slow
def test_the_experiment_runs_and_goes_on_where_it_was_but_not_with_other_points(
    playground, tmp_path
):
    scene = make_scene(parameters={"hard": False, "C": 2.0}, standardise=True)
    path, out = tmp_path / "playground.toml", tmp_path / "run"
    path.write_text(playground.export(**scene)["experiment"]["text"], encoding="utf-8")

    first = run("run", path, "--out", out)
    table = (out / "results.csv").read_text()
    run("run", path, "--out", out)
    scene["points"][0][0] += 1.0
    path.write_text(playground.export(**scene)["experiment"]["text"], encoding="utf-8")
    refused = run("run", path, "--out", out, code=1)

    assert "SVC" in first.stdout
    assert (out / "results.csv").read_text() == table  # with the seconds of the first run
    assert (out / "report.html").exists()
    assert "holds a run that differs in its data" in refused.stderr


def test_few_points_make_an_experiment_too(playground, tmp_path):
    points = [[0.0, 0.0, "a"], [0.1, 0.3, "a"], [1.0, 1.0, "b"], [1.2, 0.9, "b"]]
    file = playground.export(points=points, model="svm", parameters={})["experiment"]
    path = tmp_path / "few.toml"
    path.write_text(file["text"], encoding="utf-8")

    results, _, _ = prepare(str(path), {}).run(tmp_path / "run", progress=False)

    assert results.rows


def test_the_points_are_a_table_that_the_library_reads(playground, tmp_path):
    scene = make_scene("blobs3")
    path = tmp_path / "points.csv"
    path.write_text(playground.export(**scene)["points"]["text"], encoding="utf-8")

    data = read(path)

    assert data.X.tolist() == [point[:2] for point in scene["points"]]
    assert data.y.tolist() == [point[2] for point in scene["points"]]


def test_names_of_files_are_plain_whatever_a_scene_is_called(playground):
    for name in [*NAMES[:50], "", "../../etc"]:
        files = playground.export(**make_scene(n=4), name=name[:200])
        for file in files.values():
            assert file["name"].isascii()
            assert not set(file["name"]) & set("/\\ :\"'<>|")
            assert not file["name"].startswith(".")


def test_a_scene_without_a_picture_is_not_exported(playground):
    with pytest.raises(DataError, match="one class"):
        playground.export(points=[[0, 0, "a"]], model="svm", parameters={})
