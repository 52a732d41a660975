import numpy as np
import pytest
from tests.conftest import _real
from tests.studies.synthetic_dna import write

from separatrix.experiments.run import run
from separatrix.report.page import Table, render
from separatrix.studies.catalogue import page_of
from separatrix.studies.promoters import (
    ANY,
    DEGREE,
    GAPS,
    ONE,
    RELATED,
    SHARED,
    SPECTRUM,
    experiment,
)
from separatrix.studies.sequence_study import group_related


@pytest.fixture(scope="module")
def promoters():
    return _real("promoters")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Classes that differ in nothing, but those of one were cut from four stretches, with overlaps."""
    rng = np.random.default_rng(0)
    stretches = ["".join(rng.choice(list("ACGT"), size=70)) for _ in range(4)]
    X = [stretch[start : start + 40] for stretch in stretches for start in (0, 10, 20, 30)]
    X += ["".join(rng.choice(list("ACGT"), size=40)) for _ in range(16)]
    folder = tmp_path_factory.mktemp("promoters")
    data = write(folder / "made_up.data", X, ["-"] * 16 + ["+"] * 16)
    return run(experiment(quick=True, data=data), folder / "run", progress=False)


@pytest.mark.slow
def test_overlaps_tell_the_class_until_relatives_are_left_out(results):
    for family in (SPECTRUM, GAPS):
        plain, honest = (
            results.values(part=way, model=family, metric="errors")[0] for way in (ONE, RELATED)
        )
        assert plain <= 8  # of 32, where half would be a coin's
        assert honest >= plain + 4  # relatives were all that it knew


@pytest.mark.slow
def test_every_row_and_then_every_group_is_left_out(results):
    assert len(results.where(part=ONE, model=ANY, metric="chosen_error")) == 32
    assert len(results.where(part=RELATED, model=ANY, metric="chosen_error")) == 20


def test_all_three_families_have_a_choice_of_their_own_and_one_together(results):
    for way in (ONE, RELATED):
        chosen = {row.model for row in results.where(part=way, metric="errors")}
        assert chosen == {DEGREE, SPECTRUM, GAPS, ANY}


def test_mistaken_rows_are_listed_on_the_page(results):
    page = page_of(results)
    section = next(one for one in page.sections if one.title == "Misclassified sequences")
    truth = results.arrays["data"]["y"]
    listed = {row[0]: row[2:] for row in section.shows[0].rows}
    for position, way in enumerate((ONE, RELATED)):
        for family in (DEGREE, SPECTRUM, GAPS, ANY):
            wrong = np.flatnonzero(results.arrays[f"{way}: {family}"]["predicted"] != truth)
            said = {
                row
                for row, by in listed.items()
                if by[position] and family in by[position].split(", ")
            }
            assert said == set(wrong.tolist())


def test_the_page_has_the_errors_of_the_table(results):
    page = page_of(results)
    table = next(one for one in page.sections[1].shows if isinstance(one, Table))
    errors = {row[:2]: row[2] for row in table.rows}
    for way in (ONE, RELATED):
        for family in (DEGREE, SPECTRUM, GAPS, ANY):
            assert errors[family, way] == results.values(part=way, model=family, metric="errors")[0]
    assert "KBANN" not in render(page)  # published for other data


def test_real_sequences_that_overlap_are_all_of_one_class(promoters):
    X = np.array(promoters.X, dtype=object)
    groups = group_related(X, SHARED)
    assert len(np.unique(groups)) == 55
    for group in np.unique(groups):
        assert len(set(promoters.y[groups == group])) == 1
    assert len(np.unique(group_related(X, SHARED - 1))) < 55
    others = np.array([x for x, label in zip(X, promoters.y, strict=True) if label == "-"], object)
    alone = np.bincount(group_related(others, 14)) == 1
    assert alone.sum() == 1
