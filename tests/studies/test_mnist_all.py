import numpy as np
import pytest

from separatrix import SVC
from separatrix.experiments.run import run
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Gaussian
from separatrix.report.page import render
from separatrix.studies.mnist_all import classifiers, experiment, split_parts
from separatrix.studies.reproduce import page_of


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return run(experiment(quick=True, subsample=400), tmp_path_factory.mktemp("all"))


@pytest.mark.slow
def test_every_classifier_has_an_error_a_time_and_a_place_on_the_page(small):
    html = render(page_of(small))
    rows = small.where(metric="test_error")
    assert {row.model for row in rows} == set(classifiers(0))
    for row in rows:
        assert 0 <= row.value < 0.4, row.model
        assert row.seconds > 0
        assert f"{100 * row.value:.2f}" in html


def test_the_error_is_that_of_a_fit_by_hand(small):
    found = split_parts(RunContext(experiment(quick=True)), "digits", 400, 0)
    assert len(found.y) + len(found.y_test) == 400
    alone = SVC(C=10.0, kernel=Gaussian(0.02)).fit(found.X, found.y)
    wrong = np.mean(alone.predict(found.X_test) != found.y_test)
    assert small.values(model="SVM, Gaussian", metric="test_error").tolist() == [wrong]


def test_two_runs_differ_in_what_was_measured_only(small, tmp_path):
    again = run(experiment(quick=True, subsample=400), tmp_path)
    assert [row[:7] for row in again.rows] == [row[:7] for row in small.rows]
