import numpy as np
from tests.cli.command import run, run_json

from separatrix.data.catalogue import load


def test_a_row_is_drawn_in_the_terminal_or_into_a_file(tmp_path):
    shown = run("data", "draw", "digits", "--row", 17).stdout.splitlines()
    assert shown[0] == "digits, row 17: 7"
    assert len(shown) == 9
    done = run("data", "draw", "digits", "--row", 17, "--out", tmp_path / "seven.png")
    assert done.stdout == ""
    assert (tmp_path / "seven.png").read_bytes()[:4] == b"\x89PNG"
    about = run_json("data", "draw", "digits", "--row", 17)
    np.testing.assert_array_equal(about["value"], load("digits").X[17])
    assert about["label"] == "7"


def test_a_row_of_a_file_is_drawn(tmp_path):
    (tmp_path / "people.csv").write_text("age,height,job\n20,1.5,boss\n30,1.75,clerk\n")
    shown = run("data", "draw", tmp_path / "people.csv", "--row", 1, "--target", "job").stdout
    assert shown.splitlines() == ["people.csv, row 1: clerk", "age     30", "height  1.75"]


def test_a_row_that_is_not_there_is_one_line(tmp_path):
    assert "has rows 0 to 149; got 150" in run("data", "draw", "iris", "--row", 150, code=1).stderr
    assert "no data set of that name" in run("data", "draw", "no", "--row", 1, code=3).stderr
