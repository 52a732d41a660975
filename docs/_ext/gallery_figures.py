"""How gallery scripts run: warnings are errors, one style, and figures of pyplot and `separatrix.plots`."""

import contextlib
import warnings

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
        if figure in seen:
            continue
        seen.add(figure)  # kept alive: the identity of a freed figure may be used again
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=STYLE["savefig.dpi"], bbox_inches="tight", facecolor="white")
        paths.append(path)
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])


_strict = contextlib.ExitStack()  # open while a script runs


def reset(_gallery_conf, name, when):
    """The same style for every script; a warning of a script, as an exception, stops the build."""
    _strict.close()
    if when == "before" and name is not None:
        _strict.enter_context(warnings.catch_warnings(action="error"))
    mpl.use("agg")
    plt.rcdefaults()
    plt.rcParams.update(STYLE)
