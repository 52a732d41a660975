"""Inventories of scikit-learn and NumPy for links without a network, from the installed packages.

$ python docs/_inventories/make.py

Their sites give every public name a page of its own at a fixed address, so that the names suffice.
"""

import importlib
import inspect
import zlib
from pathlib import Path

import numpy as np
import sklearn
from sklearn.utils.discovery import all_estimators, all_functions

HERE = Path(__file__).parent
PAGE = {"scikit-learn": "modules/generated/{}.html", "numpy": "reference/generated/{}.html"}


def sklearn_names():
    """(name, role) of estimators and functions, by the shortest public module that has them."""
    for name, value in [*all_estimators(), *all_functions()]:
        module = [part for part in value.__module__.split(".") if not part.startswith("_")]
        found = ".".join([*module[:2], name])
        if hasattr(importlib.import_module(".".join(module[:2])), name):
            yield found, "class" if inspect.isclass(value) else "function"
    yield "sklearn.config_context", "function"


def numpy_names():
    """(name, role) of classes and functions of the main namespace, `linalg` and `random`."""
    for prefix, module in {
        "numpy": np,
        "numpy.linalg": np.linalg,
        "numpy.random": np.random,
    }.items():
        for name in module.__all__:
            value = getattr(module, name, None)
            scalar = inspect.isclass(value) and issubclass(value, np.generic)  # on a common page
            if getattr(value, "__name__", "") == name and callable(value) and not scalar:
                yield f"{prefix}.{name}", "class" if inspect.isclass(value) else "function"


def write(project, version, names):
    """An inventory of version 2: four lines of header, then a compressed line for each name."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: {version}\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = [
        f"{name} py:{role} 1 {PAGE[project].format(name)} -\n" for name, role in sorted(set(names))
    ]
    data = zlib.compress("".join(lines).encode(), 9)
    (HERE / f"{project}.inv").write_bytes(head.encode() + data)


if __name__ == "__main__":
    write("scikit-learn", sklearn.__version__, sklearn_names())
    write("numpy", np.__version__, numpy_names())
