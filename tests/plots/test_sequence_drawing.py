from itertools import pairwise

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from separatrix.errors import DataError, ParameterError
from separatrix.plots.color_scale import STRONGEST, shades
from separatrix.plots.sequence_drawing import letters_table, plot_letters
from separatrix.plots.svg import draw_svg


def texts_of(figure):
    """Every text of the letters' axes with its place: numbers of lines first in each line."""
    return [(text.get_text(), *text.get_position()) for text in figure.axes[0].texts]


def letters_of(figure):
    return [text for text, x, _ in texts_of(figure) if x > 0]


def grounds_of(figure):
    """Left edge, line and colour of every ground that is drawn."""
    found = []
    for patches in figure.axes[0].collections:
        if isinstance(patches, PolyCollection):
            for path, colour in zip(patches.get_paths(), patches.get_facecolors(), strict=True):
                (left, top), (right, foot) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                found.append((left, right, int((top + foot) / 2), colour))
    return found


def marks_of(figure):
    """Middle of every line above or below a letter, and how thick it is."""
    return [
        (*segment.mean(axis=0), width)
        for lines in figure.axes[0].collections
        if isinstance(lines, LineCollection)
        for segment, width in zip(lines.get_segments(), lines.get_linewidths(), strict=True)
    ]


def test_opposite_values_are_equally_deep_and_zero_is_not_seen():
    values = np.array([0.0, 0.3, 1.0, 2.0])
    above, below = shades(values, 1.0), shades(-values, 1.0)
    np.testing.assert_array_equal(above[:, 3], below[:, 3])
    np.testing.assert_allclose(above[:, 3], STRONGEST * np.array([0.0, 0.3, 1.0, 1.0]))
    assert len(np.unique(above[1:, :3], axis=0)) == len(np.unique(below[1:, :3], axis=0)) == 1
    assert (above[1, :3] != below[1, :3]).any()


@pytest.mark.parametrize("ground", ["#ffffff", "#14181d"])
def test_ink_can_be_read_on_the_strongest_colours_of_either_page(ground):
    ink = "#1f2328" if ground == "#ffffff" else "#e3e8ee"

    def light(colour):
        parts = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        return parts @ np.array([0.2126, 0.7152, 0.0722]) + 0.05

    page, letter = (
        np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for c in (ground, ink)
    )
    for red, green, blue, depth in shades([-1.0, 1.0], 1.0):
        tile = depth * np.array([red, green, blue]) + (1 - depth) * page
        first, second = sorted([light(tile), light(letter)])
        assert second / first >= 4.5  # WCAG AA


@pytest.mark.slow
def test_every_letter_lies_on_the_colour_of_its_value():
    values = np.array([0.5, -1.0, 0.0, 0.25])
    figure = plot_letters("ACGT", values)
    assert letters_of(figure) == list("ACGT")
    grounds = grounds_of(figure)
    assert [int(left) for left, *_ in grounds] == [0, 1, 3]
    np.testing.assert_allclose([colour for *_, colour in grounds], shades(values, 1.0)[[0, 1, 3]])


def test_lines_have_so_many_letters_and_the_position_of_the_first():
    sequence = "ACGT" * 40
    figure = plot_letters(sequence, np.ones(160), width=60)
    numbers = [(text, y) for text, x, y in texts_of(figure) if x < 0]
    assert numbers == [("1", 0.5), ("61", 1.5), ("121", 2.5)]
    positions = [(int(y), int(x)) for text, x, y in texts_of(figure) if x > 0]
    assert positions == [divmod(letter, 60) for letter in range(160)]
    assert "".join(letters_of(figure)) == sequence


def test_a_long_text_is_as_large_as_a_short_one():
    rng = np.random.default_rng(0)
    short, long = (plot_letters("x" * n, rng.normal(size=n)) for n in (300, 1500))
    sizes = [figure.axes[0].texts[1].get_fontsize() for figure in (short, long)]
    assert sizes[0] == sizes[1] >= 8
    (wide, high), (width, height) = short.get_size_inches(), long.get_size_inches()
    assert wide == width < 8
    line = (height - high) / 20
    assert line == pytest.approx(0.27)


def test_the_sign_is_marked_above_and_below_and_weak_values_are_not():
    figure = plot_letters("ABCD", [1.0, -0.5, 0.01, 0.0])
    (x_above, above, strong), (x_below, below, weak) = marks_of(figure)
    assert (x_above, x_below) == (pytest.approx(0.5), pytest.approx(1.5))
    assert above < 0.5 < below  # the axis points down
    assert strong > weak


def test_words_flow_by_their_lengths_and_never_overlap():
    rng = np.random.default_rng(1)
    words = ["w" * length for length in rng.integers(1, 15, size=120)]
    figure = plot_letters(words, np.ones(120), width=40)
    assert letters_of(figure) == words
    grounds = grounds_of(figure)
    assert max(right for _, right, *_ in grounds) <= 40
    for (_, end, row, _), (start, _, next_row, _) in pairwise(grounds):
        assert (next_row == row and start > end) or (next_row == row + 1 and start < 0.1)
    breadth = {
        len(word): right - left for word, (left, right, *_) in zip(words, grounds, strict=True)
    }
    lengths = sorted(breadth)
    assert all(breadth[a] < breadth[b] for a, b in pairwise(lengths))


