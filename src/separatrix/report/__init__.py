"""Self-contained HTML pages; their figures are in `separatrix.plots`."""

from separatrix.plots import *  # noqa: F403
