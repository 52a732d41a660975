"""Names in `src`: each public class once, no module name twice among siblings, no retired words."""

import ast
import re
from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "separatrix"

# Words that must not occur in an identifier, in any of its parts (`on_card`, `RowsOnCard`), and
# what to use instead (shared/glossary.md).
RETIRED_PARTS = {
    "card": "gpu, device",
    "cards": "gpus, devices",
    "elsewhere": "fallback",
    "look": "scan, profile, preview",
    "looked": "scanned",
    "looks": "scans",
    "otherwise": "fallback, default",
    "place": "device, index, slot, position",
    "places": "devices, indices, slots, positions",
    "placing": "device policy",
    "said": "message",
    "say": "warn, report",
    "says": "message",
    "somewhere": "device",
    "tell": "warn, report, to_json",
    "teller": "reporter",
    "telling": "report",
    "told": "message",
}
# Identifiers that must not be defined, apart from leading underscores.
RETIRED_NAMES = {
    "Answerer": "LoadedModel",
    "Asked": "PreparedQueries, Request",
    "Bench": "Dispatcher",
    "Filing": "Archive",
    "Finding": "StepResult",
    "Meter": "ResourceUsage",
    "Room": "Service",
    "Screen": "LowPrecisionFilter",
    "Watch": "FitMonitor",
    "WhenAsked": "LazyIndex",
    "Workshop": "RunContext",
    "behind": "pipeline (function)",
    "chosen": "chosen_params (function)",
    "divided": "search_with_fallback",
    "drawn": "draw (function)",
    "encoded": "encode_labels (function)",
    "here_after_all": "fall_back_to_cpu",
    "homes": "services",
    "joined": "concatenate (function)",
    "letter_shares": "attribute_letters",
    "measured": "compute_metrics (function)",
    "merged": "merge (function)",
    "or_unchanged": "rollback_on_error",
    "parts_of": "explain_object",
    "scaled": "scale (function)",
    "settled": "best_model (function)",
    "standing": "LoadedModel",
    "tried": "fit_and_score (function)",
    "voted": "vote (function)",
}
# Standard terms that contain a retired word, as pairs of parts: descriptions of data sets and
# models, operations in place, predicates of the form looks_like.
ALLOWED = {("dataset", "card"), ("dataset", "cards"), ("model", "card"), ("in", "place")}
ALLOWED |= {("looks", "like")}
# Participles are refused as names of functions only; a variable may hold what was chosen.
FUNCTIONS_ONLY = {name for name, new in RETIRED_NAMES.items() if new.endswith("(function)")}

# A solver and its estimator may share the family's name; GPU twins, the two halves of a large study and
# the services of the workbench share theirs.
TWINS = {frozenset({"solvers", "estimators"})}
SHARED_MODULES = {"__init__", "cuda", "triton", "steps", "page", "service"}

# Public attributes, documented under these names.
PUBLIC = {("evaluation/result.py", "chosen"), ("modelfile/describe.py", "card")}


def defined_names(tree):
    """(name, whether it is a function, line) of all definitions in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, True, node.lineno
        elif isinstance(node, ast.ClassDef):
            yield node.name, False, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, False, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, False, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, False, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, False, 0


def name_parts(name):
    """Lower-case words of an identifier in snake case or camel case."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def retired_parts(name):
    """The retired words of an identifier, without those of standard terms."""
    parts = name_parts(name)
    allowed = {
        index + k for index, pair in enumerate(pairwise(parts)) if pair in ALLOWED for k in (0, 1)
    }
    return [part for i, part in enumerate(parts) if part in RETIRED_PARTS and i not in allowed]


def retired_words(source):
    """Definitions with a retired word, as "line: name -> replacement"."""
    found = []
    for name, is_function, line in defined_names(ast.parse(source)):
        bare = name.strip("_")
        new = RETIRED_NAMES.get(bare)
        if new is None or (bare in FUNCTIONS_ONLY and not is_function):
            new = next((RETIRED_PARTS[part] for part in retired_parts(name)), None)
        if new is not None:
            found.append(f"{line}: {name} -> {new}")
    return found


def duplicate_classes(sources):
    """Public class names that are defined more than once, with their modules."""
    modules = defaultdict(list)
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(module)
    return {name: where for name, where in modules.items() if len(where) > 1}


def duplicate_modules(modules):
    """Pairs of modules of one name in sibling packages; modules are paths such as "data/read.py"."""
    found = []
    for first, second in combinations(sorted(map(Path, modules)), 2):
        if first.stem != second.stem or first.stem in SHARED_MODULES:
            continue
        one, other = first.parent, second.parent
        if one == other or one.parent != other.parent or Path() in (one, other):
            continue
        if frozenset({one.name, other.name}) not in TWINS:
            found.append((first.as_posix(), second.as_posix()))
    return found


@pytest.fixture(scope="module")
def sources():
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}


@pytest.mark.slow
def test_a_public_class_name_is_defined_once(sources):
    assert duplicate_classes(sources) == {}


def test_sibling_packages_have_no_modules_of_one_name(sources):
    assert duplicate_modules(sources) == []


@pytest.mark.slow
def test_retired_words_are_not_defined(sources):
    found = [
        f"{module}:{word}"
        for module, source in sources.items()
        for word in retired_words(source)
        if (module, word.split()[1]) not in PUBLIC
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def on_card(): pass", ["on_card"]),
        ("class RowsOnCard: pass", ["RowsOnCard"]),
        ("def f(place): pass", ["place"]),
        ("def f(*places, elsewhere=None, **told): pass", ["places", "elsewhere", "told"]),
        ("look = 1", ["look"]),
        ("for said in (): pass", ["said"]),
        ("self._look, b = 1, 2", ["_look"]),
        ("class A:\n    place: int", ["place"]),
        ("import json as says", ["says"]),
        ("with open('a') as placing: pass", ["placing"]),
        ("class _Watch: pass", ["_Watch"]),
        ("def tried(): pass", ["tried"]),
        ("tried = [card for card in ()]", ["card"]),
        ("model_card = in_place = replace = lookup = essay = placeholder = 1", []),
        ("class DatasetCard: pass\ndef _looks_like_header(): pass", []),
        ("def card_of_model(): pass", ["card_of_model"]),
        ("print(card, x.place, f(say=1))", []),
        ("'card'  # a card", []),
    ],
)
def test_the_finder_finds_definitions_only(source, expected):
    assert sorted(line.split()[1] for line in retired_words(source)) == sorted(expected)


def test_the_finder_names_line_and_replacement():
    assert retired_words("x = 1\nplace = 2") == ["2: place -> device, index, slot, position"]


def test_the_finder_compares_public_classes_of_all_modules():
    sources = {
        "a.py": "class One: pass\nclass _Two: pass",
        "b.py": "def f():\n    class One: pass\nclass _Two: pass\nclass Three: pass",
    }
    assert duplicate_classes(sources) == {"One": ["a.py", "b.py"]}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (["data/read.py", "cli/read.py"], [("cli/read.py", "data/read.py")]),
        (["solvers/a/x.py", "solvers/b/x.py"], [("solvers/a/x.py", "solvers/b/x.py")]),
        (["solvers/a/cuda.py", "solvers/b/cuda.py"], []),
        (["solvers/knn.py", "estimators/knn.py"], []),
        (["data/__init__.py", "cli/__init__.py"], []),
        (["solvers/a/x.py", "data/x.py", "x.py"], []),
    ],
)
def test_the_finder_compares_modules_of_sibling_packages(modules, expected):
    assert duplicate_modules(modules) == expected
