"""Pictures of fitted models and of results. Needs matplotlib: `pip install 'separatrix[report]'`."""

from separatrix.plots.attribution_figure import plot_parts
from separatrix.plots.figures import (
    plot_confusion,
    plot_features,
    plot_grid,
    plot_hardest,
    plot_learning_curve,
)
from separatrix.plots.graph_drawing import plot_graph, plot_graphs
from separatrix.plots.neighbor_curves import plot_k
from separatrix.plots.observation_figure import plot_observation
from separatrix.plots.probabilities import plot_costs, plot_reliability
from separatrix.plots.region_figures import plot_embedding, plot_regions
from separatrix.plots.separator_figure import plot_separators
from separatrix.plots.sequence_drawing import plot_letters

__all__ = [
    "plot_confusion",
    "plot_costs",
    "plot_embedding",
    "plot_features",
    "plot_graph",
    "plot_graphs",
    "plot_grid",
    "plot_hardest",
    "plot_k",
    "plot_learning_curve",
    "plot_letters",
    "plot_observation",
    "plot_parts",
    "plot_regions",
    "plot_reliability",
    "plot_separators",
]
