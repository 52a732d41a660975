"""Figures of a gallery script: those of pyplot, and those that `separatrix.plots` made."""

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def scrape(_block, block_vars, gallery_conf):
    """Save the figures of a block: the open ones, and those that it has assigned to a variable."""
    names = block_vars["example_globals"]
    seen = block_vars.setdefault("seen_figures", names.setdefault("__figures__", set()))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    figures += [value for value in names.values() if isinstance(value, Figure)]
    paths = []
    for figure in dict.fromkeys(figures):
        if id(figure) in seen:
            continue
        seen.add(id(figure))
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=STYLE["savefig.dpi"], bbox_inches="tight", facecolor="white")
        paths.append(path)
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])


def reset(_gallery_conf, _name):
    """The same style for every script."""
    mpl.use("agg")
    plt.rcdefaults()
    plt.rcParams.update(STYLE)
