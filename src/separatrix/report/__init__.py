"""Pictures of fitted models and of results. Needs matplotlib: `pip install 'separatrix[report]'`."""

from separatrix.report.graph_drawing import plot_graph, plot_graphs
from separatrix.report.neighbors import plot_k
from separatrix.report.parts import plot_parts
from separatrix.report.pictures import (
    plot_confusion,
    plot_features,
    plot_grid,
    plot_hardest,
    plot_learning_curve,
)
from separatrix.report.probabilities import plot_costs, plot_reliability
from separatrix.report.regions import plot_embedding, plot_regions
from separatrix.report.sequence_drawing import plot_letters

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
    "plot_parts",
    "plot_regions",
    "plot_reliability",
]
