"""Change one operator or number of a solver, kernel, reader or model file; does a test fail?

`python -m tests.mutation --mutants 50 --seed 0`. Seeded random mutants. A mutant is a changed code object
of one function, in a forked child. It is tried by the quick tests of its folder, and of those above, that
enter this function without the mutant, the fastest first. A mutant that takes much more processor time is
killed as well. Functions that numba compiles are run by the interpreter, with NUMBA_DISABLE_JIT=1: see
`tests/interpreted.py`. Not mutated: functions that write compiled code (intrinsics, overloads), since what
they wrote lies in numba's cache, and `strict=True` of zip, which guards against mistakes of programmers.
Mutants that no test can kill are in `tests/equivalent_mutants.json`, with the reason. `--full` takes the
tests of `make test-full` instead: slow ones too, and the examples in docstrings of the mutated modules.
"""

import argparse
import ast
import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import types
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/separatrix"
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
SURVIVED, KILLED, SLOW, UNTESTED = "survived", "killed", "killed by time", "entered by no test"
EQUIVALENT, HUNG = "equivalent", "tests hang after a fork"
REASONS = Path(__file__).parent / "equivalent_mutants.json"
NOT_RUN = 3  # exit code of a child that could not run the tests
PYTHON, COMPILED, GENERATOR = "python", "compiled", "generator"
TEST_SECONDS = 5.0  # of processor time; tests that take longer are left out
MUTANT_SECONDS = 30.0  # of tests that are tried on one mutant
ASLEEP_SECONDS = 30.0  # without any processor time, after which a child counts as hanging


def modules():
    """Sources that are mutated."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.py")):
            name = str(path.relative_to(SOURCE))
            on_gpu = any(word in name for word in GPU) or "import torch" in path.read_text()
            if path.name != "__init__.py" and not on_gpu:
                yield name


def functions(tree):
    """Functions and methods that are not inside of another function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif not isinstance(node, ast.Lambda):
            yield from functions(node)


def sites(tree):
    """Nodes of the bodies of functions that can be changed, each with its function."""
    for function in functions(tree):
        if kind_of(function) == GENERATOR:
            continue
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        guards = [one.value for one in nodes if getattr(one, "arg", None) == "strict"]
        for node in nodes:
            if _changeable(node) and node not in guards:
                yield function, node


def _changeable(node):
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPS
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool)
    return isinstance(node, OPERATORS) and type(node.op) in SWAPS


def kind_of(function):
    """Whether numba compiles a function, or has it write code."""
    decorators = [ast.unparse(one) for one in function.decorator_list]
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(function)}
    if "builder" in names or any(one.startswith(("intrinsic", "overload")) for one in decorators):
        return GENERATOR
    is_compiled = any("njit" in one or "vectorize" in one for one in decorators)
    return COMPILED if is_compiled else PYTHON


def mutate(source, number):
    """A tree with its site of that number changed, the line of the function, and what is changed."""
    tree = ast.parse(source)
    function, node = list(sites(tree))[number]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.op = SWAPS[type(node.op)]()
    line = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return tree, line, f"line {node.lineno}: {before} -> {ast.unparse(node)}"


def code_at(code, line):
    """The code object that begins at a line, inside of another one."""
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            if one.co_firstlineno == line and not one.co_name.startswith("<"):
                return one
            if (found := code_at(one, line)) is not None:
                return found
    return None


def tests_of(module):
    """Files of tests of a module's folder, and of those above; and of an estimator of that name."""
    path = ROOT / "tests" / module
    inside = [folder for folder in path.parents if ROOT / "tests" in folder.parents]
    found = [one for folder in inside for one in folder.glob("test_*.py")]
    return {str(one) for one in [*found, *(ROOT / "tests/estimators").glob(f"test_{path.name}")]}


def reasons():
    """Why no test can tell a mutant from the original, by module, line of code and change."""
    every = json.loads(REASONS.read_text())
    return {(one["module"], one["line"], one["change"]): one["reason"] for one in every}


class TooLong(BaseException):
    """A test took more processor time than it may."""


