"""Every script of the gallery and every lecture runs without a warning; a folder shares one process.

The build of the site runs them as well, and draws them: `make docs`.
"""

import ast
import contextlib
import importlib.util
import io
import runpy
import warnings
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [*EXAMPLES.glob("gallery/*/plot_*.py"), *EXAMPLES.glob("lectures/lecture_*.py")]
FOLDERS = sorted({path.parent for path in SCRIPTS})
needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="the figures need matplotlib"
)


@pytest.mark.slow
@needs_matplotlib
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_scripts_of_a_folder_run(folder, tmp_path, monkeypatch):
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    for path in sorted(path for path in SCRIPTS if path.parent == folder):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(path), run_name="__main__")
        plt.close("all")


def test_there_are_scripts_in_every_folder_that_the_site_lists():
    order = (EXAMPLES.parent / "docs" / "conf.py").read_text(encoding="utf-8")
    gallery = [folder.name for folder in FOLDERS if folder.parent.name == "gallery"]
    assert [name for name in gallery if f'"{name}"' not in order] == []
    assert all((folder / "GALLERY_HEADER.rst").is_file() for folder in FOLDERS)
    assert len(SCRIPTS) >= 35


def test_a_script_begins_with_a_title_and_a_text():
    wrong = []
    for path in SCRIPTS:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        title, line, *text = docstring.splitlines()
        if line != "=" * len(title) or not any(text):
            wrong.append(path.name)
    assert wrong == []
