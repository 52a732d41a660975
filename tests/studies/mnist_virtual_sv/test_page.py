"""The page of `mnist-virtual-sv`, of one quick run on small digits."""

import dataclasses

import numpy as np
import pytest
from tests.studies.quick_runs import quick_run

from separatrix.report.page import render
from separatrix.studies.mnist_virtual_sv.page import PUBLISHED, page
from separatrix.studies.mnist_virtual_sv.training import stage_name


@pytest.fixture(scope="module")
def results():
    return quick_run("mnist-virtual-sv").results


@pytest.fixture(scope="module")
def made(results):
    return page(results)


def section(made, title):
    return next(one for one in made.sections if one.title == title)


def column(table, name):
    return [row[list(table.columns).index(name)] for row in table.rows]


def test_errors_support_vectors_and_seconds_are_those_of_the_table(made, results):
    errors = section(made, "Published and measured errors").shows[0].table
    expected = [f"{100 * value:.2f}" for value in results.values(metric="test_error")]
    assert column(errors, "test error %") == expected
    work = section(made, "Support vectors and seconds").shows[0].table
    counts = results.where(metric="support_vectors")
    assert column(work, "support vectors") == [row.value for row in counts]
    assert column(work, "fit s") == [row.seconds for row in counts]


def test_published_numbers_stand_beside_mnist_only(made, results):
    table = section(made, "Published and measured errors").shows[0].table
    assert column(table, "published %") == [None] * 4
    options = {**results.options, "data": "mnist"}
    told = section(
        page(dataclasses.replace(results, options=options)), "Published and measured errors"
    )
    wanted = [None, PUBLISHED[False, 1][0], None, PUBLISHED[True, 1][0]]
    assert column(told.shows[0].table, "published %") == wanted
    assert "more than here" in told.words[-1]


@pytest.mark.parametrize(
    ("multi_class", "whose"), [("ovr", "its own support vectors"), ("ovo", "on the same")]
)
def test_the_page_says_whose_copies_a_boundary_learns_from(multi_class, whose, results):
    options = {**results.options, "copies": "own", "multi_class": multi_class}
    told = page(dataclasses.replace(results, options=options))
    assert section(told, "Published and measured errors").words[0].endswith(f"{whose}.")


def test_the_summary_names_the_best_machine(made, results):
    best = min(results.where(metric="test_error"), key=lambda row: row.value)
    assert f"({best.part}) has a test error of {100 * best.value:.2f} %" in made.summary[0]


def test_digits_are_drawn_before_and_after_they_are_set_upright(made, results):
    picture = section(made, "Deskewing").shows[0]
    paper = picture.figure.axes[0].images[0].get_array()
    arrays = results.arrays["data"]
    np.testing.assert_array_equal(paper[3:11, :8], arrays["before"][0])
    np.testing.assert_array_equal(paper[14:22, :8], arrays["after"][0])
    assert len(picture.figure.axes[0].texts) == 20
    before, after = (np.abs(column(picture.table, name)) for name in ("slant", "deskewed"))
    assert (after < before).all()


def test_copies_lie_around_their_original(made, results):
    picture = section(made, "A support vector and its copies").shows[0]
    paper = picture.figure.axes[0].images[0].get_array()
    copies = results.arrays[stage_name(False, 1)]["copies"]
    np.testing.assert_array_equal(paper[14:22, 9:17], copies[0])  # in the middle
    moves = list(zip(column(picture.table, "down"), column(picture.table, "right"), strict=True))
    assert moves == [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    titles = [int(text.get_text()) for text in picture.figure.axes[0].texts]
    assert titles == column(picture.table, "support vectors")


def test_what_is_still_wrong_is_drawn_with_both_labels(made):
    picture = section(made, "Misclassified images").shows[0]
    titles = [text.get_text() for text in picture.figure.axes[0].texts]
    pairs = zip(column(picture.table, "is"), column(picture.table, "predicted as"), strict=True)
    assert titles == [f"{label} as {guess}" for label, guess in pairs]


def test_nothing_wrong_leaves_an_empty_table(results):
    rows = [row._replace(value=0.0) if row.metric == "test_error" else row for row in results.rows]
    first = stage_name(False, 0)
    none = {name: array[:0] for name, array in results.arrays[first].items()}
    made = page(dataclasses.replace(results, rows=rows, arrays={**results.arrays, first: none}))
    assert section(made, "Misclassified images").shows[0].rows == []
    assert render(made)
