"""How the pages become a site: Markdown pages, gallery scripts and docstrings, without a network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import api_pages  # noqa: E402

from separatrix import __version__  # noqa: E402

project = "separatrix"
author = "the separatrix authors"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "benchmark_pages",
    "link_names",
    "mathml",
    "measured",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext", "_templates", "gallery/**/*.md5", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

# The reference: `api.rst` lists the names, the docstrings are the text.
default_role = "py:obj"
smartquotes = False  # 'rbf' stays what one types
autosummary_generate = True
autosummary_context = {
    "methods_of": api_pages.methods_by_class(),
    "guides_of": api_pages.guides_by_name(),
}
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Links to other sites need no network: the inventories are here, made by _inventories/make.py.
intersphinx_mapping = {
    "sklearn": ("https://scikit-learn.org/stable/", "_inventories/scikit-learn.inv"),
    "numpy": ("https://numpy.org/doc/stable/", "_inventories/numpy.inv"),
}
intersphinx_disabled_reftypes = ["std:*"]

# The gallery: scripts are run once and again only when they have changed.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/lectures"],
    "gallery_dirs": ["gallery", "lectures"],
    "filename_pattern": r"(plot|lecture)_",
    "subsection_order": [
        f"../examples/gallery/{folder}"
        for folder in (
            "boundaries",
            "kernels",
            "svm",
            "perceptrons",
            "one_gram",
            "neighbors",
            "discriminants",
            "probabilities",
            "objects",
            "evaluation",
            "everyday",
        )
    ],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/uses",
    "doc_module": ("separatrix",),
    "reference_url": {"separatrix": None},
    "inspect_global_variables": True,
    "image_scrapers": ("gallery_figures.scrape",),
    "reset_modules": ("gallery_figures.reset", "seaborn"),
    "reset_modules_order": "both",
    "min_reported_time": 15,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": r"",
    "default_thumb_file": str(HERE / "_static" / "logo.png"),
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "separatrix"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
