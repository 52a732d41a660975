"""The study of news, on documents that are made up: each class has words of its own."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.metrics import f1_score

from separatrix import SVC
from separatrix.data.dataset import Dataset
from separatrix.experiments.run import run
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Normalized, Spectrum, Subsequence
from separatrix.report.page import render
from separatrix.studies.catalogue import page_of
from separatrix.studies.reuters_strings import (
    CLASSES,
    FULL,
    QUICK,
    RUNS,
    SUBSEQUENCES,
    WEIGHTED,
    WORDS,
    chosen_part,
    draw_documents,
    experiment,
    families,
)

REPEATS = 2
OWN = {
    "earn": "profit dividend quarter net",
    "acq": "merger stake shares buy",
    "crude": "oil barrel opec well",
    "grain": "wheat corn tonnes crop",
}
SHARED = "the said of market a company year in"


def made_up(seed=0):
    """Texts of a few words, most of them shared; some of a class that is not asked for."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for label, count in (("earn", 30), ("acq", 25), ("crude", 20), ("grain", 12), ("ship", 5)):
        words = f"{OWN.get(label, 'vessel')} {SHARED}".split()
        for _ in range(count):
            texts.append(" ".join(rng.choice(words, size=rng.integers(6, 12))))
            labels.append(label)
    order = rng.permutation(len(texts))
    texts, labels = [texts[row] for row in order], np.array(labels)[order]
    return Dataset("r8", texts[:60], labels[:60], texts[60:], labels[60:], kind="text")


@pytest.fixture(scope="module")
def made():
    return dataclasses.replace(experiment(quick=True, repeats=REPEATS), load=lambda name: made_up())


@pytest.fixture(scope="module")
def texts():
    return draw_documents(made_up(), QUICK, repeats=REPEATS, seed=0)


@pytest.fixture(scope="module")
def results(made, tmp_path_factory):
    return run(made, tmp_path_factory.mktemp("strings"), progress=False)


def rows_of(results, part, **wanted):
    """F1 rows with these parameters, and all of their parameters."""
    found = [(json.loads(row.parameters), row) for row in results.where(part=part, metric="f1")]
    return [(one, row) for one, row in found if wanted.items() <= one.items()]


def test_the_sizes_are_the_published_ones():
    assert (sum(FULL.train), sum(FULL.test)) == (380, 90)
    assert sum(QUICK.train) + sum(QUICK.test) == 60


def test_every_division_has_its_share_of_each_class(texts):
    everything = np.arange(len(texts.y))
    for train, test in texts.splits:
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), everything)
        for label, a, b in zip(CLASSES, QUICK.train, QUICK.test, strict=True):
            assert (np.sum(texts.y[train] == label), np.sum(texts.y[test] == label)) == (a, b)
    assert not np.array_equal(texts.splits[0].test, texts.splits[1].test)


def test_documents_keep_their_labels_and_are_cut():
    data = made_up()
    known = dict(zip([*data.X, *data.X_test], [*data.y, *data.y_test], strict=True))
    whole = draw_documents(data, QUICK, repeats=1, seed=1)
    cut = draw_documents(data, QUICK._replace(letters=20), repeats=1, seed=1)

    assert [known[text] for text in whole.X] == whole.y.tolist()
    assert [text[:20] for text in whole.X] == cut.X.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "kernel", "wanted"),
    [
        (SUBSEQUENCES, Subsequence(4, 0.5), {"k": 4, "decay": 0.5}),
        (RUNS, Spectrum(3), {"k": 3}),
    ],
)
def test_f1_is_that_of_a_machine_on_the_strings(results, texts, part, kernel, wanted):
    for one, row in rows_of(results, part, **wanted):
        train, test = texts.splits[row.split]
        y = texts.y == one["class"]
        alone = SVC(C=one["C"], kernel=Normalized(kernel)).fit(texts.X[train], y[train])
        guess = alone.predict(texts.X[test])
        assert row.value == f1_score(y[test], guess, zero_division=0)


@pytest.mark.parametrize("name", [SUBSEQUENCES, RUNS])
def test_folds_choose_the_kernel_that_they_like_best(results, name):
    own = [family for family in families(QUICK) if family.name == name]
    parameters = [how for family in own for how, _ in family.kernels]
    scores = np.concatenate([results.arrays[family.step]["scores"] for family in own])
    for cell, (one, row) in enumerate(rows_of(results, chosen_part(name))):
        best = parameters[int(scores[:, cell].argmax())]
        assert best.items() <= one.items()
        wanted = {**best, "class": one["class"]}
        same = [other.value for _, other in rows_of(results, name, **wanted)][row.split]
        assert row.value == same


def test_test_documents_change_nothing_in_the_folds(made, results, texts):
    data = made_up()
    tested = {texts.X[row] for row in texts.splits[0].test}
    changed = ["the oil said" if text in tested else text for text in data.X]
    more = ["the oil said" if text in tested else text for text in data.X_test]
    other = dataclasses.replace(data, X=changed, X_test=more)
    again = dataclasses.replace(made, load=lambda name: other)
    step = next(step for step in again.steps if step.name == WEIGHTED)

    scores = step.run(RunContext(again)).arrays["scores"]

    first = slice(0, len(CLASSES))  # those of the first division
    np.testing.assert_array_equal(scores[0, first], results.arrays[WEIGHTED]["scores"][0, first])


def test_a_step_says_the_same_again(made, results):
    step = next(step for step in made.steps if step.name == WORDS)
    again = step.run(RunContext(made)).rows
    assert [row[:7] for row in again] == [row[:7] for row in results.where(part=WORDS)]


def test_words_of_their_own_tell_the_classes_apart(results):
    assert results.values(part=WEIGHTED, metric="f1").mean() > 0.7


@pytest.mark.slow
def test_the_page_has_the_mean_of_every_class(results):
    page = page_of(results)
    html = render(page)
    table = page.sections[0].shows[0].table
    for label in CLASSES:
        values = [row.value for _, row in rows_of(results, WORDS, **{"class": label})]
        line = next(row for row in table.rows if row[:2] == (label, WORDS))
        assert line[4] == f"{np.mean(values):.3f} ± {np.std(values):.3f}"
        assert line[5] is None
    assert {row[5] for row in table.rows} == {None}  # published for other sizes
    assert "grain replaces it" in html
    for section in page.sections:
        assert section.words
        assert section.shows
