import json

import numpy as np
import pytest
from tests.conftest import _real
from tests.studies.quick_runs import quick_run

from separatrix.report.page import Table, render
from separatrix.studies.catalogue import page_of
from separatrix.studies.sequence_study import DATA, group_identical, to_sequences
from separatrix.studies.splice import DEGREE, GROUPED, LETTERS, PLAIN, POSITIONS, families

COPIES = 5  # of 90 rows


@pytest.fixture(scope="module")
def splice():
    return _real("splice")


@pytest.fixture(scope="module")
def results():
    return quick_run("splice").results


@pytest.mark.slow
def test_every_model_is_tested_in_both_ways(results):
    for way in (PLAIN, GROUPED):
        found = {row.model for row in results.where(part=way, metric="accuracy")}
        assert found == set(families(True, 0))


def test_the_kernel_that_looks_at_positions_finds_the_motifs(results):
    for way in (PLAIN, GROUPED):
        assert results.values(part=way, model=DEGREE, metric="accuracy")[0] > 0.85


def test_letters_that_are_no_base_and_copies_are_counted(results):
    found = {row.metric: row.value for row in results.where(part=DATA)}
    assert found["letters_that_are_no_base"] == 1
    assert found["distinct"] == found["groups"] == 90 - COPIES
    (strange,) = results.where(part=DATA, metric="letter")
    assert (json.loads(strange.parameters), strange.value) == ({"letter": "N"}, 1)


def test_shares_of_letters_and_the_bias_make_up_the_score(results):
    scores, biases = (results.where(part=LETTERS, metric=name) for name in ("score", "bias"))
    assert len(scores) >= 3
    for score, bias in zip(scores, biases, strict=True):
        about = json.loads(score.parameters)
        shares = results.arrays[LETTERS][f"shares_{about['row']}"]
        assert len(shares) == len(about["sequence"])
        assert shares.sum() + bias.value == pytest.approx(score.value, abs=1e-9)


def test_positions_of_the_motifs_matter_most(results):
    weights = results.arrays[POSITIONS]["mean_share"]
    assert weights.shape == (3, 20)
    assert weights[0].argmax() in (10, 11)  # EI, the first class
    assert weights[1].argmax() in (8, 9)


@pytest.mark.slow
def test_the_page_has_the_numbers_of_the_table(results):
    page = page_of(results)
    html = render(page)
    accuracy = results.values(part=PLAIN, model=DEGREE, metric="accuracy")[0]
    assert f"{100 * accuracy:.2f} % on 90 sequences" in page.summary[0]
    table = next(one for one in page.sections[1].shows if isinstance(one, Table))
    assert len(table.rows) == 2 * len(families(True, 0))
    assert not any("published" in str(row[0]) for row in table.rows)  # not of these data
    cells = {row[:2]: row for row in table.rows}
    for label in ("EI", "IE", "N"):
        rows = results.where(part=GROUPED, model=DEGREE, metric="class_error")
        error = next(r.value for r in rows if json.loads(r.parameters)["class"] == label)
        position = list(table.columns).index(f"error % of {label}")
        assert cells[DEGREE, GROUPED][position] == f"{100 * error:.2f}"
    for section in page.sections:
        assert section.words
        assert section.shows
    assert "Important positions" in html


def test_confusions_count_every_sequence_once(results):
    confusion = page_of(results).sections[2].shows[0].table
    assert sum(sum(row[1:]) for row in confusion.rows) == 90
    right = sum(row[1 + position] for position, row in enumerate(confusion.rows))
    assert right == 90 - results.values(part=PLAIN, model=DEGREE, metric="errors")[0]


def test_copies_and_letters_of_the_real_sequences(splice):
    data = to_sequences(splice, group_identical)
    assert (len(data.X), len(np.unique(data.groups))) == (3190, 3005)
    assert sum(letter not in "ACGT" for x in data.X for letter in x) == 60
