"""Modules inside packages form no import rings; import-linter holds the order of the packages."""

import pytest

grimp = pytest.importorskip("grimp", reason="import-linter is not installed")


def rings(imports):
    """Groups of modules that import each other, by repeatedly removing modules without a cycle."""
    imports = {name: set(found) for name, found in imports.items()}
    while True:
        imported = set().union(*imports.values()) if imports else set()
        free = [name for name, found in imports.items() if not found or name not in imported]
        if not free:
            return imports
        imports = {
            name: found.difference(free) for name, found in imports.items() if name not in free
        }


def test_a_ring_is_found_and_a_chain_is_none():
    assert rings({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}}) == {}
    assert rings({"a": {"b"}, "b": {"a", "c"}, "c": set()}) == {"a": {"b"}, "b": {"a"}}


def test_modules_inside_packages_form_no_rings():
    graph = grimp.build_graph("separatrix")
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}

    assert rings(imports) == {}
