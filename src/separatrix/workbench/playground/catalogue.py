"""What can be chosen in Playground: models with sliders, rules, generators, data sets by two columns.

The server tells it by itself, so nothing here may import scikit-learn, SciPy or numba.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from separatrix.workbench.playground.generators import FEWEST, GENERATORS, MOST
from separatrix.workbench.playground.scene import RULES
from separatrix.workbench.playground.shipped import SHIPPED
from separatrix.workbench.playground.sliders import MODELS


@cache
def catalogue() -> dict[str, Any]:
    """All of it, as the page reads it."""
    return {
        "models": [model.as_dict() for model in MODELS.values()],
        "rules": [{"value": value, "title": title} for value, title in RULES.items()],
        "generators": [
            {"key": key, "title": one.title, "classes": one.classes, "least": FEWEST, "most": MOST}
            for key, one in GENERATORS.items()
        ],
        "data": [
            {"name": name, "title": one.title, "columns": list(one.columns)}
            for name, one in SHIPPED.items()
        ],
    }
