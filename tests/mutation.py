"""Change one operator or number of a solver, kernel, reader or model file; does a test fail?

`python -m tests.mutation --mutants 50 --seed 0`. Seeded random mutants, compiler off, in a copy of the
sources. A mutant is tried by the tests of its module's name, or else of its folder; `--survivors` lists
those that no test noticed. A mutant that runs much longer than the tests without it is killed as well.
"""

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("solvers", "kernels", "data/formats", "modelfile")
GPU = ("cuda", "triton", "device")  # code that tests run on a GPU or by an interpreter only
SWAPS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.UAdd: ast.USub, ast.USub: ast.UAdd},
}
OPERATORS = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.AugAssign)
SURVIVED, KILLED, SLOW, UNTESTED = "survived", "killed", "killed by time", "tests fail without it"


def modules():
    """Sources that are mutated."""
    for folder in FOLDERS:
        for path in sorted((ROOT / "src/separatrix" / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT / "src"))
            if path.name != "__init__.py" and not any(word in name for word in GPU):
                yield name


def sites(tree):
    """Nodes of the bodies of functions that can be changed, outside of annotations."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from (node for node in ast.walk(statement) if _changeable(node))


def _changeable(node):
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPS
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool)
    return isinstance(node, OPERATORS) and type(node.op) in SWAPS


def mutate(source, number):
    """The source with its site of that number changed, and where that is."""
    tree = ast.parse(source)
    node = list(sites(tree))[number]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.op = SWAPS[type(node.op)]()
    return ast.unparse(tree), f"line {node.lineno}: {before} -> {ast.unparse(node)}"


def tests_of(module):
    """The tests of a module: those of its name, or else of its folder; and its own examples."""
    path = Path(module).relative_to("separatrix")
    own = Path("tests") / path.parent / f"test_{path.name}"
    chosen = own if (ROOT / own).exists() else Path("tests") / path.parent
    return [str(ROOT / chosen)]


def run_tests(copy, module, seconds):
    """Run the tests of a module in a child; "passed", "failed" or "slow"."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        _be_child(copy, module)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return "passed" if os.waitstatus_to_exitcode(status) == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "slow"


def _be_child(copy, module):
    try:
        import pytest

        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(copy), str(ROOT)])
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long"]
        status = pytest.main([*quiet, *tests_of(module), str(copy / module)])
        os._exit(0 if status == 0 else 1)
    finally:
        os._exit(1)


class Session:
    """Mutants of a copy of the sources, and how long the tests of each module take without one."""

    def __init__(self, copy):
        self._copy, self._seconds = copy, {}

    def limit(self, module):
        """Seconds for the tests of a module; None if they fail without a mutant."""
        if module not in self._seconds:
            begun = time.monotonic()
            passed = run_tests(self._copy, module, 90.0) == "passed"
            self._seconds[module] = 4 * (time.monotonic() - begun) + 10 if passed else None
        return self._seconds[module]

    def try_mutant(self, module, number):
        """What came of one mutant, and what was changed."""
        path = self._copy / module
        source = path.read_text()
        mutant, where = mutate(source, number)
        seconds = self.limit(module)
        if seconds is None:
            return UNTESTED, where
        path.write_text(mutant)
        try:
            found = run_tests(self._copy, module, seconds)
        finally:
            path.write_text(source)
        return {"passed": SURVIVED, "failed": KILLED, "slow": SLOW}[found], where


def main():
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose path has this in it")
    given = parser.parse_args()
    known = {name: (ROOT / "src" / name).read_text() for name in modules() if given.only in name}
    every = [(m, i) for m, text in known.items() for i, _ in enumerate(sites(ast.parse(text)))]
    drawn = random.Random(given.seed).sample(every, min(given.mutants, len(every)))
    _load_libraries()
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder, ignore=ignored, dirs_exist_ok=True)
        session = Session(Path(folder))
        for module, number in sorted(drawn):
            outcome, where = session.try_mutant(module, number)
            counts[outcome] = counts.get(outcome, 0) + 1
            sys.stdout.write(f"{outcome}: {module}, {where}\n")
            sys.stdout.flush()
    killed = counts.get(KILLED, 0) + counts.get(SLOW, 0)
    tried = killed + counts.get(SURVIVED, 0)
    counts |= {"tried": tried, "sites": len(every), "seed": given.seed}
    sys.stdout.write(json.dumps(counts) + f"\n{100 * killed / max(tried, 1):.0f} % killed\n")


def _load_libraries():
    """What every child needs, before the first is forked; not separatrix."""
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1"}
    import numba
    import pandas
    import pyarrow.parquet
    import pytest
    import scipy.linalg
    import sklearn.svm

    return numba, pandas, pyarrow, pytest, scipy, sklearn


if __name__ == "__main__":
    main()
