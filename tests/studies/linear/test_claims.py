"""The page of `linear-classifiers`, drawn from the results of one quick run."""

import dataclasses

import pytest
from tests.studies.quick_runs import quick_run

from separatrix.errors import ExperimentError
from separatrix.experiments.steps import params_json
from separatrix.report.page import Picture, render
from separatrix.studies.linear import page
from separatrix.studies.linear.claims import all_claims
from separatrix.studies.linear.geometry import REGIONS
from separatrix.studies.summaries import single_value


@pytest.fixture(scope="module")
def results():
    return quick_run("linear-classifiers").results


@pytest.fixture(scope="module")
def shown(results):
    return page(results)


@pytest.mark.slow
def test_every_part_has_a_section_with_a_picture_and_its_numbers(shown):
    parts = shown.sections[1:]

    assert [section.title.split(" ·")[0] for section in parts] == [str(i) for i in range(1, 13)]
    for section in parts:
        pictures = [one for one in section.shows if isinstance(one, Picture)]
        assert pictures
        assert section.words
        assert all(picture.caption and picture.table.rows for picture in pictures)


def test_every_axis_of_every_picture_is_named_or_has_no_ticks(shown):
    for section in shown.sections:
        for one in section.shows:
            if isinstance(one, Picture):
                named = [(axes.get_xlabel(), axes.get_ylabel()) for axes in one.figure.axes]
                words = [
                    text.get_text() for axes in one.figure.axes for text in axes.get_xticklabels()
                ]
                assert any(x or y for x, y in named) or any(word.isalpha() for word in words)


def test_all_claims_hold(results):
    found = all_claims(results)

    assert {claim.part for claim in found} == set(range(1, 13))
    assert [claim.caption for claim in found if not claim.holds] == []


@pytest.mark.slow
def test_a_claim_that_fails_is_said_first(results):
    told = params_json(region="indeterminate", rule="predict")
    rows = [
        row._replace(value=0.25) if (row.part, row.parameters) == (REGIONS, told) else row
        for row in results.rows
    ]

    summary = page(dataclasses.replace(results, rows=rows)).summary[0]

    assert summary.startswith("1 of ")
    assert "part 2, the largest score leaves none" in summary


@pytest.mark.slow
def test_the_page_renders_with_all_pictures_and_how_to_run_it_again(shown):
    html = render(shown)

    assert html.count("<svg") == sum(
        isinstance(one, Picture) for section in shown.sections for one in section.shows
    )
    assert "separatrix run linear-classifiers --quick --seed 0" in html
    assert "quick=True, seed=0)" in html


def test_a_missing_row_is_said(results):
    with pytest.raises(ExperimentError, match="has no row of 2 regions, weight"):
        single_value(results, REGIONS, "weight")
