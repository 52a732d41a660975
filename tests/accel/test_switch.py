"""The switch: on and off, imports before and after, programs, workers, fallbacks and their counts."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC  # imported before the switch is turned on

from separatrix import accel
from separatrix.accel import counters

X, Y = load_iris(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)


def run_program(text, tmp_path, *options, env=None):
    program = tmp_path / "program.py"
    program.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "separatrix.accel", *options, str(program), "argument"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **(env or {})},
    )


def test_it_is_turned_on_and_off():
    own = vars(SVC).get("_dense_fit")
    accel.patch()
    accel.patch()
    assert accel.is_patched()
    assert vars(SVC)["_dense_fit"] is not own
    accel.unpatch()
    accel.unpatch()
    assert not accel.is_patched()
    assert vars(SVC).get("_dense_fit") is own
    with accel.patched():
        assert accel.is_patched()
        with accel.patched():
            pass
        assert accel.is_patched()
    assert not accel.is_patched()


def test_what_a_program_assigns_meanwhile_stays(monkeypatch):
    monkeypatch.setattr(SVC, "_dense_fit", SVC._dense_fit)  # restored after the test
    accel.patch()
    SVC._dense_fit = own = lambda *given, **named: None
    accel.unpatch()
    assert SVC._dense_fit is own


def test_classes_stay_scikit_learns_own():
    before = SVC(C=2.0).fit(X, Y)
    with accel.patched(smallest=0):
        model = SVC(C=2.0).fit(X, Y)
        assert type(model) is SVC is sklearn.svm.SVC
        assert isinstance(before, SVC)
        assert repr(model) == "SVC(C=2.0)"
        assert SVC.__module__ == "sklearn.svm._classes"
        assert clone(model).get_params() == model.get_params()
        assert sorted(vars(model)) == sorted(vars(before))
        assert counters.CALLS["SVC.fit"].served == 1


@pytest.mark.parametrize("move", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_models_can_be_moved_and_used_without_the_switch(move):
    with accel.patched(smallest=0):
        model = SVC().fit(DIGITS[:300], NUMBERS[:300])
        ours = model.decision_function(DIGITS)
        moved = move(model)
        np.testing.assert_allclose(moved.decision_function(DIGITS), ours, atol=1e-6)
    np.testing.assert_allclose(moved.decision_function(DIGITS), ours, atol=1e-6)
    np.testing.assert_array_equal(moved.predict(DIGITS), model.predict(DIGITS))


def test_models_fitted_before_stay_what_they_were():
    model = SVC().fit(X, Y)
    values = model.decision_function(X)
    state = pickle.dumps(model)
    with accel.patched(smallest=0):
        np.testing.assert_allclose(model.decision_function(X), values, atol=1e-9)
    assert pickle.dumps(model) == state


def test_small_problems_are_left_to_scikit_learn_and_counted():
    with accel.patched():
        SVC().fit(X, Y)
    assert counters.CALLS["SVC.fit"].fallbacks == {"too small": 1}
    assert "too small: 1" in accel.report()


def test_what_is_not_served_goes_to_scikit_learn():
    with accel.patched(smallest=0):
        model = SVC(max_iter=3)
        with pytest.warns(UserWarning, match="Solver terminated early"):
            model.fit(X, Y)
    assert counters.CALLS["SVC.fit"].fallbacks == {"probability, max_iter or verbose": 1}


def test_errors_are_scikit_learns_own():
    with accel.patched():
        with pytest.raises(ValueError, match="The number of classes has to be greater than one"):
            SVC().fit(X, np.zeros(150))
        with pytest.raises(ValueError, match="The 'C' parameter of SVC must be a float"):
            SVC(C=-1).fit(X, Y)


def test_random_numbers_are_drawn_as_before():
    def draw():
        np.random.seed(0)  # noqa: NPY002
        SVC().fit(X, Y)
        return np.random.rand()  # noqa: NPY002

    plain = draw()
    with accel.patched(smallest=0):
        assert draw() == plain


PROGRAM = """
import sys
from sklearn.svm import SVC
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
print(sys.argv[1:], __name__, SVC(gamma=0.001).fit(X[:900], y[:900]).score(X[900:], y[900:]))
print(SVC.__module__)
"""


def test_a_program_runs_unchanged(tmp_path):
    found = run_program(PROGRAM, tmp_path, "-v")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("['argument'] __main__ 0.9")
    assert "sklearn.svm._classes" in found.stdout
    assert "SVC.fit" in found.stderr
    assert "scikit-learn" in found.stderr


def test_a_module_runs_unchanged(tmp_path):
    (tmp_path / "module.py").write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "-m", "separatrix.accel", "-m", "module", "a"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=tmp_path,
    )
    assert found.stdout.startswith("['a'] __main__ 0.9")


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "no program"), (["-x"], "unknown option"), (["no.py"], "no.py")]
)
def test_wrong_words_are_refused(arguments, said):
    found = subprocess.run(
        [sys.executable, "-m", "separatrix.accel", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 2
    assert said in found.stderr


def test_exit_codes_and_errors_of_the_program_are_kept(tmp_path):
    assert run_program("raise SystemExit(7)", tmp_path).returncode == 7
    found = run_program("1 / 0", tmp_path)
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr


def test_the_switch_imports_nothing(tmp_path):
    """So that it costs a program next to nothing before a model is fitted."""
    found = run_program(
        "import sys; print([m for m in sys.modules if m in ('sklearn', 'numpy', 'numba', 'scipy')])",
        tmp_path,
    )
    assert found.stdout.strip() == "[]", found.stderr


OFF = ["", "0", "false", "False", "off", "OFF", "no", " 0 "]


@pytest.mark.parametrize("value", ["1", "true", *OFF])
def test_the_environment_turns_it_on_where_it_was_installed(tmp_path, monkeypatch, value):
    monkeypatch.setenv("SEPARATRIX_ACCEL", value)
    (line,) = accel.install(str(tmp_path)).read_text().splitlines()
    assert line.startswith("import ")  # else Python takes it for a folder
    exec(line)
    assert accel.is_patched() == (value not in OFF)


@pytest.mark.slow
def test_a_start_up_file_without_the_package_says_nothing(tmp_path):
    accel.install(str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import site; site.addsitedir({str(tmp_path)!r})"],
        capture_output=True, text=True, check=True, env={"SEPARATRIX_ACCEL": "1"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
    accel.uninstall(str(tmp_path))
    assert not list(tmp_path.iterdir())
    accel.uninstall(str(tmp_path))


WORKERS = """
from joblib import Parallel, delayed, parallel_config
def patched(_):
    import separatrix.accel
    from sklearn.svm import SVC
    return separatrix.accel.is_patched() and "_dense_fit" in vars(SVC)
if __name__ == "__main__":
    with parallel_config(backend=BACKEND, n_jobs=2):
        print(all(Parallel()(delayed(patched)(i) for i in range(4))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_are_patched_too(tmp_path, backend):
    found = run_program(WORKERS.replace("BACKEND", repr(backend)), tmp_path)
    assert found.stdout.strip() == "True", found.stderr


def test_the_notebook_extension_is_the_switch():
    accel.load_ipython_extension(None)
    assert accel.is_patched()
    accel.unload_ipython_extension(None)
    assert not accel.is_patched()


def test_it_is_inside_of_other_tools():
    with accel.patched(smallest=0):
        ours = cross_val_predict(KNeighborsClassifier(3), X, Y, cv=3)
    np.testing.assert_array_equal(ours, cross_val_predict(KNeighborsClassifier(3), X, Y, cv=3))
