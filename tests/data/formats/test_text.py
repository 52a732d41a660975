import pytest
from tests.data.formats.samples import TEXT, from_path

from separatrix.data.formats import text
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError

read_text = from_path(text.read_text)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_is_a_label_and_a_text(write, end):
    found = read_text(write(TEXT.replace(b"\n", end)))
    assert found.kind == "text"
    assert found.X == ["see you at noon", "you have won 1,000 \u00a3", ""]
    assert found.y.tolist() == ["ham", "spam", "ham"]


def test_only_a_newline_ends_a_line_and_only_the_first_tab_counts(write):
    found = read_text(write("a\tone\ttwo\x0b\u2028three\n".encode()))
    assert found.X == ["one\ttwo\x0b\u2028three"]


def test_blanks_around_a_label_are_removed_with_a_note(write):
    found = read_text(write(b"ham \tx\n ham\ty\nspam\tz\n"))
    assert found.y.tolist() == ["ham", "ham", "spam"]
    assert found.notes == (text.PADDED,)
    assert read_text(write(b"ham\tx\n")).notes == ()


@pytest.mark.parametrize(
    ("content", "where", "sentence"),
    [
        (b"", (0, 0), "found no text"),
        (b"ham\tx\nno label here\n", (2, 1), "found 'no label here' and no tab, expected a label"),
        (b"\tx\n", (1, 1), "found '', expected a label"),
        (b" \tx\n", (1, 1), "found ' ', expected a label"),
        (b"a" * 300 + b"\tx\n", (1, 1), "found a label of 300 characters, expected at most 256"),
    ],
)
def test_an_error_says_where(write, content, where, sentence):
    with pytest.raises(DataFileError, match=sentence) as refusal:
        read_text(write(content))
    assert (refusal.value.line, refusal.value.column) == where


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(rows=2), ":4: found more than 2 rows"),
        (Limits(categories=1), ":2: found more than 1 different labels"),
        (Limits(line_bytes=20), ":2: found a line of more than 20 bytes"),
    ],
)
def test_limits_hold(write, limits, sentence):
    with pytest.raises(DataFileError, match=sentence):
        read_text(write(TEXT), limits)


def test_a_header_is_the_first_line_alone(write):
    read = from_path(text.read_text)
    found = read(write("label\ttext\nham\thello\nspam\tbuy\n"))
    assert found.y.tolist() == ["ham", "spam"]
    assert any("is taken for a header" in note for note in found.notes)
    assert len(read(write("\nlabel\ttext\nham\thello\n")).y) == 2
