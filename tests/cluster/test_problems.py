"""Pairs, folds and splits as tasks: the results are those of one process, times aside."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import json
from contextlib import nullcontext

import numpy as np
from click.testing import CliRunner
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from tests.cluster.support import in_blocks, samples

import separatrix.cluster.connection
from separatrix import (
    SVC,
    SVCCV,
    KernelPerceptron,
    KernelPerceptronCV,
    LinearDiscriminantAnalysis,
    LinearSVC,
    Perceptron,
    compare,
    evaluate,
)
from separatrix.cli import main
from separatrix.cluster import engine, kernel_fits
from separatrix.errors import MemoryBudgetError, ParameterError, UnsupportedError
from separatrix.evaluation.cluster_trials import ClusterTrials, cut_study
from separatrix.evaluation.study import plan_study
from separatrix.kernels import Gaussian, Polynomial


@pytest.mark.parametrize(
    "parameters",
    [{}, {"class_weight": "balanced"}, {"kernel": "linear"}, {"kernel": Polynomial(2), "C": 0.1}],
    ids=str,
)
def test_pairs_of_classes_give_the_machine_in_memory(parameters):
    X, y, _ = samples()
    labels = np.array(["ape", "bee", "coypu"])[y]
    expected = SVC(tol=1e-8, **parameters).fit(X, labels)

    found = SVC(tol=1e-8, **parameters).fit(*in_blocks(X, labels))

    assert found.gram_ == "3 pairs of classes on a cluster"
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.support_vectors_, expected.support_vectors_)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.n_support_, expected.n_support_)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(found.class_weight_, expected.class_weight_, rtol=1e-12)
    margins, slack = found.training_margins()
    np.testing.assert_allclose(margins, expected.training_margins()[0], atol=1e-6)
    assert slack.shape == (150, 3)
    assert set(vars(found)) == set(vars(expected))


def test_pairs_leave_out_rows_without_weight_and_take_sparse_blocks():
    X, y, _ = samples()
    X = np.where(X > 0.5, X, 0.0)
    w = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    dX, dy, dw = in_blocks(X, y, w)
    expected = SVC(tol=1e-8).fit(csr_array(X), y, w)

    found = SVC(tol=1e-8).fit(dX.map_blocks(csr_array), dy, dw)

    assert found.kernel_.gamma == pytest.approx(expected.kernel_.gamma, rel=1e-12)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-10)


def test_a_pair_is_a_task_of_its_name_that_reads_two_classes(monkeypatch):
    X, y, _ = samples()
    graphs, compute = {}, engine.compute

    def keep_graphs(*results, **more):
        graphs.update({one.key: dict(one.__dask_graph__()) for one in results})
        return compute(*results, **more)

    monkeypatch.setattr(engine, "compute", keep_graphs)

    SVC().fit(*in_blocks(X, y))

    pairs = {key: graph for key, graph in graphs.items() if key.startswith("svc-pair-")}
    assert sorted(key[:12] for key in pairs) == ["svc-pair-0-1", "svc-pair-0-2", "svc-pair-1-2"]
    for key, graph in pairs.items():
        classes = sorted(name[-1] for name in graph if str(name).startswith("svc-class-"))
        assert classes == [key[9], key[11]]
        assert len(graph) == 4  # two classes that are computed already, the options, and itself


@pytest.mark.parametrize("predictor", ["last", "average", "vote"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_pairs_of_a_kernel_perceptron_make_the_mistakes_of_one_fit(predictor, shuffle):
    X, y, _ = samples(n=150, k=4)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=150)
    model = KernelPerceptron(
        Gaussian(0.5), multi_class="ovo", predictor=predictor, shuffle=shuffle, max_iter=6
    )
    with pytest.warns(ConvergenceWarning) as here:
        expected = clone(model).fit(X, y, w)

    with pytest.warns(ConvergenceWarning) as there:
        found = clone(model).fit(*in_blocks(X, y, w))

    assert str(there[0].message) == str(here[0].message)
    assert found.gram_ == "6 pairs of classes on a cluster"
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.support_vectors_, expected.support_vectors_)
    np.testing.assert_allclose(found.alpha_, expected.alpha_, atol=1e-12)
    np.testing.assert_array_equal(found.mistakes_, expected.mistakes_)
    np.testing.assert_array_equal(found.boundary_curve_, expected.boundary_curve_)
    assert np.isnan(found.learning_curve_).all()  # that needs samples in pairs of other classes
    assert (found.n_iter_, found.stop_) == (expected.n_iter_, expected.stop_)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert set(vars(found)) == set(vars(expected))


def test_pairs_of_a_kernel_perceptron_that_separate_stop_as_one_fit():
    X, y, _ = samples()
    X = X + 4.0 * np.eye(3, 4)[y]
    expected = KernelPerceptron(Gaussian(0.5), multi_class="ovo").fit(X, y)

    found = KernelPerceptron(Gaussian(0.5), multi_class="ovo").fit(*in_blocks(X, y))

    assert found.stop_ == expected.stop_ == "clean pass"
    assert found.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(found.mistakes_, expected.mistakes_)


def test_two_classes_must_fit_into_one_worker(monkeypatch):
    X, y, _ = samples()
    size = X.nbytes
    monkeypatch.setattr(kernel_fits, "default_budget", lambda: int(0.9 * size))

    SVC().fit(*in_blocks(X, y))  # all samples would not fit
    with pytest.raises(MemoryBudgetError, match=r"needs all samples on one worker: 0\.00 GiB"):
        SVC(multi_class="ovr").fit(*in_blocks(X, y))
    monkeypatch.setattr(kernel_fits, "default_budget", lambda: size // 2)
    with pytest.raises(
        MemoryBudgetError, match=r"two classes on one worker.*use Nystroem and LinearSVC"
    ):
        SVC().fit(*in_blocks(X, y))


@pytest.mark.parametrize(
    "model",
    [
        SVC(multi_class="ovr"),
        SVC(calibration="sigmoid", random_state=0),
        KernelPerceptron(min_gain=0.01),
        KernelPerceptron(min_gain=0.01, multi_class="ovo"),
    ],
    ids=repr,
)
def test_machines_that_need_all_rows_are_fitted_on_one_worker(model):
    X, y, _ = samples()
    expected = clone(model).fit(X, y)

    found = model.fit(*in_blocks(X, y))

    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_warnings_of_a_worker_arrive():
    X, y, _ = samples()

    with pytest.warns(ConvergenceWarning, match=r"max_iter"):
        SVC(multi_class="ovr", max_iter=1).fit(*in_blocks(X, y))
    with pytest.warns(ConvergenceWarning, match=r"max_iter"):
        SVC(max_iter=1).fit(*in_blocks(X, y))


SEARCHES = [
    SVCCV([0.1, 1.0, 10.0], [0.01, 0.1], cv=3),
    SVCCV([0.1, 1.0], [0.1], cv=3, widen=1),
    KernelPerceptronCV(
        [Gaussian(0.1), Gaussian(1.0)], cv=3, estimator=KernelPerceptron(min_gain=0.01)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_searches_choose_as_in_memory(client, search):
    X, y, _ = samples()
    expected = clone(search).fit(X, y)

    found = clone(search).fit(*in_blocks(X, y))

    assert list(found.cv_results_) == list(expected.cv_results_)
    for name, values in expected.cv_results_.items():
        np.testing.assert_array_equal(found.cv_results_[name], values, err_msg=name)
    assert found.edges_ == expected.edges_
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert set(vars(found)) == set(vars(expected))


def test_a_search_in_threads_of_this_process_chooses_as_in_memory():
    X, y, w = samples()
    search = SVCCV([0.1, 1.0, 10.0], [0.01, 0.1], cv=3)
    expected = clone(search).fit(X, y, w)

    found = clone(search).fit(*in_blocks(X, y, w))

    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert found.best_params_ == expected.best_params_
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_a_search_without_weights_says_so():
    X, y, w = samples()

    with pytest.raises(UnsupportedError, match="KernelPerceptronCV takes no sample_weight"):
        KernelPerceptronCV([Gaussian()]).fit(*in_blocks(X, y, w))


def assert_same_evaluation(found, expected):
    for name in ("train_error", "test_error", "n_iter", "fold_error"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in ("predicted", "lead", "probabilities", "scores"):
        own, other = getattr(found, name), getattr(expected, name)
        assert sorted(own) == sorted(other)
        for cell, values in other.items():
            np.testing.assert_array_equal(own[cell], values, err_msg=name)
    assert found.kernels == expected.kernels
    assert found.settings == expected.settings
    for own, other in zip(found.splits, expected.splits, strict=True):
        np.testing.assert_array_equal(own.test, other.test)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "more"),
    [
        (LinearDiscriminantAnalysis(), {}),
        (KernelPerceptron(max_iter=5), {"kernels": [Gaussian(0.1), Gaussian(1.0)], "folds": 2}),
        (SVC(), {"kernels": [Polynomial(1), Polynomial(2)]}),
    ],
    ids=["one-by-one", "folds", "kernels"],
)
def test_evaluations_are_those_of_one_process(client, model, more):
    X, y = load_iris(return_X_y=True)
    expected = evaluate(model, X, y, repeats=3, **more)

    found = evaluate(model, X, y, repeats=3, cluster=client, **more)

    assert_same_evaluation(found, expected)


def test_splits_of_a_kernel_stay_together_while_there_are_tasks_for_all_workers():
    X = load_iris().data
    degrees = [Polynomial(degree) for degree in range(1, 8)]

    def sizes(model, kernels, folds, workers):
        plan = plan_study(model, X, kernels, False, folds, 0, True, None)
        pieces = cut_study(plan, 20, workers)
        cells = [(c, s) for candidates, splits in pieces for c in candidates for s in splits]
        assert sorted(cells) == [(c, s) for c in range(len(plan.kernels)) for s in range(20)]
        return [len(splits) for _, splits in pieces]

    assert sizes(KernelPerceptron(), degrees, None, 2) == [20] * 7
    assert sizes(KernelPerceptron(), degrees, None, 8) == [6, 7, 7] * 7
    assert sizes(KernelPerceptron(), degrees, 3, 2) == [5] * 4  # folds choose among all kernels
    assert sizes(KernelPerceptron(), degrees, None, 1000) == [1] * 140
    assert sizes(LinearDiscriminantAnalysis(), None, None, 2) == [1] * 20  # nothing is shared


@pytest.mark.slow
def test_a_comparison_is_that_of_one_process(client, monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    models = {
        "discriminant": LinearDiscriminantAnalysis(),
        "hasty": LinearSVC(max_iter=1, dual=True, random_state=0),
        "kernel perceptron": KernelPerceptron(max_iter=5, min_gain=0.01),
        "broken": Perceptron(max_iter=-1),
    }
    expected = compare(models, X, y, cv=3, repeats=1)

    found = compare(models, X, y, cv=3, repeats=1, cluster=client)

    assert list(found.evaluations) == list(expected.evaluations)
    for name, evaluation in expected.evaluations.items():
        assert_same_evaluation(found.evaluations[name], evaluation)
    assert found.failed == expected.failed
    assert found.unfinished == expected.unfinished
    assert "hasty" in found.unfinished
    with pytest.raises(ParameterError, match="None with a cluster"):
        compare(models, X, y, cluster=client, budget=1.0)

    collect = ClusterTrials.collect

    def press_ctrl_c(self, title, progress):
        if title == "hasty":
            raise KeyboardInterrupt
        return collect(self, title, progress)

    monkeypatch.setattr(ClusterTrials, "collect", press_ctrl_c)
    found = compare(models, X, y, cv=3, repeats=1, cluster=client)
    assert list(found.evaluations) == ["discriminant"]
    assert found.interrupted
    assert sorted(found.not_tried) == ["broken", "hasty", "kernel perceptron"]


@pytest.mark.slow
def test_commands_print_and_save_the_same(client, tmp_path, monkeypatch):
    monkeypatch.setattr(
        separatrix.cluster.connection, "connect", lambda _where: nullcontext(client)
    )
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    cluster = {"here": [], "there": ["--cluster", "local"]}
    printed = {}
    for where, words in cluster.items():
        out = tmp_path / where / "best.model"
        command = ["tune", "iris", "--model", "svm", "--folds", "3", "--quiet", "--out", str(out)]
        assert CliRunner().invoke(main, [*command, *words]).exit_code == 0
        command = [
            "compare",
            "iris",
            "--models",
            "lda,knn",
            "--cv",
            "3",
            "--repeats",
            "1",
            "--json",
        ]
        budget = [] if words else ["--budget", "none"]
        result = CliRunner().invoke(main, [*command, *budget, *words])
        assert result.exit_code == 0, result.output
        printed[where] = [without_times(row) for row in json.loads(result.stdout)["rows"]]

    models = [(tmp_path / where / "best.model").read_bytes() for where in cluster]
    assert models[0] == models[1]
    assert printed["there"] == printed["here"]
    result = CliRunner().invoke(main, [*command, "--cluster", "local", "--budget", "9s"])
    assert "None with a cluster" in result.output


def without_times(row):
    """A row of a comparison without its seconds."""
    return {name: value for name, value in row.items() if "seconds" not in name}
