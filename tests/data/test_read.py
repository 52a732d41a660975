import bz2
import gzip
import lzma
from importlib import import_module
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from tests.data.formats.samples import ESL, PROMOTERS, SPLICE, TEXT, idx, npy, npz, tu

from separatrix.data.limits import Limits
from separatrix.data.read import FORMATS, format_of, read
from separatrix.errors import DataFileError, MissingDataError, ParameterError

SVMLIGHT = b"# a comment\n+1 1:0.5 3:2 # another\n-1 2:1e-3\n"
TABLE = b"width,height,kind\n1.5,2,a\n2.5,3,b\n"
WHOLE = {
    "svmlight": SVMLIGHT,
    "text": TEXT,
    "dna": PROMOTERS,
    "csv": TABLE,
    "npz": npz(X=np.eye(2), y=np.array([0, 1])),
    "npy": npy(np.eye(2)),
    "idx": idx(np.zeros((2, 3, 4), np.uint8)),
}


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("format", WHOLE)
def test_a_format_is_seen_from_how_a_file_begins(tmp_path, format, packed):
    (tmp_path / "data").write_bytes(packed(WHOLE[format]))
    assert format_of(tmp_path / "data") == format


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("A.TSV.GZ", "csv"),
        ("a.parquet", "parquet"),
        ("a.feather", "arrow"),
        ("a.libsvm.xz", "svmlight"),
        ("a.xlsx", "excel"),
        ("a.arff", "arff"),
        ("a.jsonl.gz", "jsonl"),
        ("houses.db:sold", "sqlite"),
        ("a.npz", "npz"),
    ],
)
def test_the_ending_of_a_name_goes_first(name, format):
    assert format_of(name) == format


def test_more_beginnings(tmp_path):
    for content, format in [
        (SPLICE, "dna"),
        (b"5.1,3.5,1.4,0.2,Iris-setosa\n", "csv"),
        (b"1;2;3\n", "csv"),
        (b"1 qid:3 1:0.5\n", "svmlight"),
        (b"PAR1....", "parquet"),
        (b"ARROW1\0\0", "arrow"),
        (b"7.0 " + b"-1.0000 " * 20_000, "csv"),
        (ESL, "csv"),
        (b"a|b\n1|2\n", "csv"),
        (b"age\tincome\n31\t5\n", "csv"),
        ("label\ttext\nham\tsee you at noon\n".encode("utf-16"), "text"),
        (b"@RELATION iris\n", "arff"),
        (b'{"age": 31}\n', "jsonl"),
        (b"SQLite format 3\0", "sqlite"),
    ]:
        (tmp_path / "data").write_bytes(content)
        assert format_of(tmp_path / "data") == format


def test_every_reader_is_reached(tmp_path):
    for format in ("svmlight", "text", "dna", "npz", "npy", "idx"):
        (tmp_path / "data").write_bytes(WHOLE[format])
        found = read(tmp_path / "data")
        assert found.name == "data"
        assert found.X is not None
    assert read(tu(tmp_path / "SMALL")).kind == "graphs"


def test_every_format_has_its_function():
    for format in FORMATS.values():
        module = import_module(f"separatrix.data.formats.{format.module}")
        parameters = signature(getattr(module, format.function)).parameters
        assert format.options <= set(parameters) or "options" in parameters
        assert ("source" in parameters) != format.folder


@pytest.mark.parametrize("name", ["data", "data.csv", "data.parquet", "data.feather"])
def test_a_table_is_the_same_in_every_format(tmp_path, name):
    frame = pd.DataFrame({"width": [1.5, 2.5], "kind": ["a", "b"], "height": [2.0, 3.0]})
    write = {".parquet": frame.to_parquet, ".feather": frame.to_feather}
    path = tmp_path / name
    write.get(path.suffix, lambda path: frame.to_csv(path, index=False))(path)

    found = read(path, target="kind")

    assert (found.name, found.target, found.y.tolist()) == (name, "kind", ["a", "b"])
    assert found.X.tolist() == [[1.5, 2.0], [2.5, 3.0]]
    assert read(path, target=0).y.tolist() == [1.5, 2.5]
    assert read(path, target=None).y is None


def test_options_reach_the_reader(tmp_path):
    (tmp_path / "data").write_bytes(SVMLIGHT)
    assert read(tmp_path / "data", n_features=9).X.shape == (2, 9)
    with pytest.raises(DataFileError, match=r"more than 1 rows|at most 1"):
        read(tmp_path / "data", limits=Limits(rows=1))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"format": "magic"}, "`format` of read must be one of csv, parquet, arrow, arff"),
        ({"header": True}, "`header` of read must be left out for the format text; got True"),
        ({"n_features": 3}, "`n_features` of read must be left out for the format text"),
        ({"target": None}, "`target` of read must be left out for the format text; got None"),
    ],
)
def test_options_of_another_format_are_refused(tmp_path, options, sentence):
    (tmp_path / "data").write_bytes(TEXT)
    with pytest.raises(ParameterError, match=sentence):
        read(tmp_path / "data", **options)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"words and nothing else\n", b"\x89PNG\r\n"])
def test_an_unknown_format_lists_those_there_are(tmp_path, content):
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(DataFileError, match="expected one of the formats csv, parquet") as refusal:
        read(tmp_path / "data")
    assert "format=" in refusal.value.hint


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"there is no file .*nowhere"):
        read(tmp_path / "nowhere")


def test_a_line_that_almost_matches_is_no_trap(tmp_path):
    (tmp_path / "data").write_bytes(b"11 " * 20_000 + b"x\n")
    with pytest.raises(DataFileError, match="found a file that begins with '11 11"):
        read(tmp_path / "data")
