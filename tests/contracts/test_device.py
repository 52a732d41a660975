"""The GPU tests without a GPU: on torch's CPU device and in Triton's interpreter.

Each module of `tests/gpu` runs in a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "tests" / "gpu").glob("test_*.py"))
QUICK = ("test_forms", "test_svc", "test_neighbors", "test_linear")  # the other modules take long
NOT_NEEDED = (
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
BLOCK_IMPORTS = f"""
import sys

class BlockedImports:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {NOT_NEEDED!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, BlockedImports())
"""
USE_ESTIMATORS = """
import numpy as np
import separatrix
X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 3
for name in ("SVC", "SVCCV", "KernelPerceptron", "KernelPerceptronCV", "KNeighborsClassifier",
             "LogisticRegression", "LinearSVC", "GaussianNB", "RandomFourier", "PolynomialMap"):
    assert "device" in getattr(separatrix, name)._get_param_names()
separatrix.SVC(kernel="linear").fit(X, y).predict(X)
separatrix.KNeighborsClassifier().fit(X, y).predict(X)
"""


def run_python(*arguments, **environment):
    """Run a Python process in the root of the project."""
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


# test_programs needs Triton's interpreter: below
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.long)
        for name in MODULES
        if name != "test_programs"
    ],
)
def test_gpu_tests_pass_on_the_cpu_device_of_torch(module, torch_and_triton):
    environment = {"SEPARATRIX_DATA": "", "TRITON_INTERPRET": "0"}
    done = run_python("-m", "tests.gpu", f"{module}::", "--pretend", **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.slow
def test_triton_programs_pass_in_the_interpreter(torch_and_triton):
    done = run_python("-m", "tests.gpu", "test_programs::", "--pretend", TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_gpu_tests_exit_with_2_without_a_gpu():
    done = run_python("-m", "tests.gpu", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert done.stderr.startswith("no card, no tests: device='cuda' needs")
    assert not done.stdout


@pytest.mark.slow
def test_a_failing_gpu_test_is_reported_and_exits_with_1(torch_and_triton, tmp_path):
    code = (
        "import sys, tests.gpu.__main__ as runner\n"
        "def bad(): assert 1 == 2\n"
        "def good(): pass\n"
        "runner.collected = lambda wanted: [('a::good', good), ('a::bad', bad)]\n"
        "sys.exit(runner.main(['--pretend']))"
    )
    done = run_python("-c", code)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "AssertionError" in done.stdout
    assert "1 passed, 0 skipped, 1 FAILED" in done.stdout


@pytest.mark.slow
def test_estimators_with_a_device_need_no_optional_packages():
    done = run_python("-c", BLOCK_IMPORTS + USE_ESTIMATORS)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_gpu_benchmarks_need_no_optional_packages():
    code = "import benchmarks.gpu as gpu; gpu.parse_arguments(['svc', '--out', 'x'])\n"
    code += "import benchmarks.gpu_svc, benchmarks.gpu_million, benchmarks.gpu_ceilings\n"
    code += "import benchmarks.gpu_linear, benchmarks.gpu_digits"
    done = run_python("-c", BLOCK_IMPORTS + code)
    assert done.returncode == 0, done.stderr
