"""Pictures of fitted models and of results. Needs matplotlib: `pip install 'separatrix[report]'`."""

from separatrix.report.pictures import (
    plot_confusion,
    plot_features,
    plot_grid,
    plot_hardest,
    plot_learning_curve,
)

__all__ = ["plot_confusion", "plot_features", "plot_grid", "plot_hardest", "plot_learning_curve"]
