import json

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import KNeighborsClassifier, evaluate
from separatrix.data.catalogue import load
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.evaluation.neighbor_study import SharedNeighbors
from separatrix.experiments.run import run
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Polynomial
from separatrix.report.page import render
from separatrix.studies import usps_trajectory
from separatrix.studies.catalogue import page_of
from separatrix.studies.usps import (
    ARGMAX,
    CONFUSIONS,
    GAUSSIAN,
    HARDEST,
    MACHINE,
    NEIGHBORS,
    PAIRS,
    PUBLISHED,
    REST,
    experiment,
    families,
    samples,
)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return run(experiment(quick=True, repeats=2), tmp_path_factory.mktemp("usps"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parts_1_to_3_are_those_of_one_evaluation(quick):
    digits = load("digits")
    model = KernelPerceptron(multi_class="ovr", max_iter=20)
    kernels = [Polynomial(degree) for degree in range(1, 8)]
    study = evaluate(model, digits.X, digits.y, kernels=kernels, repeats=2, folds=5)
    every = evaluate(model, digits.X, digits.y, kernels=kernels, repeats=2)
    found = quick.values(part=REST, metric="test_error").reshape(7, 2)
    assert found == pytest.approx(every.test_error, abs=1e-12)
    assert quick.values(part=REST, metric="fold_error").reshape(7, 2) == pytest.approx(
        study.fold_error
    )
    assert quick.values(part=REST, metric="chosen_error") == pytest.approx(study.chosen_test_error)
    mean, sd = study.confusion()
    assert quick.arrays[CONFUSIONS]["mean"] == pytest.approx(mean)
    assert quick.arrays[CONFUSIONS]["sd"] == pytest.approx(sd)
    hardest = [json.loads(row.parameters)["row"] for row in quick.where(part=HARDEST)]
    shares = [row.value for row in quick.where(part=HARDEST)]
    assert shares == pytest.approx([share for _, share, _ in every.hardest(5)])
    assert hardest == [row for row, _, _ in every.hardest(5)]


def test_one_search_gives_what_a_classifier_on_each_split_gives(quick):
    digits = load("digits")
    X, y, splits = samples(RunContext(experiment(quick=True)), "digits", 2, 0)
    for number, (train, test) in enumerate(splits):
        for k in (1, 4, 9):
            rows = np.sort(train)  # ties by row number
            alone = KNeighborsClassifier(k, metric="cosine", ties="nearest").fit(X[rows], y[rows])
            wrong = np.mean(alone.predict(X[test]) != digits.y[test])
            found = [
                r.value
                for r in quick.where(part=NEIGHBORS, metric="test_error", split=number)
                if json.loads(r.parameters)["n_neighbors"] == k
            ]
            assert found == pytest.approx([wrong])


def test_a_row_with_too_few_neighbours_in_a_part_is_searched_for_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    shared = SharedNeighbors.of(X, k=3)
    train, queries = np.arange(150, 200), np.concatenate([np.arange(40), [150, 151]])
    alone = KNeighborsClassifier(4).fit(X[train], np.zeros(50) + (np.arange(50) % 2))
    expected = train[alone.kneighbors(X[queries[:40]], 3, return_distance=False)]
    assert shared.among(train, queries)[:40].tolist() == expected.tolist()
    for position, row in ((40, 150), (41, 151)):
        others = train[alone.kneighbors(X[[row]], 4, return_distance=False)[0]]
        assert shared.among(train, queries)[position].tolist() == others[others != row].tolist()


@pytest.mark.slow
def test_every_family_is_on_the_page_with_its_numbers(quick):
    page = page_of(quick)
    assert len(page.sections) == 7
    html = render(page)
    for part in (REST, ARGMAX, GAUSSIAN, PAIRS, MACHINE, NEIGHBORS):
        error = 100 * quick.values(part=part, metric="chosen_error")
        assert f"{error.mean():.2f} ± {error.std():.2f}" in html
    assert "--quick" in page.command


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trajectory_shows_every_pass_rule_and_degree_and_where_it_stops(quick):
    first = samples(RunContext(experiment(quick=True)), "digits", 2, 0)
    train, test = first.splits[0]
    for rule, multi_class in usps_trajectory.RULES.items():
        found = quick.where(part=usps_trajectory.TRAJECTORY, model=rule)
        degrees = {json.loads(row.parameters)["degree"] for row in found}
        assert degrees == set(range(1, 8))
        stop = {"min_gain": 0.001, "min_iter": 5}
        model = KernelPerceptron(Polynomial(3), multi_class=multi_class, max_iter=20, **stop)
        model.fit(first.X[train], first.y[train])
        at = {
            row.metric: row.value
            for row in found
            if row.split == 0 and json.loads(row.parameters)["degree"] == 3
        }
        assert at["stop_pass"] == model.n_iter_
        assert at["stop_error"] == pytest.approx(1 - model.score(first.X[test], first.y[test]))
        assert at["stop_corrections"] == model.mistakes_.sum()
    section = page_of(quick).sections[-1]
    assert "Early stopping ends" in section.words[1]
    html = render(page_of(quick))
    assert "stopping changes it by" in html
    assert "corrections saved" in html


def test_few_passes_are_made_without_early_stopping():
    argmax = families(1 / 256, max_iter=5)[1].candidates[0](None).model
    assert (argmax.max_iter, argmax.min_gain) == (5, None)
    assert families(1 / 256, max_iter=6)[1].candidates[0](None).model.min_iter == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_of_few_passes_the_trajectory_says_nothing_about_stopping(tmp_path):
    made = experiment(quick=True, max_iter=3, degrees="2,3", repeats=1, subsample=300)
    section = page_of(run(made, tmp_path, progress=False)).sections[-1]
    assert any("saves none" in words for words in section.words)
    assert "stops after pass" not in section.shows[0].table.columns


def test_families_are_those_of_the_document():
    assert [len(family.candidates) for family in families(1 / 256)] == [7, 7, 7, 7, 4, 9]


def test_share_passes_degrees_and_rows_are_options(tmp_path):
    made = experiment(
        quick=True, repeats=1, test_size=0.25, max_iter=3, degrees="2-3", subsample=400
    )
    assert made.options["degrees"] == [2, 3]
    X, y, (split,) = samples(RunContext(made), "digits", 1, 0, 0.25, 400)
    assert (len(split.train), len(split.test)) == (300, 100)
    step = next(step for step in made.steps if step.name == f"{REST}: every split, candidate 1")
    rows = step.run(RunContext(made)).rows
    alone = KernelPerceptron(Polynomial(2), multi_class="ovr", max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning):
        alone.fit(X[split.train], y[split.train])
    error = {row.metric: row.value for row in rows}
    assert error["n_iter"] <= 3
    assert error["test_error"] == pytest.approx(
        np.mean(alone.predict(X[split.test]) != y[split.test]), abs=0.02
    )
    results = run(made, tmp_path)
    page = page_of(results)
    assert "(25 % held out)" in page.summary[0]
    assert "--test-share 0.25 --rows 400 --max-iter 3 --degrees 2,3" in page.command
    assert {row[1] for row in page.sections[0].shows[0].table.rows} == {2, 3}
    assert json.loads(results.table()[0]["options"])["max_iter"] == 3


def test_one_degree_needs_no_choice(tmp_path):
    made = experiment(quick=True, repeats=1, degrees=[3], subsample=200, max_iter=2)
    results = run(made, tmp_path)
    assert len(results.values(part=REST, metric="chosen_error")) == 1
    assert page_of(results).sections


@pytest.mark.long
def test_the_whole_protocol_reaches_what_was_published(usps, tmp_path):
    found = run(experiment(), tmp_path)
    for part, within in ((REST, 0.25), (ARGMAX, 0.6), (PAIRS, 0.35)):
        errors = 100 * found.values(part=part, metric="test_error").reshape(7, 20).mean(axis=1)
        assert errors[1:] == pytest.approx(np.array(PUBLISHED[part])[1:], abs=within)
    assert 100 * found.values(part=GAUSSIAN, metric="chosen_error").mean() == pytest.approx(
        2.6, abs=0.2
    )
    assert 100 * found.values(part=MACHINE, metric="chosen_error").mean() < 2.6
    assert 100 * found.values(part=NEIGHBORS, metric="chosen_error").mean() == pytest.approx(
        3.52, abs=0.4
    )
    hardest = {json.loads(row.parameters)["row"] for row in found.where(part=HARDEST)}
    assert {5296, 8261} <= hardest
