"""S3 as an experiment: each claim is an identity that the rows must show."""

import json

import numpy as np
import pytest
from tests.studies.quick_runs import quick_run

from separatrix.data import catalogue
from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.experiments.steps import RunContext
from separatrix.studies.kernel_methods.steps import (
    BOUND,
    DEFINITE,
    MAP,
    MARGINS,
    OBJECT_TYPES,
    OBJECTS,
    OLIGONUCLEOTIDES,
    SEQUENCES,
    circle,
    experiment,
    separable,
    word_counts,
    words,
)


@pytest.fixture(scope="module")
def results():
    return quick_run("kernel-methods").results


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_primal_and_dual_log_the_same_mistakes(seed):
    made = experiment(quick=True, seed=seed)
    rows, arrays = made.steps[0].run(RunContext(made))
    for name in ("made_up", "iris", "digits"):
        assert len(arrays[f"{name}_primal"]) > 1
        np.testing.assert_array_equal(arrays[f"{name}_primal"], arrays[f"{name}_dual"])
    differences = [row.value for row in rows if row.metric.endswith("difference")]
    assert differences == [0.0] * 6
    assert all(row.value for row in rows if row.metric == "clean_pass")
    counts = np.bincount(arrays["made_up_dual"], minlength=len(arrays["alpha"]))
    np.testing.assert_array_equal(arrays["alpha"], counts)


def test_no_draw_makes_more_mistakes_than_the_bound(results):
    mistakes, bounds = (results.values(part=BOUND, metric=m) for m in ("mistakes", "bound"))
    assert len(mistakes) == 3 * (len(MARGINS) + 1)
    assert np.isfinite(bounds).all()
    assert (mistakes <= bounds).all()
    assert (mistakes > 0).all()


@pytest.mark.parametrize("margin", MARGINS)
def test_made_up_samples_keep_their_margin_and_are_exact(margin):
    _, X, y = separable(np.random.default_rng(0), n=50, margin=margin)
    assert X.shape == (50, 2)
    assert set(y.tolist()) == {-1, 1}
    np.testing.assert_array_equal(X * 64, np.round(X * 64))


def test_inside_and_outside_of_the_circle_do_not_touch():
    _, X, y = circle(np.random.default_rng(0), n=80)
    radius = np.hypot(*X.T)
    assert radius[y == -1].max() < 1.0 < 1.3 < radius[y == 1].min()


def test_the_map_and_the_kernel_agree_to_the_last_bits(results):
    assert (results.values(part=MAP, metric="relative_difference") < 1e-14).all()
    assert results.values(part=MAP, metric="mapped_features").tolist() == [3, 2080]
    assert results.values(part=MAP, metric="same_mistakes").all()


def test_all_kernels_but_the_sigmoid_have_a_feature_space(results):
    found = {
        json.loads(row.parameters)["kernel"].split("(")[0]: row.value
        for row in results.where(part=DEFINITE, metric="positive_semidefinite")
    }
    assert found == {
        "Linear": 1,
        "Polynomial": 1,
        "Gaussian": 1,
        "Laplacian": 1,
        "Sigmoid": 0,
    }
    errors = results.values(part=DEFINITE, metric="embedding_error")
    assert len(errors) == 5
    assert (errors < 1e-9).all()
    linear = results.where(part=DEFINITE, metric="dimensions")[0]
    assert linear.value <= 64


def test_words_are_counted_with_overlaps():
    counts = dict(zip(words(), word_counts("AAATG"), strict=True))
    assert {word: n for word, n in counts.items() if n} == {"AA": 2, "AT": 1, "TG": 1}


def test_the_three_sequences_say_the_same_as_vectors_and_as_a_matrix(results):
    found = results.arrays[OLIGONUCLEOTIDES]
    counts = np.array([word_counts(sequence) for sequence in SEQUENCES])
    np.testing.assert_array_equal(found["counts"], counts)
    np.testing.assert_array_equal(counts.sum(axis=1), [len(s) - 1 for s in SEQUENCES])
    np.testing.assert_array_equal(found["products"], counts @ counts.T)  # of the spectrum kernel
    assert results.values(part=OLIGONUCLEOTIDES, metric="difference_from_counts").tolist() == [0.0]
    np.testing.assert_allclose(np.diagonal(found["similarity"]), 1.0)
    F = found["embedding"]
    np.testing.assert_allclose(F @ F.T, counts @ counts.T, atol=1e-12)


@pytest.mark.parametrize("kind", OBJECT_TYPES, ids=lambda kind: kind.name)
def test_objects_with_a_kernel_and_the_ready_matrix_are_classified_alike(results, kind):
    if state(kind.data) == TO_DOWNLOAD:
        pytest.skip(f"no {kind.data} here")
    rows = {row.metric: row.value for row in results.where(part=OBJECTS, model=kind.name)}
    assert rows["positive_semidefinite"]
    for model in ("KernelPerceptron", "SVC"):
        assert rows[f"{model}_agreement_with_ready_matrix"] == 1.0
        assert rows[f"{model}_test_accuracy"] > (0.88 if kind.kernel.takes == "vectors" else 0.8)


def test_a_quick_run_leaves_out_what_would_have_to_be_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    monkeypatch.setattr(catalogue, "_found", lambda name, files: None)
    assert experiment(quick=True).data == ("iris", "digits")
    assert experiment().data == ("iris", "digits", "promoters", "mutag")