class Mutants:
    """Plugin of pytest: finds out which tests enter which functions, then tries mutants."""

    def __init__(self, drawn):
        self.drawn, self.equivalent = drawn, reasons()
        self.entered = {}  # tests by the file and first line of a function
        self.seconds = {}
        self.steady, self.unsteady = set(), set()  # tests that pass a second time, or do not
        self.outcomes = []
        self.wanted = {
            (str(SOURCE / module), mutate((SOURCE / module).read_text(), number)[1])
            for module, number in drawn
        }

    def pytest_runtestloop(self, session):
        if session.testsfailed:  # a file may need a package that is not here
            sys.__stderr__.write(f"{session.testsfailed} files of tests cannot be collected\n")
        for number, item in enumerate(session.items):
            self._record(item, session.items[number + 1 : number + 2])
        for module, number in self.drawn:
            self._try(module, number)
        return True

    def _record(self, item, following):
        """Run a test without mutants; keep what it enters if it passes in time."""
        found = set()

        def enter(frame, event, _argument):
            if event == "call":
                found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        def ring(_number, _frame):
            raise TooLong

        begun = time.process_time()
        signal.signal(signal.SIGPROF, ring)
        signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)
        threading.setprofile(enter)
        sys.setprofile(enter)
        try:
            passed = _passes(item, *following)
        except (TooLong, Exception):  # also one in a report of pytest about a test that fails
            passed = False
            item.session._setupstate.teardown_exact(None)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.seconds[item] = time.process_time() - begun
        if passed:
            for where in found & self.wanted:
                self.entered.setdefault(where, []).append(item)

    def _try(self, module, number):
        path = SOURCE / module
        tree, line, where = mutate(path.read_text(), number)
        outcome, killer, chosen = UNTESTED, None, []
        at, _, change = where.removeprefix("line ").partition(": ")
        if (module, path.read_text().splitlines()[int(at) - 1].strip(), change) in self.equivalent:
            outcome = EQUIVALENT
        while outcome != EQUIVALENT and (chosen := self._choose(str(path), line)):
            seconds = 3 * sum(map(self.seconds.get, chosen)) + 5
            outcome, killer = run_mutant(lambda: _install(path, tree, line), chosen, seconds)
            if outcome == SLOW and run_mutant(lambda: None, chosen, seconds)[0] == SLOW:
                outcome = HUNG  # without the mutant, too
            if killer is None or self._passes_again(killer):
                break
        self.outcomes.append(outcome)
        by = f" by {killer.nodeid}" if killer else ""
        sys.__stderr__.write(f"{outcome}: {module}, {where} ({len(chosen)} tests){by}\n")
        sys.__stderr__.flush()

    def _choose(self, path, line):
        """The tests that enter a function, the fastest first, as many as there is time for."""
        chosen, total = [], 0.0
        for item in sorted(self.entered.get((path, line), []), key=self.seconds.get):
            total += self.seconds[item]
            if item in self.unsteady or (chosen and total > MUTANT_SECONDS):
                continue
            chosen.append(item)
        return chosen

    def _passes_again(self, item):
        """Whether a test that failed passes without the mutant in the same place."""
        if item not in self.steady | self.unsteady:
            outcome, _ = run_mutant(lambda: None, [item], 3 * self.seconds[item] + 5)
            (self.steady if outcome == SURVIVED else self.unsteady).add(item)
        return item in self.steady


def _passes(item, following=None):
    item._initrequest()  # as for the first run, also for a later one
    if isinstance(item, DoctestItem):  # a run clears its names
        item.dtest.globs.update(vars(item.parent.obj))
    return all(report.passed for report in runtestprotocol(item, log=False, nextitem=following))


def run_mutant(install, items, seconds):
    """Run tests on a mutant in a child; what became of it, and the test that failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            limit = int(time.process_time() + seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            install()
            _run_items(items, writing)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            sys.__stderr__.flush()
        finally:
            os._exit(NOT_RUN)
    os.close(writing)
    status = _wait(child, 10 * seconds)
    with os.fdopen(reading) as pipe:
        killer = pipe.read()
    assert status != NOT_RUN, "a mutant could not be installed, or pytest failed"
    if killer:
        return KILLED, items[int(killer)]
    return SURVIVED if status == 0 else SLOW, None


def _run_items(items, writing):
    """Run tests until one fails, whose number is written into the pipe; does not return."""
    for number, item in enumerate(items):
        try:
            passed = _passes(item, *items[number + 1 : number + 2])
        except BaseException:  # KeyboardInterrupt, for example, ends a session of pytest
            passed = False
        if not passed:
            os.write(writing, str(number).encode())
            os._exit(1)
    os._exit(0)


def _wait(child, seconds):
    """Exit code of a child; one that takes too long, or sleeps, is killed."""
    end = time.monotonic() + seconds
    last, since = None, time.monotonic()
    while time.monotonic() < end and time.monotonic() < since + ASLEEP_SECONDS:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if (now := _activity(child)) != last or now[0] != "S":
            last, since = now, time.monotonic()
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _activity(child):
    """The state of a process, "S" if it sleeps, and its processor time; nothing where Linux is not."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ("", time.monotonic())
    return fields[0], int(fields[11]) + int(fields[12])


