"""What holds for cards where there is none: torch's CPU stands for one, and Triton's interpreter runs.

The tests of `tests/gpu` run here in processes of their own, one for each module.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "tests" / "gpu").glob("test_*.py"))
QUICK = ("test_svc", "test_neighbors")  # each takes a process of its own; the others are long runs
WITHOUT = (
    "rich",
    "click",
    "safetensors",
    "pyarrow",
    "pooch",
    "jinja2",
    "matplotlib",
    "pandas",
    "pytest",
)
BARRED = f"""
import sys

class Barred:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {WITHOUT!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Barred())
"""
ALL_ON_A_CARD = """
import numpy as np
import separatrix
X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 3
for name in ("SVC", "SVCCV", "KernelPerceptron", "KernelPerceptronCV", "KNeighborsClassifier"):
    assert "device" in getattr(separatrix, name)._get_param_names()
separatrix.SVC(kernel="linear").fit(X, y).predict(X)
separatrix.KNeighborsClassifier().fit(X, y).predict(X)
"""


def run(*arguments, **environment):
    """A Python process in the root of the project."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def torch_and_triton():
    for name in ("torch", "triton"):
        pytest.importorskip(name, reason=f"{name} is not installed")


# programs have nothing to stand for them but what they are compared with: below, by the interpreter
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.long)
        for name in MODULES
        if name != "test_programs"
    ],
)
def test_tests_for_a_card_pass_where_the_cpu_of_torch_stands_for_one(module, torch_and_triton):
    environment = {"SEPARATRIX_DATA": "", "TRITON_INTERPRET": "0"}
    done = run("-m", "tests.gpu", f"{module}::", "--pretend", **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_programs_for_a_card_do_what_stands_for_them_here(torch_and_triton):
    done = run("-m", "tests.gpu", "test_programs::", "--pretend", TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_card_its_tests_say_so_and_fail_nothing_else():
    done = run("-m", "tests.gpu", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert done.stderr.startswith("no card, no tests: device='cuda' needs")
    assert not done.stdout


def test_a_failing_test_is_told_and_ends_with_1(torch_and_triton, tmp_path):
    code = (
        "import sys, tests.gpu.__main__ as runner\n"
        "def bad(): assert 1 == 2\n"
        "def good(): pass\n"
        "runner.collected = lambda wanted: [('a::good', good), ('a::bad', bad)]\n"
        "sys.exit(runner.main(['--pretend']))"
    )
    done = run("-c", code)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "AssertionError" in done.stdout
    assert "1 passed, 0 skipped, 1 FAILED" in done.stdout


def test_a_machine_with_a_card_needs_no_packages_for_people():
    done = run("-c", BARRED + ALL_ON_A_CARD)
    assert done.returncode == 0, done.stderr


def test_benchmarks_on_a_card_need_none_either():
    code = "import benchmarks.gpu as gpu; gpu.parsed(['svc', '--out', 'x'])\n"
    code += "import benchmarks.gpu_svc, benchmarks.gpu_million, benchmarks.gpu_ceilings"
    done = run("-c", BARRED + code)
    assert done.returncode == 0, done.stderr
