"""R7/R8: mutated files are read or refused; what is read is what an independent parser reads."""

import gzip
import io
import math
import re

import numpy as np
from tests.campaigns import tables
from tests.campaigns.campaign import Campaign, folder
from tests.data.formats import fuzz
from tests.data.formats.samples import from_path, npy
from tests.data.formats.test_hostile import (
    IDX,
    NPZ,
    READERS,
    read_any_but_tables,
    read_folder,
    read_roles,
)

from separatrix.data.encodings import NOTES
from separatrix.data.formats.idx import read_images
from separatrix.data.formats.npz import read_npy, read_npz
from separatrix.data.formats.svmlight import read_svmlight
from separatrix.data.formats.text import read_text
from separatrix.errors import SeparatrixError


def mutations(reader):
    """Mutated files of a reader's seeds: read, or refused in an error of ours."""
    seeds, suffix, _ = READERS[reader]
    of_paths = reader in (read_folder, read_any_but_tables, read_roles)
    use = reader if of_paths else from_path(reader)

    def trial(number):
        _attempt(use, fuzz.mutated(seeds, 11, number), suffix)

    return trial


def _attempt(use, content, suffix):
    path = folder() / f"x{suffix}"
    path.write_bytes(content)
    try:
        return use(path)
    except SeparatrixError:
        return None


def differential(reader, seeds, suffix, reference):
    """What is read equals what the reference reads; a file that it refuses is not read."""

    def trial(number):
        content = fuzz.mutated(seeds, 12, number)
        found = _attempt(from_path(reader), content, suffix)
        if found is None:
            return
        X, y = reference(content)
        have = found.X.toarray() if hasattr(found.X, "toarray") else found.X
        if isinstance(X, list):
            assert list(have) == X, f"samples of {content[:200]!r}"
        else:
            np.testing.assert_array_equal(np.asarray(have, float), X, f"{content[:200]!r}")
        if y is not None:
            np.testing.assert_array_equal(found.y, y, f"labels of {content[:200]!r}")

    return trial


NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def plain_svmlight(content):
    """The svmlight format word by word."""
    rows, labels = [], []
    for line in content.split(b"\n"):
        words = re.split(rb"[ \t\v\f\r]+", line.partition(b"#")[0].strip(b" \t\v\f\r"))
        if words == [b""]:
            continue
        assert NUMBER.fullmatch(words[0]), words[0]
        pairs = [word.split(b":") for word in words[1:] if not word.startswith(b"qid:")]
        assert all(NUMBER.fullmatch(value) and index.isdigit() for index, value in pairs), line
        indices = [int(index) for index, _ in pairs]
        assert indices == sorted(set(indices)), line
        assert all(math.isfinite(float(value)) for _, value in pairs), line
        labels.append(float(words[0]))
        rows.append({int(index): float(value) for index, value in pairs})
    present = [index for row in rows for index in row]
    base = 0 if 0 in present or not present else 1
    X = np.zeros((len(rows), max(max(present, default=0) + 1 - base, 1)))
    for i, row in enumerate(rows):
        for index, value in row.items():
            X[i, index - base] = value
    return X, np.array(labels)


def numpy_array(content):
    found = np.load(io.BytesIO(content), allow_pickle=False)
    return _flat(found), None


def numpy_archive(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return _flat(found["X"]), found["y"].reshape(-1) if "y" in found else None


def _flat(found):
    return found.reshape(len(found), -1).astype(float)


IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def plain_idx(content):
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    sizes = np.frombuffer(content[4 : 4 + 4 * content[3]], ">u4").astype(int)
    values = np.frombuffer(content[4 + 4 * content[3] :], IDX_TYPES[content[2]])
    return values.astype(float).reshape(sizes[0], -1), None


def plain_text(content):
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    texts = [line.decode().split("\t", 1) for line in lines if line]
    return [words for _, words in texts], np.array([label.strip() for label, _ in texts])


TEXT_SEEDS = [b"ham\tsee you at noon\nspam\tyou have won 1,000\n\nham\t\n", b"a \tb\n c\td\te\r\n"]
SVM_SEEDS = [
    b"+1 1:0.5 3:-2e3 # text\n\n-1 2:1\n+1\n-1 1:.25 2:3. 7:1e-5\r\n",
    b"0 0:1 4:2.5\n1.5 1:3\n",
    b"1 1:" + b"7" * 40 + b"e-60 2:0." + b"0" * 30 + b"1\n-1 2:1e-400\n",
]


def is_narrow(content):
    """Whether indices are below 100,000; others would make the reference's dense matrix huge."""
    indices = re.findall(rb"(?<![0-9])([0-9]++):", content)
    return max((int(word[:18]) for word in indices), default=0) < 10**5


def svmlight(number):
    content = fuzz.mutated(SVM_SEEDS, 12, number)
    if not is_narrow(content):
        return
    found = _attempt(from_path(read_svmlight), content, ".svm")
    if found is None:
        return
    X, y = plain_svmlight(content)
    np.testing.assert_array_equal(found.X.toarray(), X, f"{content[:200]!r}")
    np.testing.assert_array_equal(found.y, y, f"{content[:200]!r}")


def text(number):
    content = fuzz.mutated(TEXT_SEEDS, 12, number)
    found = _attempt(from_path(read_text), content, ".txt")
    if (
        found is None
        or {*NOTES.values()} & {*found.notes}
        or any("header" in n for n in found.notes)
    ):
        return
    if content[:2] in (
        b"\x1f\x8b",
        b"BZ",
        b"\xfd7",
        b"\xff\xfe",
        b"\xfe\xff",
    ) or content.startswith(b"\xef\xbb\xbf"):
        return
    texts, labels = plain_text(content)
    assert list(found.X) == texts, f"{content[:200]!r}"
    assert found.y.tolist() == labels.tolist(), f"{content[:200]!r}"


NPY = [
    npy(np.arange(6.0).reshape(3, 2)),
    npy(np.arange(6).reshape(3, 2) > 2),
    npy(np.ones((2, 2, 2), np.uint8)),
]


def parts():
    return {
        **{reader.__name__: mutations(reader) for reader in READERS},
        **{"svmlight against a plain parser": svmlight, "texts against a plain parser": text},
        "npy against NumPy": differential(read_npy, NPY, ".npy", numpy_array),
        "npz against NumPy": differential(read_npz, NPZ, ".npz", numpy_archive),
        "idx against a plain parser": differential(read_images, IDX, "", plain_idx),
        **tables.PARTS,
    }


CAMPAIGN = Campaign(
    "R7/R8 readers: mutated files are read or refused, and read as independent parsers read them",
    parts,
    short=20,
    middle=50,
    seconds=10.0,
)