def _install(path, tree, line):
    """Give all function objects of this source line the changed code."""
    code = code_at(compile(tree, str(path), "exec", dont_inherit=True), line)
    changed = 0
    for one in gc.get_objects():
        if type(one) is types.FunctionType:  # isinstance would call into proxies
            old = one.__code__
            if old.co_firstlineno == line and old.co_filename == str(path):
                one.__code__ = code
                changed += 1
    assert changed, f"no function object at {path}:{line}"


def draw(mutants, seed, only, kind=None):
    """Seeded random mutants: modules and numbers of sites, and by what kind of code."""
    known = {name: (SOURCE / name).read_text() for name in modules() if only in name}
    every = [
        (module, number, kind_of(function))
        for module, text in known.items()
        for number, (function, _) in enumerate(sites(ast.parse(text)))
        if kind in (None, kind_of(function))
    ]
    return random.Random(seed).sample(every, min(mutants, len(every)))


def place_of(module, number):
    """A mutant in words: module, line and change."""
    return f"{module}, {mutate((SOURCE / module).read_text(), number)[2]}"


def run_session(drawn, places, full=False):
    """Try mutants of one kind in this process; prints the outcomes as JSON."""
    plugin = Mutants([one[:2] for one in drawn])
    places = places or sorted(set().union(*(tests_of(module) for module, *_ in drawn)))
    if full:
        places = [*places, *sorted({str(SOURCE / module) for module, *_ in drawn})]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    marked = "not long" if full else "not slow and not long"
    chosen = ["-m", marked, "-k", "not cuda and not triton and not gpu"]
    pytest.main([*options, *chosen, *places], plugins=[plugin])
    sys.__stdout__.write(json.dumps(plugin.outcomes) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose path has this in it")
    parser.add_argument("--kind", choices=(PYTHON, COMPILED), help="only these functions")
    parser.add_argument("--at", nargs="*", help="of the drawn ones those with this in their place")
    parser.add_argument("--tests", nargs="*", help="files of tests, other than those of the folder")
    parser.add_argument("--full", action="store_true", help="slow tests and examples too")
    parser.add_argument("--session", choices=(PYTHON, COMPILED), help=argparse.SUPPRESS)
    given = parser.parse_args()
    drawn = draw(given.mutants, given.seed, given.only, given.kind)
    if given.at:
        drawn = [one for one in drawn if any(text in place_of(*one[:2]) for text in given.at)]
    if given.session:
        own = [one for one in drawn if one[2] == given.session]
        run_session(own, given.tests, given.full)
        return
    outcomes = []
    for kind in (PYTHON, COMPILED):
        if any(one[2] == kind for one in drawn):
            off = {"NUMBA_DISABLE_JIT": "1"} if kind == COMPILED else {}
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **off}
            command = [sys.executable, "-m", "tests.mutation", *sys.argv[1:]]
            command += ["--session", kind]
            ended = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
            found = json.loads(ended.stdout.splitlines()[-1])
            if len(found) < sum(one[2] == kind for one in drawn):
                sys.exit(ended.stdout.decode()[-3000:])  # pytest came to no end
            outcomes += found
    kinds = KILLED, SLOW, SURVIVED, UNTESTED, EQUIVALENT, HUNG
    counts = {what: outcomes.count(what) for what in kinds}
    killed = counts[KILLED] + counts[SLOW]
    share = 100 * killed / max(len(outcomes) - counts[EQUIVALENT], 1)
    sys.stdout.write(
        f"{json.dumps(counts)}\n{share:.0f} % of those that are not equivalent killed\n"
    )


if __name__ == "__main__":
    main()
