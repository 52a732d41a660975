"""MUTAG's protocol, on molecules that are made up: rings and chains."""

import dataclasses
import json
import os

import numpy as np
import pytest

from separatrix.data.catalogue import VARIABLE, load
from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.data.splits import stratified_folds
from separatrix.experiments.run import run
from separatrix.experiments.steps import RunContext
from separatrix.kernels import VertexHistogram, WeisfeilerLehman
from separatrix.report.page import Picture, render
from separatrix.studies.catalogue import page_of
from separatrix.studies.mutag import steps as mutag
from separatrix.studies.mutag.steps import (
    BONDS,
    CONFUSIONS,
    FOLDS,
    MACHINE,
    MOLECULES,
    NEIGHBOURS,
    PATHS,
    PERCEPTRON,
    QUICK_INNER,
    QUICK_ROUNDS,
    SUBTREES,
    GraphKernelFamily,
    choose,
    experiment,
    families,
    read_molecule,
    step_name,
)


def made_up(n=40, seed=0):
    """Chains of atoms, closed to a ring where the label is 1; one in twenty labels is wrong."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for number in range(n):
        size, ring = int(rng.integers(5, 9)), number % 2
        edges = [(node, node + 1) for node in range(size - 1)] + [(0, size - 1)] * ring
        atoms, bonds = rng.integers(0, 2, size=size), rng.integers(0, 2, size=len(edges))
        graphs.append(Graph(size, np.array(edges), node_labels=atoms, edge_labels=bonds))
        labels.append(1 if ring != (rng.random() < 0.05) else -1)
    return Dataset("mutag", graphs, np.array(labels), kind="graphs")


def objects(data):
    X = np.empty(len(data.X), dtype=object)
    X[:] = data.X
    return X


def on(data):
    return dataclasses.replace(experiment(quick=True), load=lambda name: data)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(on(made_up()), tmp_path_factory.mktemp("mutag"), progress=False)


@pytest.fixture(scope="module")
def page(results):
    return page_of(results)


@pytest.mark.slow
def test_every_molecule_is_tested_once_in_each_repetition(results):
    y = made_up().y
    for family in families(QUICK_ROUNDS):
        (accuracy,) = results.values(part=family.name, metric="accuracy")
        guess = results.arrays[step_name(family.name, 0)]["predicted"]
        assert accuracy == np.mean(np.where(guess == 1, 1, -1) == y)
        of_folds = results.values(part=family.name, metric="chosen_accuracy")
        assert len(of_folds) == FOLDS
        assert of_folds.mean() == pytest.approx(accuracy)  # folds of 4 molecules each


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 6, 7], ids=[MACHINE, NEIGHBOURS, PERCEPTRON])
def test_labels_of_a_test_part_change_nothing_that_is_said_of_it(position, monkeypatch):
    data = made_up()
    splits = stratified_folds(data.y, folds=FOLDS, seed=0)
    monkeypatch.setattr(mutag, "stratified_folds", lambda y, **how: splits)
    turned, test = data.y.copy(), splits[0].test
    turned[test] = -turned[test]

    found, again = (
        made.steps[position].run(RunContext(made))
        for made in (on(data), on(dataclasses.replace(data, y=turned)))
    )

    np.testing.assert_array_equal(found.arrays["predicted"][test], again.arrays["predicted"][test])
    assert found.rows[0] == again.rows[0]  # the accuracy of the folds inside the training part


def test_what_is_chosen_is_the_best_in_the_folds():
    data = made_up()
    X = objects(data)
    near, far = (
        choose(GraphKernelFamily("one", [kernel]), X, data.y, inner=QUICK_INNER, seed=3)
        for kernel in (VertexHistogram(), WeisfeilerLehman(2))
    )
    both = GraphKernelFamily("both", [VertexHistogram(), WeisfeilerLehman(2)])

    found = choose(both, X, data.y, inner=QUICK_INNER, seed=3)

    assert found.score == max(near.score, far.score)
    assert far.score > near.score
    assert found.parameters["iterations"] == 2


@pytest.mark.slow
def test_rings_are_told_from_chains_by_subtrees_and_not_by_atoms(results):
    subtrees = results.values(part=SUBTREES, metric="accuracy").mean()
    atoms = results.values(part="atoms", metric="accuracy").mean()
    assert subtrees > 0.8 > atoms


def test_confusions_count_every_molecule(results):
    for family in families(QUICK_ROUNDS):
        rows = results.where(part=CONFUSIONS, model=family.name, metric="mean")
        assert sum(row.value for row in rows) == len(made_up().y)
        right = sum(
            row.value
            for row in rows
            if (one := json.loads(row.parameters))["label"] == one["predicted"]
        )
        accuracy = results.values(part=family.name, metric="accuracy").mean()
        assert right == pytest.approx(40 * accuracy)


def test_shares_of_the_atoms_and_the_bias_make_the_score(results):
    arrays = results.arrays[MOLECULES]
    for row in results.where(part=MOLECULES, metric="score"):
        one = json.loads(row.parameters)
        graph, shares = read_molecule(arrays, one["rank"]), arrays[f"{one['rank']}.shares"]
        original = made_up().X[one["row"]]
        np.testing.assert_array_equal(graph.edges, original.edges)
        np.testing.assert_array_equal(graph.node_labels, original.node_labels)
        assert shares.sum() + one["bias"] == pytest.approx(row.value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 2])
def test_a_step_says_the_same_again(results, position):
    made = on(made_up())
    name = families(QUICK_ROUNDS)[position].name

    again = made.steps[position].run(RunContext(made)).rows

    before = results.where(part=name)
    assert [row[:7] for row in again] == [row[:7] for row in before]


@pytest.mark.slow
def test_the_page_has_every_kernel_and_draws_what_it_lists(results, page):
    html = render(page)
    for name in (SUBTREES, BONDS, PATHS):
        accuracy = 100 * results.values(part=name, metric="accuracy")
        assert f"{accuracy.mean():.2f}" in html
    for section in page.sections:
        assert section.words
        assert isinstance(section.shows[0], Picture)
    assert "separatrix run mutag --quick" in html
    table = page.sections[0].shows[0].table
    assert [row[3] for row in table.rows] == [None] * len(table.rows)  # published of all of MUTAG


@pytest.mark.slow
def test_the_page_names_atoms_not_their_numbers(results, page):
    features = [
        json.loads(row.parameters)["feature"]
        for row in results.where(part=MOLECULES, metric="term")
    ]
    subtrees = page.sections[-1].shows[1]
    assert any("(" in feature for feature in features)
    named = [feature.replace("0", "C").replace("1", "N") for feature in features]
    assert [row[1] for row in subtrees.rows] == named


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason="no MUTAG here")
def test_the_real_molecules_are_told_by_their_atoms_alone():
    data = load("mutag")
    atoms = GraphKernelFamily("atoms", [VertexHistogram()])
    found = choose(atoms, objects(data), data.y, inner=QUICK_INNER, seed=0)
    assert found.score > 0.8  # two of three are mutagenic
