"""The reference: every public name has a page, and its docstring describes all of it, with an example."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from separatrix import errors
from separatrix.modelfile.kinds import KINDS

API = Path(__file__).parents[2] / "docs" / "api.rst"
PACKAGES = ["separatrix", "separatrix.kernels", "separatrix.accel", "separatrix.onnx"]
if importlib.util.find_spec("matplotlib") is not None:
    PACKAGES.append("separatrix.plots")
# names of other modules that the pages use
SINGLE = {
    "separatrix.kernels.gram": ["make_gram", "SharedProducts"],
    "separatrix.data.catalogue": ["load"],
    "separatrix.data.read": ["read"],
    "separatrix.data.read_table": ["read_table"],
    "separatrix.data.deformed": ["DeformedDigits"],
}
# scikit-learn's names for the shape and the columns of X, the same for all its estimators
EVERYWHERE = {"n_features_in_", "feature_names_in_"}
# a field of the file that only classifiers set
UNSET = {"separatrix.NearestNeighbors": {"kernel_"}}


def public_names():
    """(package, name) of all that the reference has to list."""
    for package in PACKAGES:
        for name in importlib.import_module(package).__all__:
            yield package, name
    for module, names in SINGLE.items():
        yield from ((module, name) for name in names)
    for name, value in vars(errors).items():
        if inspect.isclass(value) and value.__module__ == errors.__name__:
            yield errors.__name__, name


def listed_names():
    """(package, name) of all entries of the lists in docs/api.rst."""
    package, inside, listed = "", False, {*PACKAGES, *SINGLE, errors.__name__}
    for line in API.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            package = line.split("::")[1].strip()
        elif line.startswith(".. autosummary::"):
            inside = True
        elif line and not line[0].isspace():
            inside = False
        elif inside and re.fullmatch(r"\s+\w+", line) and package in listed:
            yield package, line.strip()


def section(docstring, title):
    """Names described in a section, "a, b" as two of them; empty if the docstring has none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", docstring, re.DOTALL | re.M)
    if found is None:
        return set()
    heads = [line for line in found[1].splitlines() if line and not line[0].isspace()]
    return {name.split(":")[0].strip(" *") for head in heads for name in head.split(",")}


def parameters(value):
    """Names of the parameters of a callable."""
    try:
        return set(inspect.signature(value).parameters)
    except ValueError:
        return set()


def described():
    """Everything public but the errors, whose docstrings are sentences."""
    for package, name in public_names():
        if package != errors.__name__:
            value = getattr(importlib.import_module(package), name)
            yield f"{package}.{name}", value, inspect.getdoc(value) or ""


def test_every_public_name_has_a_page():
    listed, public = set(listed_names()), set(public_names())
    exported_twice = {("separatrix.kernels", "graphs_from_networkx")}
    missing = sorted(public - listed - exported_twice)
    assert not missing, f"add to a list in docs/api.rst: {missing}"
    assert not listed - public, f"not public, take out of docs/api.rst: {sorted(listed - public)}"


def test_a_name_is_listed_once():
    listed = list(listed_names())
    assert len(listed) == len(set(listed))


def test_every_parameter_is_described():
    lacking = {}
    for name, value, docstring in described():
        wanted, found = parameters(value), section(docstring, "Parameters")
        if wanted != found:
            lacking[name] = sorted(wanted ^ found)
    assert not lacking, (
        f"parameters without a description, or described without being there: {lacking}"
    )


def test_every_docstring_has_an_example():
    """That they run is the doctests' business: `pytest src`."""
    assert [name for name, _, docstring in described() if ">>> " not in docstring] == []


def test_every_learned_attribute_is_described():
    lacking = {}
    for name, _, docstring in described():
        schema = KINDS.get(name.rpartition(".")[2])
        if schema is None:
            continue
        fields = [*schema.all_fields(slim=False), *schema.derived.split(), *schema.copied]
        learned = {a for a in fields if a.endswith("_") and not a.startswith("_")}
        missing = learned - section(docstring, "Attributes") - EVERYWHERE - UNSET.get(name, set())
        if missing:
            lacking[name] = sorted(missing)
    assert not lacking, f"learned attributes without a description: {lacking}"


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("A.\n\nParameters\n----------\na, b\n    Both.\nc : int\n    One.\n", {"a", "b", "c"}),
        ("A.\n\nParameters\n----------\na\n    One.\n\nExamples\n--------\n>>> f(b)\n", {"a"}),
        ("A.\n", set()),
    ],
)
def test_the_reader_of_docstrings_finds_names(docstring, expected):
    assert section(docstring, "Parameters") == expected