def test_a_word_longer_than_a_line_is_cut_and_does_not_hang():
    figure = plot_letters(["a", "Donaudampfschifffahrt" * 4, "b"], [1.0, 1.0, 1.0], width=20)
    first, cut, last = letters_of(figure)
    assert (first, last) == ("a", "b")
    assert cut.startswith("Donau")
    assert cut.endswith("…")
    assert len(cut) < 30


@pytest.mark.parametrize("sequence", [("a", "b"), ["a", "b"], "ab", b"ab", np.array(["a", "b"])])
def test_strings_bytes_and_tokens_are_sequences(sequence):
    assert letters_of(plot_letters(sequence, [1.0, 2.0])) == ["a", "b"]


def test_tokens_may_be_numbers_and_empty():
    assert letters_of(plot_letters((12, 7, ""), [1.0, 2.0, 3.0])) == ["12", "7"]
    assert len(grounds_of(plot_letters((12, 7, ""), [1.0, 2.0, 3.0]))) == 3


def test_letters_that_cannot_be_seen_have_signs_and_formulas_stay_text():
    figure = plot_letters("a\n\t\x00$^$", np.ones(7))
    assert letters_of(figure) == ["a", "↵", "⇥", "\ufffd", "$", "^", "$"]
    figure = plot_letters(["$\\frac$", "b"], [1.0, 1.0], title="$\\frac$", classes=("$\\a$", "$_$"))
    figure.draw_without_rendering()


@pytest.mark.parametrize("sequence", ["", b"", []])
def test_an_empty_sequence_is_drawn_as_such(sequence):
    figure = plot_letters(sequence, [], title="nothing")
    assert letters_of(figure) == []
    assert figure.axes[0].texts[0].get_text().startswith("no ")
    figure.draw_without_rendering()


def test_the_scale_is_symmetric_and_says_what_either_end_means():
    figure = plot_letters("AC", [0.25, -0.5], classes=("<IE>", "EI"))
    scale = figure.axes[1]
    assert scale.get_xlim() == (-0.5, 0.5)
    assert [text.get_text() for text in scale.get_xticklabels()] == [
        "−0.5\ntowards <IE>\n(line below)",
        "0",
        "+0.5\ntowards EI\n(line above)",
    ]
    depth = scale.images[0].get_array()[0, :, 3]
    np.testing.assert_allclose(depth, depth[::-1], atol=1e-12)
    words = [text.get_text() for text in plot_letters("A", [0.0]).axes[1].get_xticklabels()]
    assert [word.split("\n")[1:2] for word in words] == [
        ["lowers the score"],
        [],
        ["raises the score"],
    ]


def test_a_limit_makes_pictures_comparable():
    figure = plot_letters("AC", [0.25, -4.0], limit=1.0)
    np.testing.assert_allclose(
        [colour for *_, colour in grounds_of(figure)], shades([0.25, -1.0], 1.0)
    )
    assert figure.axes[1].get_xlim() == (-1.0, 1.0)


def test_a_long_title_is_wrapped_inside_the_picture():
    figure = plot_letters("ACGT" * 10, np.ones(40), title="word " * 60)
    box = figure.axes[0].get_title(loc="left")
    assert box.count("\n") >= 3
    text = figure.axes[0]._left_title
    figure.draw_without_rendering()
    extent = text.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    assert extent.y1 <= figure.bbox.height


def test_a_picture_on_a_page_takes_its_ink_and_ground():
    svg = str(draw_svg(plot_letters("A<C", [1.0, -1.0, 0.0], title="T"), "p1", caption="why"))
    assert "&lt;" in svg
    assert "fill: #d55e00; fill-opacity: 0.7" in svg
    assert "fill: #0072b2; fill-opacity: 0.7" in svg
    assert "#333333" not in svg
    assert svg == str(
        draw_svg(plot_letters("A<C", [1.0, -1.0, 0.0], title="T"), "p1", caption="why")
    )


@pytest.mark.parametrize("draw", [plot_letters, letters_table])
@pytest.mark.parametrize(
    ("sequence", "values", "sentence"),
    [
        ("ACG", [1.0, 2.0], r"one for each of 3 letters; got shape \(2,\)"),
        (["a", "b"], [[1.0, 2.0]], r"one for each of 2 words; got shape \(1, 2\)"),
        ("AC", [1.0, np.nan], "must be finite; number 1 is nan"),
        ("AC", [np.inf, 1.0], "must be finite; number 0 is inf"),
        (7, [1.0], "a string, bytes or a list of words; got int"),
    ],
)
def test_values_that_do_not_belong_to_the_sequence_are_refused(draw, sequence, values, sentence):
    with pytest.raises(DataError, match=sentence):
        draw(sequence, values)


@pytest.mark.parametrize("classes", ["EI", ("EI",), ("EI", "IE", "N")])
def test_classes_are_two(classes):
    with pytest.raises(ParameterError, match="`classes` of plot_letters must be two names"):
        plot_letters("A", [1.0], classes=classes)


@pytest.mark.parametrize("given", [{"width": 0}, {"width": 1.5}, {"limit": 0.0}, {"limit": -1}])
def test_widths_and_limits_are_above_zero(given):
    (name,) = given
    with pytest.raises(ParameterError, match=f"`{name}` of plot_letters must be"):
        plot_letters("A", [1.0], **given)
