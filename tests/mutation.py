"""Change one operator or number of a solver, kernel, reader or model file; does a test fail?

`python -m tests.mutation --mutants 50 --seed 0`. Seeded random mutants; only a forked child sees one. It is
tried by the tests of its module's name, or else of its folder, those of `make test`. A mutant that runs
much longer than the tests without it is killed as well. Compiled functions of the mutated module, and of
all that import it, are compiled afresh: numba's cache would serve the ones without the mutant.
"""

import argparse
import ast
import importlib.util
import json
import os
import random
import re
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("solvers", "kernels", "data/formats", "modelfile")
GPU = (
    "cuda",
    "triton",
    "device",
)  # code that tests run on a GPU or by an interpreter only
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
            on_gpu = any(word in name for word in GPU) or "import torch" in path.read_text()
            if path.name != "__init__.py" and not on_gpu:
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
    """The tree of a source with its site of that number changed, and where that is."""
    tree = ast.parse(source)
    node = list(sites(tree))[number]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.op = SWAPS[type(node.op)]()
    return tree, f"line {node.lineno}: {before} -> {ast.unparse(node)}"


def dotted(module):
    """The name under which a file is imported."""
    return module.removesuffix(".py").replace("/", ".")


def importers(module):
    """A module and all that import it, also through others, as far as compiled code goes."""
    folders = [ROOT / "src/separatrix" / name for name in ("solvers", "kernels", "runtime")]
    texts = {
        dotted(str(path.relative_to(ROOT / "src"))): path.read_text()
        for folder in folders
        for path in folder.rglob("*.py")
    }
    found, new = {dotted(module)}, {dotted(module)}
    while new:
        pattern = re.compile("|".join(rf"{re.escape(name)}\b" for name in new))
        new = {name for name, text in texts.items() if pattern.search(text)} - found
        found |= new
    return found


class MutantLoader(SourceFileLoader):
    """Loads a mutant in the place of its module."""

    def __init__(self, module, tree):
        super().__init__(dotted(module), str(ROOT / "src" / module))
        self._tree = tree

    def get_code(self, fullname):
        return compile(self._tree, self.path, "exec", dont_inherit=True)

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.path, loader=self)
        return None


def _install(module, tree):
    from numba.core.dispatcher import Dispatcher

    sys.meta_path.insert(0, MutantLoader(module, tree))
    fresh, enable = importers(module), Dispatcher.enable_caching

    def enable_caching(dispatcher):
        if dispatcher.py_func.__module__ not in fresh:
            enable(dispatcher)

    Dispatcher.enable_caching = enable_caching


def tests_of(module):
    """The tests of a module: those of its name, or else of its folder; and its own examples."""
    path = Path(module).relative_to("separatrix")
    own = Path("tests") / path.parent / f"test_{path.name}"
    chosen = own if (ROOT / own).exists() else Path("tests") / path.parent
    return [str(ROOT / chosen)]


def run_tests(module, tree, seconds):
    """Run the tests of a module in a child, with a mutant or None; "passed", "failed" or "slow"."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        _be_child(module, tree)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return "passed" if os.waitstatus_to_exitcode(status) == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "slow"


def _be_child(module, tree):
    try:
        import pytest

        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if tree is not None:
            _install(module, tree)
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long"]
        status = pytest.main([*quiet, *tests_of(module)])
        os._exit(0 if status == 0 else 1)
    finally:
        os._exit(1)


class Session:
    """Tries mutants; knows how long the tests of each module take without one."""

    def __init__(self):
        self._seconds = {}

    def limit(self, module):
        """Seconds for the tests of a module; None if they fail, or take too long, without a mutant."""
        if module not in self._seconds:
            begun = time.monotonic()
            passed = run_tests(module, None, 180.0) == "passed"
            self._seconds[module] = 4 * (time.monotonic() - begun) + 60 if passed else None
        return self._seconds[module]

    def try_mutant(self, module, number):
        """What came of one mutant, and what was changed."""
        tree, where = mutate((ROOT / "src" / module).read_text(), number)
        seconds = self.limit(module)
        if seconds is None:
            return UNTESTED, where
        found = run_tests(module, tree, seconds)
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
    counts, session = {}, Session()
    for module, number in drawn:
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
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numba
    import pandas
    import pyarrow.parquet
    import pytest
    import scipy.linalg
    import sklearn.svm

    return numba, pandas, pyarrow, pytest, scipy, sklearn


if __name__ == "__main__":
    main()
