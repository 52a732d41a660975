from datetime import date
from pathlib import Path

import pytest

from separatrix.errors import ExperimentError
from separatrix.experiments.spec import parse_spec, read_spec

MODEL = {"type": "SVC"}


def test_the_defaults_are_those_that_are_written_down():
    spec = parse_spec({"data": "iris", "model": [MODEL]}, "my-flowers")
    assert (spec.name, spec.title, spec.seed, spec.tune_folds) == ("my-flowers", "My flowers", 0, 5)
    assert (spec.split.method, spec.split.repeats, spec.split.test_size) == ("stratified", 5, 0.2)
    assert spec.metrics == ("error",)


def test_a_grid_is_every_combination():
    grid = {"C": [1, 10], "gamma": [0.1, 0.2, 0.3]}
    (model,) = parse_spec({"data": "iris", "model": [{**MODEL, "grid": grid}]}, "a").models
    assert len(model.combinations()) == 6
    assert model.combinations()[1] == {"C": 1, "gamma": 0.2}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": 3}, "data is 3, expected a string"),
        ({"model": []}, r"no \[\[model\]\]"),
        ({"model": [{}]}, r"\[\[model\]\] 1: found no `type`"),
        ({"model": ["SVC"]}, "expected a table"),
        ({"model": [MODEL, MODEL]}, "models need one `name` each"),
        ({"model": [{**MODEL, "scale": "big"}]}, "scale is 'big'"),
        ({"model": [{**MODEL, "scale": -1}]}, "scale is -1"),
        ({"model": [{**MODEL, "grid": {"C": 1}}]}, "grid.C is 1, expected a list"),
        ({"model": [{**MODEL, "grid": {"C": []}}]}, "expected a list of values"),
        ({"model": [{**MODEL, "grid": {"C": [1]}, "parameters": {"C": 1}}]}, "both in parameters"),
        ({"model": [{**MODEL, "grid": {"C": [1] * 200, "tol": [1] * 200}}]}, "40,000 cells"),
        ({"model": [{**MODEL, "gird": {}}]}, "found `gird`, expected only"),
        ({"model": [{**MODEL, "grid": {"C": [1.0, 2.0, 1.0]}}]}, "grid.C has 1.0 twice"),
        ({"model": [{**MODEL, "scale": float("inf")}]}, "scale is inf"),
        ({"model": [{**MODEL, "scale": 10**400}]}, "expected a number above 0"),
        ({"model": [{**MODEL, "parameters": {"C": float("nan")}}]}, "C is nan, expected numbers"),
        ({"model": [{**MODEL, "parameters": {"C": date(2020, 1, 1)}}]}, "C is datetime.date"),
        ({"model": [{**MODEL, "name": "a" * 2000}]}, "name has 2,000 letters"),
        ({"name": "../../elsewhere"}, "name is '../../elsewhere', expected letters"),
        ({"name": "/elsewhere"}, "name is '/elsewhere', expected letters"),
        ({"name": r"..\\elsewhere"}, "expected letters"),
        ({"name": ".."}, "expected letters"),
        ({"name": ""}, "expected letters"),
        ({"name": "a\nb"}, "expected letters"),
        ({"seeds": 1}, "found `seeds`, expected only"),
        ({"seed": -1}, "seed is -1, expected at least 0"),
        ({"seed": True}, "seed is True"),
        ({"metrics": ["speed"]}, "no metric is called 'speed'"),
        ({"split": {"method": "magic"}}, "method is 'magic', expected one of"),
        ({"split": {"repeats": 0}}, "repeats is 0, expected at least 1"),
        ({"split": {"test_size": 1.5}}, "test_size is 1.5, expected above 0.0 and below 1.0"),
        ({"split": {"method": "grouped"}}, "`group` names the column"),
        ({"split": {"group": "a"}}, "`group` names the column"),
    ],
)
def test_every_wrong_word_is_refused_with_what_was_expected(change, says):
    with pytest.raises(ExperimentError, match=says):
        parse_spec({"data": "iris", "model": [MODEL], **change}, "a")


def test_a_file_is_named_in_what_is_wrong_with_it(tmp_path):
    path = tmp_path / "a.toml"
    for text, says in (
        ("data = ", "no TOML"),
        ("data = 3", r"a\.toml: .*expected"),
        ("", "no `data`|no `model`"),
        ("seed = " + 5000 * "9", "no TOML"),
        ("seed = " + 100_000 * "[", "no TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ExperimentError, match=says):
            read_spec(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="no TOML"):
        read_spec(path)
    with pytest.raises(ExperimentError, match="there is no file"):
        read_spec(Path("nowhere.toml"))
