"""Damaged and hostile files: every reader reads them or refuses them, and nothing else."""

import gzip
import shutil

import numpy as np
import pytest
from tests.data.formats import fuzz
from tests.data.formats.samples import (
    ARFF,
    ARROW_TABLE,
    ESL,
    JSON_LINES,
    PROMOTERS,
    ROLES,
    SPLICE,
    SVMLIGHT,
    TABLES,
    TEXT,
    TRIANGLE_AND_PATH,
    WRITERS,
    from_path,
    idx,
    npy,
    npz,
    tu,
)

from separatrix.data.formats.arff import read_arff
from separatrix.data.formats.arrow import read_arrow
from separatrix.data.formats.dna import read_dna
from separatrix.data.formats.esl import read_esl
from separatrix.data.formats.graph_folder import read_tu
from separatrix.data.formats.idx import read_images
from separatrix.data.formats.json_lines import read_json_lines
from separatrix.data.formats.npz import read_npy, read_npz
from separatrix.data.formats.svmlight import read_svmlight
from separatrix.data.formats.table import read_csv
from separatrix.data.formats.text import read_text
from separatrix.data.limits import Limits
from separatrix.data.read import FORMATS, format_of, read
from separatrix.data.read_table import read_table

X = np.arange(6.0).reshape(3, 2)
CUT = b"\n=====\n"  # between the files of a folder that travels as one
NPZ = [
    npz(X=X, y=np.array([0, 1, 1])),
    npz(packed=True, X=X.astype(np.uint8), y=np.array(["a", "b", "a"]), X_test=X, y_test=[1, 2, 3]),
]
IDX = [
    idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4)),
    idx(np.arange(6, dtype=">f8").reshape(3, 2), 14),
    gzip.compress(idx(np.arange(24, dtype=">i2"), 11), mtime=0),
]


def read_folder(path):
    """A folder of graphs whose files travel as one."""
    folder = path.parent / "tu"
    shutil.rmtree(folder, ignore_errors=True)
    parts = zip(TRIANGLE_AND_PATH, path.read_bytes().split(CUT), strict=False)
    return read_tu(tu(folder, **dict(parts)))


def read_any_but_tables(path):
    """Any format but tables, which have seeds of their own."""
    format = format_of(path)
    return None if "target" in FORMATS[format].options else read(path, format=format)


def read_roles(path):
    """A table with the roles of its columns."""
    return read_table(path, limits=Limits(rows=100_000))


def read_for_a_model(source):
    return read_csv(source, features=["age", "job=cook", "home, town=Rome"])


READERS = {  # seeds, suffix, and how many of 2,000 files are read at least
    read_csv: (TABLES, ".csv", 300),
    read_for_a_model: (TABLES[:1], ".csv", 100),
    read_arrow: ([writer(ARROW_TABLE) for writer in WRITERS], ".parquet", 20),
    read_svmlight: (SVMLIGHT, ".svm", 100),
    read_npz: (NPZ, ".npz", 1),
    read_npy: ([npy(X), npy(X > 2)], ".npy", 1),
    read_esl: ([ESL, b"1 2 3 4\n" * 20, gzip.compress(ESL, mtime=0)], "", 1),
    read_dna: ([PROMOTERS, SPLICE], ".data", 1),
    read_images: (IDX, "", 1),
    read_text: ([TEXT, gzip.compress(TEXT * 3, mtime=0)], ".txt", 1),
    read_folder: ([CUT.join(TRIANGLE_AND_PATH.values())], ".txt", 1),
    read_arff: ([ARFF], ".arff", 20),
    read_json_lines: ([JSON_LINES], ".jsonl", 20),
    read_roles: ([*TABLES, ROLES, ROLES.decode().encode("utf-16")], ".csv", 300),
    read_any_but_tables: ([*SVMLIGHT, TEXT, PROMOTERS, NPZ[0], npy(X), IDX[0]], "", 1),
}
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)


def survives(reader, runs, seed):
    seeds, suffix, _ = READERS[reader]
    of_paths = reader in (read_folder, read_any_but_tables, read_roles)
    return fuzz.survives(reader if of_paths else from_path(reader), seeds, suffix, runs, seed)


@pytest.mark.slow
@every_reader
def test_hostile_files_are_read_or_refused(reader):
    assert READERS[reader][-1] <= survives(reader, runs=2000, seed=1) < 1990


@pytest.mark.long
@every_reader
def test_two_hundred_thousand_hostile_files_are_read_or_refused(reader):
    survives(reader, runs=200_000, seed=2)
