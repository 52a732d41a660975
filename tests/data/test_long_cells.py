"""Long cells take time in proportion to their length: no pattern tries all splits of a run."""

import time
from contextlib import suppress

import pytest

from separatrix.data.formats.arff import Attribute, _rows
from separatrix.data.formats.layout import is_value
from separatrix.data.formats.rows import memory_source
from separatrix.data.numerals import is_number, is_numeral
from separatrix.data.units import find_unit
from separatrix.errors import DataFileError

SHORT, LONG = 500, 8_000
RUNS = {
    "digits": lambda n: "1" * n + "x",
    "digits with a point": lambda n: "1." + "1" * n + "x",
    "blanks inside": lambda n: "1" + " " * n + "1x",
    "blanks behind": lambda n: "1" + " " * n + "!",
    "blanks in parentheses": lambda n: "(" + " " * n + "x1)",
    "currencies": lambda n: "1" + "USD" * n + "1x",
    "percent signs": lambda n: "1" + "%$" * n + "1x",
    "groups": lambda n: "1" + ",111" * n + "x",
    "points": lambda n: "1" + ".1" * n + "x",
    "braces": lambda n: "1" + " " * n + "}",
}


def arff_row(text):
    line = f"'a',{text}".encode()
    with suppress(DataFileError):  # some are of more than two cells
        list(_rows(memory_source("t"), iter([(1, line)]), 2 * [Attribute("a", "string")], []))


def sparse_row(text):
    attributes = [Attribute("a", "number"), Attribute("b", "number")]
    line = "{" + "1 0," * len(text) + "0 1 }"
    list(_rows(memory_source("t"), iter([(1, line.encode())]), attributes, []))


def seconds(read, text):
    """The least processor time of three calls, and of no fewer than a millisecond of them."""
    best = float("inf")
    for _ in range(3):
        began, calls, spent = time.process_time(), 0, 0.0
        while spent < 1e-3:
            read(text)
            calls += 1
            spent = time.process_time() - began
        best = min(best, spent / calls)
    return best


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize(
    "read", [is_number, is_numeral, is_value, lambda text: find_unit([text]), arff_row]
)
def test_time_grows_as_the_length_of_a_cell(read, kind):
    growth = seconds(read, RUNS[kind](LONG)) / seconds(read, RUNS[kind](SHORT))
    assert growth < 6 * LONG / SHORT, f"{growth:.0f} times as long"


@pytest.mark.slow
def test_time_grows_as_the_length_of_a_sparse_row():
    growth = seconds(sparse_row, "x" * 80_000) / seconds(sparse_row, "x" * 5_000)
    assert growth < 6 * 16
