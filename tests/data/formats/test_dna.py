import pytest
from tests.data.formats.samples import PROMOTERS, SPLICE, from_path

from separatrix.data.formats import dna
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError

read_dna = from_path(dna.read_dna)


def test_promoters_become_capitals(write):
    found = read_dna(write(PROMOTERS))
    assert found.kind == "sequences"
    assert found.X == ["TACTAGCAATACGCTTGC", "GCGTTCGGTGGTTAAGTA"]
    assert found.y.tolist() == ["+", "-"]
    assert found.notes == ()


def test_letters_that_are_not_sure_are_counted(write):
    found = read_dna(write(SPLICE))
    assert found.y.tolist() == ["EI", "N"]
    assert found.notes == ("4 of 38 letters are ambiguous bases: N 1, D 1, R 1, S 1",)


@pytest.mark.parametrize(
    ("content", "where", "sentence"),
    [
        (b"", (0, 0), "found no sequence"),
        (b"+,a,acgt\n+,b\n", (2, 1), "expected a class, a name and a sequence"),
        (b"+,a,b,acgt\n", (1, 1), "expected a class, a name and a sequence"),
        (b",a,acgt\n", (1, 1), "expected a class, a name and a sequence"),
        (b"+,a,\t \n", (1, 1), "expected a class, a name and a sequence"),
        (b"+,a,\tacxgt\n", (1, 8), "found 'x', expected a letter of ACGT, or of NDRS"),
        (b"+,a,ac gt\n", (1, 7), "found ' ', expected a letter"),
        (b"+,a,ac\xdfgt\n", (1, 7), r"found '\\xdf', expected a letter"),
        (b"\xdf,a,acgt\n", (1, 1), "expected an ASCII class"),
    ],
)
def test_an_error_says_where(write, content, where, sentence):
    with pytest.raises(DataFileError, match=sentence) as refusal:
        read_dna(write(content))
    assert (refusal.value.line, refusal.value.column) == where


def test_limits_hold(write):
    with pytest.raises(DataFileError, match=":2: found more than 1 rows"):
        read_dna(write(PROMOTERS), Limits(rows=1))
    with pytest.raises(DataFileError, match="more than 1 different labels"):
        read_dna(write(PROMOTERS), Limits(categories=1))
