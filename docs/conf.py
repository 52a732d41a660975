"""How the pages become a site. Nothing is generated into the tree."""

from separatrix import __version__

project = "separatrix"
author = "the separatrix authors"
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"separatrix {release}"
