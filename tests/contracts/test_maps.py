"""Maps of the code for newcomers: what they name exists, and they name everything."""

import re
from pathlib import Path

import separatrix.estimators.base as base
from separatrix.estimators.registry import REGISTRY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "separatrix"
SECTION = (
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Find an algorithm")[2]
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| estimator")
]


def test_the_map_of_algorithms_names_files_and_functions_that_exist():
    assert len(ROWS) > 15
    for _, solver, loop in ROWS:
        for cell in (solver, loop):
            for path, name in re.findall(r"`([\w/]+\.py)`: `(\w+)`", cell):
                assert defines(path, name), (path, name)
        if loop.startswith("the same"):
            path, name = re.match(r"`(.*)`:", solver)[1], re.search(r"`(\w+)`", loop)[1]
            assert defines(path, name), (path, name)


def test_the_map_of_algorithms_names_the_solver_of_every_estimator():
    files = " ".join(cell for row in ROWS for cell in row)
    for record in REGISTRY:
        modules = record.solver.split(", ")
        paths = [module.removeprefix("separatrix.").replace(".", "/") for module in modules]
        assert any(path in files for path in paths), record.name


def test_the_map_of_the_base_package_names_every_module():
    named = set(re.findall(r"[a-z_]+", base.__doc__))
    modules = {path.stem for path in (SOURCE / "estimators" / "base").glob("[a-z]*.py")}
    assert modules <= named, sorted(modules - named)


def defines(path, name):
    text = (SOURCE / path).read_text(encoding="utf-8")
    return re.search(rf"^(?:def|class) {name}\b", text, re.M) is not None
