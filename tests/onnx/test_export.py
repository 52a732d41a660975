"""Files: `to_onnx(model, path)` and the command `export`."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from tests.cli.command import run as command
from tests.cli.command import run_json
from tests.onnx.comparison import run, to_onnx

from separatrix import SVC, GaussianNB, errors, save

onnx = pytest.importorskip("onnx")
X, y = load_iris(return_X_y=True)


def test_a_file_holds_the_model(tmp_path):
    path = tmp_path / "iris.onnx"
    graph = to_onnx(GaussianNB().fit(X, y), path)

    assert onnx.load(path) == graph
    assert [name.name for name in tmp_path.iterdir()] == ["iris.onnx"]


def test_the_command_writes_what_the_function_returns(tmp_path):
    model = SVC().fit(X, y)
    save(model, tmp_path / "iris.model")
    out = tmp_path / "iris.onnx"
    done = run_json("export", tmp_path / "iris.model", "--onnx", out, "--dtype", "float64")

    assert done == {"file": str(out), "inputs": ["X"], "outputs": ["label", "scores"]}
    np.testing.assert_array_equal(run(onnx.load(out), X)["label"], model.predict(X))
    said = command("export", tmp_path / "iris.model", "--onnx", out, "--opset", 19).stderr
    assert said == f"wrote {out}: outputs label, scores\n"
    assert [opset.version for opset in onnx.load(out).opset_import if not opset.domain] == [19]


def test_a_refused_model_leaves_the_old_file(tmp_path):
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    path = tmp_path / "old.onnx"
    path.write_text("old")
    with pytest.raises(errors.UnsupportedError):
        to_onnx(model, path)

    assert path.read_text() == "old"


def test_errors_of_the_command_are_one_line(tmp_path):
    (tmp_path / "bad.model").write_text("no model")
    for words in (["bad.model"], ["none.model"]):
        done = command("export", tmp_path / words[0], "--onnx", tmp_path / "out.onnx", code=1)
        assert done.stderr.startswith("Error: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dtype": "float16"}, "`dtype` of to_onnx must be one of"),
        ({"opset": 17}, "`opset` of to_onnx must be an integer of at least 18|at least 18"),
        ({"opset": 999}, "`opset` of to_onnx must be at most"),
        ({"zipmap": "yes"}, "`zipmap` of to_onnx"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(errors.ParameterError, match=message):
        to_onnx(GaussianNB().fit(X, y), **params)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(SVC())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(errors.MissingPackageError, match=r"pip install 'separatrix\[onnx\]'"):
        to_onnx(GaussianNB().fit(X, y))


def test_older_operators_are_refused_by_skl2onnx_as_well():
    skl2onnx = pytest.importorskip("skl2onnx")
    model = GaussianNB().fit(X, y)
    to_onnx(model)
    with pytest.raises(errors.UnsupportedError, match="opset 18 or later; got 15"):
        skl2onnx.to_onnx(model, X, target_opset=15)
