"""The choices of Playground: models with parameters, rules, generators and data sets.

The server sends it by itself, so nothing here may import scikit-learn, SciPy or numba.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from separatrix.workbench.playground.bundled_data import BUNDLED
from separatrix.workbench.playground.generators import GENERATORS, MAX_POINTS, MIN_POINTS
from separatrix.workbench.playground.scene import RULES
from separatrix.workbench.playground.sliders import MODELS


@cache
def catalogue() -> dict[str, Any]:
    """All choices as JSON."""
    return {
        "models": [model.to_json() for model in MODELS.values()],
        "rules": [{"value": value, "title": title} for value, title in RULES.items()],
        "generators": [
            {
                "key": key,
                "title": one.title,
                "classes": one.classes,
                "least": MIN_POINTS,
                "most": MAX_POINTS,
            }
            for key, one in GENERATORS.items()
        ],
        "data": [
            {"name": name, "title": one.title, "columns": list(one.columns)}
            for name, one in BUNDLED.items()
        ],
    }
