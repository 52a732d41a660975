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
    ("change", "caption"),
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
        ({"metrics": ["speed"]}, "unknown metric 'speed'"),
        ({"split": {"method": "magic"}}, "method is 'magic', expected one of"),
        ({"split": {"repeats": 0}}, "repeats is 0, expected at least 1"),
        ({"split": {"test_size": 1.5}}, "test_size is 1.5, expected above 0.0 and below 1.0"),
        ({"split": {"method": "grouped"}}, "`group` names the column"),
        ({"split": {"group": "a"}}, "`group` names the column"),
    ],
)
def test_every_wrong_word_is_refused_with_what_was_expected(change, caption):
    with pytest.raises(ExperimentError, match=caption):
        parse_spec({"data": "iris", "model": [MODEL], **change}, "a")


INLINE = {"columns": ["x", "y", "kind"], "target": "kind", "rows": [[0, 1.5, "a"], [2, 3, "b"]]}


def test_a_file_may_carry_its_samples():
    spec = parse_spec({"data": "points", "model": [MODEL], "inline": INLINE}, "a")

    data = spec.inline.dataset(spec.data)

    assert (data.name, data.features, data.target) == ("points", ("x", "y"), "kind")
    assert data.X.tolist() == [[0.0, 1.5], [2.0, 3.0]]
    assert data.y.tolist() == ["a", "b"]


def test_labels_may_be_whole_numbers_in_any_column():
    inline = {"columns": ["kind", "x"], "target": "kind", "rows": [[7, 1.5], [8, 2.5]]}

    data = parse_spec({"data": "d", "model": [MODEL], "inline": inline}, "a").inline.dataset("d")

    assert data.y.tolist() == [7, 8]
    assert data.X.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize(
    ("change", "caption"),
    [
        ({"columns": ["x"]}, "expected 2 to 1,000 different names"),
        ({"columns": ["x", "x", "kind"]}, "different names"),
        ({"columns": ["x", 3, "kind"]}, "different names"),
        ({"columns": ["x", "", "kind"]}, "different names"),
        ({"columns": "xy"}, r"\[inline\]: columns is 'xy', expected a list"),
        ({"target": "z"}, "target is 'z', expected one of the columns"),
        ({"rows": [[0, 1, "a"]]}, "found 1 rows, expected 2 to 100,000"),
        ({"rows": [[0, 1, "a"]] * 100_001}, "found 100,001 rows"),
        ({"rows": [[0, 1, "a"], [0, 1]]}, "row 2 is .*, expected a list of 3 values"),
        ({"rows": [[], [0, 1, "a"]]}, "row 1 is .*, expected a list of 3 values"),
        ({"rows": [3, 4]}, "row 1 is 3, expected a list"),
        ({"rows": [[0, float("nan"), "a"], [0, 1, "b"]]}, "row 1: y is nan, expected a finite"),
        ({"rows": [[0, float("inf"), "a"], [0, 1, "b"]]}, "row 1: y is inf, expected a finite"),
        ({"rows": [[10**400, 1, "a"], [0, 1, "b"]]}, "row 1: x is 1000.*, expected a finite"),
        ({"rows": [[True, 1, "a"], [0, 1, "b"]]}, "row 1: x is True, expected a finite"),
        ({"rows": [["0", 1, "a"], [0, 1, "b"]]}, "row 1: x is '0', expected a finite"),
        ({"rows": [[0, 1, "a"], [0, 1, 2]]}, "row 2: kind is 2, expected a string as in row 1"),
        ({"rows": [[0, 1, 0.5], [0, 1, 2]]}, "row 1: kind is 0.5, expected a whole number"),
        ({"rows": [[0, 1, "a\0"], [0, 1, "a"]]}, "row 1: kind is"),
        ({"rows": [[0, 1, 2**60], [0, 1, 2]]}, "row 1: kind is"),
        ({"rows": [[0, 1, "a" * 1001], [0, 1, "b"]]}, "row 1: kind is"),
        ({"lines": []}, r"\[inline\]: found `lines`, expected only columns, target, rows"),
    ],
)
def test_samples_that_no_model_could_take_are_refused_with_their_row(change, caption):
    document = {"data": "points", "model": [MODEL], "inline": {**INLINE, **change}}

    with pytest.raises(ExperimentError, match=caption):
        parse_spec(document, "a")


def test_the_target_of_samples_in_the_file_stands_with_them():
    document = {"data": "points", "target": "x", "model": [MODEL], "inline": INLINE}

    with pytest.raises(ExperimentError, match=r"`target` beside \[inline\]"):
        parse_spec(document, "a")


def test_a_file_is_named_in_what_is_wrong_with_it(tmp_path):
    path = tmp_path / "a.toml"
    for text, caption in (
        ("data = ", "no TOML"),
        ("data = 3", r"a\.toml: .*expected"),
        ("", "no `data`|no `model`"),
        ("seed = " + 5000 * "9", "no TOML"),
        ("seed = " + 100_000 * "[", "no TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ExperimentError, match=caption):
            read_spec(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="no TOML"):
        read_spec(path)
    with pytest.raises(ExperimentError, match="there is no file"):
        read_spec(Path("nowhere.toml"))
