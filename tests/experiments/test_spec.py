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


def test_folds_test_every_row_once_unless_repeats_are_asked_for():
    for split in ({"folds": 3}, {"method": "folds", "folds": 3}):
        spec = parse_spec({"data": "iris", "model": [MODEL], "split": split}, "a")
        assert (spec.split.method, spec.split.folds, spec.split.repeats) == ("folds", 3, 1)
    split = {"method": "folds", "folds": 3, "repeats": 2}
    assert parse_spec({"data": "iris", "model": [MODEL], "split": split}, "a").split.repeats == 2
    split = {"method": "random", "folds": 3}
    with pytest.raises(ExperimentError, match='`folds` needs method = "folds"'):
        parse_spec({"data": "iris", "model": [MODEL], "split": split}, "a")


def test_a_grid_is_every_combination():
    grid = {"C": [1, 10], "gamma": [0.1, 0.2, 0.3]}
    (model,) = parse_spec({"data": "iris", "model": [{**MODEL, "grid": grid}]}, "a").models
    assert len(model.combinations()) == 6
    assert model.combinations()[1] == {"C": 1, "gamma": 0.2}


@pytest.mark.parametrize(
    ("change", "caption"),
    [
        ({"data": 3}, r"valid string; got 3 @ \$\.data"),
        ({"model": []}, r"at least one \[\[model\]\]"),
        ({"model": [{}]}, r"no `type` @ \$\.model\[0\]"),
        ({"model": ["SVC"]}, r"must be a table; got .SVC. @ \$\.model\[0\]"),
        ({"model": [MODEL, MODEL]}, "models must have different names"),
        ({"model": [{**MODEL, "scale": "big"}]}, r"got 'big' @ \$\.model\[0\]\.scale"),
        ({"model": [{**MODEL, "scale": -1}]}, "must be a number above 0 or one of .*; got -1"),
        ({"model": [{**MODEL, "grid": {"C": 1}}]}, r"valid list; got 1 @ \$\.model\[0\]\.grid\.C"),
        ({"model": [{**MODEL, "grid": {"C": []}}]}, "C must be a list of values"),
        ({"model": [{**MODEL, "grid": {"C": [1]}, "parameters": {"C": 1}}]}, "both in parameters"),
        (
            {"model": [{**MODEL, "grid": {"C": [1] * 200, "tol": [1] * 200}}]},
            "at most 10,000 cells; got 40,000",
        ),
        ({"model": [{**MODEL, "gird": {}}]}, "unknown key `gird`, expected one of type, name"),
        ({"model": [{**MODEL, "grid": {"C": [1.0, 2.0, 1.0]}}]}, "C has 1.0 twice"),
        ({"model": [{**MODEL, "scale": float("inf")}]}, "got inf"),
        ({"model": [{**MODEL, "scale": 10**400}]}, "must be a number above 0"),
        (
            {"model": [{**MODEL, "parameters": {"C": float("nan")}}]},
            "C must consist of numbers.*got nan",
        ),
        ({"model": [{**MODEL, "parameters": {"C": date(2020, 1, 1)}}]}, "got datetime.date"),
        ({"model": [{**MODEL, "name": "a" * 2000}]}, "at most 1000 characters"),
        (
            {"name": "../../elsewhere"},
            r"must consist of letters.*; got '../../elsewhere' @ \$\.name",
        ),
        ({"name": "/elsewhere"}, "must consist of letters.*; got '/elsewhere'"),
        ({"name": r"..\\elsewhere"}, "must consist of letters"),
        ({"name": ".."}, "must consist of letters"),
        ({"name": ""}, "must consist of letters"),
        ({"name": "a\nb"}, "must consist of letters"),
        ({"seeds": 1}, r"unknown key `seeds`, expected one of name, .* @ \$"),
        ({"seed": -1}, r"greater than or equal to 0; got -1 @ \$\.seed"),
        ({"seed": True}, "valid integer; got True"),
        ({"metrics": ["speed"]}, "unknown metric 'speed'"),
        ({"split": {"method": "magic"}}, r"'random', .*; got 'magic' @ \$\.split\.method"),
        ({"split": {"repeats": 0}}, r"greater than or equal to 1; got 0 @ \$\.split\.repeats"),
        ({"split": {"test_size": 1.5}}, r"less than 1; got 1.5 @ \$\.split\.test_size"),
        ({"split": {"method": "grouped"}}, "`group` must name a column"),
        ({"split": {"group": "a"}}, "`group` must name a column"),
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
        ({"columns": ["x"]}, "at least 2 items"),
        ({"columns": ["x", "x", "kind"]}, "different, non-empty names"),
        ({"columns": ["x", 3, "kind"]}, r"valid string; got 3 @ \$\.inline\.columns\[1\]"),
        ({"columns": ["x", "", "kind"]}, "different, non-empty names"),
        ({"columns": "xy"}, r"valid list; got 'xy' @ \$\.inline\.columns"),
        ({"target": "z"}, "`target` must be one of the columns; got 'z'"),
        ({"rows": [[0, 1, "a"]]}, "at least 2 items"),
        ({"rows": [[0, 1, "a"]] * 100_001}, "at most 100000 items"),
        ({"rows": [[0, 1, "a"], [0, 1]]}, "row 2 must be a list of 3 values"),
        ({"rows": [[], [0, 1, "a"]]}, "row 1 must be a list of 3 values"),
        ({"rows": [3, 4]}, "row 1 must be a list of 3 values; got 3"),
        (
            {"rows": [[0, float("nan"), "a"], [0, 1, "b"]]},
            "row 1: y must be a finite number; got nan",
        ),
        (
            {"rows": [[0, float("inf"), "a"], [0, 1, "b"]]},
            "row 1: y must be a finite number; got inf",
        ),
        ({"rows": [[10**400, 1, "a"], [0, 1, "b"]]}, "row 1: x must be a finite number; got 1000"),
        ({"rows": [[True, 1, "a"], [0, 1, "b"]]}, "row 1: x must be a finite number; got True"),
        ({"rows": [["0", 1, "a"], [0, 1, "b"]]}, "row 1: x must be a finite number; got '0'"),
        ({"rows": [[0, 1, "a"], [0, 1, 2]]}, "row 2: kind must be a string as in row 1; got 2"),
        ({"rows": [[0, 1, 0.5], [0, 1, 2]]}, "row 1: kind must be an integer.*got 0.5"),
        ({"rows": [[0, 1, "a\0"], [0, 1, "a"]]}, "row 1: kind must be"),
        ({"rows": [[0, 1, 2**60], [0, 1, 2]]}, "row 1: kind must be"),
        ({"rows": [[0, 1, "a" * 1001], [0, 1, "b"]]}, "row 1: kind must be"),
        ({"lines": []}, r"unknown key `lines`, expected one of columns, target, rows @ \$\.inline"),
    ],
)
def test_samples_that_no_model_could_take_are_refused_with_their_row(change, caption):
    document = {"data": "points", "model": [MODEL], "inline": {**INLINE, **change}}

    with pytest.raises(ExperimentError, match=caption):
        parse_spec(document, "a")


def test_the_target_of_samples_in_the_file_stands_with_them():
    document = {"data": "points", "target": "x", "model": [MODEL], "inline": INLINE}

    with pytest.raises(ExperimentError, match="`target` of inline samples"):
        parse_spec(document, "a")


def test_a_file_is_named_in_what_is_wrong_with_it(tmp_path):
    path = tmp_path / "a.toml"
    for text, caption in (
        ("data = ", "not a TOML file"),
        ("data = 3", r"a\.toml: must be a valid string; got 3 @ \$\.data"),
        ("", "no `data`|no `model`"),
        ("seed = " + 5000 * "9", "not a TOML file"),
        ("seed = " + 100_000 * "[", "not a TOML file"),
    ):
        path.write_text(text)
        with pytest.raises(ExperimentError, match=caption):
            read_spec(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="not a TOML file"):
        read_spec(path)
    with pytest.raises(ExperimentError, match="there is no file"):
        read_spec(Path("nowhere.toml"))
