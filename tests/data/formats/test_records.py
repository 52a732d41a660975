import pytest

from separatrix.data.formats import records, svmlight
from separatrix.data.formats.columns import choose_columns
from separatrix.data.formats.layout import TableLayout
from separatrix.data.formats.records import read_columns
from separatrix.data.read import read
from separatrix.data.streams import open_
from separatrix.errors import DataFileError


def read_with_header(path):
    """A format of a header and rows: names, one a line, to a line @data, then delimited text."""
    with open_(path) as source:
        lines = iter(source.read_line, b"@data\n")
        names = tuple(line.decode().strip() for line in lines)
        choice = choose_columns(source, names, "kind")
        return read_columns(source, TableLayout(",", False, names), choice)


def test_rows_after_a_header_of_another_format_are_parsed(write):
    table = read_with_header(write(b"width\nkind\n@data\n1.5,a\n2,b\n"))
    assert table.numbers.tolist() == [[1.5], [2]]
    assert table.categories["kind"].values == ["a", "b"]


def test_errors_after_a_header_count_its_lines(write):
    with pytest.raises(DataFileError, match=":5:3: found no label in 'kind'"):
        read_with_header(write(b"width\nkind\n@data\n1.5,a\n2,\n"))


def test_a_column_of_late_texts_is_read_again_from_behind_the_header(write):
    path = write(b"width\nkind\n@data\n" + b"1,a\n" * 10 + b"wide,b\n")
    assert read_with_header(path).categories["width"].values == ["1", "wide"]


@pytest.mark.parametrize("content", ["a,class\n1,x\n2,y\n", "1 1:2\n-1 2:3\n"])
def test_a_small_file_starts_no_threads(write, monkeypatch, content):
    def refuse(*_arguments):
        raise AssertionError("a pool of threads")

    for module in (records, svmlight):
        monkeypatch.setattr(module, "ThreadPoolExecutor", refuse)
    assert len(read(write(content, "x.csv" if "," in content else "x.svm")).y) == 2
