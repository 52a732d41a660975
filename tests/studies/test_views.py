"""The pages of studies, each of one quick run."""

import dataclasses
import json
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from tests.studies.quick_runs import quick_run

from separatrix.experiments.steps import Results
from separatrix.report.page import Page, Picture, Table, render
from separatrix.studies.catalogue import page_of
from separatrix.studies.kernel_methods.steps import OBJECT_TYPES

NAMES = ("knn-and-perceptron", "kernel-methods", "mnist-parity", "mnist-virtual-sv")


class Shown(NamedTuple):
    """What an experiment found, and the page of it."""

    results: Results
    page: Page
    html: str


@cache
def made(name, **options):
    results = quick_run(name, **options).results
    page = page_of(results)
    return Shown(results, page, render(page))


@pytest.fixture(params=NAMES)
def shown(request):
    return made(request.param)


@pytest.fixture
def neighbours():
    return made("knn-and-perceptron")


@pytest.fixture
def kernels():
    return made("kernel-methods")


@pytest.fixture
def parity():
    return made("mnist-parity")


def pictures(page):
    return [one for part in page.sections for one in part.shows if isinstance(one, Picture)]


def tables(page):
    shows = [one for part in page.sections for one in part.shows]
    return [one.table if isinstance(one, Picture) else one for one in shows]


def table_with(page, column):
    return next(table for table in tables(page) if column in table.columns)


def column(table, name):
    return [row[list(table.columns).index(name)] for row in table.rows]


@pytest.mark.slow
def test_every_section_has_words_and_numbers(shown):
    page = shown.page
    assert len(page.summary) >= 2
    for section in page.sections:
        assert section.words
        assert section.shows
    for table in tables(page):
        assert table.rows
        assert table.caption


def test_every_picture_has_labelled_axes(shown):
    page = shown.page
    assert pictures(page)
    for picture in pictures(page):
        for axes in picture.figure.axes:
            if not axes.axison:  # images with titles
                assert axes.get_title() or axes.texts
                continue
            named = axes.get_xlabel() or axes.get_ylabel()
            assert named or len(axes.get_xticklabels()) == 3  # of sequences, which name themselves


@pytest.mark.slow
def test_the_page_says_how_to_run_it_again(shown):
    assert f"separatrix run {shown.results.name} --quick" in shown.html
    assert f"make(&#34;{shown.results.name}&#34;" in shown.html
    for hashed in shown.results.data_sha256.values():
        assert hashed in shown.html


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(neighbours):
    assert render(page_of(neighbours.results)) == neighbours.html


@pytest.mark.slow
@pytest.mark.parametrize("name", ["knn-and-perceptron", "mnist-virtual-sv"])
def test_strange_names_are_escaped(name):
    results = made(name).results
    options = {**results.options, "data": "<script>alert(1)</script>"}
    results = dataclasses.replace(results, options=options)
    assert "<script>alert" not in render(page_of(results))


def test_accuracies_against_k_are_those_of_the_table(neighbours):
    results, page = neighbours.results, neighbours.page
    table = table_with(page, "k")
    means = [float(text.split(" ±")[0]) for text in column(table, "test accuracy")]
    by_k = {}
    for row in results.where(metric="test_accuracy", model="k-NN"):
        by_k.setdefault(json.loads(row.parameters)["k"], []).append(row.value)
    np.testing.assert_allclose(means, [np.mean(by_k[k]) for k in column(table, "k")], atol=5e-5)


def test_features_have_one_panel_for_each_class(neighbours):
    page = neighbours.page
    titles = [[axes.get_title() for axes in one.figure.axes] for one in pictures(page)]
    assert ["setosa", "versicolor", "virginica"] in titles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "missing"),
    [("knn", "Mistakes of each pass"), ("perceptron", "Accuracy against k")],
)
def test_only_what_was_run_is_shown(classifier, missing):
    few = {"repeats": 1, "max_iter": 3, "data": "digits", "subsample": 300}
    page = made("knn-and-perceptron", classifier=classifier, **few).page
    titles = [section.title for section in page.sections]
    assert missing not in titles
    assert "Data" in titles
    if classifier == "perceptron":  # samples are images, so pixels are drawn
        drawn = [axes.images[0].get_array().shape for axes in pictures(page)[-1].figure.axes]
        assert drawn == [(8, 8)] * 10


def test_the_claims_are_in_the_summary(kernels):
    page = kernels.page
    words = " ".join(page.summary)
    assert "on 3 of 3 data sets" in words
    assert "in 18 of 18 draws" in words
    kinds = [row[0] for row in page.sections[-1].shows[0].table.rows]
    left_out = [kind.name for kind in OBJECT_TYPES if kind.name not in kinds]
    assert kinds[:2] == ["vectors", "images"]
    assert all(name in page.sections[-1].words[-1] for name in left_out)


def test_the_three_by_three_matrix_is_shown_with_the_counts(kernels):
    results, page = kernels.results, kernels.page
    found = results.arrays["5 oligonucleotides"]
    matrix = table_with(page, "AATCGAGTCAC")
    np.testing.assert_array_equal([row[1:] for row in matrix.rows], found["similarity"])
    counts = table_with(page, "AA")
    np.testing.assert_array_equal([row[1:] for row in counts.rows], found["counts"])


def test_every_model_is_in_the_table_with_its_accuracy(parity):
    results, page = parity.results, parity.page
    table = table_with(page, "test part")
    assert len(table.rows) == 6
    assert "expected" not in table.columns  # published for MNIST, not for these digits
    expected = results.values(metric="test_accuracy")
    np.testing.assert_array_equal(column(table, "test part"), expected)


def test_weights_are_drawn_as_images_and_listed_by_pixel(parity):
    results, page = parity.results, parity.page
    last = page.sections[-1].shows
    assert isinstance(last[1], Table)
    drawn = [axes.images[0].get_array() for axes in last[0].figure.axes]
    assert [image.shape for image in drawn] == [(8, 8)] * 4
    listed = np.array([row[2:] for row in last[0].table.rows], dtype=float)
    np.testing.assert_array_equal(listed, np.stack([image.ravel() for image in drawn], axis=1))
    w = results.arrays["3 given constants"]["w"]
    np.testing.assert_array_equal(listed[:, 1], w)


@pytest.mark.slow
def test_loss_curves_start_at_one_and_list_every_iterate(parity):
    results, page = parity.results, parity.page
    descents = page.sections[2].shows
    assert len(descents) == 3
    for picture in descents:
        assert picture.table.rows[0][:2] == (0, 1.0)
    steps = results.values(part="3 given constants", metric="steps")[0]
    assert len(descents[1].table.rows) == steps + 1


@pytest.mark.slow
def test_another_data_set_is_said(parity):
    page = parity.page
    assert any("not MNIST" in words for words in page.sections[0].words)
