"""Small whole files of each format, for the tests and as seeds of hostile ones."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from separatrix.data.streams import open_

ESL = b"6.0000 -1.0000 -0.5000 1e-3 \n5.0000 0.2500 .5 +1.0000 \n\n0 1. 2 3\n"
TEXT = "ham\tsee you at noon\nspam\tyou have won 1,000 \u00a3\n\nham\t\n".encode()
PROMOTERS = b"+,S10,\t\ttactagcaatacgcttgc\n-,1019,\t\tgcgttcggtggttaagta\n"
SPLICE = b"EI,    ATRINS-DONOR-521,    CCAGCTGCATCACAGGAGN\nN,  X,   CCRSDACCAGCTGCATCAC\n"

ARFF = b"""% from Weka
@RELATION houses
@attribute 'floor area' numeric
@ATTRIBUTE heating {gas, 'heat pump', oil}
@attribute note string
@attribute sold date "yyyy-MM-dd"
@attribute class {0,1}
@data
81.5,gas,'it''s \\'fine\\'',2020-01-31,0
?,'heat pump',"two, words",?,1
{0 70, 1 oil, 2 x}
"""
JSON_LINES = b"""{"age": 31, "job": "clerk", "smokes": true, "class": "a"}
{"age": 45.5, "job": null, "smokes": false, "class": "b", "more": [1, 2]}

{"job": "cook", "class": "a"}
"""
ROLES = (
    "sep=;\nid;preis;anteil;datum;ja;stadt;notiz;class\n"
    + "".join(
        f"A-{i};{i}.048,{i % 10};{i} %;{1 + i % 28:02d}.01.2020;{('ja', 'nein')[i % 2]};"
        f"{('Zürich', 'Bern', '-')[i % 3]};ein Text mit {i} Wörtern;{i % 2}\n"
        for i in range(1, 25)
    )
).encode()

TABLES = [
    b'age,job,"home, town",class\n31,clerk,"O""Hare",a\n45.5,cook,Rome,b\n?,clerk,,a\n',
    b"5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,2.5,virginica\n\n",
    b"  1  0.5 -2\n 2  1e3  7\n1 0 0\n",
    b"x;y\r\n1,5;0\r\n2,5;1\r\n",
]
SVMLIGHT = [
    b"+1 1:0.5 3:-2e3 # text\n\n-1 2:1\n+1\n-1 1:.25 2:3. 7:1e-5\r\n",
    b"0 0:1 4:2.5\n1.5 1:3\n",
    b"3 qid:1 1:0.125\n1 qid:2 2:-0\n",
]
ARROW_TABLE = {
    "age": [31.0, 45.5, None],
    "job": ["clerk", "cook", "clerk"],
    "n": [1, 2, 3],
    "class": ["a", "b", "a"],
}


def parquet(columns, **options):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def feather(columns, **options):
    file = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(columns), file, **options)
    return file.getvalue()


WRITERS = [
    parquet,
    feather,
    lambda columns: parquet(columns, row_group_size=2, compression="gzip"),
    lambda columns: feather(columns, compression="uncompressed", chunksize=2),
]


def from_path(reader):
    """A reader of byte sources as a function of a path and limits."""

    def read(path, limits=None, **options):
        with open_(path, limits) as source:
            return reader(source, **options)

    return read


def idx(values, code=8):
    values = np.asarray(values)
    sizes = np.array(values.shape, dtype=">u4").tobytes()
    return bytes([0, 0, code, values.ndim]) + sizes + values.tobytes()


def npz(packed=False, **arrays):
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)
    return file.getvalue()


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


TRIANGLE_AND_PATH = {
    "A": b"1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": b"1\n1\n1\n2\n2\n2\n",
    "graph_labels": b"1\n-1\n",
    "node_labels": b"6\n6\n8\n7\n6\n0\n",
    "edge_labels": b"0\n0\n1\n1\n2\n2\n3\n3\n",
}


def tu(folder, **changes):
    folder.mkdir(exist_ok=True)
    for part, content in {**TRIANGLE_AND_PATH, **changes}.items():
        if content is not None:
            (folder / f"SMALL_{part}.txt").write_bytes(content)
    return folder
